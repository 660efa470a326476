"""Servers in threads of this process: canned bodies, a service that records its calls, one whose tip and chain move."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from socket import socket
from typing import Any, NamedTuple

from chainq.demo.chain import DEFAULT_TIP, Chain
from chainq.demo.faults import NO_FAULTS, Faults
from chainq.demo.registry import Reply
from chainq.demo.results import Results
from chainq.demo.service import SampleService
from harness.lake.fork import Fork
from harness.running.program import DIALECT, LONGEST
from harness.running.program import serving as serving
from harness.running.truth import Truth
from harness.servers.sockets import answering, server

Serve = Callable[..., str]
"""The fixture `serve`: the URL of a service, which answers until the end of the test."""
FULL_BLOCKS = ("getChainBlocks", "getAleoBlocks")  # by dialect: they name the rows that other methods must show


class Canned(NamedTuple):
    """An HTTP answer."""

    body: bytes
    status: int = 200
    type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()


def result(value: str) -> Callable[[Any], Canned]:
    """Answers every call with that JSON as its result."""
    return lambda request: Canned(f'{{"jsonrpc":"2.0","id":{request["id"]},"result":{value}}}'.encode())


@contextmanager
def canned(answer: Callable[[Any], Canned]) -> Iterator[tuple[str, list[Any]]]:
    """A server that answers each request with what `answer` makes of it: its URL, and the requests it has seen."""
    seen: list[Any] = []

    def serve(peer: socket, request: bytes) -> None:
        seen.append(json.loads(request.partition(b"\r\n\r\n")[2]))
        reply = answer(seen[-1])
        headers = (("Content-Type", reply.type), *reply.headers)
        lines = (f"{name}: {value}" for name, value in headers)
        answering(reply.body, *lines, status=f"{reply.status} {HTTPStatus(reply.status).phrase}")(peer, request)

    with server(serve) as (url, _):
        yield url, seen


class Call(NamedTuple):
    """A call as the server saw it."""

    method: str
    params: dict[str, Any]


def heights_of(call: Call) -> Iterator[int]:
    """The heights that a call asks for."""
    found = {name.lower(): value for name, value in call.params.items()}
    start = next((found[name] for name in ("start", "startheight", "start_height") if name in found), None)
    end = next((found[name] for name in ("end", "endheight", "end_height") if name in found), None)
    return iter(range(int(start), int(end)) if start is not None and end is not None else ())


class Moving(SampleService):
    """The sample service, its tip and its chain in the hands of the test; it writes its calls down.

    `hook` is called as each call arrives. `instead` may give the response to a call, and `mend` another result.
    """

    def __init__(
        self, tip: int, chain: Chain | None = None, faults: Faults = NO_FAULTS, dialect: str = DIALECT
    ) -> None:
        super().__init__(chain or Chain(), faults, dialect, tip=lambda: self.tip)
        self.tip = tip
        self.requests: list[Call] = []
        self.calls: list[str] = []  # their methods
        self.refused: list[str] = []  # of these calls, those that got HTTP 429
        self.hook: Callable[[str], None] = lambda _: None
        self.instead: Callable[[bytes], Reply | None] = lambda _: None
        self.mend: Callable[[str, Any], Any] | None = None

    def swap(self, chain: Chain) -> None:
        """Answer for another chain from now on."""
        self.change(chain)

    def heal(self) -> None:
        """From now on it has all rows, and its tip stays."""
        self.hook = lambda _: None
        self.swap(self.chain)

    def respond(self, body: bytes) -> Reply:
        """As the service does, with the call written down first."""
        request: dict[str, Any] = json.loads(body) if body else {"method": ""}  # a killed run may send half a request
        method = request["method"]
        self.requests.append(Call(method, request.get("params") or {}))
        self.calls.append(method)
        self.hook(method)
        reply = self.instead(body) or super().respond(body)
        if reply.status == 429:
            self.refused.append(method)
        content = json.loads(reply.body) if self.mend and reply.status == 200 else {}
        if self.mend and "result" in content:
            content["result"] = self.mend(method, content["result"])
            reply = reply._replace(body=json.dumps(content, separators=(",", ":")).encode())
        return reply


@contextmanager
def witnessed(tip: int = DEFAULT_TIP, faults: Faults = NO_FAULTS) -> Iterator[tuple[str, list[Call]]]:
    """The sample service on a socket: its URL, and the calls that it has seen."""
    service = Moving(tip, Chain(tip=tip), faults)
    with serving(service) as url:
        yield url, service.requests


def error(code: object, message: str, status: int = 200) -> Callable[[bytes], Reply]:
    """Responds to each call with a JSON-RPC error."""

    def respond(body: bytes) -> Reply:
        content = {"jsonrpc": "2.0", "id": json.loads(body)["id"], "error": {"code": code, "message": message}}
        return Reply(status, "application/json", json.dumps(content).encode())

    return respond


def gains(method: str, result: Any) -> Any:
    """The rows of records and single blocks with a field that nobody knows."""
    return [{**row, "gained": {"x": 1}} for row in result] if method.startswith(("records", "block")) else result


class Blockless(Moving):
    """A service without full blocks, which cannot prove its last rows."""

    def __init__(self, chain: Chain, faults: Faults = NO_FAULTS) -> None:
        super().__init__(chain.tip, chain, faults)
        lacking = error(-32601, "Method not found")
        self.instead = lambda body: lacking(body) if json.loads(body)["method"] in FULL_BLOCKS else None


def held(service: "Moving", when: Callable[[str], bool]) -> tuple[threading.Event, threading.Event]:
    """Hold the calls of methods for which `when` is true: the event that one came, and the one that lets them go."""
    begun, go = threading.Event(), threading.Event()

    def hook(method: str) -> None:
        if when(method):
            begun.set()
            go.wait(LONGEST)

    service.hook = hook
    return begun, go


def fork_truth(at: int, tip: int) -> Truth:
    """The rows of a chain that forks off the sample chain."""
    truth = Truth(tip)
    truth.chain = Fork(at, tip)
    truth._results = Results(truth.chain, shuffle=False)
    return truth
