"""Charts: what is drawn of each command, that the numbers are right, and that any rows can be drawn."""

import io
import json
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND, METHODS, Column, Kind
from chainq.errors import UsageError
from chainq.formats.chart import Chart
from chainq.formats.chart_picture import BINS, Bins
from chainq.formats.protocol import OutputSpec
from harness.search import some
from harness.truth import Truth

pytest.importorskip("plotille", reason="charts need the extra chainq[chart]")

DRAWN = [method.command for method in METHODS if method.height]


def drawn(rows: Iterable[dict[str, Any]], spec: OutputSpec) -> list[str]:
    """Return the lines drawn of rows given as Python objects."""
    return drawn_raw([Raw(json.dumps(row).encode()) for row in rows], spec)


def drawn_raw(rows: Sequence[Raw], spec: OutputSpec) -> list[str]:
    out = io.BytesIO()
    chart = Chart(out, spec)
    chart.write(rows[:1])
    chart.write(rows[1:])
    chart.close()
    text = out.getvalue().decode()
    assert text.endswith("\n")
    return text[:-1].split("\n")


def spec_of(command: str, columns: str = "", **settings: Any) -> OutputSpec:
    """Return the spec of a command, with the columns of those paths selected if there are any."""
    method = BY_COMMAND[command]
    known = {column.path: column for column in method.columns}
    selected = tuple(known.get(path, Column(path, "unknown")) for path in columns.split(",") if path)
    return OutputSpec(command, selected or method.columns, bool(selected), method.height, **settings)


def sent(truth: Truth, command: str, start: int, end: int) -> list[Raw]:
    """Return rows of the sample chain."""
    return [Raw(row) for row in truth.rows(command, start, end)]


def records(counts: dict[int, int]) -> list[dict[str, Any]]:
    """Return so many records for each height."""
    return [{"height": height} for height, count in counts.items() for _ in range(count)]


def test_a_small_picture() -> None:
    """The line is as high as the values; there are round marks, units, a title, and the numbers below."""
    picture = """\
records per block
records
         4 |
           |              ⡼⡀
           |             ⢰⠁⡇
           |            ⢠⠃ ⢱
         3 |            ⡎  ⠸⡀
           |           ⡸    ⡇        ⡸
           |          ⢠⠃    ⢱       ⢀⠇
           |         ⢀⠇     ⠘⡄      ⡸
         2 |         ⡜       ⡇     ⢀⠇
           |       ⢀⠜        ⢸     ⢸
           |      ⢠⠊         ⠘⡄    ⡇
           |     ⡔⠁           ⢇   ⢸
         1 |   ⢀⠎             ⢸   ⡇
           |                  ⠈⡆ ⢰⠁
           |                   ⢇ ⡎
           |                   ⢸⢰⠁
         0 |                   ⠈⡎
             10                       14
              block height
lowest 0, mean 2, highest 4 at block 12
"""
    lines = drawn(records({10: 1, 11: 2, 12: 4, 14: 3}), spec_of("records", width=40))
    assert "\n".join(lines) + "\n" == picture


@pytest.mark.parametrize(
    ("command", "title", "unit"),
    [
        ("blocks", "block time", "seconds"),
        ("full-blocks", "transactions per block", "transactions"),
        ("records", "records per block", "records"),
        ("transitions", "transitions per block", "transitions"),
    ],
)
def test_what_is_drawn_without_columns(truth: Truth, command: str, title: str, unit: str) -> None:
    """Each command with heights has a picture of its own, with its unit, over the block height."""
    lines = drawn_raw(sent(truth, command, 0, 60), spec_of(command))
    assert lines[:2] == [title, unit]
    assert "block height" in [line.strip() for line in lines]


def test_a_selected_column_has_its_unit(truth: Truth) -> None:
    """Amounts are drawn in the unit that the service sends."""
    lines = drawn_raw(sent(truth, "blocks", 0, 60), spec_of("blocks", "coinbase_reward"))
    assert lines[:2] == ["coinbase_reward", "microcredits"]
    assert len(lines) <= 23, "taller than a terminal of 24 lines with its prompt"


@pytest.mark.parametrize("width", some([1, 20, 30, 40, 60, 80, 120, 200, 400], 1, 30, 80, 400))
@pytest.mark.parametrize("command", DRAWN)
def test_no_line_is_wider_than_the_terminal(truth: Truth, command: str, width: int) -> None:
    """Lines fit the width, none ends in spaces, and without colour there is no control character but the newline."""
    for line in drawn_raw(sent(truth, command, 700, 800), spec_of(command, width=width)):
        assert len(line) <= max(width, 20)
        assert line == line.rstrip()
        assert line.isprintable()


def test_colour_changes_no_character(truth: Truth) -> None:
    """With colour the picture is the same but for styles."""
    rows = sent(truth, "records", 0, 50)
    plain, colored = drawn_raw(rows, spec_of("records")), drawn_raw(rows, spec_of("records", color=True))
    assert "\x1b[" in colored[0]
    assert [re.sub(r"\x1b\[[0-9]*m", "", line) for line in colored] == plain


@pytest.mark.parametrize("command", DRAWN)
def test_newest_first_is_the_same_picture(truth: Truth, command: str) -> None:
    """The order of the rows changes nothing."""
    rows = sent(truth, command, 300, 400)
    assert drawn_raw(rows[::-1], spec_of(command)) == drawn_raw(rows, spec_of(command))


def test_block_time_is_seconds_from_the_block_below() -> None:
    """Block times are differences of neighbours, under the height of the later one; across a gap nothing is known."""
    times = {5: 100, 6: 103, 7: 113, 9: 9000, 10: 9004}
    rows = [{"height": str(height), "timestamp": str(time)} for height, time in times.items()]
    assert "lowest 3, mean 5.66667, highest 10 at block 7" in drawn(rows, spec_of("blocks"))


def test_heights_without_rows_count_as_none() -> None:
    """The mean of records per block is taken over all blocks between the first and the last that has any."""
    lines = drawn(records({100: 6, 109: 4}), spec_of("records"))
    assert "lowest 0, mean 1, highest 6 at block 100" in lines


def test_rows_that_share_a_block_are_named() -> None:
    """With a column of several rows per block, the mean is of rows, even if each block has a place of its own."""
    rows = [{"height": str(height), "output_index": index} for height in range(3) for index in range(2)]
    lines = drawn(rows, spec_of("records", "height,output_index"))
    assert lines[-1] == "the line is the mean of the rows of 1 block, dots are the lowest and the highest"


def test_long_ranges_say_what_a_column_is() -> None:
    """Where many blocks share a column, the last line says how many, and what the dots are."""
    lines = drawn(records(dict.fromkeys(range(2680), 2)), spec_of("records", width=80))
    assert lines[-1] == "the line is the mean of 20 blocks, dots are the lowest and the highest"
    assert "lowest 2, mean 2, highest 2 at block 0" in lines


def test_the_peak_is_in_the_picture() -> None:
    """A single value far above all others too: what is cut off would look as if it were not so high."""
    lines = drawn(records({height: 40 if height == 50 else 10 for height in range(100)}), spec_of("records"))
    assert lines[2].strip() == "40 |"
    assert lines[3].strip(" |")
    assert lines[-1] == "lowest 10, mean 10.3, highest 40 at block 50"


@pytest.mark.parametrize(
    ("columns", "title", "words"),
    [
        ("proof_target", "proof_target", "lowest 4, mean 6, highest 8 at block 2"),
        ("height,proof_target", "proof_target", "lowest 4, mean 6, highest 8 at block 2"),
        ("height", "block time", "lowest 60, mean 60, highest 60 at block 2"),
        ("round", "round", "lowest 2, mean 3, highest 4 at block 2"),
        ("timestamp", "timestamp", "lowest 1,718,409,600, mean 1,718,409,630, highest 1,718,409,660 at block 2"),
    ],
)
def test_selected_columns(columns: str, title: str, words: str) -> None:
    """A selected column of numbers or times is drawn; the height is the horizontal axis, selected or not."""
    start = 1_718_409_600
    rows = [
        {"height": str(n), "round": str(2 * n), "proof_target": str(4 * n), "timestamp": str(start + 60 * (n - 1))}
        for n in (1, 2)
    ]
    lines = drawn(rows, spec_of("blocks", columns))
    assert lines[0] == title
    assert lines[-1] == words


def test_a_selected_array_is_its_length() -> None:
    """An array is drawn as the number of its items; null has none and is left out."""
    values: list[Any] = [[1, 2], None, [{}]]
    rows = [{"header": {"metadata": {"height": n}}, "ratifications": value} for n, value in enumerate(values)]
    lines = drawn(rows, spec_of("full-blocks", "ratifications"))
    assert lines[:2] == ["ratifications per block", "items"]
    assert lines[-1] == "lowest 1, mean 1.5, highest 2 at block 0"


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("round,proof_target", "draws one column, but --columns selects 2: round, proof_target"),
        ("block_hash", "it can draw id, round, coin"),
    ],
)
def test_columns_that_cannot_be_drawn(columns: str, words: str) -> None:
    """Two columns, or one without numbers, are a usage error with a hint."""
    with pytest.raises(UsageError, match=words):
        Chart(io.BytesIO(), spec_of("blocks", columns))


def test_no_rows() -> None:
    """One line says that there are no rows, that nothing in them can be drawn, or how many were left out."""
    assert drawn([], spec_of("records")) == ["nothing to draw: no rows"]
    one = {"height": "5", "timestamp": "1"}
    assert drawn([one], spec_of("blocks")) == ["nothing to draw: no block time in 1 row; it needs two blocks in a row"]
    assert drawn([one, {}], spec_of("blocks", "round"))[-1] == "left out: 1 row without a height"
    assert drawn([one, one], spec_of("blocks", "no\x1bsuch")) == ["nothing to draw: no no\\x1bsuch in 2 rows"]


numbers = (
    st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([2**128 - 1, -(2**128), 10**400, "NaN", "x", None, True, 1e-320])
)


@given(st.lists(st.tuples(st.integers(0, 2**70), numbers), max_size=20), st.sampled_from(["timestamp", "round", "x"]))
def test_any_number_can_be_drawn(points: list[tuple[int, Any]], column: str) -> None:
    """Whatever a server sends for numbers and heights, 39 digits and more, nothing fails and every line fits."""
    rows = [Raw(json.dumps({"height": height, column: value}).encode()) for height, value in points]
    for line in drawn_raw(rows, spec_of("blocks", column)):
        assert len(line) <= 80


def test_numbers_that_floats_cannot_tell_apart() -> None:
    """Neighbours among numbers of 39 digits are drawn as one level."""
    rows = [{"height": n, "proof_target": 2**128 - n} for n in range(1, 9)]
    assert "lowest 3.40282e+38, mean 3.40282e+38, highest 3.40282e+38 at block 1" in drawn(
        rows, spec_of("blocks", "proof_target")
    )


def test_memory_stays_flat() -> None:
    """Thirty million heights, and one far off, leave no more bins than a few thousand, and lose nothing."""
    bins = Bins()
    for height in range(0, 30_000_000, 701):
        bins.add(height, 1.0)
        assert len(bins._bins) <= BINS
    bins.add(10**30, 5.0)
    groups = bins.groups(150)
    assert sum(group.total for group in groups) == bins.groups(1)[0].total == 42_797 + 5
    assert bins.peak == 10**30


@given(st.lists(st.tuples(st.integers(0, 20_000), st.integers(-9, 9)), min_size=1), st.integers(1, 400))
def test_bins_lose_nothing(points: list[tuple[int, int]], most: int) -> None:
    """However heights come and whatever bins they share, sums, counts and extremes are those of the values."""
    bins = Bins()
    for height, value in points:
        bins.add(height, value)
    groups = bins.groups(most)
    values = [value for _, value in points]
    heights = [height for height, _ in points]
    assert sum(group.total for group in groups) == sum(values)
    assert sum(group.values for group in groups) == len(values)
    assert (min(g.low for g in groups), max(g.high for g in groups)) == (min(values), max(values))
    assert (bins.first, bins.last) == (min(heights), max(heights))
    assert len(groups) <= min(most, bins.size)


def test_without_plotille(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the plotting library, a usage error has the command that installs it."""
    monkeypatch.setitem(sys.modules, "plotille", None)
    with pytest.raises(UsageError, match=re.escape("it comes with chainq[chart] ")):
        Chart(io.BytesIO(), spec_of("blocks"))


def test_every_number_of_the_catalogue_can_be_drawn() -> None:
    """Every column of numbers, heights, times or arrays can be drawn."""
    for command in DRAWN:
        for column in BY_COMMAND[command].columns:
            if column.kind in (Kind.NUMBER, Kind.HEIGHT, Kind.TIME, Kind.DATA) or column.type == "number":
                Chart(io.BytesIO(), spec_of(command, column.path))
