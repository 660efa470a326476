"""Servers whose responses look right and lack rows: a run ends in the truth, in exit 6, or it warns of the heights."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from chainq.demo.chain import Chain
from chainq.demo.faults import NO_FAULTS, Faults
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
@pytest.mark.parametrize("faults", [NO_FAULTS, Faults(row_cap=60)], ids=["plain", "row cap"])
@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
def test_a_witness_never_removes_rows(command: str, faults: Faults, reverse: bool, program: Program) -> None:  # noqa: FBT001
    """Full blocks without the outputs that both lists show: rows that responses showed are not left out."""
    ran = run(program, Wrong(without_outputs, faults), command, "0:150", *(["--reverse"] if reverse else []))
    assert ended(ran, command, 0, 150, reverse=reverse) in ("truth", "error")
