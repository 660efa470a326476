"""Service: one JSON-RPC body in, one Reply out. Envelope, argument checks, errors and the faults that are not about
rows.

No sockets and no httpx: `transport.py` and `server.py` bring the bytes. What a method answers is in `answers.py`, what
it may be asked is in `wire.py`. Codes and bodies follow docs/protocol.md, "Envelope and errors".
"""

import time
import zlib
from collections.abc import Callable, Mapping
from itertools import count
from threading import Lock
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson

from chainq.demo.answers import AnswerError, Answers, Asked
from chainq.demo.chain import Chain
from chainq.demo.faults import NO_FAULTS, Faults
from chainq.demo.wire import DIALECTS, Method, Param

MOST_BYTES = 150 * 1024
"""Request bodies above this are refused with HTTP 413 (docs/protocol.md, "Envelope and errors")."""

_JSON, _HTML = "application/json; charset=utf-8", "text/html; charset=utf-8"
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})
_FAIL, _TRUNCATE, _WRONG_ID = range(3)


class Reply(NamedTuple):
    """An HTTP response: status, media type, body, further headers. `cut`: only half of the body may be sent, and the
    connection is closed then, although Content-Length announces all of it."""

    status: int
    content_type: str
    body: bytes
    headers: Mapping[str, str] = _NO_HEADERS
    cut: bool = False


def page(status: int, text: str) -> Reply:
    """Gives an HTML error page as proxies and express send it."""
    return Reply(status, _HTML, f"<!DOCTYPE html>\n<html><body><pre>{text}</pre></body></html>\n".encode())


NOT_FOUND = page(404, "Cannot GET /")
"""The reply to anything that is not a POST."""


class Service:
    """A chain data service without a socket. Threads may share it."""

    def __init__(
        self,
        chain: Chain,
        faults: Faults = NO_FAULTS,
        dialect: str = "chain",
        shuffle: bool = True,
        *,
        newest: Callable[[], int] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Takes the chain, its faults, the dialect (a key of wire.DIALECTS; KeyError otherwise), and whether rows come
        in the disorder of deployed servers. `newest` is asked at each call for the newest height (a chain that grows);
        without it that is `chain.newest`. `clock` (seconds) is read for the rate limit only."""
        self.chain, self.faults = chain, faults
        self._methods = DIALECTS[dialect]
        self._answers = Answers(chain, faults, shuffle)
        self._newest = newest or (lambda: chain.newest)
        self._clock = clock
        self._turns = count()
        self._lock = Lock()
        self._windows: dict[str, tuple[float, int]] = {}  # method -> start of its window, calls in it

    # --- HTTP

    def answer(self, body: bytes) -> Reply:
        """Answers the body of one POST. Never raises: what is wrong with it is said in the Reply."""
        turn = next(self._turns)
        if len(body) > MOST_BYTES:
            return page(413, "PayloadTooLargeError: request entity too large")
        if self.faults.strikes(self.faults.fail_rate, _FAIL, turn):
            return page(503, "503 Service Temporarily Unavailable")
        try:
            asked = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            return page(400, f"SyntaxError: {error.msg}")
        requests = asked if isinstance(asked, list) else [asked]
        if not self._admit(requests):
            wait = self.faults.retry_after
            headers = {} if wait is None else {"Retry-After": str(wait)}
            return Reply(429, _HTML, b"Too many requests, please try again later", headers)
        if requests == []:
            answers: list[bytes | None] = [_error(None, -32600, "Invalid Request")]
        else:
            answers = [self._respond(request, turn, place) for place, request in enumerate(requests)]
        parts = [part for part in answers if part]
        if not parts:
            return Reply(204, _JSON, b"")
        joined = b"[" + b",".join(parts) + b"]" if isinstance(asked, list) and requests else parts[0]
        return Reply(200, _JSON, joined, cut=self.faults.strikes(self.faults.truncate_rate, _TRUNCATE, turn))

    def packed(self, reply: Reply, accepted: str) -> Reply:
        """Gives the reply compressed when the faults say `gzip` and the caller's Accept-Encoding allows it."""
        if not self.faults.gzip or "gzip" not in accepted.lower() or not reply.body:
            return reply
        packer = zlib.compressobj(1, wbits=31)
        body = packer.compress(reply.body) + packer.flush()
        return reply._replace(body=body, headers={**reply.headers, "Content-Encoding": "gzip"})

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

    def _respond(self, request: Any, turn: int, place: int) -> bytes | None:
        if not isinstance(request, dict):
            return _error(None, -32600, "Invalid Request")
        id_ = request.get("id")
        name = request.get("method")
        if request.get("jsonrpc") != "2.0" or not isinstance(name, str) or isinstance(id_, (dict, list, bool)):
            return _error(None if isinstance(id_, (dict, list, bool)) else id_, -32600, "Invalid Request")
        if "id" not in request:
            return None
        if self.faults.strikes(self.faults.wrong_id_rate, _WRONG_ID, turn):
            id_ = id_ + 1 if isinstance(id_, int) and id_ < 1 << 53 else "another"
        try:
            method = self._methods.get(name)
            if method is None:
                raise AnswerError(-32601, "Method not found")
            args = self._arguments(method, request.get("params"))
            turned = turn * 1_000 + place  # the calls of a batch see different orders too
            asked = Asked(args, self._newest(), turned)
            result: bytes = getattr(self._answers, method.answer)(asked)
        except AnswerError as refused:
            return _error(id_, refused.code, refused.message)
        return b'{"jsonrpc":"2.0","id":' + orjson.dumps(id_) + b',"result":' + result + b"}"

    def _arguments(self, method: Method, params: Any) -> dict[str, Any]:
        if not method.params:
            return {}
        if method.positional:
            if not isinstance(params, list):
                raise AnswerError(0, "params is not iterable")
            params = dict(zip((param.sent[0] for param in method.params), params, strict=False))
        if not isinstance(params, dict):
            raise AnswerError(-32602, "Invalid params")
        args: dict[str, Any] = {param.name: self._argument(param, params) for param in method.params}
        if "start" in args:
            span = args["end"] - args["start"]
            if span < 0 or (method.span is not None and span > method.span):
                raise AnswerError(-32602, "Invalid params")
        return args

    def _argument(self, param: Param, params: dict[str, Any]) -> int | str:
        if param.unread is not None and self.faults.ignore_page_size:
            return param.unread
        value = next((params[name] for name in param.sent if params.get(name) is not None), param.default)
        if param.kind == "text":
            if isinstance(value, str):
                return value
        elif type(value) is int and value >= 0 and (param.most is None or value <= param.most):
            return value
        raise AnswerError(-32602, "Invalid params")


def _error(id_: Any, code: int, message: str) -> bytes:
    return orjson.dumps({"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}})
