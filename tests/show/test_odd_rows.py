"""What screens make of rows of a wrong shape: missing fields, null, numbers for strings, unknown fields."""

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from chainq.formats.protocol import OutputSpec
from chainq.heights.range import HeightRange
from chainq.show.parts import AddressParts, BlockParts, FunctionParts, Parts, ProgramParts, TransactionParts
from chainq.show.screens import draw
from chainq.text.width import ENDLESS

KINDS = ("block", "transaction", "address", "program", "function")
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
    {"program_id": "a.aleo", "function_name": "f", "height": "x", "transition_id": 5},
    {"function_name": 5, "height": "7"},
    {"program": "a.aleo"},
    {"program": "program a.aleo;\nfunction f:\nfunction g:\n"},
    {"program": "program b.aleo;\nfunction h:\n"},
    {"status": "\ud800", "transaction": {"id": "\ud800"}, "\ud800": "\ud800", "function_name": "\ud800"},
]


def raw(value: Any) -> Raw:
    return Raw(json.dumps(value).encode())


def all_parts(rows: list[Raw]) -> list[Parts]:
    heights = HeightRange(0, 5)
    return [
        BlockParts(3, rows[0], rows[-1]),
        TransactionParts("at1x", rows[-1]),
        AddressParts("aleo1x", heights, rows),
        ProgramParts("a.aleo", heights, rows, rows),
        FunctionParts("a.aleo", "f", 0, rows),
    ]


def test_any_row_is_drawn_and_written(golden: Callable[[Path, str], None]) -> None:
    """A screen of every kind is drawn, of each row and of all; as JSON the row is there as it was sent."""
    record = ""
    for rows in [*([row] for row in ROWS), ROWS]:
        record += "".join(f"< {json.dumps(row)}\n" for row in rows)
        for kind, parts in zip(KINDS, all_parts([*map(raw, rows)]), strict=True):
            screen = draw(parts, OutputSpec("show", (), width=80), 0).decode()
            assert screen.split()[0] == kind
            record += "".join(f"| {line}".rstrip() + "\n" for line in screen.splitlines())
            written = msgspec.json.encode(parts)
            assert bytes(raw(rows[-1])) in written
            assert json.loads(written)["kind"] == kind
    golden(Path(__file__).parent / "odd_rows.txt", record)


@pytest.mark.parametrize("parts", all_parts([raw(ROWS[7])]))
def test_lines_without_an_end_are_not_filled(parts: Parts) -> None:
    """A screen in a pipe needs the room of its text, not of lines as wide as they may be."""
    tracemalloc.start()
    draw(parts, OutputSpec("show", (), abbreviate=False), 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < ENDLESS
