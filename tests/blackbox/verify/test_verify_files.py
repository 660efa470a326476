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

import pytest

from harness.lake.damages import DAMAGES, Row
from harness.lake.exports import Exports
from harness.lake.lake import file_of
from harness.models.search import some
from harness.running.program import Program, Ran, Servers, one_line

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
    if path.suffix == ".parquet":
        return [*parquet.read_table(path).to_pylist()]
    return list(csv.DictReader(io.StringIO(path.read_text(), newline=""), delimiter=separator(path)))


def save(path: Path, rows: list[Row], like: Path) -> None:
    if path.suffix == ".jsonl":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    elif path.suffix == ".parquet":
        parquet.write_table(pa.Table.from_pylist(rows, parquet.read_schema(like)), path)
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter=separator(path))
            writer.writeheader()
            writer.writerows(rows)


def separator(path: Path) -> str:
    return "\t" if path.suffix == ".tsv" else ","


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
    assert (ran.code, ran.out) == (0, b""), ran.err
    heights = "110-129" if command == "full-blocks" else "100-219"
    assert ran.err.startswith(f"chainq: compared: heights {heights}, ")
    assert f" {command} with the service\n" in ran.err


@pytest.mark.parametrize("command", ["blocks", "records"])
def test_a_parquet_file_that_lost_its_ends(
    command: str, files: dict[tuple[str, str], Path], verify: Callable[..., Ran], tmp_path: Path
) -> None:
    """It knows the range of its command."""
    whole, path = files[command, "parquet"], tmp_path / "rows.parquet"
    table = parquet.read_table(whole)
    ends = {table["height"][0].as_py(), table["height"][-1].as_py()}
    left = table.filter(pa.array(height not in ends for height in table["height"].to_pylist()))
    heights = parquet.read_metadata(whole).metadata[b"chainq.heights"]
    parquet.write_table(left.replace_schema_metadata({"chainq.heights": heights}), path)
    found = [json.loads(row) for row in verify(str(path), "--full", "--jsonl").rows]
    assert {row["check"] for row in found} == {"missing"}
    assert {row["height"] for row in found} >= ends


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
    checks = {found["check"] for found in map(json.loads, ran.rows)}
    assert kind == "parquet" or checks & {"invalid", "missing", "altered"}, checks


def test_a_partition_is_verified_with_its_export(exports: Exports, verify: Callable[..., Ran]) -> None:
    """Only there its table and its heights are known."""
    said = one_line(verify(str(file_of(exports("one"), "finalize", 100))), 2)
    assert "is a partition of an export; name the folder of the export" in said
