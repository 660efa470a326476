"""A data set in a folder: without hard links, and its listing."""

import os
from pathlib import Path
from typing import NoReturn

import pytest

from chainq.errors import IncompleteError, OutputError
from chainq.lake.store import FolderStore


def test_without_hard_links_a_file_is_created_by_rename(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It appears whole and leaves nothing else; if that fails, too, it is an error."""

    def refuse(*_: object) -> NoReturn:
        raise PermissionError(1, "Operation not permitted")

    def fail(*_: object) -> NoReturn:
        raise OSError(5, "Input/output error")

    store = FolderStore(tmp_path)
    store.create("chainq.json", b"first")
    store.create("chainq.json", b"second")
    assert (tmp_path / "chainq.json").read_bytes() == b"first"
    monkeypatch.setattr(os, "link", refuse)
    store.create("other", b"rows")
    assert (tmp_path / "other").read_bytes() == b"rows"
    assert sorted(name for name, *_ in store.listing()) == ["_new", "chainq.json", "other"]
    assert list((tmp_path / "_new").iterdir()) == []
    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OutputError, match="Input/output error"):
        store.create("third", b"")


def test_a_listing(tmp_path: Path) -> None:
    """Of what is beside the data set only names; a link in it is an error."""
    names = {"chainq.json", "records/start=0000000000/x", "records/start=5/x"}
    for name in sorted(names):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"12345")
    (tmp_path / "records/start=0000000100").mkdir()
    store = FolderStore(tmp_path)
    assert {listed[:2] for listed in store.listing()} == {(name, 5) for name in names}
    (tmp_path / "other/folder").mkdir(parents=True)
    (tmp_path / "link").symlink_to("/")
    assert {name for name, *_ in store.listing()} == {*names, "other", "link"}
    (tmp_path / "records/start=0000000200").symlink_to(tmp_path / "records/start=0000000000")
    with pytest.raises(IncompleteError, match=r"records/start=0000000200 of .* is a symbolic link or"):
        list(store.listing())
