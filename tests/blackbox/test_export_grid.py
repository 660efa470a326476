"""A data set has one partition size: `chainq.json` lost, and partitions of two sizes in one folder."""

import json
import shlex
import shutil
from pathlib import Path

import pytest

from harness.exports import Exports
from harness.program import Program, Servers, one_line

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
    again = "restore chainq.json, or export to a new folder\n"
    file.write_text("{")
    line = one_line(chainq(*export, "0:400", "--to", "lake"), 6)
    assert line.endswith(f" is damaged: Input data was truncated; {again}")
    file.unlink()
    for command in (("verify", "lake"), ("sql", "lake", COUNT)):
        assert one_line(chainq(*command), 2).endswith(f": lake lost chainq.json; {again}")
    assert chainq("status", "lake").out.decode().endswith(f"\nlake lost chainq.json; {again}")
    for more in ((), ("--dry-run",), ("--partition", "100")):
        line = one_line(chainq(*export, "0:400", "--to", "lake", *more), 2)
        assert line.endswith(f"lake has 3 partitions, but no chainq.json; {again}"), line
    shutil.rmtree(chainq.home / "lake/_chainq")
    assert "lake has 3 partitions, but no chainq.json" in one_line(chainq(*export, "0:400", "--to", "lake"), 2)
    assert not file.exists()
    assert not (chainq.home / "lake/_chainq").exists()


def test_partitions_of_two_sizes(chainq: Program, export: tuple[str, ...]) -> None:
    """Rows in two partitions never count twice: all commands refuse them, and `verify` says which files to remove."""
    lake, other = chainq.home / "lake", chainq.home / "other"
    assert chainq(*export, "0:300", "--to", "other", "--partition", "1K").code == 0
    for name in ("blocks/start=000000000", "_chainq/receipts/blocks"):
        shutil.copytree(other / name, lake / name, dirs_exist_ok=True)
    (small,) = (path for path in lake.glob("_chainq/receipts/blocks/000000000-000000100-*"))
    small.unlink()
    shutil.copy(other / "chainq.json", lake)
    says = "; chainq verify lake --jsonl says which files to remove"
    both = "two partitions of blocks in lake contain heights 100-199: blocks/start=000000000/data.parquet and blocks/s"
    for words in (("sql", "lake", COUNT), ("status", "lake"), ("blocks", "50:60", "--url", "lake")):
        line = one_line(chainq(*words), 6)
        assert both in line
        assert says in line
    line = one_line(chainq(*export, "0:400", "--to", "lake"), 6)
    assert "have 1000 heights, but blocks/start=000000100/data.parquet has heights 100-199; chainq verify " in line
    ran = chainq("verify", "lake", "-o", "found.jsonl")
    assert "; run the commands in repair, which remove these files" in ran.err
    found = [json.loads(line) for line in (chainq.home / "found.jsonl").read_text().splitlines()]
    assert [(one["height"], one["check"]) for one in found] == [(100, "grid"), (200, "grid")]
    for one in found:
        command, option, *paths = shlex.split(one["repair"])
        assert (command, option) == ("rm", "-rf")
        remove(chainq.home, paths)
    assert chainq("verify", "lake").code == 0
    assert counted(chainq, "lake") == {"n": 300, "h": 300}
    assert chainq(*export, "0:400", "--to", "lake").code == 0


@pytest.mark.usefixtures("export")
def test_a_file_copied_to_a_wrong_place(chainq: Program) -> None:
    """It is to be removed: no receipt expects it there, so neither it nor the heights before it are exported."""
    shutil.copytree(chainq.home / "lake/blocks/start=000000000", chainq.home / "lake/blocks/start=000000600")
    ran = chainq("verify", "lake", "--jsonl")
    assert "; run the commands in repair, which remove these files" in ran.err
    (one,) = map(json.loads, ran.rows)
    assert (one["check"], one["repair"]) == ("receipt", "rm -rf lake/blocks/start=000000600")
    remove(chainq.home, shlex.split(one["repair"])[2:])
    assert chainq("verify", "lake").code == 0


def remove(home: Path, paths: list[str]) -> None:
    """Remove files and folders of a data set as `rm -rf` does."""
    for path in (home / name for name in paths):
        assert home / "lake" in path.parents
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
