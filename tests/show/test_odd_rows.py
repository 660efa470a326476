"""What screens make of rows of a wrong shape: missing fields, null, numbers for strings, unknown fields."""

import json
import tracemalloc
from typing import Any

import pytest
from msgspec import Raw

from chainq.formats.drawing import ENDLESS
from chainq.formats.protocol import OutputSpec
from chainq.heights.range import HeightRange
from chainq.show.as_json import encode
from chainq.show.parts import AddressParts, BlockParts, FunctionParts, Parts, ProgramParts, TransactionParts
from chainq.show.screens import FunctionCalls, calls_by_function, draw

ROWS: list[Any] = [
    {},
    {"later": {"deep": [1]}},
    {"transaction": None, "status": None, "type": None, "index": None, "finalizedAt": None},
    {"transaction": 5, "status": 1, "type": 2, "index": "x", "finalizedAt": "soon"},
    {"transaction": {"id": 7, "execution": {"transitions": None}, "fee": {"transition": None}}, "finalizedAt": 10**30},
    {"transaction": {"execution": {"transitions": [None, 1, {}, {"program": 1}]}}, "status": ["rejected"]},
    {"transactions": [None, 3, {}], "aborted_transaction_ids": [None, 5], "ratifications": [1, None, {"amount": []}]},
    {"transition_id": None, "program_id": 1, "function_name": {}, "program": 3, "height": "x", "timestamp": []},
    {"block_hash": 1, "round": None, "timestamp": {}, "coinbase_target": "many", "coinbase_reward": None},
    {"status": "\ud800", "transaction": {"id": "\ud800"}, "\ud800": "\ud800", "function_name": "\ud800"},
]


def raw(value: Any) -> Raw:
    return Raw(json.dumps(value).encode())


def all_parts(row: Raw) -> list[Parts]:
    heights = HeightRange(0, 5)
    return [
        BlockParts(3, row, row, [row]),
        TransactionParts("at1x", row),
        AddressParts("aleo1x", heights, [row]),
        ProgramParts("a.aleo", heights, [row], [row]),
        FunctionParts("a.aleo", "f", 0, [row]),
    ]


@pytest.mark.parametrize("row", ROWS)
def test_any_row_is_drawn_and_written(row: Any) -> None:
    """A screen of every kind is drawn; as JSON the row is there as it was sent."""
    for kind, parts in zip(
        ("block", "transaction", "address", "program", "function"), all_parts(raw(row)), strict=True
    ):
        screen = draw(parts, OutputSpec("show", (), width=80), 0).decode()
        assert screen.split()[0] == kind
        assert bytes(raw(row)) in encode(parts)
        assert json.loads(encode(parts))["kind"] == kind


@pytest.mark.parametrize("parts", all_parts(raw(ROWS[7])))
def test_lines_without_an_end_are_not_filled(parts: Parts) -> None:
    """A screen in a pipe needs the room of its text, not of lines as wide as they may be."""
    tracemalloc.start()
    draw(parts, OutputSpec("show", (), abbreviate=False), 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < ENDLESS


def screen(parts: Parts) -> list[str]:
    return [line.rstrip() for line in draw(parts, OutputSpec("show", (), width=80), 0).decode().splitlines()]


def test_a_transaction_says_only_what_it_has() -> None:
    """Numbers are taken for their text; null and what is missing are empty."""
    found = screen(AddressParts("aleo1x", HeightRange(0, 5), [raw(ROWS[3]), raw(ROWS[0]), raw(ROWS[5])]))
    assert found[3:] == [
        *("├── x  2  ! 1", "│   └──"),
        *("├──", "│   └──"),
        *('└── ! ["rejected"]', "    ├──", "    ├── ?/?  3 times", "    └── 1/?"),
    ]


def test_counts_of_records_with_odd_names() -> None:
    """A record without a name is counted under a question mark."""
    records = [raw({}), raw({"program_id": 1, "function_name": None, "transition_id": 5}), raw({})]
    calls = {"execution": {"transitions": [{"id": "5", "program": "a"}]}}
    block = raw({"transactions": [{"index": 0, "transaction": calls}]})
    found = screen(BlockParts(3, raw({}), block, records))
    assert found[-5:] == ["    └── a/?  1 record", "", "records  3", "  2  ?/?", "  1  1/?"]


def test_calls_with_odd_heights() -> None:
    """Those of functions that were not called come last; what is no height counts as the first."""
    rows = [raw({"function_name": "f", "height": "x", "transition_id": 1}), raw({"function_name": 5, "height": "7"})]
    assert calls_by_function(rows, ["g"]) == [
        FunctionCalls("5", 1, 7, 0, ""),
        FunctionCalls("f", 1, 0, 0, ""),
        FunctionCalls("g", 0),
    ]


def test_functions_come_from_the_first_source_text() -> None:
    """A row whose program is no text, or only its ID, names none."""
    rows = [raw({"program": value}) for value in (None, 5, "a.aleo", "program a.aleo;\nfunction f:\nfunction g:\n")]
    heights = HeightRange(0, 5)
    assert screen(ProgramParts("a.aleo", heights, [], rows[:3]))[0] == "program  a.aleo"
    assert screen(ProgramParts("a.aleo", heights, [], rows))[0] == "program  a.aleo  2 functions"
