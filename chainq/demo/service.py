"""Service: one JSON-RPC body in, one Reply out. Methods, envelope, argument checks, errors.

It uses neither sockets nor httpx: `DemoTransport` and `process.serving` move the bytes. Rows are in `results.py`,
faults in `faults.py`. Codes and bodies follow docs/protocol.md, "Envelope and errors".

The methods are data: their names in each dialect, their parameters, and their limits. The `chain` dialect follows
docs/protocol.md, "Methods", row by row; `aleo` follows its table in "Dialects". A third dialect would be a third table.
The client does not share these tables, so that an error cannot be on both sides.
"""

import time
from collections.abc import Callable, Mapping
from itertools import count
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson

from chainq.demo.chain import Chain
from chainq.demo.registry import JSON, NO_END, NO_FAULTS, Answer, Ask, Faults, Memory, Reply, RpcError, page
from chainq.demo.results import Results
from chainq.transport.base import ExchangeError, Request, Response, check_size


class Method(NamedTuple):
    """One method: its handler in `results.Results`, and its parameters: the name of each in `results.py`, and the names
    under which a caller may send it, with `|` between them.

    `span`: the most heights in a call's range (None: no limit). `size`: the page size by default, with which the page
    is 0 by default (None: both must be sent). `most`: the greatest page size. `positional`: parameters are an array,
    and named ones cause an error with code 0.
    """

    handler: str
    params: Mapping[str, str] = MappingProxyType({})
    span: int | None = None
    size: int | None = None
    most: int = NO_END
    positional: bool = False


_TEXTS = ("address", "function", "id", "program")  # all other parameters are whole numbers from 0 on
_RANGE = {"start": "start", "end": "end"}


# If the published interface states no default, the default of records/all applies. It states no limit for
# getChainBlocks either, so the limit of deployed servers applies: 1,000 blocks.
def _listed(handler: str, sent: str, size: int = 10_000) -> Method:
    """Return a method of rows of a range in pages, given the name of the page size."""
    return Method(handler, {**_RANGE, "page": "page", "size": sent}, size=size)


def _of_address(sent: str, size: int = 10_000) -> Method:
    paged = _listed("address_transactions", sent, size)
    return paged._replace(params={"address": "address", **paged.params}, span=50_000)


_CALLED = {"program": "programId", "function": "functionName", "page": "page", "size": "maxTransactions"}
_BOTH = {
    "block": Method("block", {"block": "block"}),
    "latest/block": Method("latest"),
    "records/all": _listed("records", "recordsPerRequest"),
    "transitionsWithoutRecordInputs": _listed("transitions", "transitionsPerRequest"),
}

DIALECTS: dict[str, dict[str, Method]] = {
    "chain": {
        **_BOTH,
        "getBlocks": Method("blocks", {"start": "start|startHeight", "end": "end|endHeight"}, span=1_000),
        "getChainBlocks": Method("full_blocks", _RANGE, span=1_000),
        "transactions": Method("transactions", {"block": "blockId"}),
        "chainTransaction": Method("transaction", {"id": "id"}),
        "chainTransactionsForProgram": Method("program_transactions", _CALLED, most=999),
        "records/isOwner": _listed("ownership", "recordsPerRequest"),
        "getPublicTransactionsForAddress": _of_address("transitionsPerRequest"),
    },
    "aleo": {
        **_BOTH,
        "blocks": Method("blocks", {"start": "startHeight", "end": "endHeight"}, span=1_000),
        "getBlocks": Method("blocks", _RANGE, span=1_000, positional=True),
        "getAleoBlocks": Method("full_blocks", _RANGE, span=1_000),
        "transactions": Method("transactions_of_row", {"block": "blockId"}),
        "aleoTransaction": Method("transaction", {"id": "id"}),
        "aleoTransactionsForProgram": Method("program_transactions", _CALLED, most=1_000),
        "records/isOwner": _listed("ownership", "recordsPerRequest", 100_000),
        "getPublicTransactionsForAddress": _of_address("transactionsPerRequest", 100_000),
    },
}
"""Dialect -> method name on the wire -> Method."""


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
        again = faults.get("stored-again", None)
        self.chain = chain if again is None else chain.stored_again(again)
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

    def _heard(self, method: Method, args: dict[str, Any], number: int) -> Ask:
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


def _arguments(method: Method, params: Any) -> dict[str, Any]:
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


def answer(service: Service, _: str, headers: Mapping[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
    """Return the response to an HTTP request, as `process.serving.Server` asks for it."""
    import gzip

    reply = service.respond(body)
    time.sleep(reply.latency)
    sent, told = reply.body, {"Content-Type": reply.content_type, **reply.headers}
    if reply.gzip and "gzip" in headers.get("accept-encoding", "").lower():
        sent, told["Content-Encoding"] = gzip.compress(sent, 1), "gzip"
    if reply.cut:
        told |= {"Content-Length": str(len(sent)), "Connection": "close"}
        sent = sent[: len(sent) // 2]
    return reply.status, told, sent


class DemoTransport:
    """Passes requests to a Service, as `transport.base.Transport` does to a server. Threads share it."""

    def __init__(self, service: Service) -> None:
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
