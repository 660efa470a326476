"""jsonl, json and csv by the protocol: bytes in, bytes out, nothing lost; and how formats are found."""

import csv
import io
import json
import tomllib
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from chainq.catalog.methods import METHODS, Column
from chainq.errors import OutputError, UsageError
from chainq.formats import registry
from chainq.formats.protocol import OutputSpec
from harness.program import ROOT

BIG = "18741903340503531150123456789012345678901234567890"
NESTED = (Column("a", "number"), Column("b.c", "string"), Column("d", "array"))

keys = st.text(st.characters(exclude_characters="."), min_size=1)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def written(name: str, batches: Iterable[Iterable[str]], spec: OutputSpec) -> bytes:
    """Return what a format writes of rows given as JSON texts, in batches."""
    out = io.BytesIO()
    writer = registry.load(name)(out, spec)
    for batch in batches:
        writer.write([Raw(row.encode()) for row in batch])
    writer.close()
    return out.getvalue()


def spec(*columns: Column, selected: bool = False, single: bool = False) -> OutputSpec:
    return OutputSpec("records", columns or NESTED, selected=selected, single=single)


def dumped(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def table_of(data: bytes) -> list[list[str]]:
    csv.field_size_limit(10_000_000)
    return list(csv.reader(io.StringIO(data.decode(), newline=""), strict=True))


ROWS = [
    '{"a":' + BIG + ',"b":{"c":"x"},"d":[1.10,1e400]}',
    r'{"d":null,"a":"\u0000\ud800","later":-0.0}',
    '{"b":{"c":"' + "é" * 100_000 + '"}}',
    "{}",
]


def test_jsonl_is_the_servers_own_bytes() -> None:
    """Every row is written byte for byte as it came, one a line, whatever the batches."""
    expected = "".join(f"{row}\n" for row in ROWS).encode()
    assert written("jsonl", [ROWS], spec()) == expected
    assert written("jsonl", [[], ROWS[:1], [], ROWS[1:]], spec()) == expected


def test_json_list_is_one_array_of_the_servers_own_rows() -> None:
    """A list is one JSON array whose rows are the bytes that came in."""
    data = written("json", [[], ROWS[:2], [], ROWS[2:]], spec())
    assert json.loads(data, parse_float=str) == [json.loads(row, parse_float=str) for row in ROWS]
    assert all(row.encode() in data for row in ROWS)
    assert data.endswith(b"\n]\n")


def test_json_single_is_the_bare_object() -> None:
    """The result of a command that returns one object is that object, without an array."""
    assert written("json", [[ROWS[0]]], spec(single=True)) == f"{ROWS[0]}\n".encode()


@pytest.mark.parametrize(("name", "expected"), [("jsonl", b""), ("json", b"[]\n"), ("csv", b"a,b.c,d\r\n")])
def test_no_rows(name: str, expected: bytes) -> None:
    """No rows are still a valid document: no lines, an empty array, a header."""
    assert written(name, [], spec()) == expected
    assert written(name, [[]], spec()) == expected


@pytest.mark.parametrize("name", ["jsonl", "json"])
def test_selected_columns_are_flat_keys(name: str) -> None:
    """Selected columns become flat keys in that order, values as sent, null where the row has none."""
    columns = (Column("b.c", "string"), Column("a", "number"), Column('q"é', "string"))
    data = written(name, [ROWS[:1]], spec(*columns, selected=True)).decode()
    assert '{"b.c":"x","a":' + BIG + ',"q\\"é":null}' in data


def test_selected_columns_keep_escapes_as_sent() -> None:
    """Escapes, lone surrogates and unusual spellings of numbers survive a selection of columns."""
    row = r'{"a":1.10,"b":{"c":"\u0000\ud800\/"},"d":[1E2]}'
    data = written("jsonl", [[row]], spec(selected=True))
    assert data.decode() == r'{"a":1.10,"b.c":"\u0000\ud800\/","d":[1E2]}' + "\n"


def test_csv_cells() -> None:
    """Nested fields are dotted columns, arrays compact JSON, null and missing empty, every digit kept."""
    data = written("csv", [ROWS[:1], ['{"a":null,"b":{"c":true},"d":{"k":"v,\\"w\\""},"e":1}', "{}"]], spec())
    assert table_of(data) == [
        ["a", "b.c", "d"],
        [BIG, "x", "[1.10,1e400]"],
        ["", "true", '{"k":"v,\\"w\\""}'],
        [""] * 3,
    ]


def test_csv_is_rfc_4180() -> None:
    """Quotes are doubled; commas, quotes and line breaks are quoted; records end in CR LF."""
    row = dumped({"a": 'say "hi"', "b": {"c": "x,y"}, "d": "one\r\ntwo"})
    assert written("csv", [[row]], spec()) == b'a,b.c,d\r\n"say ""hi""","x,y","one\r\ntwo"\r\n'


def test_csv_of_unusual_text() -> None:
    """NUL, 100 KB of text and a character that JSON writes as a surrogate pair stay; nested JSON is as it was sent."""
    row = r'{"a":"\ud83d\ude00","b":{"c":"\u0000"},"d":"' + "z" * 100_000 + '"}'
    nested = r'{"a":1,"b":{"c":2},"d":["\ud800"]}'
    expected = "a,b.c,d\r\n😀,\x00," + "z" * 100_000 + "\r\n" + r'1,2,"[""\ud800""]"' + "\r\n"
    assert written("csv", [[row, nested]], spec()) == expected.encode()


@pytest.mark.parametrize("name", ["csv", "tsv", "text"])
def test_what_utf8_cannot_hold_is_an_error(name: str) -> None:
    """Half of a surrogate pair is never written as another character; nothing of its batch is written before it."""
    rows = [Raw(b'{"a":5,"b":{"c":"x"},"d":0}')] * 600
    odd = Raw(rb'{"a":5,"b":{"c":"<\ud800>"},"d":0}')
    out = io.BytesIO()
    writer = registry.load(name)(out, spec())
    writer.write(rows[:2])
    before = out.getvalue()
    with pytest.raises(OutputError, match=r'^b\.c "<\\ud800>" is not valid Unicode; use jsonl, .* --columns$'):
        writer.write([*rows, odd])
    assert out.getvalue() == before


def test_a_terminal_shows_what_utf8_cannot_hold_as_an_escape() -> None:
    """There every such character is an escape."""
    row = r'{"a":"<\ud800>","b":{"c":""},"d":0}'
    for name in ("csv", "text"):
        assert rb"<\ud800>" in written(name, [[row]], spec()._replace(terminal=True))


@pytest.mark.parametrize("name", ["jsonl", "json", "csv"])
@pytest.mark.parametrize("row", ['{"a":[1],"b":[2],"d":3}', '{"b":null}', '{"b":"text"}', "[1,2]", "7"])
def test_odd_rows_do_no_harm(name: str, row: str) -> None:
    """Arrays where objects are expected, null objects and rows that are not objects leave cells empty, no more."""
    assert written(name, [[row]], spec())
    assert written(name, [[row]], spec(selected=True))


@given(st.lists(st.dictionaries(keys, values, max_size=4), max_size=4))
def test_json_round_trip(rows: list[dict[str, Any]]) -> None:
    """Python's json reads what json writes with the same integers and strings; jsonl likewise, line by line."""
    texts = [dumped(row) for row in rows]
    assert json.loads(written("json", [texts], spec())) == rows
    assert [json.loads(line) for line in written("jsonl", [texts], spec()).splitlines()] == rows


@given(st.lists(st.fixed_dictionaries({"a": st.integers() | st.text(st.characters(exclude_categories=["Cs"]))})))
def test_csv_round_trip(rows: list[dict[str, Any]]) -> None:
    """Python's csv reads what csv writes: every string, every digit."""
    data = written("csv", [[dumped({**row, "b": {"c": "end"}}) for row in rows]], spec())
    assert table_of(data)[1:] == [[str(row["a"]), "end", ""] for row in rows]


@pytest.mark.parametrize("name", ["table", "jsonl", "json", "csv", "parquet"])  # chart draws only what has heights
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.command)
def test_every_format_takes_every_command(name: str, method: Any) -> None:
    """Each built-in format writes rows of each command, full of null or empty of all fields."""
    full: dict[str, Any] = {column.path.partition(".")[0]: None for column in method.columns}
    for single in (False, True):
        assert written(name, [[dumped(full), "{}"]], OutputSpec(method.command, method.columns, single=single))


def test_entry_points_are_the_built_in_formats_and_chart() -> None:
    """pyproject.toml registers the built-in formats, at the same places, and chart, which is found as plug-ins are."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    chart = {"chart": "chainq.formats.chart:Chart"}
    assert project["project"]["entry-points"][registry.GROUP] == registry.BUILT_IN | chart


def test_names_begin_with_the_built_in_formats() -> None:
    """The built-in formats are listed first, in the order of the documentation."""
    assert registry.names()[:4] == ["table", "jsonl", "json", "csv"]


def test_unknown_format_is_a_usage_error() -> None:
    """An unknown format is a usage error that lists the formats."""
    with pytest.raises(UsageError, match="table, jsonl, json, csv"):
        registry.load("yaml")


@pytest.mark.parametrize("name", ["jsonl", "json", "csv"])
def test_nothing_acts_on_a_terminal(name: str) -> None:
    """On a terminal control characters are escaped in exact formats too; the JSON value stays the same."""
    value = "a\x1b[31m\x7f\x9b\u202e\u2028\U000e0001z"
    row = b'{"a":' + json.dumps(value, ensure_ascii=False).encode() + b"}"
    out = io.BytesIO()
    writer = registry.load(name)(out, OutputSpec("records", (Column("a", "string"),), terminal=True))
    writer.write([Raw(row)])
    writer.close()
    text = out.getvalue().decode()
    assert not any(c != "\n" and c != "\r" and not c.isprintable() for c in text)
    if name != "csv":
        found = json.loads(text)
        assert (found[0] if name == "json" else found) == {"a": value}
