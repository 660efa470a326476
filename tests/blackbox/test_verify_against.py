"""`chainq verify DEST|FILE --full` and `--sample N`: files against a service, row by row."""

import csv
import json
import shutil
from itertools import product
from pathlib import Path

import pytest

from harness.program import Program, Servers, one_line
from harness.search import some

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("numpy")

COMMANDS = ("blocks", "full-blocks", "records", "transitions", "ownership")
LAKE = ("blocks", "records", "transitions", "ownership")
HEIGHTS = ("--start", "100", "--end", "160")


@pytest.fixture(scope="module")
def url(server: Servers) -> str:
    return server("--tip", "400")


@pytest.fixture(scope="module")
def lake(program: Program, url: str) -> Path:
    root = program.home / "compared"
    ran = program("export", *LAKE, "100:160", "--partition", "20", "--to", str(root), "-w", "1", "-q", url=url)
    assert ran.code == 0, ran.err
    return root


@pytest.mark.parametrize(
    ("command", "kind"),
    some(
        product(COMMANDS, ["jsonl", "csv", "parquet"]),
        *((command, "parquet") for command in COMMANDS if command != "blocks"),
        *(("blocks", "csv"), ("full-blocks", "jsonl")),
        several=True,
    ),
)
def test_a_file_as_it_was_written_is_that_of_the_service(
    command: str, kind: str, program: Program, url: str, tmp_path: Path
) -> None:
    """All rows, however the format writes them."""
    path = tmp_path / f"rows.{kind}"
    heights = "100:110" if command == "full-blocks" else "100:160"
    assert program(command, heights, "-o", str(path), url=url).code == 0
    start, end = heights.split(":")
    ran = program("verify", str(path), "--full", "--start", start, "--end", end, url=url)
    assert (ran.code, ran.out) == (0, b""), ran.out
    assert f"all {int(end) - 100} heights compared with the service" in ran.err
    assert ("not checked: the order of rows" in ran.err) == (command == "ownership")  # whose rows have no heights
    assert "not compared" not in ran.err


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_columns_that_a_file_lacks_are_named(kind: str, program: Program, url: str, tmp_path: Path) -> None:
    """What no row has cannot differ, so the verdict says that it was not compared."""
    path, columns = tmp_path / f"rows.{kind}", "id,height,transition_id,output_index,record_ciphertext,block_hash"
    assert program("records", *HEIGHTS, "--columns", columns, "-o", str(path), url=url).code == 0
    ran = program("verify", str(path), "--full", *HEIGHTS, url=url)
    assert (ran.code, ran.out) == (0, b""), ran.out
    lacks = "program_id, timestamp, transaction_id, function_name\n"
    assert ran.err.endswith(f"with the service, except id; not compared, because the file lacks them: {lacks}")


def test_rows_that_a_file_lacks_has_besides_and_has_otherwise(program: Program, url: str, tmp_path: Path) -> None:
    """What no file shows by itself: a record that is missing, one of another program, one that is not the chain's."""
    path = tmp_path / "records.csv"
    assert program("records", *HEIGHTS, "-o", str(path), url=url).code == 0
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    lost = rows.pop(40)
    rows[60]["program_id"] = "other.aleo"
    rows.insert(80, rows[80] | {"transition_id": rows[10]["transition_id"], "output_index": "99"})
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    ran = program("verify", str(path), "--full", *HEIGHTS, "--jsonl", url=url)
    assert ran.code == 6
    found = {(row["check"], row["height"]): row for row in map(json.loads, ran.rows)}
    assert set(found) == {
        ("missing", int(lost["height"])),
        ("altered", int(rows[60]["height"])),
        ("unexpected", int(rows[80]["height"])),
    }
    altered = found["altered", int(rows[60]["height"])]
    assert (altered["expected"].split(": ")[1].startswith("program_id="), altered["found"]) == (
        True,
        "program_id=other.aleo",
    )
    span = f"--start {altered['height']} --end {altered['height'] + 1}"
    assert altered["repair"] == f"chainq records {span} --url {url}"
    assert "altered ID" not in ran.err


def test_an_altered_id_is_told(program: Program, url: str) -> None:
    """Two findings and one row: it is missing by its own ID, and unexpected by the other."""
    words = ("--start", "100", "--end", "110")
    assert program("records", *words, "-o", "records.jsonl", url=url).code == 0
    path = program.home / "records.jsonl"
    path.write_text(path.read_text().replace('"output_index":0', '"output_index":77', 1))
    ran = program("verify", "records.jsonl", "--full", *words, "--jsonl", url=url)
    first, second = map(json.loads, ran.rows)
    assert {first["check"], second["check"]} == {"missing", "unexpected"}
    assert f"; at height {first['height']} a missing and an unexpected row may be one with an altered ID;" in ran.err


CHANGES = {
    ".foo": ("full-blocks", "jsonl", 1),
    ".header.metadata.round": ("full-blocks", "json", 0),
    ".transactions": ("full-blocks", "jsonl", 1),
    ".timestamp": ("blocks", "jsonl", 0),
    "foo": ("blocks", "csv", 1),
    "authority.type": ("full-blocks", "csv", 0),
}


@pytest.mark.parametrize(("field", "file"), CHANGES.items())
def test_every_field_of_a_file_is_compared(
    field: str, file: tuple[str, str, int], program: Program, url: str, tmp_path: Path
) -> None:
    """A changed value, one of another type, an invented field and one that is gone are each a finding that names it."""
    (command, kind, place), (*outer, name) = file, field.removeprefix(".").split(".")
    path = tmp_path / f"rows.{kind}"
    assert program(command, "100:103", "-o", str(path), "-q", url=url).code == 0
    assert "heights compared with the service" in program("verify", str(path), "--full", url=url).err
    if kind == "csv":
        with path.open(newline="") as opened:
            rows = list(csv.DictReader(opened))
        rows = [row | ({field: f"x{place}"} if place == at or field == "foo" else {}) for at, row in enumerate(rows)]
        with path.open("w", newline="") as opened:
            writer = csv.DictWriter(opened, list(rows[place]))
            writer.writeheader()
            writer.writerows(rows)
    else:
        lines = path.read_text().splitlines(keepends=True)
        number = place + (kind == "json")
        row = json.loads(lines[number].rstrip(",\n"))
        there = row
        for part in outer:
            there = there[part]
        if name == "transactions":
            del there[name]
        else:
            there[name] = int(there[name]) if name == "timestamp" else "ab1x"
        lines[number] = lines[number].replace(lines[number].rstrip(",\n"), json.dumps(row, separators=(",", ":")))
        path.write_text("".join(lines))
    ran = program("verify", str(path), "--full", "--jsonl", url=url)
    assert ran.code == 6, ran.err
    found = [json.loads(line) for line in ran.rows]
    assert {row["height"] for row in found} == ({100, 101, 102} if field == "foo" else {100 + place})
    assert {row["check"] for row in found} <= {"altered"}
    assert all(field.removeprefix(".") in row["expected"] for row in found)


def test_fields_that_no_column_holds_are_compared(program: Program, url: str, tmp_path: Path) -> None:
    """What the column extra of an export holds; row ids are not compared, and the verdict says so."""
    root = tmp_path / "lake"
    assert program("export", "blocks", "100:105", "--to", str(root), "-q", url=url).code == 0
    path = root / "blocks" / "start=000000000" / "data.parquet"
    table = parquet.read_table(path)
    assert "compared with the service, except id" in program("verify", str(root), "--full", url=url).err
    extra = table.schema.get_field_index("extra")
    parquet.write_table(table.set_column(extra, "extra", pa.array(['{"foo":"x"}'] * table.num_rows)), path)
    found = [json.loads(row) for row in program("verify", str(root), "--full", "--jsonl", url=url).rows]
    assert ("altered", "foo=x") in {(row["check"], row["found"]) for row in found}


def test_a_block_that_a_file_lacks_is_one_finding(program: Program, url: str, tmp_path: Path) -> None:
    """The file shows it by itself; the service has it, which says the same."""
    path = tmp_path / "blocks.jsonl"
    assert program("blocks", *HEIGHTS, "-o", str(path), url=url).code == 0
    rows = path.read_text().splitlines(keepends=True)
    height = int(json.loads(rows.pop(20))["height"])
    path.write_text("".join(rows))
    found = [json.loads(row) for row in program("verify", str(path), "--full", "--jsonl", url=url).rows]
    assert [(row["check"], row["height"]) for row in found] == [("missing", height)]


@pytest.mark.parametrize("command", ["records", "ownership", "transitions"])
def test_a_row_that_an_export_lacks_is_found_with_a_forged_receipt(
    command: str, lake: Path, program: Program, url: str, tmp_path: Path
) -> None:
    """A partition that a service answered with fewer rows, and all that is compared without a network agrees."""
    root = tmp_path / "lake"
    for other in LAKE:
        if other != command:
            shutil.copytree(lake / other, root / "other" / other)
    shutil.copytree(lake / command, root / command)
    shutil.copy(lake / "chainq.json", root)
    path = root / command / "start=000000120" / "data.parquet"
    table = parquet.read_table(path)
    parquet.write_table(pa.concat_tables([table[:5], table[6:]]), path)
    ran = program("verify", str(root), "--full", "--jsonl", url=url)
    found = [json.loads(row) for row in ran.rows]
    missing = [row for row in found if row["check"] == "missing"]
    assert len(missing) == 1, found
    assert missing[0]["command"] == command
    assert 120 <= missing[0]["height"] < 140


def test_a_partition_that_cannot_be_read_is_one_finding(lake: Path, program: Program, url: str, tmp_path: Path) -> None:
    """The others are compared all the same."""
    root = tmp_path / "lake"
    shutil.copytree(lake, root)
    path = root / "records" / "start=000000120" / "data.parquet"
    path.write_bytes(path.read_bytes()[:-5])
    ran = program("verify", str(root), "--full", "--jsonl", url=url)
    assert ran.code == 6
    assert {(row["check"], row["height"]) for row in map(json.loads, ran.rows)} == {("receipt", 120), ("invalid", 120)}
    assert "all 60 heights compared" in ran.err


def test_a_partition_without_a_column_is_compared_in_the_others(
    lake: Path, program: Program, url: str, tmp_path: Path
) -> None:
    """The schema is a finding; the columns that are there are those of the service."""
    root = tmp_path / "lake"
    shutil.copytree(lake, root)
    path = root / "records" / "start=000000120" / "data.parquet"
    parquet.write_table(parquet.read_table(path).drop(["function_name"]), path)
    ran = program("verify", str(root), "--full", "--jsonl", url=url)
    assert ran.code == 6, ran.err
    assert {(row["check"], row["height"]) for row in map(json.loads, ran.rows)} == {("receipt", 120), ("schema", 120)}
    assert "all 60 heights compared" in ran.err


def test_a_sample_says_how_large_it_is(lake: Path, program: Program, url: str) -> None:
    """All heights where there are not more."""
    ran = program("verify", str(lake), "--sample", "6", url=url)
    assert (ran.code, ran.out) == (0, b""), ran.out
    assert "6 of 60 heights compared with the service" in ran.err
    assert "all 60 heights compared" in program("verify", str(lake), "--sample", "200", url=url).err


@pytest.mark.parametrize("command", ["blocks", "records"])
def test_the_rows_of_another_network_are_called_that(
    command: str, program: Program, url: str, server: Servers, tmp_path: Path
) -> None:
    """No filter explains that the service has none of them: one finding, or one per block."""
    path = tmp_path / "rows.jsonl"
    assert program(command, "100:105", "-o", str(path), url=url).code == 0
    ran = program("verify", str(path), "--full", "--jsonl", url=server("--tip", "400", "--seed", "7"))
    assert (ran.code, "may be of another network" in ran.err, "--where" in ran.err) == (6, True, False), ran.err
    assert len(ran.rows) == (1 if command == "records" else 5), ran.rows


def test_another_service_has_other_rows(lake: Path, program: Program, server: Servers) -> None:
    """Each sampled height of another chain differs."""
    ran = program("verify", str(lake), "--sample", "3", "--jsonl", url=server("--tip", "400", "--seed", "7"))
    found = [json.loads(row) for row in ran.rows]
    assert ran.code == 6
    assert len({row["height"] for row in found if row["command"] == "blocks"}) == 3, found


def test_heights_above_the_tip_are_left_out(lake: Path, program: Program, server: Servers) -> None:
    """A service that is behind differs in nothing; a warning says how far it was compared."""
    ran = program("verify", str(lake), "--full", url=server("--tip", "150"))
    assert (ran.code, ran.out) == (0, b""), ran.out
    assert "the tip is 150: later heights are not compared" in ran.err
    assert "all 51 heights compared" in ran.err


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_the_heights_of_transactions(kind: str, program: Program, url: str, tmp_path: Path) -> None:
    """A column of heights shows the range and the order; without one, the order is not checked."""
    path = tmp_path / f"rows.{kind}"
    assert program("transactions", "100:110", "-o", str(path), url=url).code == 0
    lines = path.read_bytes().splitlines(keepends=True)
    given = () if kind == "csv" else ("--start", "100", "--end", "110")
    ran = program("verify", str(path), "--full", *given, url=url)
    assert (ran.code, "heights compared with the service" in ran.err) == (0, True), ran.err
    path.write_bytes(b"".join([lines[0], *lines[-1:1:-1], lines[1]]))
    ran = program("verify", str(path), *given, "--jsonl", url=url)
    checks = {json.loads(row)["check"] for row in ran.rows}
    assert checks == ({"order"} if kind == "csv" else set())
    assert ("; not checked: the order of rows, " in ran.err) == (kind == "jsonl")


def test_what_cannot_be_compared(program: Program, url: str, tmp_path: Path) -> None:
    """Workers for a service; both amounts; rows whose heights are not known; columns that do not tell rows apart."""
    assert "--workers needs --hashes, or a data set" in one_line(program("verify", "5:10", "-w", "2", url=url), 2)
    assert "exclude each other" in one_line(program("verify", "5:10", "--full", "--sample", "3", url=url), 2)
    path = tmp_path / "ownership.csv"
    assert program("ownership", *HEIGHTS, "-o", str(path), url=url).code == 0
    ran = program("verify", str(path), "--full", "-q", url=url)
    assert "pass --start and --end" in one_line(ran, 2)
    lists = tmp_path / "transactions.jsonl"
    assert program("transactions", "100:102", "-o", str(lists), url=url).code == 0
    ran = program("verify", str(lists), "--full", "-q", url=url)
    assert "pass --start and --end" in one_line(ran, 2)
    few = tmp_path / "few.csv"
    assert program("records", *HEIGHTS, "--columns", "height,record_ciphertext", "-o", str(few), url=url).code == 0
    ran = program("verify", str(few), "--full", "-q", url=url)
    assert "needs the columns transition_id, output_index" in one_line(ran, 2)
