"""A data set in a folder: without hard links, and its listing."""

import fcntl
import os
import time
from pathlib import Path
from typing import NoReturn

import pytest

from chainq.errors import IncompleteError, OutputError
from chainq.heights.grid import file_in
from chainq.stored.folder import FolderStore


def test_without_hard_links_a_file_is_created_by_rename(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It appears whole, replaces nothing, and leaves nothing else; any other failure is an error."""

    def refuse(*_: object) -> NoReturn:
        raise PermissionError(1, "Operation not permitted")

    def fail(*_: object) -> NoReturn:
        raise OSError(5, "Input/output error")

    store = FolderStore(tmp_path)
    monkeypatch.setattr(os, "link", refuse)
    assert store.create("chainq.json", b"first")
    assert not store.create("chainq.json", b"second")
    assert (tmp_path / "chainq.json").read_bytes() == b"first"
    assert [name for name, *_ in store.listing()] == ["chainq.json"]
    assert list((tmp_path / "_chainq" / "new").iterdir()) == []
    monkeypatch.setattr(os, "link", fail)
    with pytest.raises(OutputError, match="Input/output error"):
        store.create("other", b"")


def test_a_listing_of_the_files_that_matter(tmp_path: Path) -> None:
    """Of a partition's folder only its file, if it is there; of what is beside the data set only names."""
    names = {"chainq.json", "records/start=000000000/data.parquet", "records/start=000000000/x", "records/start=5/x"}
    for name in sorted(names):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"12345")
    (tmp_path / "records/start=000000100").mkdir()
    store = FolderStore(tmp_path)
    assert {name for name, *_ in store.listing()} == names
    assert {listed[:2] for listed in store.listing(file_in)} == {
        (name, 5) for name in names - {"records/start=000000000/x"}
    }
    (tmp_path / "other/folder").mkdir(parents=True)
    (tmp_path / "link").symlink_to("/")
    assert {name for name, *_ in store.listing()} == {*names, "other", "link"}
    (tmp_path / "records/start=000000200").symlink_to(tmp_path / "records/start=000000000")
    with pytest.raises(IncompleteError, match=r"records/start=000000200 of .* is a symbolic link"):
        list(store.listing())


def test_a_look_at_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It shows whether an export has the lock, and keeps no export out that begins at that moment."""
    store, other = FolderStore(tmp_path), FolderStore(tmp_path)
    assert not other.is_locked()
    assert list(tmp_path.iterdir()) == []
    with store.lock():
        assert other.is_locked()
    assert not other.is_locked()
    descriptor = os.open(tmp_path / "_chainq/lock", os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    monkeypatch.setattr(time, "sleep", lambda _: os.close(descriptor))  # the look ends
    with store.lock():
        assert other.is_locked()
