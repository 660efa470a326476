"""The scoreboard finds what is lost, doubled and changed, and runs without a network; `lines.py` counts code."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from lines import count
from scoreboard import Difference, Server, Tool, compare, exact, printed_rows, score

WEIGHT = 18741917084398881550  # more than 64 bits
DUE = [{"id": number, "header": {"weight": WEIGHT + number}} for number in range(10)]


def lines(rows: list[dict[str, Any]]) -> list[bytes]:
    return [json.dumps(row).encode() for row in rows]


def judged(rows: list[dict[str, Any]]) -> Difference:
    return compare(DUE, printed_rows(lines(rows)), "id")


def test_the_same_rows_in_any_order_and_spelling_are_right() -> None:
    assert judged(DUE[::-1]) == (10, 0, 0, 0)
    spaced = [b' { "header" : {"weight": %d.0}, "id":%d }' % (WEIGHT + number, number) for number in range(10)]
    assert compare(DUE, printed_rows(spaced), "id") == (10, 0, 0, 0)


@pytest.mark.parametrize(
    ("rows", "lost", "doubled", "changed"),
    [
        (DUE[:7], 3, 0, 0),
        ([], 10, 0, 0),
        ([*DUE, *DUE[:2], DUE[0]], 0, 3, 0),
        ([*DUE[1:], DUE[1]], 1, 1, 0),  # as many rows as are due
        ([*DUE[1:], {**DUE[0], "header": {"weight": float(WEIGHT)}}], 0, 0, 1),
        ([*DUE[1:], {**DUE[0], "header": {"weight": WEIGHT + 1}}], 0, 0, 1),
        ([*DUE[1:], {**DUE[0], "header": {"weight": str(WEIGHT)}}], 0, 0, 1),
        ([*DUE[1:], {"id": 0}], 0, 0, 1),
        ([*DUE[1:], {**DUE[0], "id": 77}], 1, 0, 1),
    ],
)
def test_what_is_wrong_is_counted(rows: list[dict[str, Any]], lost: int, doubled: int, changed: int) -> None:
    assert judged(rows) == (len(rows), lost, doubled, changed)


def test_rows_are_taken_out_of_messages() -> None:
    messages = [b'{"type":"STATE","record":{"id":1}}', b'{"type":"RECORD","record":{"data":{"id":1}}}']
    assert printed_rows(messages, ("record", "data")) == [{"id": 1}]


def test_every_digit_of_a_number_counts() -> None:
    assert exact("1.8741917084398883e+19") == 18741917084398883000
    assert exact("0.1000000000000000055") != exact("0.1")


SHUFFLED = Server("", "--fault fail-rate:0.3 --fault row-cap:7", "records", 0, 8)


@pytest.mark.search
@pytest.mark.skipif(not (shutil.which("curl") and shutil.which("jq")), reason="curl or jq is not installed")
def test_a_program_that_loses_rows_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    """Pages of a height in changing order, as every program but chainq reads them."""
    assert not score(Tool("curl"), SHUFFLED, limit=60)
    assert capsys.readouterr().out.endswith(" | 0 |\n")
    assert score(Tool(""), SHUFFLED, limit=60)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("# a comment\n\n\n", 0),
        ('"""What a module says,\n\nin three lines."""\n', 0),
        ('def f():\n    """Docstring."""\n', 1),
        ('X = 1\n"""What X is."""\n', 1),
        ("x = 1  # why\n\ny = 2\n", 2),
        ('text = """one\n\nthree"""\n', 3),
        ("f(\n    # a comment\n    1,\n)\n", 3),
        ("if x:\n    pass\n", 2),
    ],
)
def test_lines_with_code_count(text: str, lines: int, tmp_path: Path) -> None:
    """Comments, docstrings and blank lines do not count; every line of a string that is used does."""
    (tmp_path / "module.py").write_text(text)
    found = count(tmp_path / "module.py")
    assert (found.code, found.all) == (lines, text.count("\n"))
