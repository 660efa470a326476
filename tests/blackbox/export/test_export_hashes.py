"""`chainq export --hashes`: partitions of blocks that make their own hashes, and receipts that say so."""

from pathlib import Path
from typing import Any

import pytest

from harness.lake.lake import Lake
from harness.running.program import Program, Servers, one_line

pytest.importorskip("aleo")
pytest.importorskip("pyarrow", reason="Parquet needs the extra chainq[parquet]")

BLOCKS = 36  # those from 30 on have quorums
WRONG = 33


@pytest.fixture
def url(server: Servers) -> str:
    return server("--sealed", str(BLOCKS))


def receipts(lake: Path) -> list[dict[str, Any]]:
    tables = sorted(path.name for path in lake.iterdir() if path.is_dir())
    return [receipt for table in tables for receipt in Lake(lake).receipts(table)]


def test_receipts_say_what_was_recomputed(program: Program, url: str, tmp_path: Path) -> None:
    """The summary of a block, or its contents as well; of other commands nothing."""
    lake = str(tmp_path / "lake")
    job = ("export", "blocks", "full-blocks", "records", f"0:{BLOCKS}", "--to", lake, "--partition", "20", "--hashes")
    ran = program(*job, url=url)
    assert ran.code == 0, ran.err
    assert "6 partitions written (block hashes checked)" in ran.err
    found = receipts(tmp_path / "lake")
    assert [(one["command"], one.get("hashes")) for one in found] == [
        *[("blocks", "summary")] * 2,
        *[("full-blocks", "full")] * 2,
        *[("records", None)] * 2,
    ]
    assert all(set(one["proof"]) == {"hash"} for one in found if one["command"] != "records")


@pytest.mark.parametrize("tables", [("chain",), ("chain", "--no-full-blocks"), ("calls", "blocks")])
def test_tables_of_full_blocks_are_checked(tables: tuple[str, ...], program: Program, url: str, tmp_path: Path) -> None:
    """What is read from full blocks rests on their hashes, and `verify` has nothing against such receipts."""
    lake = str(tmp_path / "lake")
    ran = program("export", *tables, f"0:{BLOCKS}", "--to", lake, "--partition", "20", "-w", "1", "--hashes", url=url)
    assert ran.code == 0, ran.err
    found = receipts(tmp_path / "lake")
    assert {one["hashes"] for one in found if one["command"] == "calls"} == {"full"}
    assert program("verify", lake).code == 0


def test_a_partition_with_a_wrong_row_is_not_written(
    program: Program, server: Servers, url: str, tmp_path: Path
) -> None:
    """Exit code 6, the partition before it stays; the next run, of a server that is right, writes the rest."""
    lake = tmp_path / "lake"
    job = ("export", "blocks", f"0:{BLOCKS}", "--to", str(lake), "--partition", "12", "--hashes", "-w", "1")
    ran = program(*job, url=server("--sealed", str(BLOCKS), "--fault", f"round:{WRONG}"))
    assert f"getBlocks: block {WRONG} contradicts its own hashes (hash): expected" in one_line(ran, 6)
    assert [one["start"] for one in receipts(lake)] == [0, 12]
    assert [path.parent.name for path in sorted(lake.glob("blocks/*/*"))] == ["start=0000000000", "start=0000000012"]
    assert program(*job, url=url).code == 0
    assert [one["hashes"] for one in receipts(lake)] == ["summary"] * 3
