"""`chainq verify FILE`: what was done to a file of `-o` is found, in each format, as far as its rows show it."""

import csv
import io
import json
import os
import random
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from harness.damages import DAMAGES, Row
from harness.exports import Exports
from harness.lake import file_of
from harness.program import Program, Ran, Servers, one_line
from harness.search import some

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("numpy")

SEEDS = range(int(os.environ.get("CHAINQ_TEST_SEEDS", "1")))
DAMAGED = ("jsonl", "csv", "tsv", "parquet")
FORMATS = (*DAMAGED, "json")  # which differs from jsonl in what is around rows
COMMANDS = ("blocks", "full-blocks", "records", "transitions", "ownership")
HEIGHTS = "100:220"


@pytest.fixture(scope="module")
def files(program: Program, server: Servers) -> dict[tuple[str, str], Path]:
    """A file of each command in each format."""
    url, found = server("--tip", "400"), {}
    for command in COMMANDS:
        for kind in FORMATS:
            path = program.home / f"{command}.{kind}"
            ran = program(command, "110:130" if command == "full-blocks" else HEIGHTS, "-o", str(path), "-q", url=url)
            assert ran.code == 0, ran.err
            found[command, kind] = path
    return found


@pytest.fixture(scope="module")
def verify(program: Program, server: Servers) -> Callable[..., Ran]:
    """Verify a file against the service that wrote it."""
    return partial(program, "verify", url=server("--tip", "400"))


def load(path: Path) -> list[Row]:
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    if path.suffix == ".json":
        rows: list[Row] = json.loads(path.read_text())
        return rows
    if path.suffix == ".parquet":
        return [*parquet.read_table(path).to_pylist()]
    return list(csv.DictReader(io.StringIO(path.read_text(), newline=""), delimiter=separator(path)))


def save(path: Path, rows: list[Row], like: Path) -> None:
    if path.suffix == ".jsonl":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    elif path.suffix == ".json":
        path.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
    elif path.suffix == ".parquet":
        parquet.write_table(pa.Table.from_pylist(rows, parquet.read_schema(like)), path)
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter=separator(path))
            writer.writeheader()
            writer.writerows(rows)


def separator(path: Path) -> str:
    return "\t" if path.suffix == ".tsv" else ","


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("start", ["at1", "au1", "record1"])
def test_an_id_inside_a_full_block(
    start: str, kind: str, files: dict[tuple[str, str], Path], verify: Callable[..., Ran], tmp_path: Path
) -> None:
    """One character of an ID or a record in the transactions of a block was changed."""
    rows, path = load(files["full-blocks", kind]), tmp_path / f"rows.{kind}"

    def changed(value: Any) -> Any:
        """The value with the first such text changed, and the later ones as they are."""
        if done:
            return value
        if isinstance(value, str) and value.startswith(start):
            done.append(value[:-1] + ("q" if value[-1] != "q" else "p"))
            return done[0]
        if isinstance(value, list):
            return [changed(one) for one in value]
        return {name: changed(one) for name, one in value.items()} if isinstance(value, dict) else value

    done: list[str] = []
    for at, row in enumerate(rows):
        sent = row["transactions"]
        made = json.dumps(changed(json.loads(sent))) if isinstance(sent, str) else changed(sent)
        if done:
            rows[at] = row | {"transactions": made}
            break
    height = row.get("header.metadata.height") or row["header"]["metadata"]["height"]
    save(path, rows, files["full-blocks", kind])
    ran = verify(str(path), "--jsonl")
    found = json.loads(ran.rows[0])  # later ones are of the comparison
    assert (ran.code, found["check"], found["height"]) == (6, "checksum", int(height)), ran.err
    assert done[0] in found["found"]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("name", "kind"),
    some(
        product(DAMAGES, DAMAGED),
        *((name, DAMAGED[number % len(DAMAGED)]) for number, name in enumerate(DAMAGES)),
        *product(list(DAMAGES)[:1], DAMAGED),
        several=True,
    ),
)
def test_what_was_done_to_the_rows_is_named(
    name: str, kind: str, seed: int, files: dict[tuple[str, str], Path], verify: Callable[..., Ran], tmp_path: Path
) -> None:
    """The check and the height of what was done, whatever the format."""
    damage = DAMAGES[name]
    whole, path = files[damage.command, kind], tmp_path / f"rows.{kind}"
    rows = load(whole)
    row = damage.change(rows, random.Random(seed))  # noqa: S311  # no secret
    save(path, rows, whole)
    ran = verify(str(path), "--start", "100", "--end", "220", "--jsonl")
    assert ran.code == 6, ran.err
    found = [json.loads(row) for row in ran.rows]
    heights = {one["height"] for one in found if one["check"] == damage.check}
    assert int(row["height"]) in heights if "height" in row else heights, found
    assert {row["command"] for row in found} == {damage.command}


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_as_it_was_written_has_no_finding(
    command: str, kind: str, files: dict[tuple[str, str], Path], verify: Callable[..., Ran]
) -> None:
    """Its command is told by its columns. With a URL it is compared with the service, as with --full."""
    known = command != "ownership" or kind == "parquet"  # the heights, by its rows or its metadata
    ran = verify(str(files[command, kind]), *(() if known else ("--start", "100", "--end", "220")))
    line = one_line(ran, 0)
    assert ran.out == b""
    assert f" {command}; all " in line
    assert " heights compared with the service" in line
    assert ("the order of rows" in line) == (command == "ownership")  # whose rows have no height


@pytest.mark.parametrize("command", ["blocks", "records"])
@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_a_file_that_lost_its_ends(
    command: str,
    kind: str,
    files: dict[tuple[str, str], Path],
    verify: Callable[..., Ran],
    server: Servers,
    tmp_path: Path,
) -> None:
    """A Parquet file knows the range of its command; of other files the verdict says that they do not."""
    rows, path = load(files[command, kind]), tmp_path / f"rows.{kind}"
    first, last = {row["height"] for row in rows[:1]}, {row["height"] for row in rows[-1:]}
    left = [row for row in rows if row["height"] not in first | last]
    save(path, left, files[command, kind])
    if kind == "parquet":
        heights = parquet.read_metadata(files[command, kind]).metadata[b"chainq.heights"]
        kept = parquet.read_schema(path).with_metadata({"chainq.heights": heights})
        parquet.write_table(pa.Table.from_pylist(left, kept), path)
    url = server("--tip", "400")
    ran = verify(str(path), "--full", "--jsonl", url=url)
    if kind == "parquet":
        assert ran.code == 6
        assert {json.loads(row)["check"] for row in ran.rows} == {"missing"}
        assert {str(json.loads(row)["height"]) for row in ran.rows} >= {str(height) for height in first | last}
    else:
        assert ran.code == 0
        said = "; lost first or last heights show only with --start and --end\n"
        assert ran.err.endswith(said)
        assert verify(str(path), "--full", "--start", "100", "--end", "220", url=url).code == 6


def test_a_parquet_file_keeps_the_range_that_it_completes(program: Program, server: Servers) -> None:
    """As far as the chain goes; not if --limit may have ended it, and not of rows that --page asked for."""
    url, path = server("--tip", "400"), program.home / "range.parquet"
    for words, kept in (
        (("390:500",), b"390:401"),
        (("--last", "10"), b"391:401"),
        (("100:220", "--limit", "7"), None),
        (("100:105", "--page", "0"), None),
    ):
        assert program("records", *words, "-o", str(path), "-q", url=url).code == 0
        assert parquet.read_metadata(path).metadata.get(b"chainq.heights") == kept


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("records.jsonl", b"\n", b"\n\n", "line 2 is empty"),
        *((f"blocks.{kind}", b"", b"", "the last line has no end") for kind in ("jsonl", "csv", "tsv")),
        *(
            ("blocks.json", old, new, "not a whole JSON array")
            for old, new in (
                (b"\n]\n", b"\n"),
                (b"\n]\n", b",\n]\n"),
                (b"\n]\n", b"\n]\n]\n"),
                (b",\n", b"\n"),
            )
        ),
    ],
)
def test_lines_that_are_not_as_they_were(
    file: str, old: bytes, new: bytes, said: str, verify: Callable[..., Ran], files: dict[tuple[str, str], Path]
) -> None:
    """All rows are there, but readers refuse the file, or the last one may be cut: the finding says so in words."""
    command, kind = file.split(".")
    whole = files[command, kind]
    path = whole.with_name(f"changed-{file}")
    data = whole.read_bytes()
    path.write_bytes(data.replace(old, new, 1) if old else data.rstrip())
    (found,) = map(json.loads, verify(str(path), "--jsonl").rows)
    assert (found["check"], found["found"]) == ("invalid", said)


@pytest.mark.parametrize("kind", FORMATS)
def test_a_file_that_was_cut(
    kind: str, files: dict[tuple[str, str], Path], verify: Callable[..., Ran], tmp_path: Path
) -> None:
    """The end of a file is missing, in the middle of a row."""
    data = files["records", kind].read_bytes()
    path = tmp_path / f"rows.{kind}"
    path.write_bytes(data[: len(data) - 30])
    ran = verify(str(path), "--jsonl")
    assert ran.code == 6, ran.err
    (last,) = (found for found in map(json.loads, ran.rows) if found["check"] == "invalid")  # one damage
    assert kind != "parquet" or "rows.parquet is not a whole Parquet file" in last["found"]


@pytest.mark.parametrize(("place", "hidden"), [(-20, True), (-200, True), (4, False)], ids=str)
def test_parquet_bytes_that_were_changed(
    place: int, hidden: bool, files: dict[tuple[str, str], Path], verify: Callable[..., Ran], tmp_path: Path
) -> None:
    """In the footer, so that command and heights are unknown, and in the first page. Nothing is compared."""
    path = tmp_path / "rows.parquet"
    data = bytearray(files["records", "parquet"].read_bytes())
    data[place : place + 9] = b"\xff" * 9
    path.write_bytes(data)
    for words in ((), ("--full", "--url", "demo:")):
        ran = verify(str(path), "--jsonl", *words)
        (found,) = map(json.loads, ran.rows)
        assert (ran.code, found["check"], found["height"]) == (6, "invalid", None), ran.err
        assert str(path) in found["found"]
        assert found["command"] == (None if hidden else "records")
        assert "pass --start and --end" not in ran.err
        assert ": 1 finding (1 invalid) in 0 " in ran.err
        assert ("; not compared: records of heights 100-219" in ran.err) == (not hidden)
        assert "--full" not in ran.err and "compared with the service" not in ran.err


@pytest.mark.parametrize("table", ["blocks", "ownership", "finalize", "transactions"])
def test_a_partition_is_compared_with_the_receipt_in_it(
    table: str, exports: Exports, verify: Callable[..., Ran], server: Servers, tmp_path: Path
) -> None:
    """Also away from its export: the metadata names its command, heights and number of rows."""
    url, path = server("--tip", "400"), file_of(exports("one"), table, 100)
    with parquet.ParquetFile(path) as file:
        rows, sealed = file.read(), {"chainq": file.metadata.metadata[b"chainq"]}
    whole = one_line(verify(str(path)), 0)
    said = f"no findings in {rows.num_rows} {table}; the file has the {rows.num_rows} rows of its receipt"
    assert f"heights 100-109: {said}" in whole
    compared = verify(str(path), "--full", url=url)
    assert "no findings" in one_line(compared, 0) and "all 10 heights compared" in compared.err
    moved = tmp_path / "moved.parquet"
    parquet.write_table(rows.slice(1).replace_schema_metadata(sealed), moved)
    ran = verify(str(moved))
    checks = {json.loads(row)["check"] for row in ran.rows}
    assert (ran.code, checks, "--where" in ran.err) == (6, {"receipt", "missing"}, False), ran.err
