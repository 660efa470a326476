"""SampleService: one JSON-RPC body in, one Reply out. Methods, envelope, argument checks, errors.

It uses neither sockets nor httpx: `DemoTransport` and `process.serving` move the bytes. Methods and their rows are in
`results.py`, faults in `faults.py`. Codes and bodies follow docs/protocol.md, "Envelope and errors".
"""

import time
from collections.abc import Callable, Mapping
from copy import copy
from itertools import count
from typing import Any

import orjson

from chainq.demo.chain import Chain
from chainq.demo.registry import JSON, NO_END, NO_FAULTS, Answer, Ask, Faults, Memory, Reply, RpcError, page
from chainq.demo.results import DIALECTS, Results, SampleMethod
from chainq.transport.base import ExchangeError, Request, Response, check_size

_TEXTS = ("address", "function", "id", "program")  # all other parameters are whole numbers from 0 on


class SampleService:
    """A chain data service without a socket. Threads may share it."""

    def __init__(
        self,
        chain: Chain,
        faults: Faults = NO_FAULTS,
        dialect: str = "chain",
        shuffle: bool = True,
        *,
        tip: Callable[[], int] | None = None,
    ) -> None:
        """Takes the chain, its faults, the dialect (a key of DIALECTS; KeyError otherwise), and whether rows are
        unordered as on deployed servers. `tip` returns the tip height at each call, for a growing chain; the default is
        `chain.tip`."""
        self._methods, self._shuffle = DIALECTS[dialect], shuffle
        self._tip = tip or (lambda: self.chain.tip)
        self._numbers = count()
        self.change(chain, faults)

    def change(self, chain: Chain, faults: Faults = NO_FAULTS) -> None:
        """Answer for this chain with these faults from now on."""
        self.chain = copy(chain) if "stored-again" in faults else chain
        if self.chain is not chain:
            self.chain.again = faults.get("stored-again", None)
        self.faults, self._memory = faults, Memory()
        self._book = Results(self.chain, self._shuffle)

    def respond(self, body: bytes) -> Reply:
        """Return the response to the body of one POST. Never raises: errors are in the response."""
        number = next(self._numbers)
        try:
            content = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            return page(400, f"SyntaxError: {error.msg}")
        request = content if isinstance(content, dict) else {}
        ask = Ask("", 0, NO_END, -1, number, self._book, self.faults, self._memory, args=request)
        reply: Reply = self.faults.applied("HTTP", Reply(200, JSON, b""), ask)
        return reply._replace(body=self._answer(request, ask)) if reply.status == 200 else reply

    def _answer(self, request: dict[str, Any], ask: Ask) -> bytes:
        name = request.get("method")
        try:
            if request.get("jsonrpc") != "2.0" or not isinstance(name, str):
                raise RpcError(-32600, "Invalid Request")
            key, value = "result", self._result(name, request.get("params"), ask.number)
        except RpcError as refused:
            code, message = refused.args
            key, value = "error", orjson.dumps({"code": code, "message": message})
        answer: Answer = self.faults.applied("body", Answer(request.get("id"), key, value), ask)
        return b'{"jsonrpc":"2.0","id":%s,"%s":%s}' % (orjson.dumps(answer.id), answer.key.encode(), answer.value)

    def _result(self, name: str, params: Any, number: int) -> bytes:
        method = self._methods.get(name)
        if method is None:
            raise RpcError(-32601, "Method not found")
        ask = self._heard(method, _arguments(method, params), number)
        rows = [item.row for item in self.faults.rows(self.faults.applied("request", ask, ask))]
        if method.handler in ("latest", "transaction"):
            return rows[0] if rows else b"null"
        return b"[" + b",".join(rows) + b"]"

    def _heard(self, method: SampleMethod, args: dict[str, Any], number: int) -> Ask:
        """Return a call with its range: that of a block and its transactions is one height."""
        handler, start, end, limit = method.handler, args.get("start", 0), args.get("end", NO_END), NO_END
        if handler == "transactions_of_row":
            found = self.chain.height_of_row(args["block"])
            handler, args = "transactions", {"block": NO_END if found is None else found}
        if "block" in args:
            start, end, limit = args["block"], args["block"] + 1, 1 if handler == "block" else NO_END
        ask = Ask(handler, start, end, self._tip(), number, self._book, self.faults, self._memory, args, limit=limit)
        if "page" in args:
            size, page = args["size"], args["page"]
            ask = ask._replace(page=page, size=size, offset=page * size, limit=size)
        return ask


def _arguments(method: SampleMethod, params: Any) -> dict[str, Any]:
    """Return the arguments of a call by the names of its parameters. Raises RpcError."""
    if not method.params:
        return {}
    if method.positional:
        if not isinstance(params, list):
            raise RpcError(0, "params is not iterable")
        params = dict(zip(method.params.values(), params, strict=False))
    if not isinstance(params, dict):
        raise RpcError(-32602, "Invalid params")
    args: dict[str, Any] = {} if method.size is None else {"page": 0, "size": method.size}
    for name, sent in method.params.items():
        value = next((params[one] for one in sent.split("|") if params.get(one) is not None), args.get(name))
        if not (isinstance(value, str) if name in _TEXTS else type(value) is int and value >= 0):
            raise RpcError(-32602, "Invalid params")
        args[name] = value
    span = args.get("end", 0) - args.get("start", 0)
    if span < 0 or (method.span is not None and span > method.span) or args.get("size", 0) > method.most:
        raise RpcError(-32602, "Invalid params")
    return args


def answer(sample: SampleService, _: str, headers: Mapping[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
    """Return the response to an HTTP request, as `process.serving.Server` asks for it."""
    import gzip

    reply = sample.respond(body)
    time.sleep(reply.latency)
    sent, told = reply.body, {"Content-Type": reply.content_type, **reply.headers}
    if reply.gzip and "gzip" in headers.get("accept-encoding", "").lower():
        sent, told["Content-Encoding"] = gzip.compress(sent, 1), "gzip"
    if reply.cut:
        told |= {"Content-Length": str(len(sent)), "Connection": "close"}
        sent = sent[: len(sent) // 2]
    return reply.status, told, sent


class DemoTransport:
    """Passes requests to a SampleService, as `transport.base.Transport` does to a server. Threads share it."""

    def __init__(self, service: SampleService) -> None:
        """Takes the service that responds."""
        self._service = service

    def call(self, request: Request) -> Response:
        """Return the service's response.

        Raises ExchangeError if a fault truncates its body, or if the fault `latency` delays it beyond the deadline,
        TooHeavyError if it is larger than the request allows.
        """
        response = self._service.respond(request.body)
        if response.latency:
            left = request.deadline - time.monotonic()
            time.sleep(max(0.0, min(response.latency, left)))
            if response.latency > left:
                raise ExchangeError("ReadTimeout")
        if response.cut:
            raise ExchangeError("RemoteProtocolError", "the connection was closed in the middle of the body")
        check_size(len(response.body), request.most)
        headers = {name.lower(): value for name, value in response.headers.items()}
        if response.gzip:  # the headers are those of the body as sent
            headers["content-encoding"] = "gzip"
        return Response(response.status, response.body, {"content-type": response.content_type, **headers})

    def close(self) -> None:
        """Do nothing: there is no connection."""
