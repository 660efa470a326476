"""Charts: the numbers are right, and any rows can be drawn. What is drawn is in `written/chart.txt`."""

import io
import json
import re
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND, METHODS, Column
from chainq.errors import UsageError
from chainq.formats import protocol
from chainq.formats.chart import BINS, Chart
from chainq.formats.protocol import OutputSpec
from harness.running.truth import Truth

pytest.importorskip("plotille", reason="charts need the extra chainq[chart]")

DRAWN = [method.command for method in METHODS if method.height]


def drawn(rows: Sequence[Raw], spec: OutputSpec) -> list[str]:
    """Return the lines drawn of rows: each fits the width, ends in no space and has no control character."""
    out = io.BytesIO()
    chart = Chart(out, spec)
    chart.write(rows[:1])
    chart.write(rows[1:])
    chart.close()
    text = out.getvalue().decode()
    assert text.endswith("\n")
    lines = text[:-1].split("\n")
    assert all(len(line) <= max(spec.width, 20) and line == line.rstrip() and line.isprintable() for line in lines)
    return lines


def spec_of(command: str, path: str = "", width: int = 80) -> OutputSpec:
    """Return the spec of a command, with the column of that path selected if there is one."""
    method = BY_COMMAND[command]
    selected = tuple(column for column in method.columns if column.path == path) or (Column(path, "unknown"),)
    return OutputSpec(command, selected if path else method.columns, bool(path), method.height, width=width)


@pytest.mark.parametrize("command", DRAWN)
def test_newest_first_is_the_same_picture(truth: Truth, command: str) -> None:
    """The order of the rows changes nothing, at any width."""
    rows = list(map(Raw, truth.rows(command, 300, 400)))
    for width in (1, 30, 80, 400):
        spec = spec_of(command, width=width)
        assert drawn(rows[::-1], spec) == drawn(rows, spec)


numbers = (
    st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([2**128 - 1, -(2**128), 10**400, "NaN", "x", None, True, 1e-320])
)


@given(
    st.lists(st.tuples(st.integers(0, 2**70), numbers), max_size=20),
    st.sampled_from(["round", "no\x1bsuch"]),
)
def test_any_number_can_be_drawn(points: list[tuple[int, Any]], column: str) -> None:
    """Whatever a server sends for numbers and heights, 39 digits and more, nothing fails and every line fits."""
    rows = [Raw(json.dumps({"height": height, column: value}).encode()) for height, value in points]
    drawn(rows, spec_of("blocks", column))


def test_memory_stays_flat() -> None:
    """Thirty million heights, and one far off, leave no more bins than a few thousand, and lose nothing."""
    chart = Chart(io.BytesIO(), spec_of("blocks", "round"))
    for height in range(0, 30_000_000, 701):
        chart.write([Raw(b'{"height":%d,"round":1}' % height)])
        assert len(chart._bins) <= BINS
    chart.write([Raw(b'{"height":%d,"round":5}' % 10**30)])
    assert sum(one.total for one in chart._bins.values()) == 42_797 + 5


@pytest.mark.parametrize(("name", "package"), [("chart", "plotille"), ("parquet", "pyarrow")])
def test_without_the_package(name: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package of a format, a usage error has the command that installs it."""
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError, match=re.escape(f"it comes with chainq[{name}] ")):
        protocol.load(name)(io.BytesIO(), spec_of("blocks"))


def test_every_number_of_the_catalogue_can_be_drawn() -> None:
    for command in DRAWN:
        for column in BY_COMMAND[command].columns:
            if column.type == "number":
                Chart(io.BytesIO(), spec_of(command, column.path))
