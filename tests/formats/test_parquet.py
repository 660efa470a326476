"""Parquet: duckdb and pandas read back what the service sent. Schemas and odd values are in `written/parquet.txt`."""

import gc
import io
import json
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND, METHODS, Column, Kind
from chainq.catalog.nested import SHAPES, UNTYPED
from chainq.errors import OutputError
from chainq.formats import parquet
from chainq.formats.parquet import Parquet
from chainq.formats.protocol import OutputSpec
from harness.belief import besides_belief
from harness.program import Program
from harness.truth import Truth

arrow = pytest.importorskip("pyarrow", reason="Parquet needs the extra chainq[parquet]")
files = pytest.importorskip("pyarrow.parquet", reason="Parquet needs the extra chainq[parquet]")

COMMANDS = [method.command for method in METHODS]
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


def spec_of(command: str, *columns: Column) -> OutputSpec:
    return OutputSpec(command, columns or BY_COMMAND[command].columns, selected=bool(columns))


def selecting(command: str) -> OutputSpec:
    """Return the spec of `--columns all`."""
    return spec_of(command, *BY_COMMAND[command].columns)


def typed(value: Any, column: Column) -> Any:
    """Return a value, decoded with all numbers as strings, as the file should have it."""
    if value is None:
        return None
    if column.path in SHAPES:
        return shaped(value, SHAPES[column.path])
    if column.kind is Kind.TIME:
        return datetime.fromtimestamp(int(value), UTC)
    if column.kind is Kind.DATA:
        return value
    if column.type == "number" or column.kind is Kind.HEIGHT:
        return int(value)
    return Decimal(value) if column.kind is Kind.NUMBER else value


def shaped(value: Any, shape: Any) -> Any:
    if value is None:
        return None
    if isinstance(shape, list):
        return [shaped(item, shape[0]) for item in value]
    if isinstance(shape, dict):
        typed = {name: inner for name, inner in shape.items() if inner != UNTYPED}
        other = {name: item for name, item in value.items() if name not in typed}
        return {**{name: shaped(value.get(name), inner) for name, inner in typed.items()}, "other": other or None}
    return {"text": str, "integer": int, "amount": Decimal}[shape](value)


def due(row: bytes, columns: Sequence[Column]) -> dict[str, Any]:
    """Return a row as it should be read from the file, by Python's json."""
    members = json.loads(row, parse_float=str, parse_int=str)
    found: dict[str, Any] = {}
    for column in columns:
        value: Any = members
        for step in column.path.split("."):
            value = value.get(step) if isinstance(value, dict) else None
        found[column.path] = typed(value, column)
    return found


def unknown(members: dict[str, Any], columns: Sequence[Column], path: str = "") -> dict[str, Any]:
    """Return the fields of an object that are no columns, by their paths."""
    found: dict[str, Any] = {}
    for name, value in members.items():
        place = path + name
        if isinstance(value, dict) and any(column.path.startswith(f"{place}.") for column in columns):
            found |= unknown(value, columns, f"{place}.")
        elif all(column.path != place and not column.path.startswith(f"{place}.") for column in columns):
            found[place] = value
    return found


def decoded(row: dict[str, Any], columns: Sequence[Column]) -> dict[str, Any]:
    """Return a row of a file with its JSON texts decoded."""
    texts = {column.path for column in columns if column.kind is Kind.DATA and column.path not in SHAPES}
    return {path: _parsed(value) if path in texts else _without_text(value) for path, value in row.items()}


def _parsed(value: str | None) -> Any:
    return None if value is None else json.loads(value, parse_float=str, parse_int=str)


def _without_text(value: Any) -> Any:
    """Return a nested value with the JSON text of each `other` decoded."""
    if isinstance(value, list):
        return [_without_text(item) for item in value]
    if isinstance(value, dict):
        return {name: _parsed(item) if name == "other" else _without_text(item) for name, item in value.items()}
    return value


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_comes_back_equal(chainq: Program, truth: Truth, command: str) -> None:
    """The installed program writes each command's rows so that every column reads back equal."""
    words, rows = sample(truth, command)
    ran = chainq(command, *words, "-q", "--format", "parquet", "-o", "rows.parquet", url="demo:")
    assert (ran.code, ran.out, besides_belief(ran, command).err) == (0, b"", "")
    columns = BY_COMMAND[command].columns
    found = [decoded(row, columns) for row in read((chainq.home / "rows.parquet").read_bytes())]
    extras = [json.loads(row.pop("extra") or "{}") for row in found]
    assert rows
    assert sorted(map(str, extras)) == sorted(str(unknown(json.loads(row), columns)) for row in rows)
    added = {column.path: int(words[0]) for column in columns if column.computed}
    assert sorted(found, key=str) == sorted((due(row, columns) | added for row in rows), key=str)


@pytest.mark.parametrize("command", COMMANDS)
def test_readers_see_the_same(tmp_path: Path, truth: Truth, command: str) -> None:
    """duckdb and pandas read the same names and values as pyarrow, integers as integers, even where some are null."""
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    file = tmp_path / "rows.parquet"
    file.write_bytes(written([*sample(truth, command)[1], "{}"], spec_of(command)))
    with duckdb.connect() as base:
        answer = base.read_parquet(str(file))
        found = [dict(zip(answer.columns, row, strict=True)) for row in answer.fetchall()]
    assert found == read(file.read_bytes())
    frame = pandas.read_parquet(file).astype(object)
    assert [plain(row) for row in frame.where(frame.notna(), None).to_dict("records")] == found


def plain(value: Any) -> Any:
    """Return a value of pandas with its arrays as lists."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if hasattr(value, "tolist") or isinstance(value, list) else value


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


texts = st.none() | st.text(st.characters(exclude_categories=["Cs"]))
integers = st.none() | st.integers(-(2**63), 2**63 - 1)
times = st.none() | st.integers(-62_135_596_800, 253_402_300_799)


@given(st.lists(st.fixed_dictionaries({}, optional={"program_id": texts, "height": integers, "timestamp": times})))
def test_any_text_and_any_integer(rows: list[dict[str, Any]]) -> None:
    """Any strings and integers, the latter as numbers or as strings of digits, are read back equal."""
    names = ("program_id", "height", "timestamp")
    columns = [column for column in BY_COMMAND["records"].columns if column.path in names]
    sent = [json.dumps(row | ({"timestamp": str(row["timestamp"])} if row.get("timestamp") else {})) for row in rows]
    found = read(written(sent, spec_of("records", *columns)))
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    for row in found:
        row["timestamp"] = row["timestamp"] and (row["timestamp"] - epoch) // timedelta(seconds=1)
    assert found == [{name: row.get(name) for name in names} for row in rows]
