"""The registry of faults: what a server of the sample chain can do wrong, by name.

A fault is a function of one stage of a call: it takes what that stage has, and returns what the server makes of it. The
order of a stage is that of the registry. The functions are in `request_faults.py`, `plants.py`, `row_faults.py` and
`reply_faults.py`; their docstrings are the help. Each fault was seen on a deployed server (docs/protocol.md), comes
from a proxy in front of one, or is an honest mistake that one could make. `faults.py` has the faults of one server.
"""

from collections.abc import Callable, Collection
from typing import Any, NamedTuple, TypeVar

REQUEST, ROWS, PAGE, BODY, HTTP = "request", "rows", "page", "body", "HTTP"
"""The stages of a call, in the order in which rows pass them."""

Value = int | float | range
Change = Callable[..., Any]
_Change = TypeVar("_Change", bound=Change)


class Fault(NamedTuple):
    """One fault. `argument`: what its value is, a key of `faults.ARGUMENTS`. `of`: the handlers that have it, all by
    default.

    `function`: in the stage `request` it takes an Ask and the fault's value. In the others it takes a list of Item
    (`rows` and `page`), an Answer (`body`) or a Reply (`HTTP`), then the Ask and the value. None for what others read.
    """

    help: str
    argument: str
    stage: str
    function: Change | None = None
    of: Collection[str] = ()


FAULTS: dict[str, Fault] = {}
"""By name, as `chainq serve --fault` takes it."""

BLOCKS = ("blocks", "full_blocks", "block")
RANGED = ("records", "ownership", "transitions", "address_transactions")
LISTS = (*RANGED, "program_transactions")
RANGES = (*RANGED, "blocks", "full_blocks")
"""Handlers of `wire.py`: of blocks, of lists with a range and pages, of all lists with pages, of all ranges."""


def fault(stage: str, argument: str = "", of: Collection[str] = ()) -> Callable[[_Change], _Change]:
    """Return a decorator that registers a function: its name and its docstring become the fault's name and help."""

    def registered(function: _Change) -> _Change:
        text = " ".join((function.__doc__ or "").split())
        FAULTS[function.__name__.replace("_", "-")] = Fault(text, argument, stage, function, of)
        return function

    return registered


def setting(name: str, stage: str, argument: str, text: str) -> None:
    """Register the value that another fault reads."""
    FAULTS[name] = Fault(text, argument, stage)


def shown(name: str) -> str:
    """Return a fault as `--fault` takes it, such as `row-cap:N`."""
    argument = FAULTS[name].argument
    return name + {"": "", "[N]": "[:N]", "A:B": ":A:B"}.get(argument, ":N")
