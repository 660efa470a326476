"""Parquet: duckdb and pandas read back what the service sent. Schemas and odd values are in `written/parquet.txt`."""

import gc
import io
import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND, METHODS, Column, Method
from chainq.errors import OutputError
from chainq.formats import parquet
from chainq.formats.json_rows import JsonRows
from chainq.formats.parquet import Parquet
from chainq.formats.protocol import OutputSpec
from harness.models.belief import besides_belief
from harness.running.program import Program
from harness.running.truth import Truth

arrow = pytest.importorskip("pyarrow", reason="Parquet needs the extra chainq[parquet]")
files = pytest.importorskip("pyarrow.parquet", reason="Parquet needs the extra chainq[parquet]")

BIG = "9" * 38  # the largest of decimal128(38, 0)
HEIGHT = 2_999_995  # of a block with transactions


def sample(truth: Truth, command: str) -> tuple[list[str], list[bytes]]:
    """Return arguments for a command, and the rows expected for them."""
    if command == "transaction":
        return [truth.transaction_id(HEIGHT, 0)], [truth.transaction(HEIGHT, 0)]
    if command == "program-transactions":
        return ["hello_hello.aleo", "hello"], truth.program_transactions("hello_hello.aleo", "hello")
    if command == "latest":
        return [], [truth.block(truth.tip)]
    if command == "block":
        return ["0", str(HEIGHT)], [truth.block(0), truth.block(HEIGHT)]
    if command == "transactions":
        return [str(HEIGHT)], truth.transactions(HEIGHT)
    address = truth.chain.addresses[0] if command == "address-transactions" else ""
    words = [address] if address else []
    return [*words, "--start", "3000", "--end", "3040"], truth.rows(command, 3000, 3040, address)


def written(rows: Iterable[Raw | bytes | str], spec: OutputSpec) -> bytes:
    """Return the file that is written of rows."""
    out = io.BytesIO()
    writer = Parquet(out, spec)
    writer.write([Raw(row.encode() if isinstance(row, str) else row) for row in rows])
    writer.close()
    return out.getvalue()


def read(data: bytes) -> list[dict[str, Any]]:
    """Return the rows of a file as pyarrow reads it."""
    rows: list[dict[str, Any]] = files.read_table(io.BytesIO(data)).to_pylist()
    return rows


def present(row: Raw | bytes) -> str:
    """Return what a row has, in a fixed order, digits as they were sent."""
    return json.dumps(json.loads(bytes(row), parse_float=str, parse_int=str), sort_keys=True)


def spec_of(command: str, *columns: Column) -> OutputSpec:
    return OutputSpec(command, columns or BY_COMMAND[command].columns, selected=bool(columns))


def selecting(command: str) -> OutputSpec:
    """Return the spec of `--columns all`."""
    return spec_of(command, *BY_COMMAND[command].columns)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.command)
def test_every_command_comes_back_equal(chainq: Program, truth: Truth, method: Method) -> None:
    """The installed program writes each command's rows so that they are read back equal, with every digit."""
    words, rows = sample(truth, method.command)
    ran = chainq(method.command, *words, "-q", "--format", "parquet", "-o", "rows.parquet", url="demo:")
    assert (ran.code, ran.out, besides_belief(ran, method.command).err) == (0, b"", "")
    (batch,) = files.read_table(chainq.home / "rows.parquet").to_batches()
    found = JsonRows(method).rows(batch)
    assert rows
    assert sorted(map(present, found)) == sorted(map(present, rows))


def test_readers_see_every_digit(tmp_path: Path) -> None:
    """38 digits and the extreme integers of 64 bits survive, beside nulls, in duckdb and pandas; times are times."""
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    ends = (2**63 - 1, -(2**63))
    rows = [
        f'{{"id":{end},"height":"{end}","cumulative_weight":{BIG},"coinbase_target":"-{BIG}","timestamp":"86400"}}'
        for end in ends
    ]
    known = {column.path: column for column in BY_COMMAND["blocks"].columns}
    names = ["id", "height", "cumulative_weight", "coinbase_target", "timestamp"]
    file = tmp_path / "rows.parquet"
    file.write_bytes(written([*rows, "{}"], spec_of("blocks", *(known[name] for name in names))))
    day = datetime(1970, 1, 2, tzinfo=UTC)
    expected: list[tuple[Any, ...]] = [(end, end, Decimal(BIG), Decimal(f"-{BIG}"), day) for end in ends]
    with duckdb.connect() as base:
        assert base.read_parquet(str(file)).fetchall() == [*expected, (None,) * 5]
        query = "select max(height), max(cumulative_weight) from read_parquet(?)"
        summed = base.execute(query, [str(file)]).fetchall()
        assert summed == [(ends[0], Decimal(BIG))]
    frame = pandas.read_parquet(file)
    assert [tuple(row) for row in frame.head(2).itertuples(index=False)] == expected
    assert frame.tail(1).isna().all(axis=None)


NO_INTEGERS = f'"x" 1.5 "1.0" 1e3 "007" true "" [1] "null" {2**63} "{-(2**63) - 1}"'
MISFITS = {
    "blocks coinbase_target": f'{2**128 - 1} "{2**128 - 1}" 1.5 1e3 "x" "007" [1]',
    "full-blocks ratifications": '"x" {} [7] ["x"] [{"amount":1.5}] [{"type":[]}]',
    "records height": NO_INTEGERS,
    "records id": NO_INTEGERS,
    "records program_id": '{"a":1} [1] true false',
    "records timestamp": NO_INTEGERS,
}


@pytest.mark.parametrize("column", MISFITS)
def test_values_that_do_not_fit(column: str) -> None:
    """A value of another type, size or shape is an error with the way out if its column was selected, else in `extra`.

    Nothing else is written in its place, and no digit is dropped.
    """
    command, path = column.split()
    for value in MISFITS[column].split():
        rows = ["{}", f'{{"{path}":{value}}}']
        shown = re.escape(value) if len(value) < 30 else ".+"
        with pytest.raises(OutputError, match=rf"^{path} {shown}.* does not fit .*; use jsonl, .* leave the column"):
            written(rows, selecting(command))
        (_, found) = read(written(rows, spec_of(command)))
        extra = json.loads(found.pop("extra"), parse_float=str, parse_int=str)
        assert extra == {path: json.loads(value, parse_float=str, parse_int=str)}
        assert set(found.values()) == {None}


@pytest.mark.parametrize(("rows", "size"), [(1000, 1 << 40), (1 << 40, 20_000)])
def test_groups_are_written_as_they_fill(monkeypatch: pytest.MonkeyPatch, rows: int, size: int) -> None:
    """A row group goes out as soon as it has enough rows or bytes, so that memory does not grow with the file."""
    monkeypatch.setattr(parquet, "GROUP_ROWS", rows)
    monkeypatch.setattr(parquet, "GROUP_BYTES", size)
    out = io.BytesIO()
    writer = Parquet(out, spec_of("records"))
    sizes = [out.tell()]
    for page in range(0, 8192, 1024):
        writer.write([Raw(b'{"height":%d}' % height) for height in range(page, page + 1024)])
        sizes.append(out.tell())
    writer.close()
    assert sizes == sorted(set(sizes)), "a page larger than a group wrote nothing"
    metadata = files.read_metadata(io.BytesIO(out.getvalue()))
    assert max(metadata.row_group(at).num_rows for at in range(metadata.num_row_groups)) <= 1024
    assert {metadata.row_group(0).column(at).compression for at in range(metadata.num_columns)} == {"ZSTD"}
    assert [row["height"] for row in read(out.getvalue())] == list(range(8192))


@pytest.mark.parametrize("row", [rb'{"program_id":"a\ud800"}', b'{"program_id":"\xff"}'])
def test_text_that_no_file_can_hold(row: bytes) -> None:
    """A lone surrogate, or bytes that are not UTF-8, cannot be written, and the message says what to do."""
    with pytest.raises(OutputError, match=r"program_id .* does not fit string; use jsonl, .* leave the column"):
        written([row], selecting("records"))


def test_a_failed_run_leaves_no_footer() -> None:
    """What a failed run has written cannot be mistaken for a complete file, even when the writer is dropped."""
    out = io.BytesIO()
    writer = Parquet(out, selecting("records"))
    with pytest.raises(OutputError):
        writer.write([Raw(b'{"height":"x"}')])
    del writer
    gc.collect()
    assert out.getvalue() == b""


def test_a_pipe_gets_a_complete_file(chainq: Program) -> None:
    """Into a pipe the file goes complete (test_terminal.py has what a terminal gets)."""
    ran = chainq("block", "5", "--format", "parquet", url="demo:")
    assert (ran.code, ran.err) == (0, "")
    assert [row["height"] for row in read(ran.out)] == [5]
