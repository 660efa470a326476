"""Servers that are wrong in one plain way: a run ends in exactly the truth, or in exit 6 after a whole prefix of it.

`tests/planning/test_completeness.py` has the floors: for each kind of server, the runs that must end in the truth.
"""

import re
from collections.abc import Callable
from itertools import accumulate, count
from typing import Any

import orjson
import pytest

from chainq.demo.chain import Chain
from chainq.demo.faults import Faults
from chainq.demo.registry import TOO_HEAVY, Reply, RpcError, page
from chainq.demo.results import Results
from chainq.demo.service import SampleService
from harness.lake.examined import Odd
from harness.models.attempts import numbered
from harness.models.search import some
from harness.running.program import Program, Ran
from harness.running.sample import with_dense
from harness.running.truth import Groups, Truth, difference
from harness.servers.services import FULL_BLOCKS, Blockless, serving

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


class Counted(SampleService):
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
        return f"a hole before exit {ran.code}: {difference(rows, due)}"
    return "exit 6" if ran.code == 6 else f"exit {ran.code}: {ran.err}"


def run_of(program: Program, service: SampleService, *words: str) -> Ran:
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
    with serving(SampleService(small.chain, Faults(fault))) as url:
        for command in commands:
            ran = program("verify", "20:60", "--commands", command, "--jsonl", "--dialect", "chain", url=url)
            rows = sum(map(len, small.groups(command, 20, 60)))
            assert ran.code == 6 or f" {rows} {command}" in ran.err, (command, ran.err)


def without_outputs(request: Any, response: Any) -> Any:
    """Full blocks list no outputs."""
    for row in response["result"] if request["method"] in FULL_BLOCKS else ():
        for inner in (confirmed["transaction"] for confirmed in row["transactions"]):
            fee = inner.get("fee", {}).get("transition")
            for transition in (*inner.get("execution", {}).get("transitions", ()), *([fee] if fee else [])):
                transition["outputs"] = []
    return response


class Late(SampleService):
    """A service whose lists begin one row late in each page, page 0 too."""

    def _result(self, name: str, params: Any, number: int) -> bytes:
        if name not in LISTS:
            return super()._result(name, params, number)
        (size,) = (key for key in params if key.endswith("PerRequest"))
        first, most = params.get("page", 0) * params[size] + 1, params[size]
        rows = orjson.loads(super()._result(name, {**params, "page": 0, size: first + most}, number))
        return orjson.dumps(rows[first:][:most])


def tampered(*faults: str) -> Callable[[Chain], SampleService]:
    return lambda _: Odd("chain", Faults(*faults), mend=without_outputs, tip=TIP)


def wrong(*faults: str) -> Callable[[Chain], SampleService]:
    return lambda chain: SampleService(chain, Faults(*faults))


SAFE, FOUND_OUT, HOLE = {"truth", "exit 6"}, {"exit 6"}, "a hole before exit 6"
ENDS = [
    # The first height of a range is left out: a wider one shows it, and that contradiction stays.
    *((wrong("exclusive-start"), f"records {bounds}", FOUND_OUT) for bounds in ("100:150", "5:50", "100:101")),
    *((wrong("exclusive-start"), f"{command} 60:160", SAFE | {"belief"}) for command in ("ownership", "transitions")),
    # Full blocks lack outputs that both lists show: what responses showed is not left out.
    (tampered(), "records 0:150 --reverse", SAFE),
    (tampered("row-cap:60"), "records 0:150", SAFE),
    (tampered(), "ownership 0:150", SAFE),
    (tampered("row-cap:60"), "ownership 0:150 --reverse", SAFE),
    # Every response of a list leaves out rows, in order, before others: full blocks show it.
    *((Late, f"{command} {bounds}", SAFE) for command in RANGED for bounds in ("100:110", "60:160")),
    (wrong("height-cap:5"), "records 20:250 --page-size 60", SAFE | {HOLE}),  # of these see NO_PREFIX
    (wrong("shards:2"), "records 20:250 --page-size 60", SAFE | {HOLE}),
    (wrong("page-gaps:10"), "records 20:250 --page-size 60", SAFE | {HOLE}),
    # No row is listed that full blocks name, so the service is not known to leave out any program.
    (wrong("page-0-skipped"), "transitions 100:110 --page-size 1500", SAFE | {"belief"}),
    (wrong("page-0-skipped"), "transitions 80:110 --page-size 1500", SAFE | {"belief"}),
    (wrong("page-0-skipped"), "transitions 80:110 --page-size 1500 --strict", FOUND_OUT),
]


@pytest.mark.parametrize(("make", "line", "ends"), ENDS, ids=range(len(ENDS)))
def test_a_run_is_right_or_says_that_it_is_not(
    make: Callable[[Chain], SampleService], line: str, ends: set[str], program: Program, small: Truth
) -> None:
    """Whatever a server leaves out: all rows, an error after whole heights, or a warning that names the heights."""
    command, bounds, *more = line.split()
    groups = small.groups(command, *map(int, bounds.split(":")))
    ran = run_of(program, make(small.chain), command, bounds, *more)
    assert ended(ran, groups[::-1] if "--reverse" in more else groups).partition(":")[0] in ends


FIRST = 120


class Pruned(SampleService):
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


@pytest.mark.parametrize(
    ("blocks", "order"),
    [(b"[]", ()), (b"null", ("--reverse",)), (RpcError(-32000, "pruned"), ())],
    ids=["empty", "null", "error"],
)
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


@pytest.mark.parametrize("bounds", ["0:", "100:200", "190:"])
def test_transitions_that_deployed_servers_never_list(bounds: str, program: Program, small: Truth) -> None:
    """Fees and transitions without inputs are not missed, at the tip either, nor is a program that is not listed at
    several heights; at one or two it may have been lost, and these rest on belief."""
    for words, believed in ((bounds, False), ("198:200", True)):
        ran = run_of(program, SampleService(small.chain, Faults("deployed-lists")), "transitions", words)
        assert (ran.code, BELIEVED in ran.err) == (0, believed), words


HEAVY = 150
STORED_AGAIN = 147


@pytest.fixture(scope="module")
def uneven() -> Truth:
    """A chain with a height of many rows."""
    truth = Truth(TIP)
    truth.chain = with_dense(HEAVY, 900, TIP)
    truth._results = Results(truth.chain, shuffle=False)
    return truth


class Unranked(Counted):
    """A service without block summaries, so that nothing tells the row ids of heights without rows."""

    def _result(self, name: str, params: Any, number: int) -> bytes:
        if name == "getBlocks":
            raise RpcError(-32601, "Method not found")
        return super()._result(name, params, number)


@pytest.mark.parametrize(
    ("kind", "again", "most", "line"),
    [
        # One such height costs the full blocks around it, and not those of the whole range.
        (Counted, STORED_AGAIN, 24, "records 100:190 --page-size 400"),
        (Counted, STORED_AGAIN, 24, "ownership 100:190"),
        *((Counted, STORED_AGAIN, 24, f"{command} 100:190 --reverse") for command in RANGED),
        # Its rows are the first that a page should show, or the summaries of many heights do not come.
        (Counted, HEAVY + 1, 120, "records 100:190 --page-size 20"),
        (Counted, HEAVY + 1, 120, "records 140:190 --reverse --page-size 20"),
        (Unranked, HEAVY + 1, 300, "records 100:190 --page-size 20"),
        (Unranked, 111, 300, "records 100:190 --page-size 20"),
    ],
)
def test_a_block_that_was_stored_again(
    kind: type[Counted], again: int, most: int, line: str, program: Program, uneven: Truth
) -> None:
    """Lists are in order of row ids: its rows come last in a range, and not at all if the page ends in a heavy height
    above. All rows come, in few calls."""
    command, bounds, *more = line.split()
    service = kind(uneven.chain, Faults(f"stored-again:{again}"), most)
    ran = run_of(program, service, command, bounds, *more)
    groups = uneven.groups(command, *map(int, bounds.split(":")))
    row, later = (chain.block_row(again) for chain in (uneven.chain, service.chain))
    shown = [one.replace(b'"block_id":%d' % later, b'"block_id":%d' % row) for one in ran.rows]
    assert difference(shown, groups[::-1] if "--reverse" in more else groups) == ""
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


class TooHeavy(SampleService):
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
