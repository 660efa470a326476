"""A data set has one partition size: `chainq.json` lost, and partitions of two sizes in one folder."""

import json
import shutil

import pytest

from harness.lake.exports import Exports
from harness.running.program import Program, Servers, one_line

pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")

COUNT = "select count(*) n, count(distinct height) h from blocks"


@pytest.fixture
def export(chainq: Program, server: Servers, exports: Exports) -> tuple[str, ...]:
    """An export of blocks, but without a destination; and one of 300 heights in `lake`."""
    exports.copy("blocks", chainq.home / "lake")
    return ("export", "blocks", "-w", "1", "--url", server("--tip", "700"))


def counted(chainq: Program, lake: str) -> dict[str, int]:
    found: dict[str, int] = json.loads(chainq("sql", lake, COUNT, "--jsonl").out)
    return found


def test_2_a_lost_description(chainq: Program, export: tuple[str, ...]) -> None:
    """Nothing is written: a new one could name another partition size, or another chain."""
    file = chainq.home / "lake/chainq.json"
    file.write_text("{")
    line = one_line(chainq(*export, "0:400", "--to", "lake"), 6)
    assert line.endswith(" is damaged: Input data was truncated; restore chainq.json, or export to a new folder\n")
    file.unlink()
    for command in (("verify", "lake"), ("sql", "lake", COUNT)):
        assert "no data set in lake: no chainq.json" in one_line(chainq(*command), 2)
    for more in ((), ("--dry-run",), ("--partition", "100")):
        line = one_line(chainq(*export, "0:400", "--to", "lake", *more), 2)
        assert line.endswith("lake lost chainq.json; restore it, or export to a new folder\n"), line
    assert not file.exists()


def test_partitions_of_another_size(chainq: Program, export: tuple[str, ...]) -> None:
    """Rows in two partitions never count twice: files off the grid are none of the data set, and `verify` names
    them."""
    lake, other = chainq.home / "lake", chainq.home / "other"
    assert chainq(*export, "0:300", "--to", "other", "--partition", "1K").code == 0
    (name,) = (path.relative_to(other) for path in other.glob("blocks/*/*"))
    shutil.copy(other / name, lake / name)
    assert counted(chainq, "lake") == {"n": 300, "h": 300}
    assert len(chainq("blocks", "50:60", "--jsonl", url="lake").rows) == 10
    ran = chainq("verify", "lake", "--jsonl")
    assert [one["check"] for one in map(json.loads, ran.rows)] == ["foreign"]
    assert chainq(*export, "0:400", "--to", "lake").code == 0
    (lake / name).unlink()
    assert chainq("verify", "lake").code == 0


@pytest.mark.usefixtures("export")
def test_a_file_copied_to_a_wrong_place(chainq: Program) -> None:
    """Its receipt does not say what its name would say there."""
    (file,) = (chainq.home / "lake/blocks/start=0000000000").iterdir()
    folder = chainq.home / "lake/blocks/start=0000000300"
    folder.mkdir()
    wrong = folder / file.name.replace("0000000100-", "0000000400-", 1)
    shutil.copy(file, wrong)
    assert "its receipt does not say what its name says" in one_line(chainq("sql", "lake", COUNT), 6)
    assert chainq("verify", "lake").code == 6
    shutil.rmtree(folder)
    assert chainq("verify", "lake").code == 0
