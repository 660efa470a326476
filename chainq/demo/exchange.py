"""What goes through the sample server: a call, its rows, and the reply that carries them.

`results.py` has the rows, `faults.py` what goes wrong on the way. Rows are bytes, so that the model servers of the
tests can have the same faults.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

if TYPE_CHECKING:
    from chainq.demo.faults import Faults, Memory

JSON, HTML = "application/json; charset=utf-8", "text/html; charset=utf-8"
NO_END = 1 << 40
"""A height or a number of rows beyond all others."""

_EMPTY: Mapping[str, Any] = MappingProxyType({})


class RpcError(Exception):
    """The call gets a JSON-RPC error: `code` and `message` of its error object."""

    def __init__(self, code: int | str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


class Item(NamedTuple):
    """A row (its JSON text), the height of its block, and its position among the block's rows of that list."""

    height: int
    position: int
    row: bytes


class Book(ABC):
    """A chain whose rows can be read."""

    @abstractmethod
    def rows(self, ask: "Ask") -> list[Item]:
        """Return the rows `offset` to `offset + limit` of a range, as far as the tip."""

    def one(self, _: "Ask") -> Any:
        """Return the only row of a method without lists; None if there is none."""
        return None

    def forked(self, _: int) -> "Book":
        """Return the rows after a reorg from that height on."""
        return self


class Ask(NamedTuple):
    """One call, as far as faults have changed it.

    `handler`: the list or method, as in wire.Method. `start`, `end`: its heights. `args`: its other arguments, by the
    names of wire.Param. `page`: the number of the page that it asks for; `turn`: of the page that it gets. `size`: the
    rows that it asks for; `step`: from one page to the next; `limit`: the most that it gets. `late`: rows that are
    skipped before them. `tip`: the tip height. `number`: the number of the call. `calls`: how many are in progress.
    """

    handler: str
    start: int
    end: int
    tip: int
    number: int
    book: Book
    faults: "Faults"
    memory: "Memory"
    args: Mapping[str, Any] = _EMPTY
    page: int = 0
    turn: int = 0
    size: int = NO_END
    step: int = 0
    limit: int = NO_END
    late: int = 0
    calls: int = 1

    @property
    def heights(self) -> range:
        """The heights of the range that exist."""
        return range(self.start, min(self.end, self.tip + 1))

    @property
    def offset(self) -> int:
        """The number of the first row within the range."""
        return self.turn * self.step + self.late

    def whole(self) -> "Ask":
        """Return the same range without pages."""
        return self._replace(turn=0, late=0, limit=NO_END)

    def hit(self, share: float, kind: int, number: int | None = None) -> bool:
        """Return whether a fault hits this share of calls or rows; `kind` sets the faults of one server apart."""
        return self.faults.hit(share, kind, self.number if number is None else number)


class Reply(NamedTuple):
    """An HTTP response: status, media type, body, further headers.

    `cut`: send only half of the body and then close the connection, although Content-Length announces all of it.
    `latency`: seconds before it; `drip`: seconds between its bytes. `gzip`: compress it for callers that accept that.
    """

    status: int
    content_type: str
    body: bytes
    headers: Mapping[str, str] = _EMPTY
    cut: bool = False
    latency: float = 0.0
    drip: float = 0.0
    gzip: bool = False

    @property
    def sent(self) -> bytes:
        """The part of the body to send."""
        return self.body[: len(self.body) // 2] if self.cut else self.body


class Answer(NamedTuple):
    """The answer to one JSON-RPC request: its id, and its `result` or `error` as JSON."""

    id: Any
    key: str
    value: bytes


def page(status: int, text: str) -> Reply:
    """Return an HTML error page as proxies and express send it."""
    return Reply(status, HTML, f"<!DOCTYPE html>\n<html><body><pre>{text}</pre></body></html>\n".encode())


def encoded(result: Any) -> bytes:
    """Return a result as compact JSON."""
    return orjson.dumps(result)


def _found(row: bytes, name: str) -> re.Match[bytes] | None:
    return re.search(rb'"%s":("(?:[^"\\]|\\.)*"|[^,}\]]+)' % name.encode(), row)


def field(row: bytes, name: str) -> Any:
    """Return the text, number or null of the first field with that name; None without one."""
    found = _found(row, name)
    return orjson.loads(found[1]) if found else None


def edited(row: bytes, name: str, change: Callable[[Any], Any]) -> bytes:
    """Return the row with another value of that field; all other bytes stay. Unchanged without such a field."""
    found = _found(row, name)
    return row[: found.start(1)] + encoded(change(orjson.loads(found[1]))) + row[found.end(1) :] if found else row
