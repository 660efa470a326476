"""Service: one JSON-RPC body in, one Reply out. Envelope, argument checks, errors.

It uses neither sockets nor httpx: `transport.py` and `http_server.py` move the bytes. Methods and their parameters are
in `wire.py`, their rows in `results.py`, faults in `faults.py`. Codes and bodies follow docs/protocol.md, "Envelope and
errors".
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from threading import Lock
from typing import Any

import orjson

from chainq.demo.chain import Chain
from chainq.demo.exchange import JSON, NO_END, Answer, Ask, Reply, RpcError, encoded, page
from chainq.demo.faults import NO_FAULTS, Faults, Memory
from chainq.demo.registry import BODY, HTTP
from chainq.demo.results import Results
from chainq.demo.samples import SAMPLES, sample_result
from chainq.demo.wire import DIALECTS, Method, Param

MOST_BYTES = 150 * 1024
"""Request bodies above this are refused with HTTP 413 (docs/protocol.md, "Envelope and errors")."""

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
        self._methods = DIALECTS[dialect]
        self._shuffle, self._clock = shuffle, clock
        self._tip = tip or (lambda: self.chain.tip)
        self._numbers = count()
        self._lock = Lock()
        self._under_way = 0
        self.change(chain, faults)

    def change(self, chain: Chain, faults: Faults = NO_FAULTS) -> None:
        """Answer for this chain with these faults from now on."""
        again = faults.get("stored-again", None)
        self.chain = chain if again is None else chain.stored_again(again)
        self.faults, self._memory = faults, Memory(self._clock)
        self._book = Results(self.chain, self._shuffle)

    def _ask(self, handler: str, number: int, *, tip: int = -1, start: int = 0, end: int = NO_END, **more: Any) -> Ask:
        return Ask(handler, start, end, tip, number, self._book, self.faults, self._memory, **more)

    # --- HTTP

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Count a call as in progress: the transports keep this open until they send its response."""
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
        try:
            content = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            return page(400, f"SyntaxError: {error.msg}")
        request = content if isinstance(content, dict) else {}
        reply: Reply = self.faults.applied(HTTP, Reply(200, JSON, b""), self._ask("", number, args=request))
        return reply._replace(body=self._answer(request, number)) if reply.status == 200 else reply

    # --- JSON-RPC

    def _answer(self, request: dict[str, Any], number: int) -> bytes:
        name = request.get("method")
        try:
            if request.get("jsonrpc") != "2.0" or not isinstance(name, str):
                raise RpcError(-32600, "Invalid Request")
            key, value = "result", self._result(name, request.get("params"), number)
        except RpcError as refused:
            key, value = "error", encoded({"code": refused.code, "message": refused.message})
        answer: Answer = self.faults.applied(BODY, Answer(request.get("id"), key, value), self._ask("", number))
        return b'{"jsonrpc":"2.0","id":%s,"%s":%s}' % (encoded(answer.id), answer.key.encode(), answer.value)

    def _result(self, name: str, params: Any, number: int) -> bytes:
        method = self._methods.get(name)
        if method is None:
            if name not in SAMPLES:
                raise RpcError(-32601, "Method not found")
            return encoded(sample_result(SAMPLES[name], params if isinstance(params, dict) else {}))
        ask = self.faults.asked(self._heard(method, self._arguments(method, params), number))
        if method.handler in ("latest", "transaction"):
            return encoded(ask.book.one(ask))
        return b"[" + b",".join(item.row for item in self.faults.rows(ask)) + b"]"

    def _heard(self, method: Method, args: dict[str, Any], number: int) -> Ask:
        """Return a call with its range: that of a block and its transactions is one height."""
        handler, more = method.handler, dict[str, Any]()
        if handler == "transactions_of_row":
            found = self.chain.height_of_row(args["block"])
            handler, args = "transactions", {"block": NO_END if found is None else found}
        if "block" in args:
            more = {"start": args["block"], "end": args["block"] + 1, "limit": 1 if handler == "block" else NO_END}
        elif "start" in args:
            more = {"start": args["start"], "end": args["end"]}
        if "page" in args:
            size, page = args["size"], args["page"]
            more |= {"page": page, "turn": page, "size": size, "step": size, "limit": size}
            unread = next(param.unread for param in method.params if param.name == "size")
            args = {**args, "unread": unread}
        return self._ask(handler, number, tip=self._tip(), calls=self._under_way, args=args, **more)

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
