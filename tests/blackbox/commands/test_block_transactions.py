"""`transactions` on servers that take heights or row ids, and return either: the rows of the block, or exit 6."""

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from chainq.demo.chain import Chain
from chainq.demo.service import SampleService
from harness.models.search import some
from harness.running.program import Program, one_line
from harness.running.truth import Truth
from harness.servers.services import serving

TIP = 100_000
FOREIGN = 77_928  # is the row id of block 12345
Change = Callable[[dict[str, Any], list[Any]], list[Any]]


class Server(SampleService):
    """The sample chain under the names of a dialect; takes heights or row ids, and returns one of the two.

    `lacks`: a method that it does not have. `altered`: what it makes of the parameters and rows of transactions.
    """

    def __init__(self, names: str, *, by_row_id: bool, heights: bool = False, lacks: str = "") -> None:
        super().__init__(Chain(tip=TIP), dialect=names)
        handler = "transactions_of_row" if by_row_id else "transactions"
        self._methods = {**self._methods, "transactions": self._methods["transactions"]._replace(handler=handler)}
        self._methods.pop(lacks, None)
        self._heights = heights
        self.calls: Counter[str] = Counter()
        self.altered: Change = lambda _, rows: rows

    def respond(self, body: bytes) -> Any:
        """As the service does, `block_id` being the height if so wanted."""
        request = json.loads(body)
        self.calls[request["method"]] += 1
        reply = super().respond(body)
        answer = json.loads(reply.body)
        if request["method"] != "transactions" or "result" not in answer:
            return reply
        rows = self.altered(request["params"], answer["result"])
        if self._heights:
            rows = [row | {"block_id": self.chain.height_of_row(row["block_id"])} for row in rows]
        return reply._replace(body=json.dumps(answer | {"result": rows}).encode())


def due(truth: Truth, height: int, *, heights: bool) -> list[Any]:
    """The transactions of a block, as such a server returns them."""
    rows = [json.loads(row) for row in truth.transactions(height)]
    return [row | {"block_id": height} for row in rows] if heights else rows


@pytest.mark.parametrize("heights", [False, True], ids=["row ids in rows", "heights in rows"])
@pytest.mark.parametrize(("names", "by_row_id"), [("chain", False), ("aleo", True)])
def test_the_rows_are_those_of_the_block(
    names: str, by_row_id: bool, heights: bool, chainq: Program, truth: Truth
) -> None:
    """On servers of either kind, for blocks with transactions and without; at most as many full blocks."""
    server = Server(names, by_row_id=by_row_id, heights=heights)
    with serving(server) as url:
        for asked in (["12345"], [str(FOREIGN), "12345", "640"], ["653", "640"], ["653"]):
            server.calls.clear()
            ran = chainq("transactions", *asked, "--url", url)
            assert (ran.code, ran.err) == (0, "")
            assert [json.loads(row) for row in ran.rows] == [
                row for height in asked for row in due(truth, int(height), heights=heights)
            ]
            assert server.calls["transactions"] == len(asked)
            assert server.calls["getChainBlocks"] + server.calls["getAleoBlocks"] <= len(asked) + (names == "aleo")
    assert due(truth, 653, heights=False) == []


@pytest.mark.parametrize("height", some([12_345, FOREIGN, 653], FOREIGN, 653))
@pytest.mark.parametrize("heights", [False, True], ids=["row ids in rows", "heights in rows"])
@pytest.mark.parametrize(
    ("names", "by_row_id", "stated"),
    [
        pytest.param("chain", True, "auto", id="row ids under the names of chain"),
        pytest.param("aleo", False, "auto", id="heights under the names of aleo"),
    ],
)
def test_rows_of_another_block_are_never_printed(
    names: str, by_row_id: bool, stated: str, heights: bool, height: int, chainq: Program
) -> None:
    """Exit 6 and no row, with or without rows to go by; for a block without transactions there may be nothing wrong."""
    with serving(Server(names, by_row_id=by_row_id, heights=heights)) as url:
        ran = chainq("transactions", str(height), "--dialect", stated, "--url", url)
    assert ran.out == b""
    if not (height == 653 and ran.code == 0):
        said = one_line(ran, 6)
        assert f"transactions height {height}: " in said
        assert "another dialect" in said
        assert "chainq doctor" in said


@pytest.mark.parametrize("names", ["chain", "aleo"])
def test_a_range_takes_a_call_for_each_block(names: str, chainq: Program, truth: Truth) -> None:
    """Row ids and roots come by one call for many blocks; a few full blocks show that no list ends early."""
    server = Server(names, by_row_id=names == "aleo")
    with serving(server) as url:
        ran = chainq("transactions", "600:700", "--dialect", names, "--url", url)
    assert (ran.code, len(ran.rows)) == (0, sum(len(truth.transactions(height)) for height in range(600, 700)))
    assert server.calls.pop("transactions") == 100
    assert server.calls.total() <= 12, server.calls


OTHER = Chain(tip=TIP).transaction_id(640, 1)
NO_ROWS, NOT_ALL = "there are no rows, but the block has transactions", "of its [0-9]+ transactions do(es)? not come"
CHANGES: dict[str, tuple[Change, str]] = {
    "two rows": (lambda _, rows: rows[:2], NOT_ALL),
    "one row": (lambda _, rows: rows[:1], NOT_ALL),
    "withheld": (lambda params, rows: [] if 660 in params.values() else rows, f"height 660: {NO_ROWS}"),
    "no rejected": (lambda _, rows: [row for row in rows if row["status"] != "rejected"], ""),
    "no last row": (lambda params, rows: rows[:-1] if 655 in params.values() else rows, ""),
    "other IDs": (lambda _, rows: [row | {"transaction_id": OTHER} for row in rows] if len(rows) > 4 else rows, ""),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_6_lists_that_are_not_those_of_their_blocks(kind: str, chainq: Program, truth: Truth) -> None:
    """Lists may end early, lack rows so that `index` has no gap, or be empty: each row before the error is right."""
    server = Server("chain", by_row_id=False)
    server.altered, said = CHANGES[kind]
    with serving(server) as url:
        ran = chainq("transactions", "650:700", "-j1", "--dialect", "chain", "--url", url)
    assert ran.code == 6
    assert re.search(said, ran.err), ran.err
    rows = [row for height in range(650, 700) for row in due(truth, height, heights=False)]
    assert [json.loads(row) for row in ran.rows] == rows[: len(ran.rows)]


def test_a_server_without_full_blocks_proves_nothing(chainq: Program, truth: Truth) -> None:
    """Where full blocks have another name, or are too large, a warning says so."""
    server = Server("aleo", by_row_id=True, lacks="getAleoBlocks")
    with serving(server) as url:
        ran = chainq("transactions", "640", "--dialect", "aleo", "--url", url)
        assert (ran.code, [*map(json.loads, ran.rows)]) == (0, due(truth, 640, heights=False))
        assert server.calls == {"block": 2, "transactions": 1, "getAleoBlocks": 1, "getChainBlocks": 1}
        assert "nothing proves that these are all transactions of their blocks" in ran.err
