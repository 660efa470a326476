"""What a tree of transactions repeats, and what it says once."""

import json

from msgspec import Raw

from chainq.formats.protocol import OutputSpec
from chainq.show.parts import FunctionParts
from chainq.show.screens import draw


def test_equal_calls_are_a_line() -> None:
    """A transaction may have thousands of them: how many there are is said, and what differs keeps its place."""
    equal, other = {"program": "a.aleo", "function": "f"}, {"program": "a.aleo", "function": "g"}
    calls = {"id": "at1x", "execution": {"transitions": [*[equal] * 12_500, other, equal]}}
    row = Raw(json.dumps({"status": "accepted", "type": "execute", "transaction": calls}).encode())
    drawn = draw(FunctionParts("a.aleo", "f", 0, [row]), OutputSpec("show", (), width=80), 0).decode()
    lines = [line.lstrip(" │├└─").rstrip() for line in drawn.splitlines()]
    assert lines[-3:] == ["a.aleo/f  12,500 times", "a.aleo/g", "a.aleo/f"]
