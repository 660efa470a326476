"""`table` takes every row that a server may send: no control characters, no line too wide.

What tables and trees look like is in `written/`.
"""

import io
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Raw

from chainq.catalog.methods import METHODS, Column, Kind
from chainq.formats import table
from chainq.formats.cells import headers
from chainq.formats.protocol import OutputSpec
from harness.lake.tables import FIELD, TRANSITION, WIDTHS, drawn, dumped, fits, harmless, nested, spec

wild = st.text() | st.sampled_from(
    ["\x1b[31m", "[red]", "表" * 30, "‮", "a\nb", "\ud800", "e\u0301" * 40, "☁\ufe0f" * 40, FIELD]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | wild,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(wild, inner, max_size=3),
    max_leaves=8,
)
SOME = st.sampled_from(METHODS)


@settings(suppress_health_check=[*settings().suppress_health_check, HealthCheck.function_scoped_fixture])
@given(st.data(), SOME, st.sampled_from((1, *WIDTHS)), st.booleans())
def test_no_control_characters_and_no_line_too_wide(data: st.DataObject, method: Any, width: int, single: bool) -> None:
    """Whatever the rows: no control character but newline, and no line wider than the terminal."""
    columns = [column.path for column in method.columns]
    row = data.draw(st.dictionaries(st.sampled_from(columns) | wild, values, max_size=6).map(nested) | values)
    text = drawn(OutputSpec(method.command, method.columns, single=single, width=width), [dumped(row)] * 2)
    assert harmless(text)
    assert fits(text, max(width, 40))


@settings(suppress_health_check=[*settings().suppress_health_check, HealthCheck.function_scoped_fixture])
@given(st.data(), values, values)
def test_odd_transactions_do_no_harm(data: st.DataObject, one: Any, other: Any) -> None:
    """Any value anywhere in a full transaction is sanitized, in a row of its own and inside a block."""
    places = ["status", "rejected", "finalize", "transaction", "transaction.id", "transaction.execution.transitions"]
    places += ["transaction.fee.transition.inputs", "transaction.deployment", "transaction.deployment.program"]
    row = nested({"transaction.id": "at1", data.draw(st.sampled_from(places)): one})
    transition = {**TRANSITION, data.draw(st.sampled_from([*TRANSITION, "tpk"])): other}
    full = nested({"transaction.execution.transitions": [transition, other], "transaction.fee.transition": transition})
    block = {"transactions": [row, full, other]}
    for command, found in (("transaction", row), ("transaction", full), ("full-blocks", block)):
        for abbreviate in (True, False):
            text = drawn(spec(command, single=True, abbreviate=abbreviate), [dumped(found)])
            assert harmless(text)
            assert not abbreviate or fits(text, 80)


@settings(suppress_health_check=[*settings().suppress_health_check, HealthCheck.function_scoped_fixture])
@given(st.sampled_from(Kind), st.lists(wild, min_size=1, max_size=5), st.sampled_from((40, *WIDTHS)))
def test_later_rows_fit_too(kind: Kind, texts: list[str], width: int) -> None:
    """Rows that are wider than the first ones stay inside the line."""
    columns = (Column("a", "", "", kind), Column("b.\x1bc", "", "", kind))
    found = [[{"a": text, "b": {"\x1bc": text}}] for text in texts]
    text = drawn(OutputSpec("odd", columns, selected=True, width=width), *found)
    assert harmless(text)
    assert fits(text, width)


@pytest.mark.parametrize("place", ["execution", "fee", "deployment", "owner", "execution.transitions", "finalize"])
@pytest.mark.parametrize("odd", ["odd", ["odd"], {"odd": "odd"}])
def test_unexpected_shapes_are_shown(place: str, odd: Any) -> None:
    """A part of a transaction that has another shape than expected is shown as it is."""
    text = drawn(spec("transaction", single=True), [nested({"transaction.id": "at1", f"transaction.{place}": odd})])
    assert "odd" in text
    inner = {"id": "at1", "execution": {"transitions": [{**TRANSITION, "inputs": odd}]}}
    assert "odd" in drawn(spec("transaction", single=True), [{"transaction": inner, "status": "accepted"}])


def test_headers_are_distinct() -> None:
    """A header is the last part of the path, with as many parts before it as distinguish it from other columns."""
    for method in METHODS:
        names = headers(method.columns, method.columns)
        assert len(set(names)) == len(names)
        assert all(f".{column.path}".endswith(f".{name}") for column, name in zip(method.columns, names, strict=True))


def test_rows_are_written_at_once() -> None:
    """Rows are drawn with each write, not held back until the end."""
    out = io.BytesIO()
    writer = table.Table(out, spec("blocks", "height"))
    for height in range(1000, 1005):
        writer.write([Raw(b'{"height":"%d"}' % height)])
        assert str(height).encode() in out.getvalue()


def test_long_writes_are_drawn_in_parts() -> None:
    """A write of any length is drawn in parts, so that memory stays flat."""
    sizes: list[int] = []

    class Out:
        def write(self, data: bytes) -> None:
            sizes.append(len(data))

    table.Table(Out(), spec("blocks", "height")).write([Raw(b'{"height":"7"}')] * 5000)
    assert max(sizes) < 10_000
