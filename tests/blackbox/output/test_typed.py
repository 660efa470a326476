"""--typed: no digit changes (`tests/golden/commands/values.txt` has its numbers and times)."""

import json
from typing import Any

import pytest
from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.formats.changes import Changing, with_types


@pytest.mark.parametrize(
    ("sent", "due"),
    [
        ({"height": "9007199254740992"}, {"height": 9007199254740992}),
        ({"height": "9007199254740993"}, {"height": "9007199254740993"}),
        ({"height": 9007199254740993}, {"height": 9007199254740993}),
        ({"height": None, "timestamp": None}, {"height": None, "timestamp": None}),
        ({"height": "five", "timestamp": "soon"}, {"height": "five", "timestamp": "soon"}),
        ({"timestamp": 10**15, "new": [1]}, {"timestamp": 10**15, "new": [1]}),
        ([1], [1]),
    ],
)
def test_what_is_no_number_stays(sent: Any, due: Any) -> None:
    """So do strings of more digits than a double holds."""
    rows: list[Raw] = []

    class Kept:
        write = staticmethod(rows.extend)
        close = staticmethod(lambda: None)

    Changing(Kept(), with_types(BY_COMMAND["blocks"].columns)).write([Raw(json.dumps(sent).encode())])
    assert json.loads(bytes(rows[0])) == due
