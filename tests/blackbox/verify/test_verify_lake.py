"""`chainq verify DEST`: whatever was done to the files of an export is found, by height and kind, without a network."""

import json
import os
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.lake.damages import DAMAGES, changed_rows, other_text, rewrite
from harness.lake.exports import Exports
from harness.lake.lake import file_of
from harness.models.search import some
from harness.running.program import Program, Servers, one_line

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("numpy")


from chainq.lake.data_set import parse_entry  # noqa: E402

SEEDS = range(int(os.environ.get("CHAINQ_TEST_SEEDS", "1")))
START = 40  # of the partition in the middle
RNG = random.Random(1)  # noqa: S311  # no secret


@pytest.fixture
def root(exports: Exports, tmp_path: Path) -> Path:
    """A data set of three partitions for each command."""
    return exports.copy("verified", tmp_path / "lake")


def records(root: Path, start: int = START) -> Path:
    return file_of(root, "records", start)


def renamed(root: Path, **change: int) -> Path:
    """Give a file a name that says something else."""
    path = records(root)
    entry = parse_entry(str(path.relative_to(root)))
    assert entry is not None
    return path.rename(
        root / entry._replace(**{name: getattr(entry, name) + more for name, more in change.items()}).name
    )


def without(row: int) -> Callable[[Any], Any]:
    return changed_rows(lambda rows: rows.pop(row))


def exchange(root: Path, one: Path, other: Path) -> None:
    one.rename(root / "aside")
    other.rename(one)
    (root / "aside").rename(other)


def other_chain(rows: list[dict[str, Any]]) -> None:
    rows[-1]["block_hash"] = other_text(rows[-1]["block_hash"], RNG)


def not_text(table: Any) -> Any:
    at = table.schema.get_field_index("program_id")
    values = [b"\xcc" + text.encode() for text in table["program_id"].to_pylist()]
    return table.set_column(at, table.schema.field(at), pa.array(values, pa.binary()).view(pa.string()))


def a_copy(root: Path) -> None:
    shutil.copy(records(root), records(root).with_name("copy.parquet"))
    (root / "records" / "_temporary").write_bytes(b"no reader looks at this")


FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut": (lambda root: os.truncate(records(root), records(root).stat().st_size - 500), "records: invalid"),
    "other rows": (
        lambda root: rewrite(root, "records", START, changed_rows(lambda rows: rows.pop()), forged=False),
        "records: invalid",
    ),
    "changed places": (lambda root: exchange(root, records(root), records(root, 60)), "records: invalid"),
    "a forged name": (lambda root: renamed(root, rows=1), "records: invalid"),
    "no receipt": (lambda root: rewrite(root, "records", START, sealed=False), "records: invalid"),
    "a gap": (lambda root: records(root).unlink(), "records: missing"),
    "a copy": (a_copy, "records: foreign"),
    "other columns": (
        lambda root: rewrite(root, "records", START, lambda table: table.drop(["function_name"])),
        "records: invalid",
    ),
    "another chain": (
        lambda root: rewrite(root, "blocks", START, changed_rows(other_chain)),
        "blocks: checksum",
    ),
    "not text": (lambda root: rewrite(root, "records", START, not_text), "records: invalid"),
    "out of order": (
        lambda root: rewrite(root, "transitions", START, lambda table: table.take([*range(len(table))][::-1])),
        "transitions: order",
    ),
}
"""What can be done to the files of a data set, and the command and checks that must tell it."""


def found_in(program: Program, *words: str, url: str | None = None) -> list[dict[str, Any]]:
    """What `verify` finds, which must be something."""
    ran = program("verify", *words, "--jsonl", url=url)
    assert ran.code == 6, ran.err
    return [json.loads(row) for row in ran.rows]


@pytest.mark.parametrize("name", some(FILES, *(name for name in FILES if name != "not text")))
def test_whatever_was_done_to_the_files_is_found(name: str, root: Path, program: Program) -> None:
    """Files that were cut, rewritten, moved or forged: named by command, check and a height of the partition."""
    damage, due = FILES[name]
    damage(root)
    found = found_in(program, str(root))
    command, *checks = re.split("[: ]+", due)
    assert {(row["command"], row["check"]) for row in found} >= {(command, check) for check in checks}, found
    assert all(row["height"] is None or START <= row["height"] <= 80 for row in found), found


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "name",
    some(DAMAGES, *("broken link", "lost record", "lost ownership row", "hash of another block", "swapped blocks")),
)
def test_whatever_was_done_to_the_rows_is_found(name: str, seed: int, root: Path, program: Program) -> None:
    """Rows that agree with their receipts, and not with each other or with those of another command."""
    damage = DAMAGES[name]
    rng = random.Random(seed)  # noqa: S311  # no secret
    rewrite(root, damage.command, START, changed_rows(lambda rows: damage.change(rows, rng)))
    found = found_in(program, str(root))
    told = {(row["command"], row["check"]) for row in found}
    assert (damage.command, damage.check) in told, found
    assert all(START <= row["height"] <= 80 for row in found), found


def exported(program: Program, url: str, root: Path, *words: str) -> None:
    """Export into a folder."""
    ran = program("export", *words, "--to", str(root), "-w", "1", "-q", url=url)
    assert ran.code == 0, ran.err


def repair(program: Program, root: Path, findings: Path, url: str) -> int:
    """Remove the files that findings name, and export their tables and heights; return how many partitions that are."""
    written, places = 0, set()
    for row in map(json.loads, findings.read_text().splitlines()):
        if row["file"] is not None:
            Path(row["file"]).unlink(missing_ok=True)
        places.add((row["command"], row["height"] // 20 * 20, row["end"] or row["height"] // 20 * 20 + 20))
    for command, start, end in places:
        words = (*command.split(","), f"{start}:{-(-end // 20) * 20}", "--to", str(root), "-w", "1")
        ran = program("export", *words, url=url)
        assert ran.code == 0, ran.err
        written += sum(map(int, re.findall(r": ([0-9]+) partitions? written", ran.err)[-1:]))
    return written


def test_a_gap_is_one_finding_and_repaired_as_one(program: Program, server: Servers, tmp_path: Path) -> None:
    """A gap from within one partition, in several tables."""
    root, url, findings = tmp_path / "lake", server("--tip", "700"), tmp_path / "findings.jsonl"
    tables = ("blocks", "records")
    for heights in ("20:30", "60:120"):
        exported(program, url, root, *tables, heights, "--partition", "20")
    for table in tables:
        for start in (60, 80):
            file_of(root, table, start).unlink()
    assert program("verify", str(root), "-o", str(findings)).code == 6
    (found,) = [json.loads(row) for row in findings.read_text().splitlines()]
    assert (found["check"], found["command"], found["height"]) == ("missing", "blocks,records", 30)
    assert (found["expected"], found["end"]) == ("heights 30-99", 100)
    assert repair(program, root, findings, url) == 8
    assert program("verify", str(root)).code == 0


REPAIRED = ("cut", "other rows", "a gap", "other columns")


@pytest.mark.parametrize("name", some(REPAIRED, "cut", "a gap"))
def test_the_files_and_heights_of_findings_repair_a_data_set(
    name: str, program: Program, server: Servers, root: Path, tmp_path: Path
) -> None:
    """Whatever was done to the files: export fetches the partitions that the findings name, and no other."""
    findings, url = tmp_path / "findings.jsonl", server("--tip", "400")
    FILES[name][0](root)
    assert program("verify", str(root), "-o", str(findings)).code == 6
    places = {(row["command"], row["height"] // 20) for row in map(json.loads, findings.read_text().splitlines())}
    assert repair(program, root, findings, url) == len(places)
    ran = program("verify", str(root))
    assert (ran.code, ran.out) == (0, b""), ran.out


def test_a_partition_of_another_chain_is_one_finding(
    root: Path, program: Program, server: Servers, tmp_path: Path
) -> None:
    """Named once, not compared with other tables, and repaired without its neighbors."""
    other, findings = tmp_path / "other", tmp_path / "findings.jsonl"
    exported(program, server("--tip", "400", "--seed", "8"), other, "records", "40:60", "--partition", "20")
    replaced(root, other, START)
    assert program("verify", str(root), "-o", str(findings)).code == 6
    (found,) = map(json.loads, findings.read_text().splitlines())
    assert (found["height"], found["end"], found["command"], found["check"]) == (40, 60, "records", "link")
    assert found["found"].endswith(": a partition that links to neither neighbor")
    assert repair(program, root, findings, server("--tip", "400")) == 1
    assert program("verify", str(root)).code == 0


def replaced(root: Path, other: Path, start: int) -> None:
    """Put a partition of records from another data set in its place."""
    records(root, start).unlink()
    path = records(other, start)
    shutil.copy(path, root / path.relative_to(other))


def test_a_partition_between_two_of_another_chain(program: Program, server: Servers, tmp_path: Path) -> None:
    """By its links it may be of another chain itself, so it is not called one."""
    root, other = tmp_path / "lake", tmp_path / "other"
    for path, seed in ((root, ()), (other, ("--seed", "8"))):
        exported(program, server("--tip", "400", *seed), path, "records", "100:200", "--partition", "20")
    for start in (120, 160):
        replaced(root, other, start)
    found = found_in(program, str(root))
    assert [(one["height"], one["check"]) for one in found] == [(120, "link"), (140, "link"), (160, "link")]
    assert all(one["found"].endswith(": a partition that links to neither neighbor") for one in found)


def test_more_digits_than_any_height(program: Program) -> None:
    """They are read as a height, and refused."""
    assert "invalid height" in one_line(program("verify", "1" * 5000), 2)


def test_a_row_whose_height_only_the_service_knows(root: Path, program: Program, server: Servers) -> None:
    """Without the service it is missing, or its ownership row is too many: either file may be the wrong one."""
    heights = parquet.read_table(records(root))["height"].to_pylist()
    rewrite(root, "records", START, without(30))
    found = found_in(program, str(root))
    told = {(row["command"], row["check"]) for row in found}
    assert told == {("ownership", "unexpected"), ("records", "missing")}
    assert all((row["height"], row["end"], f"/{row['command']}/" in row["file"]) == (40, 60, True) for row in found)
    rows = found_in(program, str(root), "--full", url=server("--tip", "400"))
    (lost,) = (row for row in rows if row["check"] == "missing" and row["end"] is None)
    assert (lost["command"], lost["height"]) == ("records", heights[30])
