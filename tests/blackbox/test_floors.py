"""Servers that are wrong in one plain way: a run ends in exactly the truth, or in exit 6 after a whole prefix of it.

`tests/planning/test_completeness.py` has the floors: for each kind of server, the runs that must end in the truth.
"""

import re
from itertools import accumulate, count, product
from typing import Any

import orjson
import pytest

from chainq.demo.chain import Chain
from chainq.demo.faults import NO_FAULTS, TOO_HEAVY, Faults
from chainq.demo.registry import Reply, RpcError, page
from chainq.demo.results import Results
from chainq.demo.service import Service
from harness.attempts import numbered
from harness.examined import Odd
from harness.program import Program, Ran
from harness.sample import with_dense
from harness.search import some
from harness.services import FULL_BLOCKS, Blockless, serving
from harness.truth import Groups, Truth, difference

RANGED = ("records", "ownership", "transitions")
LISTS = ("records/all", "records/isOwner", "transitionsWithoutRecordInputs")
BELIEVED = "nothing proves that these are all rows"
TIP = 200


NO_PREFIX = {
    "few rows of a height": ("height-cap:5", RANGED),
    "each transaction once": ("distinct", ("records", "transitions")),
    "shards": ("shards:2", ("records", "transitions")),
    "gaps in full pages": ("page-gaps:10", ("records", "transitions")),
    "page 0 skipped": ("page-0-skipped", ("records", "ownership")),
    "one height higher": ("shift-up", RANGED),
}
"""Page 0 of these lacks rows that are due before rows that it shows, in order of height. No order shows that, so a run
may print other rows, with exit 0 or before it ends in exit 6 (docs/completeness.md); `chainq verify` finds it."""


class Counted(Service):
    """A service that answers so many calls and no more."""

    def __init__(self, chain: Chain, faults: Faults, most: int) -> None:
        super().__init__(chain, faults)
        self.calls, self.most = count(1), most
        self.refused = 0

    def respond(self, body: bytes) -> Reply:
        """Return the response, or HTTP 410."""
        if next(self.calls) > self.most:
            self.refused += 1
            return page(410, "too many calls")
        return super().respond(body)


def ended(ran: Ran, groups: Groups) -> str:
    """Return `truth`, `exit 6`, or what is wrong with the end of a run; `groups`: the rows due, height by height."""
    rows, due = [*map(numbered, ran.rows)], [[*map(numbered, group)] for group in groups]
    if ran.code == 0:
        found = difference(rows, due)
        if found and "nothing proves" in ran.err:
            return "belief"
        return f"silent: {found}" if found else "truth"
    whole = [0, *accumulate(map(len, due))]
    if len(rows) not in whole or difference(rows, due[: whole.index(len(rows))]):
        if ran.code == 6 and "nothing proves" in ran.err:
            return "belief"
        return f"exit {ran.code} after a hole: {difference(rows, due)}"
    return "exit 6" if ran.code == 6 else f"exit {ran.code}: {ran.err}"


def run_of(program: Program, service: Service, *words: str) -> Ran:
    """Run the program against a service of the published dialect."""
    with serving(service) as url:
        return program(*words, "--dialect", "chain", url=url)


@pytest.fixture(scope="module")
def small() -> Truth:
    """A chain of a few hundred heights."""
    return Truth(TIP)


@pytest.mark.parametrize("name", some(NO_PREFIX, "gaps in full pages"))
def test_verify_finds_what_order_cannot_show(name: str, program: Program, small: Truth) -> None:
    """It holds every row against the full block: exit 6, unless no row is missing in this range."""
    fault, commands = NO_PREFIX[name]
    with serving(Service(small.chain, Faults(fault))) as url:
        for command in commands:
            ran = program("verify", "20:60", "--commands", command, "--jsonl", "--dialect", "chain", url=url)
            rows = sum(map(len, small.groups(command, 20, 60)))
            assert ran.code == 6 or f" {rows} {command}" in ran.err, (command, ran.err)


@pytest.mark.parametrize("name", ["few rows of a height", "shards", "gaps in full pages"])
def test_a_long_run_looks_into_a_full_block(name: str, program: Program, small: Truth) -> None:
    """Rows that are missing from every response, in order, are found before most rows are printed."""
    ran = run_of(program, Service(small.chain, Faults(NO_PREFIX[name][0])), "records", "20:250", "--page-size", "60")
    assert ran.code == 6 or ended(ran, small.groups("records", 20, 250)) == "truth"
    assert ran.code == 6 or "responses of the service contradict each other" in ran.err


@pytest.mark.parametrize(
    ("command", "bounds"),
    [*product(["records"], ["100:150", "5:50", "100:101"]), *product(RANGED, ["100:110", "60:160"])],
)
def test_rows_of_the_start_that_came_once_are_not_left_out(
    command: str, bounds: str, program: Program, small: Truth
) -> None:
    """A server that leaves out the first height of a range shows it in a wider one: that contradiction stays."""
    ran = run_of(program, Service(small.chain, Faults("exclusive-start")), command, bounds)
    assert ended(ran, small.groups(command, *map(int, bounds.split(":")))) in ("exit 6", "truth", "belief")
    assert command != "records" or ran.code == 6


def without_outputs(request: Any, response: Any) -> Any:
    """Full blocks list no outputs."""
    for row in response["result"] if request["method"] in FULL_BLOCKS else ():
        for inner in (confirmed["transaction"] for confirmed in row["transactions"]):
            fee = inner.get("fee", {}).get("transition")
            for transition in (*inner.get("execution", {}).get("transitions", ()), *([fee] if fee else [])):
                transition["outputs"] = []
    return response


@pytest.mark.parametrize("command", ["records", "ownership"])
@pytest.mark.parametrize("faults", [NO_FAULTS, Faults("row-cap:60")], ids=["plain", "row cap"])
@pytest.mark.parametrize("order", [(), ("--reverse",)], ids=["forward", "reverse"])
def test_a_witness_never_removes_rows(
    command: str, faults: Faults, order: tuple[str, ...], program: Program, small: Truth
) -> None:
    """Full blocks without the outputs that both lists show: rows that responses showed are not left out."""
    ran = run_of(program, Odd("chain", faults, mend=without_outputs, tip=TIP), command, "0:150", *order)
    assert ended(ran, small.groups(command, 0, 150)[:: -1 if order else 1]) in ("truth", "exit 6")


class Late(Service):
    """A service whose lists begin one row late in each page, page 0 too."""

    def _result(self, name: str, params: Any, number: int) -> bytes:
        if name not in LISTS:
            return super()._result(name, params, number)
        (size,) = (key for key in params if key.endswith("PerRequest"))
        first, most = params.get("page", 0) * params[size] + 1, params[size]
        rows = orjson.loads(super()._result(name, {**params, "page": 0, size: first + most}, number))
        return orjson.dumps(rows[first:][:most])


@pytest.mark.parametrize("bounds", ["100:110", "60:160"])
@pytest.mark.parametrize("command", RANGED)
def test_rows_that_every_response_of_a_list_leaves_out(
    command: str, bounds: str, program: Program, small: Truth
) -> None:
    """In order, before others: full blocks show it."""
    ran = run_of(program, Late(small.chain), command, bounds)
    assert ended(ran, small.groups(command, *map(int, bounds.split(":")))) in ("truth", "exit 6")


FIRST = 120


class Pruned(Service):
    """A service without blocks, summaries and rows below FIRST, whose tip is as always.

    `blocks`: its full blocks there, or an error.
    """

    def __init__(self, chain: Chain, blocks: bytes | RpcError = b"[]") -> None:
        super().__init__(chain)
        self._blocks = blocks

    def _result(self, name: str, params: Any, number: int) -> bytes:
        if "start" not in (params or ()) or params["start"] >= FIRST:
            return super()._result(name, params, number)
        if name not in FULL_BLOCKS:
            return super()._result(name, {**params, "start": FIRST, "end": max(FIRST, params["end"])}, number)
        if isinstance(self._blocks, RpcError):
            raise self._blocks
        return self._blocks


@pytest.mark.parametrize("blocks", [b"[]", b"null", RpcError(-32000, "pruned")], ids=["empty", "null", "error"])
@pytest.mark.parametrize("order", [(), ("--reverse",)], ids=["forward", "reverse"])
@pytest.mark.parametrize("command", RANGED)
def test_heights_without_blocks_rest_on_belief(
    command: str, order: tuple[str, ...], blocks: bytes | RpcError, program: Program, small: Truth
) -> None:
    """A list that is empty where no block is either says nothing of the chain; --strict refuses it."""
    due = {row for group in small.groups(command, FIRST, 160) for row in group}
    for bounds in ("100:110", "60:160"):
        ran = run_of(program, Pruned(small.chain, blocks), command, bounds, *order)
        assert (ran.code, BELIEVED in ran.err) == (0, True), ran.err
    ran = run_of(program, Pruned(small.chain, blocks), command, "60:160", "--strict", *order)
    assert (ran.code, BELIEVED in ran.err) == (6, True)
    assert {*ran.rows} <= due


@pytest.mark.parametrize("bounds", ["100:110", "80:110"])
def test_a_service_that_shows_none_of_the_first_rows(bounds: str, program: Program, small: Truth) -> None:
    """It lists no row that full blocks name, so it is not known to leave out any program: the rows are doubted."""
    service = Service(small.chain, Faults("page-0-skipped"))
    ran = run_of(program, service, "transitions", bounds, "--page-size", "1500")
    assert ran.code == 6 or BELIEVED in ran.err, ran.err
    assert run_of(program, service, "transitions", bounds, "--page-size", "1500", "--strict").code == 6


@pytest.mark.parametrize("bounds", ["0:", "100:200", "190:"])
def test_transitions_that_deployed_servers_never_list(bounds: str, program: Program, small: Truth) -> None:
    """Fees and transitions without inputs are not missed, at the tip either, nor is a program that is not listed at
    several heights; at one or two it may have been lost, and these rest on belief."""
    for words, believed in ((bounds, False), ("198:200", True)):
        ran = run_of(program, Service(small.chain, Faults("deployed-lists")), "transitions", words)
        assert (ran.code, BELIEVED in ran.err) == (0, believed), words


HEAVY = 150
STORED_AGAIN = 147


@pytest.fixture(scope="module")
def uneven() -> Truth:
    """A chain with a height of many rows."""
    truth = Truth(TIP)
    truth.chain = Chain(tip=TIP, layout=with_dense(HEAVY, 900))
    truth._results = Results(truth.chain, shuffle=False)
    return truth


@pytest.mark.parametrize(
    ("command", "words"),
    some(
        product(RANGED, [("100:190",), ("100:190", "--page-size", "400"), ("100:190", "--reverse"), ("0:",)]),
        *((command, ("100:190", "--reverse")) for command in RANGED),
        ("records", ("100:190", "--page-size", "400")),
        ("ownership", ("100:190",)),
        several=True,
    ),
)
def test_a_block_that_was_stored_again(command: str, words: tuple[str, ...], program: Program, uneven: Truth) -> None:
    """Lists are in order of row ids: its rows come last in a range, and not at all if the page ends in a heavy height
    above. One such height costs the full blocks around it, and not those of the whole range."""
    faults = Faults(f"stored-again:{STORED_AGAIN}")
    whole_with(STORED_AGAIN, Counted(uneven.chain, faults, 24), command, words, program, uneven)


@pytest.mark.parametrize(
    ("again", "words", "more"),
    [(HEAVY + 1, ("100:190",), ""), (HEAVY + 1, ("140:190", "--reverse"), ""), (161, ("140:201",), "empty-above:100")],
)
def test_pages_that_hide_a_block_which_was_stored_again(
    again: int, words: tuple[str, ...], more: str, program: Program, uneven: Truth
) -> None:
    """Its rows are the first that a page should show, or the summaries of many heights do not come."""
    service = Counted(uneven.chain, Faults(f"stored-again:{again}", *([more] if more else [])), 120)
    whole_with(again, service, "records", (*words, "--page-size", "20"), program, uneven)


class Unranked(Counted):
    """A service without block summaries, so that nothing tells the row ids of heights without rows."""

    def _result(self, name: str, params: Any, number: int) -> bytes:
        if name == "getBlocks":
            raise RpcError(-32601, "Method not found")
        return super()._result(name, params, number)


@pytest.mark.parametrize("again", [HEAVY + 1, 111])
def test_pages_that_hide_a_block_where_nothing_tells_row_ids(again: int, program: Program, uneven: Truth) -> None:
    """The heights below the last row of a full page are requested again, and show rows that come late."""
    service = Unranked(uneven.chain, Faults(f"stored-again:{again}"), 300)
    whole_with(again, service, "records", ("100:190", "--page-size", "20"), program, uneven)


def whole_with(
    again: int, service: Counted, command: str, words: tuple[str, ...], program: Program, uneven: Truth
) -> None:
    """A run prints all rows of a service that has stored a block again, and makes no call too many."""
    ran = run_of(program, service, command, *words)
    start, _, end = words[0].partition(":")
    groups = uneven.groups(command, int(start), int(end or TIP + 1))
    row, later = (chain.block_row(again) for chain in (uneven.chain, service.chain))
    shown = [one.replace(b'"block_id":%d' % later, b'"block_id":%d' % row) for one in ran.rows]
    assert difference(shown, groups[::-1] if "--reverse" in words else groups) == ""
    assert (ran.code, BELIEVED in ran.err, service.refused) == (0, False, 0)


@pytest.mark.parametrize(("again", "size"), [(111, "20"), (120, "40")])
def test_a_block_that_was_stored_again_without_full_blocks(
    again: int, size: str, program: Program, small: Truth
) -> None:
    """Summaries tell where order proves nothing; the rows there rest on belief, and a warning says so."""
    service = Blockless(small.chain, Faults(f"stored-again:{again}"))
    ran = run_of(program, service, "records", "100:170", "--page-size", size)
    row, later = (chain.block_row(again) for chain in (small.chain, service.chain))
    shown = [one.replace(b'"block_id":%d' % later, b'"block_id":%d' % row) for one in ran.rows]
    assert (ran.code, difference(shown, small.groups("records", 100, 170))) == (0, ""), ran.err
    assert re.search(rf"heights? {again}.*{BELIEVED}", ran.err)


class TooHeavy(Service):
    """A service whose lists time out for each range that includes a height, whatever the page: it sorts all rows."""

    def _result(self, name: str, params: Any, number: int) -> bytes:
        if name in LISTS and params["start"] <= HEAVY < params["end"]:
            raise RpcError(0, TOO_HEAVY)
        return super()._result(name, params, number)


@pytest.mark.parametrize("command", ["records", "ownership"])
def test_a_height_that_is_too_heavy_itself(command: str, program: Program, small: Truth) -> None:
    """No page size helps there: the message says so, and how to go on behind it."""
    ran = run_of(program, TooHeavy(small.chain), command, "140:170")
    assert ran.code == 3
    assert f"the height itself is too heavy for the service: {HEAVY + 1}: goes on behind it" in ran.err
    assert "--page-size" not in ran.err
    said = re.search(r"resume with --start ([0-9]+) --end 170", ran.err)
    assert said and int(said[1]) in (HEAVY - 1, HEAVY), ran.err  # the one below may be requested together with it
    assert difference(ran.rows, small.groups(command, 140, int(said[1]))) == ""
