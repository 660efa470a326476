"""The registry of faults, and plants: faults of a row of a block, the same in every response.

A fault is a function of one stage of a call: it takes what that stage has, and returns what the server makes of it. Its
name and its docstring are the name and the help. The order of a stage is that of the registry: plants first, then those
of `faults.py`. Each was seen on a deployed server (docs/protocol.md), comes from a proxy in front of one, or is an
honest mistake that one could make.

Only a comparison with the full blocks shows a plant. Those are right, except for the faults of whole blocks. A seed
decides which row or field is hit.
"""

import re
from collections.abc import Callable, Collection, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeVar

from chainq.demo import ids
from chainq.demo.ids import mix
from chainq.demo.results import Ask, Item, edited

Stage = Literal["request", "rows", "page", "body", "HTTP"]
"""The stages of a call, in the order in which rows pass them."""

BLOCKS = ("blocks", "full_blocks", "block")
RANGED = ("records", "ownership", "transitions", "address_transactions")
LISTS = (*RANGED, "program_transactions")
RANGES = (*RANGED, "blocks", "full_blocks")
"""Handlers of `service.py`: of blocks, of lists with a range and pages, of all lists with pages, of all ranges."""

JSON, HTML = "application/json; charset=utf-8", "text/html; charset=utf-8"

Items = list[Item]
Change = Callable[..., Any]
_Change = TypeVar("_Change", bound=Change)


class Reply(NamedTuple):
    """An HTTP response: status, media type, body, further headers.

    `cut`: send only half of the body and then close the connection, although Content-Length announces all of it.
    `latency`: seconds before it. `gzip`: compress it for callers that accept that.
    """

    status: int
    content_type: str
    body: bytes
    headers: Mapping[str, str] = MappingProxyType({})
    cut: bool = False
    latency: float = 0.0
    gzip: bool = False


def page(status: int, text: str) -> Reply:
    """Return an HTML error page as proxies and express send it."""
    return Reply(status, HTML, f"<!DOCTYPE html>\n<html><body><pre>{text}</pre></body></html>\n".encode())


class Answer(NamedTuple):
    """The answer to one JSON-RPC request: its id, and its `result` or `error` as JSON."""

    id: Any
    key: str
    value: bytes


class Fault(NamedTuple):
    """One fault. `argument`: what its value is, a key of `ARGUMENTS`. `of`: the handlers that have it, all by default.

    `function`: it takes an Ask (in the stage `request`), a list of Item (`rows` and `page`), an Answer (`body`) or a
    Reply (`HTTP`), then the fault's value, and outside of the stage `request` the Ask. None for what others read.
    """

    help: str
    argument: str
    stage: Stage
    function: Change | None = None
    of: Collection[str] = ()


FAULTS: dict[str, Fault] = {}
"""By name, as `chainq serve --fault` takes it."""


def fault(stage: Stage, argument: str = "", of: Collection[str] = ()) -> Callable[[_Change], _Change]:
    """Return a decorator that registers a function."""

    def registered(function: _Change) -> _Change:
        text = " ".join((function.__doc__ or "").split())
        FAULTS[function.__name__.replace("_", "-")] = Fault(text, argument, stage, function, of)
        return function

    return registered


# --- rows that the server does not list


@fault("rows", of=("transitions", "transactions"))
def deployed_lists(rows: Items, _: int, ask: Ask) -> Items:
    """Leave out of lists what deployed servers do not list."""
    if ask.handler == "transitions":  # fees, and a program that the table of programs lacks
        unlisted = re.compile(rb'"function_name":"fee_|"program":"program tile_gallery\.aleo;')
        return [item for item in rows if not unlisted.search(item.row)]
    # a rejected transaction has the type of its inner one
    return [item._replace(row=re.sub(rb'"Execute"(?=.*"rejected")', b'"Fee"', item.row)) for item in rows]


# --- rows that are wrong

ALTERED = {
    "record": ("program_id", "timestamp", "block_hash", "transaction_id", "function_name", "record_ciphertext"),
    "ownership": ("output_index", "transition_id"),
    "transition": ("transaction_id", "function_name", "tpk", "tcm", "timestamp"),
    "transaction": ("type", "status", "index"),
    "block": ("transactions_root", "finalize_root", "coinbase_target", "proof_target", "last_coinbase_timestamp"),
}
"""What of a row `altered-…` may change: never its identity, but for ownership, which has nothing else to compare."""

_ACTIONS = {
    "lost": "Never return one {} row of a block.",
    "doubled": "Return one {} row of a block twice.",
    "altered": "Return one {} row of a block with another value in a field.",
    "misplaced": "Return one {} row of a block among those of the next block.",
}
KINDS = [f"{action}-{row}" for row in ALTERED for action in _ACTIONS]
KINDS.remove("misplaced-ownership")  # its rows name no block
KINDS.remove("misplaced-block")
KINDS += ["link", "time", "round", "checksum", "count"]
"""Every kind of plant, in the order that decides which row a seed hits."""


def _planted(kind: str, rows: Items, height: int, ask: Ask) -> Items:
    """Return the rows of a range with one row of a block wrong."""
    action, _, name = kind.partition("-")
    word = _word(ask, kind, height)
    near = rows
    if action == "misplaced" and height not in ask.heights:
        near = ask.book.rows(ask.whole()._replace(start=height, end=height + 1))
    own = sorted((item for item in near if item.height == height), key=lambda item: item.position)
    if not own:
        return rows
    hit, put = own[word % len(own)], Items()
    if action == "doubled":
        put = [hit, hit._replace(position=own[-1].position + 1)]
        if word >> 32 & 1 and name != "block":  # with another row id, like a row that was stored twice
            put[1] = put[1]._replace(row=edited(hit.row, "id", lambda number: number + 500_000_000))
    elif action == "altered":
        changed = ALTERED[name][(word >> 16) % len(ALTERED[name])]
        put = [hit._replace(row=edited(hit.row, changed, partial(_changed, word >> 24)))]
    found = [one for item in rows for one in (put if item is hit else [item])]
    if action == "misplaced" and height + 1 in ask.heights:
        moved = edited(hit.row, "height", lambda old: type(old)(height + 1))
        found = sorted([*found, Item(height + 1, len(rows), moved)], key=lambda item: item.height)
    return found


def _word(ask: Ask, kind: str, height: int) -> int:
    return mix(height << 8 | KINDS.index(kind), mix(ask.faults.get("seed", 0), 0x91A7))


def _changed(word: int, value: Any) -> Any:
    """Return another value of the same kind: a number plus one, a text with one other character near its end."""
    if isinstance(value, int):
        return value + 1
    if not value:
        return "another"
    if value.isdecimal():
        return str(int(value) + 1)
    at = len(value) - 1 - word % min(20, len(value))
    return value[:at] + ("p" if value[at] == "q" else "q") + value[at + 1 :]


for _kind in KINDS[:-5]:
    _action, _, _row = _kind.partition("-")
    _of = ("blocks", "block") if _row == "block" else (_row if _row == "ownership" else f"{_row}s",)
    FAULTS[_kind] = Fault(_ACTIONS[_action].format(_row), "HEIGHT", "rows", partial(_planted, _kind), _of)


def _all(rows: Items, height: int, name: str, change: Callable[[Any], Any]) -> Items:
    return [item._replace(row=edited(item.row, name, change)) if item.height == height else item for item in rows]


@fault("rows", "N", of=BLOCKS)
def link(rows: Items, height: int, _: Ask) -> Items:
    """Give block N a wrong previous_hash."""
    return _all(rows, height, "previous_hash", lambda _: ids.BLOCK.text(height))


@fault("rows", "N", of=BLOCKS)
def time(rows: Items, height: int, _: Ask) -> Items:
    """Give block N a time before that of the block before it."""
    return _all(rows, height, "timestamp", lambda old: type(old)(int(old) - 20))  # more than two blocks are apart


@fault("rows", "N", of=BLOCKS)
def round(rows: Items, height: int, _: Ask) -> Items:  # noqa: A001  # the name of the field
    """Give block N a lower round than that of the block before it."""
    return _all(rows, height, "round", lambda old: type(old)(int(old) - 3))


@fault("rows", "HEIGHT", of=BLOCKS)
def checksum(rows: Items, height: int, ask: Ask) -> Items:
    """Put a wrong character into the previous_state_root of a block."""
    return _all(rows, height, "previous_state_root", partial(_changed, _word(ask, "checksum", height)))


@fault("rows", "HEIGHT", of=("transactions", "full_blocks"))
def count(rows: Items, height: int, ask: Ask) -> Items:
    """Leave a gap in the numbers of the transactions of a block."""
    own = [item for item in rows if item.height == height]
    if not own:
        return rows
    hit = max(own, key=lambda item: item.position)
    last = hit.row.rindex(b'"index":', 0, hit.row.rindex(b'"transaction":')) if ask.handler == "full_blocks" else 0
    gap = hit.row[:last] + edited(hit.row[last:], "index", lambda index: index + 1)
    return [hit._replace(row=gap) if item is hit else item for item in rows]
