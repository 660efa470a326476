"""--typed: heights and row ids are numbers, times RFC 3339, and no digit changes."""

import json
from typing import Any

import pytest
from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.formats.typed import WithTypes
from harness.program import Program, Servers, one_line


def test_numbers_and_times(chainq: Program, server: Servers) -> None:
    """The same in every command, and inside of objects; other values are as they were sent."""
    url = server()
    (block,) = map(json.loads, chainq("block", "5", "--typed", "--jsonl", url=url).rows)
    (sent,) = map(json.loads, chainq("block", "5", "--jsonl", url=url).rows)
    assert (block["height"], block["timestamp"], block["id"]) == (5, "2023-06-01T00:00:57Z", int(sent["id"]))
    assert block.keys() == sent.keys()
    (full,) = map(json.loads, chainq("full-blocks", "5", "--typed", "--jsonl", url=url).rows)
    assert full["header"]["metadata"]["timestamp"] == "2023-06-01T00:00:57Z"
    header, row = chainq("blocks", "5:6", "--typed", "--csv", "--columns", "height,timestamp", url=url).rows
    assert [header, row] == [b"height,timestamp\r", b"5,2023-06-01T00:00:57Z\r"]


def test_a_format_that_has_its_own_types(chainq: Program, server: Servers) -> None:
    """A table and Parquet have theirs."""
    assert "--typed needs json, jsonl or csv" in one_line(chainq("latest", "--typed", "--table", url=server()), 2)


def test_a_checkpoint_knows_it(chainq: Program, server: Servers) -> None:
    """A file does not have rows of two kinds."""
    words = ("blocks", "--end", "20", "--checkpoint", "c", "-o", "b.jsonl")
    assert chainq(*words, "--typed", url=server()).code == 0
    assert "typed" in one_line(chainq(*words, url=server()), 2)


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

    WithTypes(Kept(), BY_COMMAND["blocks"].columns).write([Raw(json.dumps(sent).encode())])
    assert json.loads(bytes(rows[0])) == due
