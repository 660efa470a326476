"""`chainq verify DEST|FILE --full` and `--sample N`: files against a service, row by row."""

import json
import shutil
from pathlib import Path

import pytest

from harness.program import Program, Servers

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
