"""Servers whose responses look right and lack rows: a run ends in the truth, in exit 6, or it warns of the heights."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from chainq.demo.chain import Chain
from chainq.demo.exchange import Reply, RpcError
from chainq.demo.faults import NO_FAULTS, Faults
from chainq.demo.results import Results
from chainq.demo.row_faults import TOO_HEAVY
from chainq.demo.service import Service
from harness.program import Program, Ran
from harness.services import FULL_BLOCKS, serving
from harness.truth import Truth, difference

TIP = 200
LISTS = ("records/all", "records/isOwner", "transitionsWithoutRecordInputs")
BELIEVED = "nothing proves that these are all rows"


class Wrong(Service):
    """A service whose results are changed: `change` takes the method, its parameters and its result."""

    def __init__(self, change: Callable[[str, Any, list[Any]], list[Any]], faults: Faults = NO_FAULTS) -> None:
        super().__init__(Chain(tip=TIP), faults)
        self._change = change

    def _result(self, name: str, params: Any, number: int) -> bytes:
        result = orjson.loads(super()._result(name, params, number))
        return orjson.dumps(self._change(name, params, result)) if isinstance(result, list) else orjson.dumps(result)


def height_of(row: Any) -> int:
    """The height that a row or a full block names."""
    return int(row["height"] if "height" in row else row["header"]["metadata"]["height"])


def without_outputs(name: str, _: Any, rows: list[Any]) -> list[Any]:
    """Full blocks list no outputs."""
    for row in rows if name in FULL_BLOCKS else ():
        for confirmed in row["transactions"]:
            inner = confirmed["transaction"]
            for transition in (
                *inner.get("execution", {}).get("transitions", ()),
                inner.get("fee", {}).get("transition"),
            ):
                if transition:
                    transition["outputs"] = []
    return rows


def run(program: Program, service: Service, *words: str) -> Ran:
    """Run the program against a service."""
    with serving(service) as url:
        return program(*words, "--dialect", "chain", url=url)


def ended(ran: Ran, command: str, start: int, end: int, *, reverse: bool = False) -> str:
    """Return `truth`, `error` after a whole part of the rows, `belief`, or how rows were lost in silence."""
    groups = Truth(TIP).groups(command, start, end)
    groups = groups[::-1] if reverse else groups
    due = [row for group in groups for row in group]
    if ran.code == 6:
        return "error" if {*ran.rows} <= {*due} else "wrong rows before an error"
    found = difference(ran.rows, groups)
    if BELIEVED in ran.err:
        return "belief"
    return f"exit {ran.code}, {found}" if found or ran.code else "truth"


@pytest.mark.parametrize("command", ["records", "ownership"])
@pytest.mark.parametrize("faults", [NO_FAULTS, Faults("row-cap:60")], ids=["plain", "row cap"])
@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
def test_a_witness_never_removes_rows(command: str, faults: Faults, reverse: bool, program: Program) -> None:
    """Full blocks without the outputs that both lists show: rows that responses showed are not left out."""
    ran = run(program, Wrong(without_outputs, faults), command, "0:150", *(["--reverse"] if reverse else []))
    assert ended(ran, command, 0, 150, reverse=reverse) in ("truth", "error")


def pruned(_: str, __: Any, rows: list[Any]) -> list[Any]:
    """Nothing below height FIRST: no rows, no full blocks, no summaries."""
    return [row for row in rows if not ("height" in row or "header" in row) or height_of(row) >= FIRST]


FIRST = 120


class Pruned(Wrong):
    """A service without its first heights, whose tip is as always. `blocks`: its full blocks there, or an error."""

    def __init__(self, blocks: bytes | RpcError = b"[]") -> None:
        super().__init__(pruned)
        self._blocks = blocks

    def _result(self, name: str, params: Any, number: int) -> bytes:
        if name in FULL_BLOCKS and params["start"] < FIRST:
            if isinstance(self._blocks, RpcError):
                raise self._blocks
            return self._blocks
        if name == "records/isOwner":  # rows do not say their height
            params = {**params, "start": max(FIRST, params["start"]), "end": max(FIRST, params["end"])}
        return super()._result(name, params, number)


class Late(Service):
    """A service whose lists begin one row late in each page, page 0 too."""

    def __init__(self) -> None:
        super().__init__(Chain(tip=TIP))

    def _result(self, name: str, params: Any, number: int) -> bytes:
        if name not in LISTS:
            return super()._result(name, params, number)
        (size,) = (key for key in params if key.endswith("PerRequest"))
        first, most = params.get("page", 0) * params[size] + 1, params[size]
        rows = orjson.loads(super()._result(name, {**params, "page": 0, size: first + most}, number))
        return orjson.dumps(rows[first:][:most])


class Exclusive(Service):
    """A service whose lists leave out the first height of a range."""

    def __init__(self) -> None:
        super().__init__(Chain(tip=TIP))

    def _result(self, name: str, params: Any, number: int) -> bytes:
        if name in LISTS:
            params = {**params, "start": params["start"] + 1, "end": max(params["end"], params["start"] + 1)}
        return super()._result(name, params, number)


@pytest.mark.parametrize("bounds", ["100:110", "60:160"])
@pytest.mark.parametrize("command", ["records", "ownership", "transitions"])
@pytest.mark.parametrize("make", [Late, Exclusive, Pruned])
def test_the_first_heights_of_a_range(make: Callable[[], Service], command: str, bounds: str, program: Program) -> None:
    """Rows that every response of a list leaves out there, in order: full blocks show it; without them it is belief."""
    start, end = map(int, bounds.split(":"))
    found = ended(run(program, make(), command, bounds), command, start, end)
    assert found in (("error", "truth") if make is not Pruned else ("belief",))


@pytest.mark.parametrize("blocks", [b"[]", b"null", RpcError(-32000, "pruned")], ids=["empty", "null", "error"])
@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
@pytest.mark.parametrize("command", ["records", "ownership", "transitions"])
def test_strict_refuses_heights_without_blocks(
    command: str, reverse: bool, blocks: bytes | RpcError, program: Program
) -> None:
    """A list that is empty where no block is either says nothing of the chain."""
    ran = run(program, Pruned(blocks), command, "60:160", "--strict", *(["--reverse"] if reverse else []))
    assert (ran.code, "nothing proves" in ran.err) == (6, True)
    assert {*ran.rows} <= {row for group in Truth(TIP).groups(command, FIRST, 160) for row in group}


@pytest.mark.parametrize("bounds", ["0:", "100:200", "190:"])
def test_transitions_that_deployed_servers_never_list(bounds: str, program: Program) -> None:
    """Fees and transitions without inputs are not missed, at the tip either, nor is a program that is not listed at
    several heights; at one or two it may have been lost, and these rest on belief."""
    for words, believed in ((bounds, False), ("198:200", True)):
        ran = run(program, Service(Chain(tip=TIP), Faults("deployed-lists")), "transitions", words)
        assert (ran.code, BELIEVED in ran.err) == (0, believed), words


HEAVY = 150
STORED_AGAIN = 147


@pytest.fixture(scope="module")
def uneven() -> Truth:
    """A chain with a height of many rows."""
    truth = Truth(TIP)
    truth.chain = Chain(tip=TIP, dense=(HEAVY, 900))
    truth._results = Results(truth.chain, shuffle=False)
    return truth


@pytest.mark.parametrize("words", [("100:190",), ("100:190", "--page-size", "400"), ("100:190", "--reverse"), ("0:",)])
@pytest.mark.parametrize("command", ["records", "ownership", "transitions"])
def test_a_block_that_was_stored_again(command: str, words: tuple[str, ...], program: Program, uneven: Truth) -> None:
    """Lists are in order of row ids: its rows come last in a range, and not at all if the page ends in a heavy height
    above. One such height costs the full blocks around it, and not those of the whole range."""
    service = Counted(uneven.chain, Faults(f"stored-again:{STORED_AGAIN}"))
    ran = run(program, service, command, *words)
    start, _, end = words[0].partition(":")
    groups = uneven.groups(command, int(start), int(end or TIP + 1))
    row, again = (chain.block_row(STORED_AGAIN) for chain in (uneven.chain, service.chain))
    shown = [one.replace(b'"block_id":%d' % again, b'"block_id":%d' % row) for one in ran.rows]
    assert difference(shown, groups[::-1] if "--reverse" in words else groups) == ""
    assert (ran.code, BELIEVED in ran.err) == (0, False)
    assert service.calls < 25


class Counted(Service):
    """A service that counts its calls."""

    calls = 0

    def respond(self, body: bytes) -> Reply:
        self.calls += 1
        return super().respond(body)


class TooHeavy(Service):
    """A service whose lists time out for each range that includes a height, whatever the page: it sorts all rows."""

    def _result(self, name: str, params: Any, number: int) -> bytes:
        if name in LISTS and params["start"] <= HEAVY < params["end"]:
            raise RpcError(0, TOO_HEAVY)
        return super()._result(name, params, number)


@pytest.mark.parametrize("command", ["records", "ownership"])
def test_a_height_that_is_too_heavy_itself(command: str, program: Program) -> None:
    """No page size helps there: the message says so, and how to go on behind it."""
    ran = run(program, TooHeavy(Chain(tip=TIP)), command, "140:170")
    assert ran.code == 3
    assert f"the height itself is too heavy for the service: {HEAVY + 1}: goes on behind it" in ran.err
    assert "--page-size" not in ran.err
    assert difference(ran.rows, Truth(TIP).groups(command, 140, HEAVY)) == ""
