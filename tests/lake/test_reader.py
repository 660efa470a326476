"""How much of a data set is read for a single row."""

import io

import pytest

from chainq.heights.range import HeightRange
from harness.running.program import Program

pytest.importorskip("pyarrow")

from chainq.lake.reader import Reader
from chainq.lake.store import FolderStore


def test_a_block_takes_less_than_a_megabyte(chainq: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a partition of the default size: the footer, the heights, and one row group."""
    assert chainq("export", "blocks", "0:10K", "--to", "lake", "-w", "1", "-q", "--url", "demo:").code == 0
    root = chainq.home / "lake"
    (file,) = (root / "blocks").rglob("*.parquet")
    assert file.stat().st_size > 2_000_000
    taken = []

    class Counted(io.FileIO):
        def read(self, size: int | None = -1, /) -> bytes:
            data = super().read(-1 if size is None else size) or b""
            taken.append(len(data))
            return data

    with Counted(file) as opened:
        monkeypatch.setattr(FolderStore, "source", lambda *_: opened)
        assert len(list(Reader(str(root)).rows("blocks", HeightRange(5432, 5433)))) == 1
    assert 0 < sum(taken) < 1_000_000
