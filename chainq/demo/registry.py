"""The registry of faults: what goes through a server, and what the faults of one server make of it.

A fault is a function of one stage of a call (`faults.py`): it takes what that stage has, and returns what the server
makes of it. Its name and its docstring are the name and the help. The order of a stage is that of the registry. Rows
are bytes, so that the model servers of the tests can have the same faults.
"""

import re
import time
from collections.abc import Callable, Collection, Mapping
from threading import Lock
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import orjson

from chainq.demo.ids import WORD, mix

Stage = Literal["request", "rows", "page", "body", "HTTP"]
"""The stages of a call, in the order in which rows pass them."""
JSON, HTML = "application/json; charset=utf-8", "text/html; charset=utf-8"
NO_END = 1 << 40
"""A height or a number of rows beyond all others."""
MOST_ROWS = 100_000
"""Rows that a server reads for one response, if a fault needs all of the range."""
TOO_HEAVY = "Defined query timeout of 5000ms exceeded when running query."
"""The message of a deployed server whose database gives up (docs/protocol.md, "Envelope and errors")."""

Value = int | float
Change = Callable[..., Any]
_Change = TypeVar("_Change", bound=Change)


class RpcError(Exception):
    """The call gets a JSON-RPC error, whose code and message are the arguments."""


class Item(NamedTuple):
    """A row (its JSON text), the height of its block, and its position among the block's rows of that list."""

    height: int
    position: int
    row: bytes


Items = list[Item]


class RowSource(Protocol):
    """A chain whose rows can be read."""

    def rows(self, ask: "Ask") -> Items:
        """Return the rows `offset` to `offset + limit` of a range, as far as the tip."""


class Ask(NamedTuple):
    """One call, as far as faults have changed it.

    `handler`: the list or method, as in service.Method. `start`, `end`: its heights. `args`: its other arguments, by
    the names of service.Method. `page`, `size`: the page that it asks for, and how many rows. `offset`, `limit`: the
    number of the first row that it gets, and how many it gets at most. `tip`: the tip height. `number`: the number of
    the call.
    """

    handler: str
    start: int
    end: int
    tip: int
    number: int
    book: RowSource
    faults: "Faults"
    memory: "Memory"
    args: Mapping[str, Any] = MappingProxyType({})
    page: int = 0
    size: int = NO_END
    offset: int = 0
    limit: int = NO_END

    @property
    def heights(self) -> range:
        """The heights of the range that exist."""
        return range(self.start, min(self.end, self.tip + 1))

    def whole(self) -> "Ask":
        """Return the same range without pages, as far as a server reads it."""
        return self._replace(offset=0, limit=MOST_ROWS + 1)

    def hit(self, share: float, kind: int, number: int | None = None) -> bool:
        """Return whether a fault hits this share of calls or rows; `kind` sets the faults of one server apart."""
        return share > 0 and self.faults.word(kind, self.number if number is None else number) < share * (WORD + 1)

    def cut(self, rows: Items) -> Items:
        """Return the rows of the page, out of those of the whole range."""
        return rows[self.offset : self.offset + self.limit]


def _found(row: bytes, name: str) -> re.Match[bytes] | None:
    return re.search(rb'"%s":("(?:[^"\\]|\\.)*"|[^,}\]]+)' % name.encode(), row)


def field(row: bytes, name: str) -> Any:
    """Return the text, number or null of the first field with that name; None without one."""
    found = _found(row, name)
    return orjson.loads(found[1]) if found else None


def edited(row: bytes, name: str, change: Callable[[Any], Any]) -> bytes:
    """Return the row with another value of that field; all other bytes stay. Unchanged without such a field."""
    found = _found(row, name)
    value = found and orjson.dumps(change(orjson.loads(found[1])))
    return row[: found.start(1)] + value + row[found.end(1) :] if found and value else row


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


# --- the faults of one server

ARGUMENTS: dict[str, tuple[str, Callable[[str], Value]]] = {
    "": ("", bool),
    "N": ("[1-9][0-9]{0,8}", int),
    **dict.fromkeys(("HEIGHT", "CALLS", "SEED"), ("[0-9]{1,9}", int)),
    "SHARE": (r"0|1|0?\.[0-9]+", float),
    "SECONDS": (r"[0-9]{1,9}|[0-9]{0,9}\.[0-9]+", float),
}
"""What the value of a fault can be, and how it is read."""


def _parsed(text: str) -> tuple[str, Value]:
    """Return the name and the value of a fault. Raises ValueError."""
    name, _, given = text.partition(":")
    if name not in FAULTS:
        raise ValueError(f"expected NAME or NAME:N, where NAME is one of {', '.join(FAULTS)}")
    pattern, read = ARGUMENTS[FAULTS[name].argument]
    if not re.fullmatch(pattern, given):
        raise ValueError(f"expected {as_written(name)}, not {text!r}")
    return name, read(given)


def as_written(name: str) -> str:
    """Return a fault as `--fault` takes it, such as `row-cap:N`."""
    return f"{name}:{FAULTS[name].argument}".rstrip(":")


class Faults:
    """The faults of one server. Immutable."""

    def __init__(self, *texts: str) -> None:
        """Takes faults as `NAME` or `NAME:VALUE`. Raises ValueError."""
        self.texts = texts
        self._given = sorted(map(_parsed, texts), key=lambda one: [*FAULTS].index(one[0]))  # one may be there twice
        self._values = dict(self._given)
        self._key = mix(int(self.get("seed", 0)), 0xFA17)

    def get(self, name: str, default: Any) -> Any:
        """Return the value of a fault, or the default without it."""
        return self._values.get(name, default)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def stage(self, stage: Stage, handler: str) -> list[tuple[Change, Value]]:
        """Return the functions of a stage for the calls of a handler, each with its value."""
        return [
            (one.function, value)
            for one, value in ((FAULTS[name], value) for name, value in self._given)
            if one.function and one.stage == stage and handler in (one.of or (handler,))
        ]

    def applied(self, stage: Stage, what: Any, ask: Ask) -> Any:
        """Return what the faults of a stage make of something. Raises RpcError."""
        for function, value in self.stage(stage, ask.handler):
            what = function(what, value) if stage == "request" else function(what, value, ask)
        return what

    def rows(self, ask: Ask) -> Items:
        """Return the rows of a call that went through the stage `request`. Raises RpcError."""
        if self.stage("rows", ask.handler):
            whole = ask.book.rows(ask.whole())
            if len(whole) > MOST_ROWS:
                raise RpcError(0, TOO_HEAVY)
            page = ask.cut(self.applied("rows", whole, ask))
        else:
            page = ask.book.rows(ask)
        found: Items = self.applied("page", page, ask)
        return found

    def word(self, kind: int, number: int) -> int:
        """Return a pseudo-random word (64 bits) for a number; `kind` sets the faults of one server apart."""
        return mix(number << 8 | kind, self._key)


class Memory:
    """What a server remembers from call to call; threads share it under `lock`."""

    def __init__(self) -> None:
        self.clock, self.lock = time.monotonic, Lock()  # the clock is that of the rate limit
        self.tips: list[tuple[int, int]] = []  # heights that were the tip, each with the first call that saw it
        self.windows: dict[str, tuple[float, int]] = {}  # method -> start of its window, calls in it


NO_FAULTS = Faults()
"""A server without faults."""
