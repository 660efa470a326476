"""A data set as a service: handles JSON-RPC requests as in the published interface (docs/protocol.md), for all readers.

It is a transport for requests within the process of a run. `chainq serve --lake` serves it to others over HTTP with the
standard library: POST to any path handles requests, and GET /healthz checks that the data set can be read.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from ipaddress import ip_address
from itertools import islice
from threading import BoundedSemaphore
from typing import Any

import msgspec
from msgspec import Raw

from chainq.catalog import export_error
from chainq.catalog.methods import BY_NAME, Method, Param, Role
from chainq.catalog.tables import COMMANDS
from chainq.defaults import MAX_MEMORY
from chainq.errors import ChainqError, IncompleteError
from chainq.heights.range import HeightRange
from chainq.lake import reader
from chainq.process.serving import TEXT, Answer
from chainq.query import Batch
from chainq.rows.fields import object_of
from chainq.transport.base import Request, Response, check_size

PARSE, ENVELOPE, UNKNOWN, PARAMETERS = -32700, -32600, -32601, -32602
"""Error codes of JSON-RPC 2.0, section 5.1."""
TOO_LARGE = "57014"
"""Error code of a result that exceeds what is left of MOST_BYTES: with it, deployed servers refuse a query that is too
heavy, and their clients know that a narrower one succeeds (docs/protocol.md, "Envelope and errors")."""
PAGE, MOST_ROWS = 10_000, 100_000
"""Rows of a page whose size the request does not name, and rows of any page."""
MOST_BYTES = 64 * 2**20
"""Bytes of the results of a body, however many requests it has. Any single block fits."""
READERS = 8
"""Requests that read files at the same time; others wait."""
_JSON = "application/json"
_MOST_NUMBER = 2**32 - 1
"""Highest argument: heights are 32-bit integers, and no page behind that many exists."""
_ALSO = {Role.START: "startHeight", Role.END: "endHeight"}  # names that the published description has for getBlocks
_TEXTS = (Role.ID, Role.PROGRAM, Role.FUNCTION, Role.ADDRESS)
_SUMMARY = ("transaction_id", "type", "index", "status")  # of a transaction, as lists have it


class RequestError(Exception):
    """An error for a request, which becomes an error object with its arguments: code and message."""


class Room(msgspec.Struct):
    """How many bytes the results of a body may still have."""

    left: float = math.inf


class StoredService:
    """A data set as a service. Threads may share it. Raises UsageError if there is none."""

    def __init__(self, destination: str, memory: int = MAX_MEMORY) -> None:
        self._read = partial(reader.Reader, destination, memory)
        self.reader = self._read()
        self._reading = BoundedSemaphore(READERS)
        self._methods: Mapping[str, Callable[[Method, dict[Role, Any]], Iterator[Raw] | Raw | None]] = {
            "block": self._block,
            "latest": self._latest,
            "transactions": self._transactions,
            "transaction": self._transaction,
            "program-transactions": self._program_transactions,
            "address-transactions": self._address_transactions,
            **dict.fromkeys(COMMANDS, self._range),
        }

    def call(self, request: Request) -> Response:
        """Return the response, as `transport.base.Transport` does for a server; no request leaves the process.

        Raises TooHeavyError for memory, IncompleteError and other ChainqErrors if the data set lacks data.
        """
        body = self._answer(msgspec.json.decode(request.body), Room()) or b""
        check_size(len(body), request.most)
        return Response(200, body, {"content-type": _JSON})

    def close(self) -> None:
        """Do nothing: there is no connection."""

    def respond(self, body: bytes) -> bytes:
        """Return the response to a body, a single request or several; empty if there is nothing to respond.

        Raises nothing: if the data set lacks data, the response is an error object.
        """
        try:
            content = msgspec.json.decode(body)
        except (RecursionError, msgspec.DecodeError, UnicodeDecodeError):
            return error(None, PARSE, "Parse error")
        if content == []:
            return error(None, ENVELOPE, "Invalid Request")
        room = Room(MOST_BYTES)
        with self._reading:
            told = [self._told(request, room) for request in (content if isinstance(content, list) else [content])]
        parts = [part for part in told if part is not None]
        return b"[" + b",".join(parts) + b"]" if isinstance(content, list) and parts else b"".join(parts)

    def _told(self, request: Any, room: Room) -> bytes | None:
        """Return the same as `_answer`, also if the data set lacks data."""
        try:
            return self._answer(request, room)
        except ChainqError as failure:
            # With the first height, so that clients need not ask below it.
            return error(_id(request), *export_error.written(failure, self.reader.first))

    def _answer(self, request: Any, room: Room) -> bytes | None:
        """Return the response to one decoded request, None for one without an id.

        Raises ChainqErrors of reading."""
        try:
            return self._valid_answer(request, room)
        except RequestError as refused:
            return error(_id(request), *refused.args)

    def _valid_answer(self, request: Any, room: Room) -> bytes | None:
        """Return the same; raise RequestError instead of an error response."""
        fields = request if isinstance(request, dict) else {}
        name: Any = fields.get("method")
        params: Any = fields.get("params")
        valid = fields.get("jsonrpc") == "2.0" and not isinstance(fields.get("id"), dict | list | bool)
        if not valid or not isinstance(name, str):
            raise RequestError(ENVELOPE, "Invalid Request")
        if "id" not in fields:
            return None
        method = BY_NAME.get(name)
        if method is None:
            raise RequestError(UNKNOWN, "Method not found")
        if method.params and not isinstance(params, dict):
            raise RequestError(PARAMETERS, "Invalid params")
        given = {param.role: _argument(param, params) for param in method.params}
        try:
            result = self._result(method, given, room)
        except IncompleteError:  # an export may have written or replaced files since the listing
            self.reader = self._read()
            result = self._result(method, given, room)
        return b'{"jsonrpc":"2.0","id":' + msgspec.json.encode(fields["id"]) + b',"result":' + result + b"}"

    def _result(self, method: Method, given: dict[Role, Any], room: Room) -> bytes:
        found, rows = self._methods[method.command](method, given), list[bytes]()
        for row in found if isinstance(found, Iterator) else [Raw(b"null") if found is None else found]:
            rows.append(bytes(row))
            room.left -= len(rows[-1]) + 1
            if room.left <= 0:
                limit = f"the response would exceed {MOST_BYTES // 2**20} MiB"
                raise RequestError(TOO_LARGE, f"{limit}: request fewer rows, or fewer requests at once")
        return b"[" + b",".join(rows) + b"]" if isinstance(found, Iterator) else rows[0]

    def _range(self, method: Method, given: dict[Role, int]) -> Iterator[Raw]:
        rows = self.reader.rows(method.command, _heights(given, method.max_heights))
        return rows if Role.SIZE not in given else _page(rows, given)

    def _block(self, _: Method, given: dict[Role, int]) -> Iterator[Raw]:
        return self.reader.rows("blocks", HeightRange(given[Role.HEIGHT], given[Role.HEIGHT] + 1))

    def _latest(self, *_: object) -> Raw | None:
        self.reader = self._read()  # an export may have ended since
        return next(self.reader.rows("blocks", HeightRange(max(0, self.reader.tip), self.reader.tip + 1)), None)

    def _transactions(self, method: Method, given: dict[Role, int]) -> Iterator[Raw]:
        """Yield summaries."""
        height = given[Role.HEIGHT]
        for row in self.reader.rows(method.command, HeightRange(height, height + 1)):
            members = object_of(row)
            summary = {name: members[name] for name in _SUMMARY if name in members}
            yield Raw(msgspec.json.encode({"block_id": height, **summary}))

    def _transaction(self, _: Method, given: dict[Role, Any]) -> Raw | None:
        return reader.transaction(self.reader, given[Role.ID])

    def _program_transactions(self, method: Method, given: dict[Role, Any]) -> Iterator[Raw]:
        found = reader.program_transactions(self.reader, given[Role.PROGRAM], given[Role.FUNCTION])
        return _page(_rows(found), given, method.page_size_max)

    def _address_transactions(self, method: Method, given: dict[Role, Any]) -> Iterator[Raw]:
        heights = _heights(given, method.max_heights)
        return _page(_rows(reader.address_transactions(self.reader, given[Role.ADDRESS], heights)), given)


def _rows(batches: Iterator[Batch]) -> Iterator[Raw]:
    return (row for batch in batches for row in batch.rows)


def _heights(given: dict[Role, Any], most: int | None) -> HeightRange:
    """Return the range of a request. Raises RequestError for one of more heights than a request may have."""
    start, end = given[Role.START], given[Role.END]
    if end < start or (most is not None and end - start > most):
        raise RequestError(PARAMETERS, "Invalid params")
    return HeightRange(start, end)


def _id(request: Any) -> Any:
    """Return the id of a request, None if it has none that a response can have."""
    found = request.get("id") if isinstance(request, dict) else None
    return None if isinstance(found, dict | list | bool) else found


def error(id_: Any, code: int | str, message: str, data: Raw | None = None) -> bytes:
    """Return an error response, with `data` if there is any (JSON-RPC 2.0, section 5.1)."""
    content = {"code": code, "message": message, **({} if data is None else {"data": data})}
    return msgspec.json.encode({"jsonrpc": "2.0", "id": id_, "error": content})


def _page(rows: Iterator[Raw], given: Mapping[Role, Any], most: int | None = None) -> Iterator[Raw]:
    """Return the rows of the requested page. `most`: the maximum number of rows."""
    size = min(given[Role.SIZE], most or MOST_ROWS)
    return islice(rows, given[Role.PAGE] * size, (given[Role.PAGE] + 1) * size)


def _argument(param: Param, params: dict[str, Any]) -> int | str:
    names = (param.name, _ALSO.get(param.role, param.name))
    value = next((params[name] for name in names if params.get(name) is not None), None)
    if param.role in _TEXTS and isinstance(value, str):
        return value
    if value is None and param.role in (Role.PAGE, Role.SIZE):
        value = 0 if param.role is Role.PAGE else PAGE
    if type(value) is not int or not 0 <= value <= _MOST_NUMBER:
        raise RequestError(PARAMETERS, "Invalid params")
    return value


def answer(service: StoredService, bound: str, asked: str, headers: Mapping[str, str], body: bytes) -> Answer:
    """Return the response to an HTTP request, as `process.serving.Server` asks for it. `bound`: the server's host."""
    if not _is_own(headers.get("host", "localhost"), bound):
        return 400, TEXT, b"invalid Host header: expected localhost, an IP address, or the host of the server\n"
    if asked.startswith("GET ") and asked != "GET /healthz":
        return 404, TEXT, b"not found\n"
    try:
        if asked == "GET /healthz":  # apart from the requests, which may wait for each other
            service.reader.check_store()
            return 200, TEXT, b"ok\n"
        response = service.respond(body)
    except ChainqError as failure:
        return 503, TEXT, f"{failure}\n".encode()
    return 200 if response else 204, {"Content-Type": _JSON}, response


def _is_own(host: str, bound: str) -> bool:
    """Return whether a request names this server. A web page that reads it through a name of its own, by DNS rebinding,
    does not: browsers always name the host."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    try:
        ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return name.lower().rstrip(".") in ("localhost", bound.lower())
    return True
