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

from harness.program import Program, Servers, one_line
from harness.search import some

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("numpy")

from chainq.heights.grid import PartitionSpec, partition_name  # noqa: E402
from chainq.lake.content import ContentHash  # noqa: E402  # it needs pyarrow
from chainq.stored.receipt import Receipt, entry_of, parse_entry  # noqa: E402

SEEDS = range(int(os.environ.get("CHAINQ_TEST_SEEDS", "1")))
COMMANDS = ("blocks", "records", "transitions", "ownership")
START = 40  # of the partition in the middle
Rng = random.Random
Damage = Callable[[Path, Rng], set[tuple[str, str]]]
"""Does something to a data set, and returns the commands and checks that must tell it."""


@pytest.fixture(scope="module")
def exported(program: Program, server: Servers) -> Path:
    """A data set of three partitions for each command."""
    root = program.home / "verified"
    url = server("--tip", "400")
    ran = program("export", *COMMANDS, "20:80", "--partition", "20", "--to", str(root), "-w", "1", "-q", url=url)
    assert ran.code == 0, ran.err
    return root


def file_of(root: Path, command: str, start: int = START) -> Path:
    return root / partition_name(command, start)


def receipts(root: Path, command: str, start: int = START) -> list[Path]:
    found = (root / "_chainq" / "receipts" / command).glob("*.json")
    return [path for path in found if path.name.startswith(f"{start:09d}-")]


def rewrite(root: Path, command: str, change: Callable[[Any], Any], *, forged: bool, start: int = START) -> None:
    """Write a partition with other rows; `forged`: its receipts agree with them."""
    path = file_of(root, command, start)
    table = parquet.read_table(path)
    metadata = parquet.read_metadata(path).metadata
    changed = change(table)
    sealed = metadata[b"chainq"]
    receipt = json.loads(sealed)
    if forged:
        content = ContentHash(pa)
        content.update(changed)
        receipt |= {"rows": changed.num_rows, "content": content.hexdigest()}
        sealed = json.dumps(receipt).encode()
    with parquet.ParquetWriter(path, changed.schema, compression="zstd") as writer:
        writer.write_table(changed)
        writer.add_key_value_metadata({"chainq": sealed})
    if forged:
        (old,) = receipts(root, command, start)
        old.unlink()
        entry = entry_of(Receipt(**receipt), path.stat().st_size)
        (root / entry.name).write_bytes(sealed)


def without(table: Any, row: int) -> Any:
    return pa.concat_tables([table[:row], table[row + 1 :]])


def with_value(table: Any, name: str, row: int, value: Any) -> Any:
    at = table.schema.get_field_index(name)
    values = table[name].to_pylist()
    values[row] = value
    return table.set_column(at, table.schema.field(at), pa.array(values, table.schema.field(at).type))


def with_type(table: Any, name: str) -> Any:
    at = table.schema.get_field_index(name)
    return table.set_column(at, name, table[name].cast(pa.int32()))


def other_text(text: str, rng: Rng) -> str:
    at = len(text) - 1 - rng.randrange(10)
    return text[:at] + ("q" if text[at] != "q" else "p") + text[at + 1 :]


def exchange(root: Path, one: Path, other: Path) -> None:
    one.rename(root / "aside")
    other.rename(one)
    (root / "aside").rename(other)


def row_in(root: Path, command: str, rng: Rng) -> int:
    return rng.randrange(1, parquet.read_metadata(file_of(root, command)).num_rows - 1)


# --- what can be done to a data set


def cut(root: Path, rng: Rng) -> set[tuple[str, str]]:
    path = file_of(root, "records")
    os.truncate(path, path.stat().st_size - rng.randrange(1, 1000))
    return {("records", "receipt"), ("records", "invalid")}


def rewritten(root: Path, rng: Rng) -> set[tuple[str, str]]:
    row = row_in(root, "records", rng)
    rewrite(root, "records", lambda table: with_value(table, "program_id", row, "other.aleo"), forged=False)
    return {("records", "content")}


def swapped(root: Path, _: Rng) -> set[tuple[str, str]]:
    exchange(root, file_of(root, "records"), file_of(root, "records", 60))
    return {("records", "misplaced")}


def forged_receipt(root: Path, _: Rng) -> set[tuple[str, str]]:
    (path,) = receipts(root, "records")
    entry = parse_entry(str(path.relative_to(root)))
    assert entry is not None
    path.rename(root / entry._replace(rows=entry.rows + 1).name)
    return {("records", "receipt")}


def no_receipt(root: Path, _: Rng) -> set[tuple[str, str]]:
    receipts(root, "records")[0].unlink()
    return {("records", "receipt")}


def two_receipts(root: Path, _: Rng) -> set[tuple[str, str]]:
    (path,) = receipts(root, "records")
    entry = parse_entry(str(path.relative_to(root)))
    assert entry is not None
    shutil.copy(path, root / entry._replace(calls=entry.calls + 1).name)
    return {("records", "receipt")}


def no_file(root: Path, _: Rng) -> set[tuple[str, str]]:
    file_of(root, "records").unlink()
    return {("records", "missing")}


def a_gap(root: Path, _: Rng) -> set[tuple[str, str]]:
    file_of(root, "records").unlink()
    receipts(root, "records")[0].unlink()
    return {("records", "missing")}


def off_the_grid(root: Path, _: Rng) -> set[tuple[str, str]]:
    path = file_of(root, "records", START + 10)
    path.parent.mkdir()
    shutil.copy(file_of(root, "records"), path)
    return {("records", "grid"), ("records", "receipt")}


def a_copy(root: Path, _: Rng) -> set[tuple[str, str]]:
    path = file_of(root, "records")
    shutil.copy(path, path.with_name("copy.parquet"))
    (root / "records" / "_temporary").write_bytes(b"no reader looks at this")
    return {("records", "foreign")}


def other_schema(root: Path, _: Rng) -> set[tuple[str, str]]:
    rewrite(root, "records", lambda table: table.drop(["function_name"]), forged=True)
    return {("records", "schema")}


def another_chain(root: Path, rng: Rng) -> set[tuple[str, str]]:
    def change(table: Any) -> Any:
        last = table.num_rows - 1
        return with_value(table, "block_hash", last, other_text(table["block_hash"][last].as_py(), rng))

    rewrite(root, "blocks", change, forged=True)
    return {("blocks", "receipt"), ("blocks", "checksum")}


def lost_block(root: Path, rng: Rng) -> set[tuple[str, str]]:
    row = row_in(root, "blocks", rng)
    rewrite(root, "blocks", lambda table: without(table, row), forged=True)
    return {("blocks", "missing")}


def doubled_block(root: Path, rng: Rng) -> set[tuple[str, str]]:
    row = row_in(root, "blocks", rng)
    rewrite(root, "blocks", lambda table: pa.concat_tables([table[: row + 1], table[row:]]), forged=True)
    return {("blocks", "doubled")}


def broken_link(root: Path, rng: Rng) -> set[tuple[str, str]]:
    row = row_in(root, "blocks", rng)
    rewrite(root, "blocks", lambda table: with_value(table, "previous_hash", row, "ab1"), forged=True)
    return {("blocks", "link")}


def earlier_time(root: Path, rng: Rng) -> set[tuple[str, str]]:
    row = row_in(root, "blocks", rng)
    rewrite(
        root, "blocks", lambda table: with_value(table, "timestamp", row, table["timestamp"][0].as_py()), forged=True
    )
    return {("records", "altered")} if row == 1 else {("blocks", "time")}


def lower_round(root: Path, rng: Rng) -> set[tuple[str, str]]:
    row = row_in(root, "blocks", rng)
    rewrite(root, "blocks", lambda table: with_value(table, "round", row, 1), forged=True)
    return {("blocks", "round")}


def lost_record(root: Path, rng: Rng) -> set[tuple[str, str]]:
    row = row_in(root, "records", rng)
    rewrite(root, "records", lambda table: without(table, row), forged=True)
    return {("records", "missing")}


def doubled_record(root: Path, rng: Rng) -> set[tuple[str, str]]:
    row = row_in(root, "records", rng)
    rewrite(root, "records", lambda table: pa.concat_tables([table[: row + 1], table[row:]]), forged=True)
    return {("records", "doubled")}


def altered_record(root: Path, rng: Rng) -> set[tuple[str, str]]:
    row = row_in(root, "records", rng)
    other = parquet.read_table(file_of(root, "records", 60))["block_hash"][0].as_py()
    rewrite(root, "records", lambda table: with_value(table, "block_hash", row, other), forged=True)
    return {("records", "altered")}


def damaged_ciphertext(root: Path, rng: Rng) -> set[tuple[str, str]]:
    row = row_in(root, "records", rng)

    def change(table: Any) -> Any:
        return with_value(table, "record_ciphertext", row, other_text(table["record_ciphertext"][row].as_py(), rng))

    rewrite(root, "records", change, forged=True)
    return {("records", "checksum")}


def not_text(root: Path, rng: Rng) -> set[tuple[str, str]]:
    row = row_in(root, "records", rng)

    def change(table: Any) -> Any:
        at = table.schema.get_field_index("program_id")
        values = [text.encode() for text in table["program_id"].to_pylist()]
        values[row] = b"\xcc" + values[row]
        return table.set_column(at, table.schema.field(at), pa.array(values, pa.binary()).view(pa.string()))

    rewrite(root, "records", change, forged=True)
    return {("records", "invalid")}


def lost_ownership(root: Path, rng: Rng) -> set[tuple[str, str]]:
    row = row_in(root, "ownership", rng)
    rewrite(root, "ownership", lambda table: without(table, row), forged=True)
    return {("ownership", "missing")}


def doubled_transition(root: Path, rng: Rng) -> set[tuple[str, str]]:
    row = row_in(root, "transitions", rng)
    rewrite(root, "transitions", lambda table: pa.concat_tables([table[: row + 1], table[row:]]), forged=True)
    return {("transitions", "doubled")}


def out_of_order(root: Path, _: Rng) -> set[tuple[str, str]]:
    rewrite(root, "transitions", lambda table: table.take(list(range(table.num_rows))[::-1]), forged=True)
    return {("transitions", "order")}


DAMAGES: list[Damage] = [
    *(cut, rewritten, swapped, forged_receipt, no_receipt, two_receipts, no_file, a_gap, off_the_grid, a_copy),
    *(another_chain, lost_block, doubled_block, broken_link, earlier_time, lower_round, lost_record, doubled_record),
    *(other_schema, altered_record, damaged_ciphertext, not_text, lost_ownership, doubled_transition, out_of_order),
]


KEPT: list[Damage] = [
    *(cut, rewritten, swapped, forged_receipt, no_receipt, no_file, a_gap, a_copy, another_chain),
    *(broken_link, lost_record, altered_record, other_schema, lost_ownership, out_of_order),
]
"""One or two for each check; the rest is found by the same ones."""
# Those that leave the file, its receipts or the listing in another state; the rest differ in values alone.
REPAIRED: list[Damage] = [cut, swapped, no_receipt, two_receipts, no_file, a_gap, other_schema, lost_record]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("damage", some(DAMAGES, *KEPT), ids=lambda damage: damage.__name__)
def test_whatever_was_done_to_the_files_is_found(
    damage: Damage, seed: int, exported: Path, program: Program, tmp_path: Path
) -> None:
    """Files that were cut, rewritten, swapped or forged: named by command, check and a height of the partition."""
    root = tmp_path / "lake"
    shutil.copytree(exported, root)
    due = damage(root, random.Random(seed))  # noqa: S311  # no secret
    ran = program("verify", str(root), "--jsonl")
    assert ran.code == 6, ran.err
    found = [json.loads(row) for row in ran.rows]
    assert {(row["command"], row["check"]) for row in found} >= due, found
    assert all(START <= row["height"] <= 80 for row in found), found


def test_a_data_set_as_it_was_written_has_no_finding(exported: Path, program: Program) -> None:
    """Nothing is wrong, nothing is printed, and no network is needed."""
    ran = program("verify", str(exported))
    assert (ran.code, ran.out) == (0, b"")
    assert ran.err.startswith("chainq: heights 20-79: no findings in 60 blocks, ")


def test_full_blocks_and_odd_values_are_verified(program: Program, server: Servers, tmp_path: Path) -> None:
    """Nested columns, nulls, numbers of 39 digits and blocks of all eras: the content is what the receipt says."""
    root, url = tmp_path / "lake", server()
    for heights in ("90:110", "4240:4245"):
        ran = program(
            "export", "full-blocks", "blocks", heights, "--partition", "5", "--to", str(root), "-w", "1", "-q", url=url
        )
        assert ran.code == 0, ran.err
    ran = program("verify", str(root), "--jsonl")
    found = [json.loads(row) for row in ran.rows]
    assert [(row["check"], row["command"], row["height"], row["end"]) for row in found] == [
        ("missing", "blocks,full-blocks", 110, 4240)
    ], "only what lies between the ranges"


def test_commands_may_end_at_different_heights(program: Program, server: Servers, tmp_path: Path) -> None:
    """What one command has beyond the end of another has nothing to be compared with; equal ends are one warning."""
    root, url = tmp_path / "lake", server("--tip", "400")
    for heights, commands in (
        ("20:50", ("blocks", "ownership")),
        ("20:58", ("records",)),
        ("20:54", ("transitions",)),
    ):
        ran = program("export", *commands, heights, "--partition", "20", "--to", str(root), "-w", "1", "-q", url=url)
        assert ran.code == 0, ran.err
    ran = program("verify", str(root))
    assert (ran.code, ran.out) == (0, b""), ran.out
    assert "blocks, ownership: heights 20-49 only; the data set spans heights 20-57" in ran.err
    assert "transitions: heights 20-53 only; the data set spans heights 20-57" in ran.err
    assert ran.err.count("warning") == 2


def test_a_gap_is_one_finding_and_repaired_as_one(program: Program, server: Servers, tmp_path: Path) -> None:
    """A gap from within one partition, in several tables, of files that are gone with and without their receipts."""
    root, url, findings = tmp_path / "lake", server("--tip", "700"), tmp_path / "findings.jsonl"
    tables = ("blocks", "records")
    for heights in ("20:30", "60:120"):
        ran = program("export", *tables, heights, "--partition", "20", "--to", str(root), "-w", "1", "-q", url=url)
        assert ran.code == 0, ran.err
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


def test_partitions_without_rows_are_verified(program: Program, server: Servers, tmp_path: Path) -> None:
    """Blocks without a record: a file with no row has a receipt like any other."""
    root = tmp_path / "lake"
    ran = program(
        "export", "records", "40001:40011", "--partition", "1", "--to", str(root), "-w", "1", "-q", url=server()
    )
    assert ran.code == 0, ran.err
    ran = program("verify", str(root))
    assert (ran.code, ran.out) == (0, b"")
    said = "not checked: the values in the tables (--full compares them with the service); not proved: that "
    assert ran.err.startswith(f"chainq: heights 40001-40010: no findings in 0 records; {said}")


def repair(program: Program, findings: Path, url: str) -> int:
    """Run the commands that findings name; return how many partitions they write."""
    rows = map(json.loads, findings.read_text().splitlines())
    written = 0
    for command in dict.fromkeys(row["repair"] for row in rows):
        ran = program(*shlex.split(command)[1:], "-w", "1", url=url)
        assert ran.code == 0, ran.err
        written += int(re.findall(r": ([0-9]+) partitions? written", ran.err)[-1])
    return written


@pytest.mark.parametrize("damage", some(REPAIRED, cut, no_receipt), ids=lambda one: one.__name__)
def test_the_commands_of_findings_repair_a_data_set(
    damage: Damage, program: Program, server: Servers, exported: Path, tmp_path: Path
) -> None:
    """Whatever was done to the files: export fetches the partitions that the findings name, and no other."""
    root, findings, url = tmp_path / "lake", tmp_path / "findings.jsonl", server("--tip", "400")
    shutil.copytree(exported, root)
    due = damage(root, random.Random(1))  # noqa: S311  # no secret
    assert program("verify", str(root), "-o", str(findings)).code == 6
    places = {(row["command"], row["height"] // 20) for row in map(json.loads, findings.read_text().splitlines())}
    assert repair(program, findings, url) == len(places), due
    ran = program("verify", str(root))
    assert (ran.code, ran.out) == (0, b""), ran.out


def test_the_command_of_a_finding_writes_its_partition_anew(
    program: Program, server: Servers, exported: Path, tmp_path: Path
) -> None:
    """`repair` is a command line; it writes a file that has a valid receipt too."""
    root = tmp_path / "lake"
    shutil.copytree(exported, root)
    rewritten(root, random.Random(1))  # noqa: S311  # no secret
    words = json.loads(program("verify", str(root), "--jsonl").rows[0])["repair"].split()
    assert words[:4] == ["chainq", "export", "records", "40:60"]
    assert program(*words[1:], "-w", "1", "-q", url=server("--tip", "400")).code == 0
    assert program("verify", str(root)).code == 0


@pytest.mark.parametrize("receipt", [True, False])
def test_a_partition_of_another_chain_is_one_finding(
    receipt: bool, exported: Path, program: Program, server: Servers, tmp_path: Path
) -> None:
    """With its receipt or without: named once, not compared with other tables, and repaired without its neighbors."""
    root, other, findings = tmp_path / "lake", tmp_path / "other", tmp_path / "findings.jsonl"
    shutil.copytree(exported, root)
    words = ("export", "records", "40:60", "--to", str(other), "--partition", "20", "-w", "1", "-q")
    assert program(*words, url=server("--tip", "400", "--seed", "8")).code == 0
    if receipt:
        for path in receipts(root, "records", START):
            path.unlink()
    for path in [file_of(other, "records", START), *(receipts(other, "records", START) if receipt else ())]:
        shutil.copy(path, root / path.relative_to(other))
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


def test_a_partition_between_two_of_another_chain(program: Program, server: Servers, tmp_path: Path) -> None:
    """By its links it may be of another chain itself, so it is not called one."""
    root, other = tmp_path / "lake", tmp_path / "other"
    for path, seed in ((root, ()), (other, ("--seed", "8"))):
        words = ("export", "records", "100:200", "--to", str(path), "--partition", "20", "-w", "1", "-q")
        assert program(*words, url=server("--tip", "400", *seed)).code == 0
    for start in (120, 160):
        for path in receipts(root, "records", start):
            path.unlink()
        for path in [file_of(other, "records", start), *receipts(other, "records", start)]:
            shutil.copy(path, root / path.relative_to(other))
    ran = program("verify", str(root), "--jsonl")
    assert "; not compared: records of heights 120-179; " in ran.err
    found = [json.loads(row) for row in ran.rows]
    assert [(one["height"], one["check"]) for one in found] == [(120, "link"), (140, "link"), (160, "link")]
    assert all(one["found"].endswith(": a partition that links to neither neighbor") for one in found)


def test_a_link_that_is_broken_in_all_tables_is_one_finding(program: Program, server: Servers, tmp_path: Path) -> None:
    """One block that names another one before it, at an edge of partitions: named once, and repaired in each table."""
    root, findings = tmp_path / "lake", tmp_path / "findings.jsonl"
    words = ("export", "chain", "--to", str(root), "190:210", "--partition", "10", "-w", "1", "-q")
    assert program(*words, url=server("--tip", "400", "--fault", "link:200")).code == 6
    assert program("verify", str(root), "-o", str(findings)).code == 6
    (found,) = map(json.loads, findings.read_text().splitlines())
    assert (found["height"], found["check"]) == (200, "link")
    tables = {path.parts[-3] for path in root.glob("*/*/*.parquet")}
    assert {*found["command"].split(",")} == tables >= {"blocks", "transactions", "calls"}
    assert repair(program, findings, server("--tip", "400")) == len(tables)
    assert program("verify", str(root)).code == 0


def test_altered_rows_are_one_finding_and_full_names_them(program: Program, exported: Path, tmp_path: Path) -> None:
    """Rows that are not those of the receipt: the size of the file says nothing more; the service shows which."""
    root = tmp_path / "lake"
    shutil.copytree(exported, root)
    rewritten(root, random.Random(1))  # noqa: S311  # no secret
    ran = program("verify", str(root), "--jsonl")
    ((check, height),) = [(row["check"], row["height"]) for row in map(json.loads, ran.rows)]
    assert (check, height) == ("content", START)
    assert "; run the commands in repair, " in ran.err


def test_an_export_that_has_written_nothing(exported: Path, program: Program, tmp_path: Path) -> None:
    """It is incomplete: a check that runs by itself must not take it for good."""
    shutil.copy(exported / "chainq.json", tmp_path)
    line = one_line(program("verify", str(tmp_path)), 6)
    assert "has no partitions: no export has written any; chainq export blocks " in line


def test_a_folder_whose_name_looks_like_heights(exported: Path, program: Program, server: Servers) -> None:
    """One that is no range is a data set; one that is a range too is read as heights, with a warning."""
    for name in ("k9", "2024"):
        (program.home / name).symlink_to(exported)
    assert "no findings in 60 blocks" in program("verify", "k9").err
    ran = program("verify", "2024", url=server("--tip", "400"))
    assert "2024 is read as heights; for the file or folder of that name use ./2024" in ran.err
    assert "no findings in 60 blocks" in program("verify", "./2024").err
    assert "the highest is" in one_line(program("verify", "1" * 5000), 2)


def test_a_file_off_the_grid_is_named(exported: Path, program: Program, tmp_path: Path) -> None:
    """Its path is in a finding with the command that removes it, and no partition is to be written again."""
    root = tmp_path / "lake"
    shutil.copytree(exported, root)
    off_the_grid(root, random.Random(0))  # noqa: S311  # no secret
    found = [json.loads(row) for row in program("verify", str(root), "--jsonl").rows]
    assert {row["height"] for row in found} == {START + 10}
    removes = f"rm -rf {root}/records/start=000000050"
    assert {row["check"]: row["repair"] for row in found} == {"grid": removes, "receipt": None}
    (row,) = [row for row in found if row["check"] == "grid"]
    assert row["found"].endswith("in records/start=000000050/data.parquet")


@pytest.mark.parametrize(("start", "strays"), [(80, ()), (160, (160,)), (0, ()), (120, (120, 140))])
def test_a_partition_without_a_receipt_far_from_all_others(
    start: int, strays: tuple[int, ...], exported: Path, program: Program, server: Servers, tmp_path: Path
) -> None:
    """A file that no export left there is to be removed; one that adjoins the partitions, to be written again."""
    root, other, url = tmp_path / "lake", tmp_path / "other", server("--tip", "900")
    shutil.copytree(exported, root)
    words = ("records", f"{start}:{start + 20 * max(1, len(strays))}", "--partition", "20", "-w", "1", "-q")
    assert program("export", *words, "--to", str(other), url=url).code == 0
    shutil.copytree(other / "records", root / "records", dirs_exist_ok=True)
    ran = program("verify", str(root), "--jsonl")
    found = [json.loads(row) for row in ran.rows]
    assert {row["check"] for row in found} == {"receipt"}, ran.err
    repairs = [f"rm -rf {root}/records/start={at:09d}" for at in strays]
    assert [row["repair"] for row in found] == (
        repairs or [f"chainq export records {start}:{start + 20} --to {root} --repair all"]
    )
    assert ("heights 20-79: " in ran.err) == bool(strays)


@pytest.mark.parametrize(("command", "start"), [("records", 60), ("ownership", START)])
def test_files_that_changed_places_are_one_finding_each(
    command: str, start: int, exported: Path, program: Program, tmp_path: Path
) -> None:
    """It says which file is there, and neither their rows nor the other commands are blamed for it."""
    root = tmp_path / "lake"
    shutil.copytree(exported, root)
    exchange(root, file_of(root, "records"), file_of(root, command, start))
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
    exported: Path, program: Program, server: Servers, tmp_path: Path
) -> None:
    """Without the service it may be anywhere in its partition."""
    root, heights = tmp_path / "lake", parquet.read_table(file_of(exported, "records"))["height"].to_pylist()
    shutil.copytree(exported, root)
    rewrite(root, "records", lambda table: without(table, 30), forged=True)
    for words, due in ((), (START, START + 20)), (("--full",), (heights[30], None)):
        ran = program("verify", str(root), "--jsonl", *words, url=server("--tip", "400"))
        rows = [json.loads(row) for row in ran.rows]
        (found,) = (row for row in rows if row["check"] == "missing")
        assert (found["height"], found["end"]) == due, ran.err


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
    change: Callable[[Any], Any], expected: str | None, found: str | None, exported: Path, program: Program
) -> None:
    """And its type, or its position."""
    root = program.home / "schema"
    shutil.copytree(exported, root, dirs_exist_ok=True)
    rewrite(root, "records", change, forged=False)
    rows = map(json.loads, program("verify", str(root), "--jsonl").rows)
    (row,) = (row for row in rows if row["check"] == "schema")
    assert [(row["expected"] or "").split("position")[0], (row["found"] or "").split("position")[0]] == [
        expected or "",
        found or "",
    ]


def test_what_a_receipt_says_is_expected(exported: Path, program: Program, tmp_path: Path) -> None:
    """And what its file has is found."""
    root = tmp_path / "lake"
    shutil.copytree(exported, root)
    rewrite(root, "blocks", lambda table: without(table, 19), forged=False)
    advice = "run the commands in repair, which write these partitions again (--jsonl shows them)\n"
    assert program("verify", str(root)).err.endswith(advice)
    shutil.rmtree(root / "_chainq")
    assert "; its receipts are missing: copy the folder _chainq, too, or " in program("verify", str(root)).err
    found = [json.loads(row) for row in program("verify", str(root), "--jsonl").rows]
    assert ("rows: 20", "rows: 19") in [(row["expected"], row["found"]) for row in found]


def test_workers_find_the_same(exported: Path, program: Program, tmp_path: Path) -> None:
    """In the same order, whatever the number of processes."""
    root = tmp_path / "lake"
    shutil.copytree(exported, root)
    rng = random.Random(0)  # noqa: S311  # no secret
    rewritten(root, rng)
    cut_file = file_of(root, "blocks", 60)
    os.truncate(cut_file, cut_file.stat().st_size - 9)
    one, two = (program("verify", str(root), "--jsonl", "-w", workers) for workers in "12")
    assert one.code == two.code == 6
    assert one.out == two.out != b""
    assert "--workers needs --hashes, or a data set" in one_line(program("verify", "1:5", "-w", "2"), 2)


def test_the_name_of_a_partition_is_the_programs(exported: Path) -> None:
    """What the damages rest on."""
    assert file_of(exported, "records").exists()
    assert PartitionSpec("records", START, START + 20).name == partition_name("records", START)


@pytest.mark.parametrize("size", ["1", "10", "100"])
def test_faults_of_blocks_are_found_at_any_partition_size(
    program: Program, server: Servers, size: str, tmp_path: Path
) -> None:
    """Times and rounds rise across partitions, and transactions are numbered, as `verify` of the service finds."""
    plants = {("time", 110), ("time", 115), ("round", 120), ("count", 129)}
    words = (word for kind, height in sorted(plants) for word in ("--fault", f"{kind}:{height}"))
    url, lake = server("--tip", "400", *words), str(tmp_path / "lake")
    ran = program("export", "chain", "105:131", "--partition", size, "--to", lake, "-w", "1", "-q", url=url)
    assert ran.code == 0, ran.err
    kinds = {"time", "round", "count"}
    rows = [json.loads(row) for row in program("verify", lake, "--jsonl").rows]
    found = {(row["check"], row["height"]) for row in rows}
    other = map(json.loads, program("verify", "105:131", "--jsonl", url=url).rows)
    assert {one for one in found if one[0] in kinds} == plants
    assert {row["command"] for row in rows if row["check"] == "count"} == {"full-blocks", "transactions"}
    assert {(row["check"], row["height"]) for row in other if row["check"] in kinds} == plants


@pytest.mark.parametrize("commands", [("records",), ("records", "ownership", "transitions"), ("records", "chain")])
def test_rows_are_compared_with_the_full_blocks_of_the_same_export(
    program: Program, server: Servers, commands: tuple[str, ...]
) -> None:
    """A record that the service lost is a finding if the export has its full block, and the verdict says what was
    compared."""
    url, root = server("--tip", "330", "--fault", "lost-record:55"), program.home / "-".join(commands)
    exported = ["export", *commands, "20:60", "--partition", "20", "--to", str(root), "-w", "1", "-q"]
    assert program(*exported, url=url).code == 0
    if "chain" not in commands:
        line = one_line(program("verify", str(root)), 6 if "ownership" in commands else 0)
        assert "; not proved: that the service sent all " in line
        assert "chainq verify 20:60 --url URL compares" in line
        own = one_line(program("verify", "20:60", url=str(root)), 6)
        assert own.endswith(f"; chainq verify {root} verifies an export without them\n")
        assert program(*exported, "full-blocks", url=url).code == 0
    ran = program("verify", str(root), "--jsonl")
    (found,) = map(json.loads, ran.out.splitlines())
    assert (ran.code, found["command"], found["check"], found["height"]) == (6, "records", "missing", 55)
    assert found["expected"].startswith("record au1")
    assert f"; compared with full blocks: {', '.join(sorted({*commands} - {'chain'}))} (which rows exist, " in ran.err


def test_rows_that_no_full_block_contains_are_unexpected(program: Program, server: Servers) -> None:
    """A record and a transition of no full block are findings of their own commands."""
    url, root = server("--tip", "60"), program.home / "strays"
    commands = ("records", "transitions", "full-blocks")
    ran = program("export", *commands, "30:40", "--partition", "10", "--to", str(root), "-w", "1", "-q", url=url)
    assert ran.code == 0, ran.err

    def strayed(table: Any) -> Any:
        ids = ["au1stray", *table["transition_id"].to_pylist()[1:]]
        return table.set_column(table.schema.get_field_index("transition_id"), "transition_id", pa.array(ids))

    for command in commands[:2]:
        rewrite(root, command, strayed, forged=True, start=30)
    found = list(map(json.loads, program("verify", str(root), "--jsonl").out.splitlines()))
    unexpected = {(one["command"], one["found"].split()[1][:8]) for one in found if one["check"] == "unexpected"}
    assert unexpected == {("records", "au1stray"), ("transitions", "au1stray")}, found
