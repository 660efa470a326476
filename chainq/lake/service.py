"""A data set as a service: handles JSON-RPC requests as in the published interface (docs/protocol.md), for all readers.

It is a transport for requests within the process of a run. `chainq serve --lake` serves it to others over HTTP with the
standard library: POST to any path handles requests, and GET /healthz checks that the data set can be read.
"""

import math
import re
import resource
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from email.message import Message
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from itertools import islice
from operator import itemgetter
from threading import BoundedSemaphore
from time import monotonic
from typing import Any

import msgspec
from msgspec import Raw

from chainq.catalog.methods import BY_NAME, Method, Param, Role
from chainq.catalog.tables import COMMANDS
from chainq.defaults import MAX_MEMORY
from chainq.errors import ChainqError, IncompleteError
from chainq.heights.range import HeightRange
from chainq.lake import reader
from chainq.query import Batch
from chainq.rows.fields import object_of
from chainq.transport.base import Request, Response, check_size
from chainq.transport.failures import INCOMPLETE, NO_TABLE, Incomplete

PARSE, ENVELOPE, UNKNOWN, PARAMETERS = -32700, -32600, -32601, -32602
"""Error codes of JSON-RPC 2.0, section 5.1."""
TOO_LARGE = "57014"
"""Error code of a result that exceeds what is left of MOST_BYTES: with it, deployed servers refuse a query that is too
heavy, and their clients know that a narrower one succeeds (docs/protocol.md, "Envelope and errors")."""
PAGE, MOST_ROWS = 10_000, 100_000
"""Rows of a page whose size the request does not name, and rows of any page."""
MOST_BYTES = 64 * 2**20
"""Bytes of the results of a body, however many requests it has. Any single block fits."""
MOST_REQUEST = 150 * 1024
"""Bytes of a request; larger ones get HTTP 413, as from deployed servers (docs/protocol.md, "Envelope and errors")."""
READERS = 8
"""Requests that read files at the same time; others wait."""
SECONDS = 10
"""How long a connection may take to send a request, and stay open without one."""
MOST_CONNECTIONS, BACKLOG = 512, 32
"""Open connections (at most half of the files that the process may open), and connections accepted at once."""
_JSON = "application/json"
_MOST_NUMBER = 2**32 - 1
"""Highest argument: heights are 32-bit integers, and no page behind that many exists."""
_ALSO = {Role.START: "startHeight", Role.END: "endHeight"}  # names that the published description has for getBlocks
_TEXTS = (Role.ID, Role.PROGRAM, Role.FUNCTION, Role.ADDRESS)
_SUMMARY = ("transaction_id", "type", "index", "status")  # of a transaction, as lists have it


class RpcError(Exception):
    """An error for a request, which becomes an error object with its arguments: code and message."""


class Room(msgspec.Struct):
    """How many bytes the results of a body may still have."""

    left: float = math.inf


class StoredService:
    """A data set as a service. Threads may share it. Raises UsageError if there is none."""

    def __init__(self, destination: str, memory: int = MAX_MEMORY) -> None:
        self._read = partial(reader.Reader, destination, memory)
        self.reader = self._read()
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
        told = [self._told(request, room) for request in (content if isinstance(content, list) else [content])]
        parts = [part for part in told if part is not None]
        return b"[" + b",".join(parts) + b"]" if isinstance(content, list) and parts else b"".join(parts)

    def _told(self, request: Any, room: Room) -> bytes | None:
        """Return the same as `_answer`, also if the data set lacks data."""
        try:
            return self._answer(request, room)
        except ChainqError as failure:
            # The first height, so that clients need not ask below it. Without its hint, a command for who can write to
            # the data set.
            table = failure.table if isinstance(failure, IncompleteError) else ""
            data = Raw(msgspec.json.encode(Incomplete(incomplete=True, first=self.reader.first, table=table)))
            code, message = (NO_TABLE, f"this export has no table {table}") if table else (INCOMPLETE, failure.message)
            return error(_id(request), code, message, data)

    def _answer(self, request: Any, room: Room) -> bytes | None:
        """Return the response to one decoded request, None for one without an id.

        Raises ChainqErrors of reading."""
        try:
            return self._valid_answer(request, room)
        except RpcError as refused:
            return error(_id(request), *refused.args)

    def _valid_answer(self, request: Any, room: Room) -> bytes | None:
        """Return the same; raise RpcError instead of an error response."""
        fields = request if isinstance(request, dict) else {}
        name: Any = fields.get("method")
        params: Any = fields.get("params")
        valid = fields.get("jsonrpc") == "2.0" and not isinstance(fields.get("id"), dict | list | bool)
        if not valid or not isinstance(name, str):
            raise RpcError(ENVELOPE, "Invalid Request")
        if "id" not in fields:
            return None
        method = BY_NAME.get(name)
        if method is None:
            raise RpcError(UNKNOWN, "Method not found")
        if method.params and not isinstance(params, dict):
            raise RpcError(PARAMETERS, "Invalid params")
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
                raise RpcError(TOO_LARGE, f"{limit}: request fewer rows, or fewer requests at once")
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
    """Return the range of a request. Raises RpcError for one of more heights than a request may have."""
    start, end = given[Role.START], given[Role.END]
    if end < start or (most is not None and end - start > most):
        raise RpcError(PARAMETERS, "Invalid params")
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
        raise RpcError(PARAMETERS, "Invalid params")
    return value


class Server(ThreadingHTTPServer):
    """An HTTP server of a data set, with a thread for each connection. Raises OSError if the address is unavailable.

    `open`: since when each connection waits for the end of a request, infinity for those that got one.
    """

    request_queue_size = BACKLOG

    def __init__(self, service: StoredService, host: str, port: int, *, verbose: bool = False) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.service, self.host, self.verbose = service, host, verbose
        self.reading, self.open = BoundedSemaphore(READERS), dict[Any, float]()
        self._most = min(MOST_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
        super().__init__((host, port), _Connection)

    def service_actions(self) -> None:
        """End connections that take too long to send a request and, if too many are open, those that wait longest: so
        clients that never finish their requests lock out nobody. `serve_forever` calls it all the time."""
        late, excess = monotonic() - SECONDS, len(self.open) - self._most
        for place, (connection, since) in enumerate(sorted(self.open.copy().items(), key=itemgetter(1))):
            if since < late or place < excess:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection that has ended."""
        self.open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a caller that hangs up; show any other error as the standard library does."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Connection(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def handle_one_request(self) -> None:
        self.server.open[self.connection] = monotonic()
        super().handle_one_request()

    def do_POST(self) -> None:
        status, body = self._answer()
        self.close_connection = self.close_connection or status >= HTTPStatus.BAD_REQUEST  # an unread body may follow
        self.send_response(status)
        self.send_header("Content-Type", _JSON if body[:1] in (b"{", b"[") else "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close" if self.close_connection else "keep-alive")
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST  # noqa: N815

    def _answer(self) -> tuple[int, bytes]:
        """Return the status and the body of a response."""
        length, server, gets = self.headers.get("Content-Length", "0"), self.server, self.command == "GET"
        if refusal := _refusal(self.headers, server.host):
            return 400, refusal
        if gets and self.path != "/healthz":
            return 404, b"not found\n"
        if not re.fullmatch("[0-9]{1,9}", length) or int(length) > MOST_REQUEST:
            return 413, b"request entity too large\n"
        body = self.rfile.read(int(length))
        server.open[self.connection] = math.inf
        try:
            if gets:  # apart from the requests, which may wait for each other
                server.service.reader.check_store()
                return 200, b"ok\n"
            with server.reading:
                response = server.service.respond(body)
        except ChainqError as failure:
            return 503, f"{failure}\n".encode()
        return 200 if response else 204, response

    def log_message(self, *words: Any) -> None:
        if self.server.verbose:
            super().log_message(*words)


def _refusal(headers: Message, bound: str) -> bytes:
    """Return what is wrong with a request that a web page or a proxy may have been tricked to send; empty for none."""
    host = headers.get("Host", "localhost")
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    try:
        ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        if name.lower().rstrip(".") not in ("localhost", bound.lower()):  # DNS rebinding: browsers always name the host
            return b"invalid Host header: expected localhost, an IP address, or the host at which the server listens\n"
    return b"Transfer-Encoding is not supported\n" if "Transfer-Encoding" in headers else b""  # RFC 9112, section 6.1
