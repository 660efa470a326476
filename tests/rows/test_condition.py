"""The grammar of --where, on values as servers send them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.rows.where import Where
from harness.models.readings import readings

RECORDS = BY_COMMAND["records"]
ROW = {"height": "12345", "output_index": 0, "program_id": "a.aleo", "function_name": "it's", "timestamp": None}


def passes(expression: str, row: object = ROW) -> bool:
    """Whether a row passes, as a server would send it."""
    return Where(RECORDS, [expression]).passes(Raw(json.dumps(row).encode()))


def test_the_grammar(golden: Callable[[Path, str], None]) -> None:
    """Numbers compare exactly, also as strings of digits; null meets neither an order nor a pattern."""
    file = Path(__file__).parent / "where.txt"
    golden(file, readings(file, passes))


@given(st.integers(), st.integers(), st.booleans(), st.booleans())
def test_integers_of_any_size(one: int, other: int, text: bool, near: bool) -> None:
    """No digit is lost, in what is sent and in what is compared with it."""
    one, other = one + 10**40, (one + other % 3 - 1 if near else other) + 10**40
    row = {"height": str(one) if text else one}
    assert passes(f"height < {other}", row) is (one < other)
    assert passes(f"height = {other}", row) is (one == other)
    assert passes(f"height >= {other}", row) is (one >= other)


@pytest.mark.parametrize("sent", [b'"\\ud800"', b"1e999999999999999999999", b'"' + b"9" * 5000 + b'"', b"[1]", b"{}"])
def test_values_that_nobody_expects(sent: bytes) -> None:
    """A value that is neither text nor a number that can be compared meets no order, and fails nothing."""
    row = Raw(b'{"height":' + sent + b"}")
    assert Where(RECORDS, ["height != null"]).passes(row)
    assert Where(RECORDS, ["height > 5"]).passes(row) is sent.startswith(b'"9')
    assert Where(RECORDS, ["height ~ ."]).passes(row) is True


def test_rows_that_pass_hold_no_response() -> None:
    """The rows that are kept are copies, so that one of them does not keep the whole response in memory."""
    rows = [Raw(json.dumps({"output_index": number}).encode()) for number in range(4)]
    kept = Where(RECORDS, ["output_index > 1"]).rows(rows)
    assert [bytes(row) for row in kept] == [bytes(row) for row in rows[2:]]


@pytest.mark.parametrize(("sent", "met"), [("[]", False), ("[null]", False), ("[null,5]", True), ("null", False)])
def test_not_null_means_that_a_value_is_there(sent: str, met: bool) -> None:
    """Of an array: that one item has one."""
    row = Raw(f'{{"transactions":{sent}}}'.encode())
    assert Where(BY_COMMAND["full-blocks"], ["transactions[] != null"], check=False).passes(row) is met
