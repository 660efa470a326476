"""`chainq verify DEST`: whatever was done to the files of an export is found, by height and kind, without a network."""

import json
import os
import random
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.damages import DAMAGES, changed_rows, file_of, other_text, receipts, rewrite
from harness.exports import Exports
from harness.program import Program, Servers, one_line
from harness.search import some

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("numpy")

from chainq.heights.grid import partition_name  # noqa: E402
from chainq.stored.receipt import parse_entry  # noqa: E402

SEEDS = range(int(os.environ.get("CHAINQ_TEST_SEEDS", "1")))
START = 40  # of the partition in the middle
RNG = random.Random(1)  # noqa: S311  # no secret


@pytest.fixture
def root(exports: Exports, tmp_path: Path) -> Path:
    """A data set of three partitions for each command."""
    return exports.copy("verified", tmp_path / "lake")


def records(root: Path, start: int = START) -> Path:
    return file_of(root, "records", start)


def receipt(root: Path) -> Path:
    (path,) = receipts(root, "records", START)
    return path


def renamed(path: Path, root: Path, **change: int) -> Path:
    """The name of a receipt that says something else."""
    entry = parse_entry(str(path.relative_to(root)))
    assert entry is not None
    return root / entry._replace(**{name: getattr(entry, name) + more for name, more in change.items()}).name


def without(row: int) -> Callable[[Any], Any]:
    return changed_rows(lambda rows: rows.pop(row))


def with_type(table: Any, name: str) -> Any:
    return table.set_column(table.schema.get_field_index(name), name, table[name].cast(pa.int32()))


def exchange(root: Path, one: Path, other: Path) -> None:
    one.rename(root / "aside")
    other.rename(one)
    (root / "aside").rename(other)


def other_rows(rows: list[dict[str, Any]]) -> None:
    rows[7]["program_id"] = "other.aleo"


def other_chain(rows: list[dict[str, Any]]) -> None:
    rows[-1]["block_hash"] = other_text(rows[-1]["block_hash"], RNG)


def not_text(table: Any) -> Any:
    at = table.schema.get_field_index("program_id")
    values = [b"\xcc" + text.encode() for text in table["program_id"].to_pylist()]
    return table.set_column(at, table.schema.field(at), pa.array(values, pa.binary()).view(pa.string()))


def a_gap(root: Path) -> None:
    for path in (records(root), receipt(root)):
        path.unlink()


def off_the_grid(root: Path) -> None:
    path = records(root, START + 10)
    path.parent.mkdir()
    shutil.copy(records(root), path)


def a_copy(root: Path) -> None:
    shutil.copy(records(root), records(root).with_name("copy.parquet"))
    (root / "records" / "_temporary").write_bytes(b"no reader looks at this")


FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut": (lambda root: os.truncate(records(root), records(root).stat().st_size - 500), "records: receipt invalid"),
    "other rows": (
        lambda root: rewrite(root, "records", START, changed_rows(other_rows), forged=False),
        "records: content",
    ),
    "changed places": (lambda root: exchange(root, records(root), records(root, 60)), "records: misplaced"),
    "forged receipt": (lambda root: receipt(root).rename(renamed(receipt(root), root, rows=1)), "records: receipt"),
    "no receipt": (lambda root: receipt(root).unlink(), "records: receipt"),
    "two receipts": (
        lambda root: shutil.copy(receipt(root), renamed(receipt(root), root, calls=1)),
        "records: receipt",
    ),
    "no file": (lambda root: records(root).unlink(), "records: missing"),
    "a gap": (a_gap, "records: missing"),
    "off the grid": (off_the_grid, "records: grid receipt"),
    "a copy": (a_copy, "records: foreign"),
    "other columns": (
        lambda root: rewrite(root, "records", START, lambda table: table.drop(["function_name"])),
        "records: schema",
    ),
    "another chain": (
        lambda root: rewrite(root, "blocks", START, changed_rows(other_chain)),
        "blocks: receipt checksum",
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


@pytest.mark.parametrize("name", some(FILES, *(name for name in FILES if name not in ("two receipts", "not text"))))
def test_whatever_was_done_to_the_files_is_found(name: str, root: Path, program: Program) -> None:
    """Files that were cut, rewritten, moved or forged: named by command, check and a height of the partition."""
    damage, due = FILES[name]
    damage(root)
    found = found_in(program, str(root))
    command, *checks = re.split("[: ]+", due)
    assert {(row["command"], row["check"]) for row in found} >= {(command, check) for check in checks}, found
    assert all(START <= row["height"] <= 80 for row in found), found
    assert name != "other rows" or len(found) == 1, "rows that are not those of the receipt are one finding"


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
    assert (damage.command, damage.check) in {(row["command"], row["check"]) for row in found}, found
    assert all(START <= row["height"] <= 80 for row in found), found


def test_a_data_set_as_it_was_written_has_no_finding(exports: Exports, program: Program) -> None:
    """Nothing is wrong, nothing is printed, and no network is needed."""
    ran = program("verify", str(exports("verified")))
    assert (ran.code, ran.out) == (0, b"")
    assert ran.err.startswith("chainq: heights 20-79: no findings in 60 blocks, ")


def test_what_a_receipt_says_is_expected(root: Path, program: Program) -> None:
    """And what its file has is found."""
    rewrite(root, "blocks", START, without(19), forged=False)
    advice = "run the commands in repair, which write these partitions again (--jsonl shows them)\n"
    assert program("verify", str(root)).err.endswith(advice)
    shutil.rmtree(root / "_chainq")
    assert "; its receipts are missing: copy the folder _chainq, too, or " in program("verify", str(root)).err
    assert ("rows: 20", "rows: 19") in [(row["expected"], row["found"]) for row in found_in(program, str(root))]


def exported(program: Program, url: str, root: Path, *words: str) -> None:
    """Export into a folder."""
    ran = program("export", *words, "--to", str(root), "-w", "1", "-q", url=url)
    assert ran.code == 0, ran.err


def repair(program: Program, findings: Path, url: str) -> int:
    """Run the commands that findings name; return how many partitions they write."""
    rows = map(json.loads, findings.read_text().splitlines())
    written = 0
    for command in dict.fromkeys(row["repair"] for row in rows):
        ran = program(*shlex.split(command)[1:], "-w", "1", url=url)
        assert ran.code == 0, ran.err
        written += int(re.findall(r": ([0-9]+) partitions? written", ran.err)[-1])
    return written


def test_a_gap_is_one_finding_and_repaired_as_one(program: Program, server: Servers, tmp_path: Path) -> None:
    """A gap from within one partition, in several tables, of files that are gone with and without their receipts."""
    root, url, findings = tmp_path / "lake", server("--tip", "700"), tmp_path / "findings.jsonl"
    tables = ("blocks", "records")
    for heights in ("20:30", "60:120"):
        exported(program, url, root, *tables, heights, "--partition", "20")
    for table in tables:
        file_of(root, table, 60).unlink()
        for path in (file_of(root, table, 80), *receipts(root, table, 80)):
            path.unlink()
    assert program("verify", str(root), "-o", str(findings)).code == 6
    (found,) = [json.loads(row) for row in findings.read_text().splitlines()]
    assert (found["check"], found["command"], found["height"]) == ("missing", "blocks,records", 30)
    assert (found["expected"], found["end"]) == ("heights 30-99", 100)
    assert found["repair"].startswith("chainq export blocks records 20:100 --to ")
    assert repair(program, findings, url) == 8
    assert program("verify", str(root)).code == 0


# Those that leave the file, its receipts or the listing in another state; the rest differ in values alone.
REPAIRED = ("cut", "other rows", "changed places", "no receipt", "two receipts", "no file", "a gap", "other columns")


@pytest.mark.parametrize("name", some(REPAIRED, "cut", "other rows", "no receipt"))
def test_the_commands_of_findings_repair_a_data_set(
    name: str, program: Program, server: Servers, root: Path, tmp_path: Path
) -> None:
    """Whatever was done to the files: export fetches the partitions that the findings name, and no other."""
    findings, url = tmp_path / "findings.jsonl", server("--tip", "400")
    FILES[name][0](root)
    assert program("verify", str(root), "-o", str(findings)).code == 6
    places = {(row["command"], row["height"] // 20) for row in map(json.loads, findings.read_text().splitlines())}
    assert repair(program, findings, url) == len(places)
    ran = program("verify", str(root))
    assert (ran.code, ran.out) == (0, b""), ran.out


@pytest.mark.parametrize("receipt", [True, False])
def test_a_partition_of_another_chain_is_one_finding(
    receipt: bool, root: Path, program: Program, server: Servers, tmp_path: Path
) -> None:
    """With its receipt or without: named once, not compared with other tables, and repaired without its neighbors."""
    other, findings = tmp_path / "other", tmp_path / "findings.jsonl"
    exported(program, server("--tip", "400", "--seed", "8"), other, "records", "40:60", "--partition", "20")
    replaced(root, other, START, receipt=receipt)
    ran = program("verify", str(root), "-o", str(findings))
    assert "; not compared: records of heights 40-59; " in ran.err
    assert "--full shows which rows" not in ran.err
    (found,) = map(json.loads, findings.read_text().splitlines())
    check = "link" if receipt else "receipt"
    assert (found["height"], found["end"], found["command"], found["check"]) == (40, 60, "records", check)
    assert found["found"].endswith(
        ": a partition that links to neither neighbor" if receipt else ": a file of another chain"
    )
    assert repair(program, findings, server("--tip", "400")) == 1
    assert program("verify", str(root)).code == 0


def replaced(root: Path, other: Path, start: int, *, receipt: bool = True) -> None:
    """Put a partition of records from another data set in its place, and perhaps its receipt."""
    for path in receipts(root, "records", start) if receipt else ():
        path.unlink()
    for path in [records(other, start), *(receipts(other, "records", start) if receipt else ())]:
        shutil.copy(path, root / path.relative_to(other))


def test_a_partition_between_two_of_another_chain(program: Program, server: Servers, tmp_path: Path) -> None:
    """By its links it may be of another chain itself, so it is not called one."""
    root, other = tmp_path / "lake", tmp_path / "other"
    for path, seed in ((root, ()), (other, ("--seed", "8"))):
        exported(program, server("--tip", "400", *seed), path, "records", "100:200", "--partition", "20")
    for start in (120, 160):
        replaced(root, other, start)
    assert "; not compared: records of heights 120-179; " in program("verify", str(root)).err
    found = found_in(program, str(root))
    assert [(one["height"], one["check"]) for one in found] == [(120, "link"), (140, "link"), (160, "link")]
    assert all(one["found"].endswith(": a partition that links to neither neighbor") for one in found)


def test_more_digits_than_any_height(program: Program) -> None:
    """They are read as a height, and refused."""
    assert "the highest is" in one_line(program("verify", "1" * 5000), 2)


@pytest.mark.parametrize(("start", "strays"), [(80, ()), (160, (160,)), (0, ()), (120, (120, 140))])
def test_a_partition_without_a_receipt_far_from_all_others(
    start: int, strays: tuple[int, ...], root: Path, program: Program, server: Servers, tmp_path: Path
) -> None:
    """A file that no export left there is to be removed; one that adjoins the partitions, to be written again."""
    other = tmp_path / "other"
    heights = f"{start}:{start + 20 * max(1, len(strays))}"
    exported(program, server("--tip", "900"), other, "records", heights, "--partition", "20")
    shutil.copytree(other / "records", root / "records", dirs_exist_ok=True)
    found = found_in(program, str(root))
    assert {row["check"] for row in found} == {"receipt"}
    repairs = [f"rm -rf {root}/records/start={at:09d}" for at in strays]
    assert [row["repair"] for row in found] == (
        repairs or [f"chainq export records {start}:{start + 20} --to {root} --repair all"]
    )
    assert ("heights 20-79: " in program("verify", str(root)).err) == bool(strays)


@pytest.mark.parametrize(("command", "start"), [("records", 60), ("ownership", START)])
def test_files_that_changed_places_are_one_finding_each(command: str, start: int, root: Path, program: Program) -> None:
    """It says which file is there, and neither their rows nor the other commands are blamed for it."""
    exchange(root, records(root), file_of(root, command, start))
    ran = program("verify", str(root), "--jsonl")
    found = [json.loads(row) for row in ran.rows]
    one, other = partition_name("records", START), partition_name(command, start)
    compared = re.search("(?<!not )compared with full blocks: ([^;(]*)", ran.err)
    assert "records" not in (compared[1] if compared else ""), "not all were read"
    assert {(row["command"], row["height"], row["check"], row["expected"], row["found"]) for row in found} == {
        ("records", START, "misplaced", one, other),
        (command, start, "misplaced", other, one),
    }
    assert len(found) == 2


def test_a_row_whose_height_only_the_service_knows_is_one_finding(
    root: Path, program: Program, server: Servers
) -> None:
    """Without the service it may be anywhere in its partition."""
    heights = parquet.read_table(records(root))["height"].to_pylist()
    rewrite(root, "records", START, without(30))
    for words, due in ((), (START, START + 20)), (("--full",), (heights[30], None)):
        rows = found_in(program, str(root), *words, url=server("--tip", "400"))
        (found,) = (row for row in rows if row["check"] == "missing")
        assert (found["height"], found["end"]) == due


@pytest.mark.parametrize("command", ["records", "ownership", "transitions"])
def test_a_row_that_an_export_lacks_is_found_with_a_forged_receipt(
    command: str, root: Path, program: Program, server: Servers
) -> None:
    """A partition that a service answered with fewer rows, and all that is compared without a network agrees."""
    for other in {"blocks", "records", "ownership", "transitions"} - {command}:
        shutil.rmtree(root / other)
    shutil.rmtree(root / "_chainq")
    rewrite(root, command, START, without(5), forged=False)
    found = found_in(program, str(root), "--full", url=server("--tip", "400"))
    (missing,) = (row for row in found if row["check"] == "missing")
    assert (missing["command"], START <= missing["height"] < START + 20) == (command, True)


@pytest.mark.parametrize(("name", "checks"), [("cut", {"receipt", "invalid"}), ("other columns", {"schema"})])
def test_a_partition_that_cannot_be_read_is_compared_as_far_as_it_can(
    name: str, checks: set[str], root: Path, program: Program, server: Servers
) -> None:
    """A finding of its own, and the others, or its other columns, are compared all the same."""
    FILES[name][0](root)
    ran = program("verify", str(root), "--full", "--jsonl", url=server("--tip", "400"))
    assert ran.code == 6
    assert {(row["check"], row["height"]) for row in map(json.loads, ran.rows)} == {(one, START) for one in checks}
    assert "all 60 heights compared" in ran.err


def test_fields_that_no_column_holds_are_compared(program: Program, server: Servers, root: Path) -> None:
    """What the column extra of an export holds; row ids are not compared, and the verdict says so."""
    url = server("--tip", "400")
    assert "compared with the service, except id" in program("verify", str(root), "--full", url=url).err

    def more(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row["extra"] = '{"foo":"x"}'

    rewrite(root, "blocks", START, changed_rows(more))
    found = found_in(program, str(root), "--full", url=url)
    assert ("altered", "foo=x") in {(row["check"], row["found"]) for row in found}


@pytest.mark.parametrize(
    ("change", "expected", "found"),
    [
        (lambda table: table.drop(["function_name"]), "column function_name: string", None),
        (lambda table: table.append_column("a", table["height"]), None, "column a: int64"),
        (lambda table: table.select(table.column_names[::-1]), "column record_ciphertext in ", "column extra in "),
        (lambda table: with_type(table, "output_index"), "column output_index: int64", "column output_index: int32"),
    ],
)
def test_a_finding_about_a_schema_names_the_column(
    change: Callable[[Any], Any], expected: str | None, found: str | None, root: Path, program: Program
) -> None:
    """And its type, or its position."""
    rewrite(root, "records", START, change, forged=False)
    (row,) = (row for row in found_in(program, str(root)) if row["check"] == "schema")
    assert [(row["expected"] or "").split("position")[0], (row["found"] or "").split("position")[0]] == [
        expected or "",
        found or "",
    ]


def test_workers_find_the_same(root: Path, program: Program) -> None:
    """In the same order, whatever the number of processes."""
    FILES["other rows"][0](root)
    path = file_of(root, "blocks", 60)
    os.truncate(path, path.stat().st_size - 9)
    one, two = (program("verify", str(root), "--jsonl", "-w", workers) for workers in "12")
    assert one.code == two.code == 6
    assert one.out == two.out != b""


def test_rows_that_no_full_block_contains_are_unexpected(program: Program, server: Servers, tmp_path: Path) -> None:
    """A record and a transition of no full block are findings of their own commands."""
    commands = ("records", "transitions", "full-blocks")
    exported(program, server("--tip", "60"), tmp_path / "lake", *commands, "30:40", "--partition", "10")

    def strayed(rows: list[dict[str, Any]]) -> None:
        rows[0]["transition_id"] = "au1stray"

    for command in commands[:2]:
        rewrite(tmp_path / "lake", command, 30, changed_rows(strayed))
    found = found_in(program, str(tmp_path / "lake"))
    unexpected = {(one["command"], one["found"].split()[1][:8]) for one in found if one["check"] == "unexpected"}
    assert unexpected == {("records", "au1stray"), ("transitions", "au1stray")}, found
