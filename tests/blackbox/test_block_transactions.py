"""`transactions` on servers that take heights or row ids, and return either: the rows of the block, or exit 6."""

import json
import re
from collections import Counter
from typing import Any

import pytest

from chainq.demo.chain import Chain
from chainq.demo.service import Service
from harness.program import Program, one_line
from harness.search import some
from harness.services import serving
from harness.truth import Truth

TIP = 100_000
FOREIGN = 77_928  # is the row id of block 12345


class Server(Service):
    """The sample chain under the names of a dialect; takes heights or row ids, and returns one of the two.

    `lacks`: a method that it does not have.
    """

    def __init__(self, names: str, *, by_row_id: bool, heights: bool = False, lacks: str = "") -> None:
        super().__init__(Chain(tip=TIP), dialect=names)
        handler = "transactions_of_row" if by_row_id else "transactions"
        self._methods = {**self._methods, "transactions": self._methods["transactions"]._replace(handler=handler)}
        self._methods.pop(lacks, None)
        self._heights = heights
        self.calls: Counter[str] = Counter()

    def respond(self, body: bytes) -> Any:
        """As the service does, `block_id` being the height if so wanted."""
        method = json.loads(body)["method"]
        self.calls[method] += 1
        reply = super().respond(body)
        if method == "transactions" and self._heights:
            answer = json.loads(reply.body)
            for row in answer["result"]:
                row["block_id"] = self.chain.height_of_row(row["block_id"])
            reply = reply._replace(body=json.dumps(answer).encode())
        return reply


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
def test_an_empty_list_is_never_taken_on_trust(names: str, chainq: Program) -> None:
    """A replica that is behind has no transactions of the newest blocks yet: exit 6 after the whole blocks before."""

    class Behind(Server):
        def respond(self, body: bytes) -> Any:
            reply = super().respond(body)
            if json.loads(body)["method"] == "transactions" and self.calls["transactions"] > 2:
                return reply._replace(body=json.dumps(json.loads(reply.body) | {"result": []}).encode())
            return reply

    with serving(Behind(names, by_row_id=names == "aleo")) as url:
        ran = chainq("transactions", "640", "641", "642", "-j1", "--url", url)
    assert {json.loads(row)["block_id"] for row in ran.rows} == {Chain(tip=TIP).block_row(h) for h in (640, 641)}
    said = ran.err.splitlines()[0]
    assert ran.code == 6
    assert "transactions height 642: there are no rows, but the block has transactions" in said
    assert "run the command again; near the tip a server may be behind" in said


@pytest.mark.parametrize("names", ["chain", "aleo"])
def test_a_range_takes_a_call_for_each_block(names: str, chainq: Program, truth: Truth) -> None:
    """Row ids and roots come by one call for many blocks; a few full blocks show that no list ends early."""
    server = Server(names, by_row_id=names == "aleo")
    with serving(server) as url:
        ran = chainq("transactions", "600:700", "--dialect", names, "--url", url)
    assert (ran.code, ran.rows) == (0, [row for height in range(600, 700) for row in truth.transactions(height)])
    assert server.calls.pop("transactions") == 100
    assert server.calls.total() <= 12, server.calls


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("names", ["chain", "aleo"])
def test_6_lists_that_end_early(names: str, limit: int, chainq: Program) -> None:
    """A server that limits its responses, without an error: the lists are as long as its limit."""

    class Limited(Server):
        def respond(self, body: bytes) -> Any:
            reply = super().respond(body)
            if json.loads(body)["method"] == "transactions":
                answer = json.loads(reply.body)
                reply = reply._replace(body=json.dumps(answer | {"result": answer["result"][:limit]}).encode())
            return reply

    with serving(Limited(names, by_row_id=names == "aleo")) as url:
        for words in ((), ("-j1",)):
            ran = chainq("transactions", "640:720", *words, "--url", url)
            assert ran.code == 6
            assert re.search(r"of its [0-9]+ transactions do(es)? not come, by its full block", ran.err)


@pytest.mark.parametrize("lacks", ["rejected", "last row", "relabelled"])
def test_lists_that_look_whole_are_compared_with_their_blocks(lacks: str, chainq: Program, truth: Truth) -> None:
    """Without a block's rejected transactions or its last row `index` has no gap; and the rows of another block may
    have the number of this one. Each row before the error is one of its block."""

    class Lacking(Server):
        def respond(self, body: bytes) -> Any:
            request, reply = json.loads(body), super().respond(body)
            if request["method"] != "transactions":
                return reply
            answer = json.loads(reply.body)
            if lacks == "relabelled" and request["params"]["blockId"] % 3 == 2:
                other = super().respond(body.replace(b"%d" % request["params"]["blockId"], b"651"))
                answer["result"] = [row | {"block_id": 651} for row in json.loads(other.body)["result"]]
            elif lacks == "last row" and request["params"]["blockId"] == 655:
                answer["result"] = answer["result"][:-1]
            elif lacks == "rejected":
                answer["result"] = [row for row in answer["result"] if row["status"] != "rejected"]
            return reply._replace(body=json.dumps(answer).encode())

    with serving(Lacking("chain", by_row_id=False)) as url:
        ran = chainq("transactions", "650:700", "--dialect", "chain", "--url", url)
    assert ran.code == 6
    due = [row for height in range(650, 700) for row in truth.transactions(height)]
    assert ran.rows == due[: len(ran.rows)]


def test_6_a_block_of_a_range_whose_transactions_are_withheld(chainq: Program) -> None:
    """An empty list after a block that is empty, of a block that is not: the roots of the two differ."""

    class Withholding(Server):
        def respond(self, body: bytes) -> Any:
            request, reply = json.loads(body), super().respond(body)
            if request["method"] == "transactions" and 660 in request["params"].values():
                return reply._replace(body=json.dumps(json.loads(reply.body) | {"result": []}).encode())
            return reply

    with serving(Withholding("chain", by_row_id=False)) as url:
        ran = chainq("transactions", "650:700", "-j1", "--url", url)
    assert ran.code == 6
    assert "transactions height 660: there are no rows, but the block has transactions" in ran.err
    assert json.loads(ran.rows[-1])["block_id"] == Chain(tip=TIP).block_row(659)


def test_a_server_without_full_blocks_proves_nothing(chainq: Program, truth: Truth) -> None:
    """Where full blocks have another name, or are too large, a warning says so."""
    server = Server("aleo", by_row_id=True, lacks="getAleoBlocks")
    with serving(server) as url:
        ran = chainq("transactions", "640", "--dialect", "aleo", "--url", url)
        assert (ran.code, ran.rows) == (0, truth.transactions(640))
        assert server.calls == {"block": 2, "transactions": 1, "getAleoBlocks": 1, "getChainBlocks": 1}
        assert "nothing proves that these are all transactions of their blocks" in ran.err


def test_a_block_that_does_not_exist_is_not_found(chainq: Program) -> None:
    """In both dialects, and after one that exists."""
    for names, by_row_id in (("chain", False), ("aleo", True)):
        with serving(Server(names, by_row_id=by_row_id)) as url:
            ran = chainq("transactions", "640", str(TIP + 1), "--url", url)
        assert ran.code == 1
        assert f"block {TIP + 1} not found" in ran.err
        assert ran.rows
