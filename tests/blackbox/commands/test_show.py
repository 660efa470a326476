"""`chainq show X`: one screen for any object, in few calls, that ends with commands that work as they stand.

The screens are in `tests/golden/commands/show.txt` and show-more.txt.
"""

import json
from collections import Counter
from typing import Any

import pytest

from harness.running.program import Program, one_line
from harness.running.truth import Truth
from harness.servers.services import Canned, canned, witnessed

TRUTH = Truth()
CHAIN = TRUTH.chain
HEIGHT = 12345
TRANSACTIONS = [CHAIN.transaction_id(HEIGHT, index) for index in range(CHAIN.transactions.count(HEIGHT))]
ADDRESS = CHAIN.addresses[0]
MOST_CALLS = {
    str(HEIGHT): 2,  # block, full block
    "latest": 3,  # latest, full block, and the end of the chain
    TRANSACTIONS[0]: 1,
    "credits.aleo": 9,  # latest, records and transitions, each with its first height and two looks at the end
    ADDRESS: 26,  # latest, the newest references with their proof, and ten transactions
    "tile_gallery.aleo/claim": 31,  # one row at a time until the end of the list is found, then its last rows
}


@pytest.mark.parametrize("name", MOST_CALLS)
def test_a_screen_takes_few_calls(name: str, chainq: Program) -> None:
    """The number of calls is stated for each screen; none is made twice."""
    with witnessed() as (url, calls):
        assert chainq("show", name, url=url).code == 0
    assert len(calls) <= MOST_CALLS[name], Counter(call.method for call in calls)
    latest = [call for call in calls if call.method == "latest/block"]
    assert len(latest) <= 1


def test_json_has_the_rows_as_the_service_sent_them(chainq: Program) -> None:
    """One object with the parts; inside it the bytes of the commands for each part."""
    ran = chainq("show", str(HEIGHT), "--json", url="demo:")
    assert list(json.loads(ran.out)) == ["kind", "height", "summary", "block"]
    assert ran.out.count(b"\n") == 1
    assert chainq("block", str(HEIGHT), url="demo:").rows[0] in ran.out
    assert chainq("full-blocks", "--start", str(HEIGHT), "--end", str(HEIGHT + 1), url="demo:").rows[0] in ran.out


def test_objects_from_standard_input(chainq: Program) -> None:
    """- reads objects or rows, one a line, and shows each."""
    words = f"{HEIGHT}\n\n{HEIGHT}\n{TRANSACTIONS[0]}\n".encode()
    both = chainq("show", "-", url="demo:", stdin=words)
    assert (both.code, both.err) == (0, "")
    assert both.out == b"\n".join(chainq("show", one, url="demo:").out for one in (str(HEIGHT), TRANSACTIONS[0]))
    rows = b"\n".join([*TRUTH.transactions(HEIGHT)[:2], TRUTH.block(HEIGHT)]) + b"\n"
    shown = [json.loads(row) for row in chainq("show", "-", "--json", url="demo:", stdin=rows).rows]
    assert [row.get("transaction_id", row.get("height")) for row in shown] == [*TRANSACTIONS[:2], HEIGHT]


def test_a_block_that_contradicts_itself_is_exit_6(chainq: Program) -> None:
    """Its summary and its content come by different calls, perhaps from different replicas."""

    def answer(request: Any) -> Canned:
        rows: dict[str, list[Any]] = {
            "block": [{"height": "5", "block_hash": "ab1x"}],
            "getChainBlocks": [{"block_hash": "ab1y", "header": {"metadata": {"height": 5}}, "transactions": []}],
        }
        rows["getAleoBlocks"] = rows["getChainBlocks"]
        result = rows["block"][0] if request["method"] == "latest/block" else rows.get(request["method"], [])
        return Canned(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode())

    with canned(answer) as (url, _):
        assert "different hashes" in one_line(chainq("show", "5", url=url), 6)


def test_nothing_of_the_service_acts_on_a_terminal(chainq: Program) -> None:
    """Control characters are shown as escapes, and markup as it is."""
    evil = "\x1b[31m[bold red]x[/]\u202e;$(reboot)"
    row = {
        "status": evil,
        "type": evil,
        "index": 0,
        "transaction": {
            "id": TRANSACTIONS[0],
            "execution": {"transitions": [{"program": evil, "function": evil, "id": evil}]},
        },
    }

    def answer(request: Any) -> Canned:
        return Canned(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": row}).encode())

    with canned(answer) as (url, _):
        ran = chainq("show", TRANSACTIONS[0], url=url)
    text = ran.out.decode()
    assert ran.code == 0
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "[bold red]x[/]" in text
