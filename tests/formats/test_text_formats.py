"""jsonl, json and csv by the protocol: nothing is lost. What they write is in `written/text.txt`."""

import csv
import io
import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from chainq.catalog.methods import METHODS, Column
from chainq.errors import OutputError
from chainq.formats import protocol
from chainq.formats.protocol import OutputSpec

SPEC = OutputSpec("records", (Column("a", "number"), Column("b.c", "string"), Column("d", "array")))

keys = st.text(st.characters(exclude_characters="."), min_size=1)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def written(name: str, rows: Iterable[str], spec: OutputSpec = SPEC) -> bytes:
    """Return what a format writes of rows given as JSON texts."""
    out = io.BytesIO()
    writer = protocol.load(name)(out, spec)
    writer.write([Raw(row.encode()) for row in rows])
    writer.close()
    return out.getvalue()


@pytest.mark.parametrize("name", ["csv", "tsv", "text"])
def test_what_utf8_cannot_hold_is_an_error(name: str) -> None:
    """Half of a surrogate pair is never written as another character; nothing of its batch is written before it."""
    rows = [Raw(b'{"a":5,"b":{"c":"x"},"d":0}')] * 600
    odd = Raw(rb'{"a":5,"b":{"c":"<\ud800>"},"d":0}')
    out = io.BytesIO()
    writer = protocol.load(name)(out, SPEC)
    writer.write(rows[:2])
    before = out.getvalue()
    with pytest.raises(OutputError, match=r"^text with .ud800 does not fit UTF-8; use jsonl, ") as raised:
        writer.write([*rows, odd])
    assert not raised.value.again
    assert out.getvalue() == before


@given(st.lists(st.dictionaries(keys, values, max_size=4), max_size=4))
def test_json_round_trip(rows: list[dict[str, Any]]) -> None:
    """Python's json reads what json writes with the same integers and strings; jsonl likewise, line by line."""
    texts = [json.dumps(row) for row in rows]
    assert json.loads(written("json", texts)) == rows
    assert [json.loads(line) for line in written("jsonl", texts).splitlines()] == rows


@given(st.lists(st.fixed_dictionaries({"a": st.integers() | st.text(st.characters(exclude_categories=["Cs"]))})))
def test_csv_round_trip(rows: list[dict[str, Any]]) -> None:
    """Python's csv reads what csv writes: every string, every digit."""
    data = written("csv", [json.dumps({**row, "b": {"c": "end"}}) for row in rows]).decode()
    found = list(csv.reader(io.StringIO(data, newline=""), strict=True))
    assert found[1:] == [[str(row["a"]), "end", ""] for row in rows]


@pytest.mark.parametrize("name", ["table", "jsonl", "json", "csv", "parquet"])  # chart draws only what has heights
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.command)
def test_every_format_takes_every_command(name: str, method: Any) -> None:
    """Each built-in format writes rows of each command, full of null or empty of all fields."""
    full: dict[str, Any] = {column.path.partition(".")[0]: None for column in method.columns}
    for single in (False, True):
        assert written(name, [json.dumps(full), "{}"], OutputSpec(method.command, method.columns, single=single))


@pytest.mark.parametrize("name", ["jsonl", "json", "csv"])
def test_nothing_acts_on_a_terminal(name: str) -> None:
    """On a terminal control characters are escaped in exact formats too; the JSON value stays the same."""
    value = "a\x1b[31m\x7f\x9b\u202e\u2028\U000e0001z"
    row = json.dumps({"a": value}, ensure_ascii=False)
    text = written(name, [row], OutputSpec("records", (Column("a", "string"),), terminal=True)).decode()
    assert not any(c != "\n" and c != "\r" and not c.isprintable() for c in text)
    if name != "csv":
        found = json.loads(text)
        assert (found[0] if name == "json" else found) == {"a": value}
