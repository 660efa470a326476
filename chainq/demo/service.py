"""Service: one JSON-RPC body in, one Reply out. Envelope, argument checks, errors, and their faults.

It uses neither sockets nor httpx: `transport.py` and `http_server.py` move the bytes. Methods and their parameters are
in `wire.py`, their results in `results.py`. Codes and bodies follow docs/protocol.md, "Envelope and errors".
"""

import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain as chained
from itertools import count
from threading import Lock
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson

from chainq.demo.chain import Chain
from chainq.demo.faults import FAIL, NO_FAULTS, TRUNCATE, WRONG_ID, Faults
from chainq.demo.faulty_results import FaultyResults
from chainq.demo.results import RpcError, encoded
from chainq.demo.samples import SAMPLES, sample_result
from chainq.demo.wire import DIALECTS, Method, Param

MOST_BYTES = 150 * 1024
"""Request bodies above this are refused with HTTP 413 (docs/protocol.md, "Envelope and errors")."""

_JSON, _HTML = "application/json; charset=utf-8", "text/html; charset=utf-8"
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})
_DATABASE_DOWN = 'select * from "block" order by "height" - terminating connection due to administrator command'


class Reply(NamedTuple):
    """An HTTP response: status, media type, body, further headers. `cut`: send only half of the body and then close the
    connection, although Content-Length announces all of it."""

    status: int
    content_type: str
    body: bytes
    headers: Mapping[str, str] = _NO_HEADERS
    cut: bool = False

    @property
    def sent(self) -> bytes:
        """The part of the body to send."""
        return self.body[: len(self.body) // 2] if self.cut else self.body


def page(status: int, text: str) -> Reply:
    """Return an HTML error page as proxies and express send it."""
    return Reply(status, _HTML, f"<!DOCTYPE html>\n<html><body><pre>{text}</pre></body></html>\n".encode())


NOT_FOUND = page(404, "Cannot GET /")
"""The response to anything that is not a POST."""


class Service:
    """A chain data service without a socket. Threads may share it."""

    def __init__(
        self,
        chain: Chain,
        faults: Faults = NO_FAULTS,
        dialect: str = "chain",
        shuffle: bool = True,
        *,
        tip: Callable[[], int] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Takes the chain, its faults, the dialect (a key of wire.DIALECTS; KeyError otherwise), and whether rows are
        unordered as on deployed servers. `tip` returns the tip height at each call, for a growing chain; the default is
        `chain.tip`. `clock` (seconds) is read for the rate limit only."""
        self.chain, self.faults = chain, faults
        self._methods = DIALECTS[dialect]
        self._results = FaultyResults(chain, faults, shuffle)
        self._tip = tip or (lambda: chain.tip)
        self._clock = clock
        self._numbers = count()
        self._lock = Lock()
        self._windows: dict[str, tuple[float, int]] = {}  # method -> start of its window, calls in it
        self._under_way = 0

    # --- HTTP

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Count a call as in progress: the transports keep this open while they wait for `faults.latency` and for the
        response."""
        with self._lock:
            self._under_way += 1
        try:
            yield
        finally:
            with self._lock:
                self._under_way -= 1

    def respond(self, body: bytes) -> Reply:
        """Return the response to the body of one POST. Never raises: errors are in the response."""
        number = next(self._numbers)
        if len(body) > MOST_BYTES:
            return page(413, "PayloadTooLargeError: request entity too large")
        if self.faults.strikes(self.faults.fail_rate, FAIL, number):
            return page(503, "503 Service Temporarily Unavailable")
        try:
            content = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            return page(400, f"SyntaxError: {error.msg}")
        requests = content if isinstance(content, list) else [content]
        if not self._admit(requests):
            wait = self.faults.retry_after
            headers = {} if wait is None else {"Retry-After": str(wait)}
            return Reply(429, _HTML, b"Too many requests, please try again later", headers)
        if requests == []:
            members: list[bytes | None] = [_error(None, -32600, "Invalid Request")]
        else:
            numbers = chained([number], self._numbers)  # each call of a batch has its own
            members = [self._member(request, next(numbers)) for request in requests]
        parts = [part for part in members if part]
        if not parts:
            return Reply(204, _JSON, b"")
        joined = b"[" + b",".join(parts) + b"]" if isinstance(content, list) and requests else parts[0]
        return Reply(200, _JSON, joined, cut=self.faults.strikes(self.faults.truncate_rate, TRUNCATE, number))

    def packed(self, response: Reply, accepted: str) -> Reply:
        """Return the response, compressed if the faults say `gzip` and the caller's Accept-Encoding allows it."""
        if not self.faults.gzip or "gzip" not in accepted.lower() or not response.body:
            return response
        packer = zlib.compressobj(1, wbits=31)
        body = packer.compress(response.body) + packer.flush()
        return response._replace(body=body, headers={**response.headers, "Content-Encoding": "gzip"})

    def _admit(self, requests: list[Any]) -> bool:
        limit = self.faults.rate_limit
        if not limit:
            return True
        now, admitted = self._clock(), True
        with self._lock:
            for request in requests:
                method = request.get("method") if isinstance(request, dict) else None
                if isinstance(method, str) and method in self._methods:
                    since, calls = self._windows.get(method, (now, 0))
                    if now - since >= self.faults.rate_window:
                        since, calls = now, 0
                    self._windows[method] = (since, calls + 1)
                    admitted = admitted and calls < limit
        return admitted

    # --- JSON-RPC

    def _member(self, request: Any, number: int) -> bytes | None:
        if not isinstance(request, dict):
            return _error(None, -32600, "Invalid Request")
        id_ = request.get("id")
        name = request.get("method")
        if request.get("jsonrpc") != "2.0" or not isinstance(name, str) or isinstance(id_, (dict, list, bool)):
            return _error(None if isinstance(id_, (dict, list, bool)) else id_, -32600, "Invalid Request")
        if "id" not in request:
            return None
        if self.faults.strikes(self.faults.wrong_id_rate, WRONG_ID, number):
            id_ = id_ + 1 if isinstance(id_, int) and id_ < 1 << 53 else "another"
        try:
            result = self._result(name, request.get("params"), number)
        except RpcError as refused:
            return _error(id_, refused.code, refused.message)
        return b'{"jsonrpc":"2.0","id":' + orjson.dumps(id_) + b',"result":' + result + b"}"

    def _result(self, name: str, params: Any, number: int) -> bytes:
        if number in self.faults.database_down:
            raise RpcError("57P01", _DATABASE_DOWN)
        method = self._methods.get(name)
        if method is None:
            if name not in SAMPLES:
                raise RpcError(-32601, "Method not found")
            return encoded(sample_result(SAMPLES[name], params if isinstance(params, dict) else {}))
        return self._results.result(method, self._arguments(method, params), self._tip(), number, self._under_way)

    def _arguments(self, method: Method, params: Any) -> dict[str, Any]:
        if not method.params:
            return {}
        if method.positional:
            if not isinstance(params, list):
                raise RpcError(0, "params is not iterable")
            params = dict(zip((param.sent[0] for param in method.params), params, strict=False))
        if not isinstance(params, dict):
            raise RpcError(-32602, "Invalid params")
        args: dict[str, Any] = {param.name: self._argument(param, params) for param in method.params}
        if "start" in args:
            span = args["end"] - args["start"]
            if span < 0 or (method.span is not None and span > method.span):
                raise RpcError(-32602, "Invalid params")
        return args

    def _argument(self, param: Param, params: dict[str, Any]) -> int | str:
        value = next((params[name] for name in param.sent if params.get(name) is not None), param.default)
        if param.kind == "text":
            if isinstance(value, str):
                return value
        elif type(value) is int and value >= 0 and (param.most is None or value <= param.most):
            return value
        raise RpcError(-32602, "Invalid params")


def _error(id_: Any, code: int | str, message: str) -> bytes:
    return orjson.dumps({"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}})
