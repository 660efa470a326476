"""A data set in a folder whose file system has no hard links."""

import os
from pathlib import Path
from typing import NoReturn

import pytest

from chainq.errors import OutputError
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
