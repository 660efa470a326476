"""Calls without a socket or a wait: a clock and a transport of the test's own, connections, and responses."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from chainq.config.proxy import proxy_of
from chainq.options import ServiceOptions
from chainq.transport.base import ExchangeError, Report, Request, Response
from chainq.transport.connection import Connection
from chainq.transport.jsonrpc import decode_rows

URL = "http://127.0.0.1:8545/"
Outcome = Response | ExchangeError | Callable[[Request], Response]


class FakeClock(threading.Event):
    """A clock of the test's own, in the place of the event that ends waits: waiting moves it on."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_700_000_000.0
        self.waits: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.waits.append(timeout)
        self.now += timeout
        return self.is_set()


def connected(
    transport: "FakeTransport", clock: FakeClock, report: Callable[[Report], None] = lambda _: None, **options: Any
) -> Connection:
    """A connection over a transport, whose waits move that clock on."""
    connection = Connection(ServiceOptions(URL, **options), report, transport=transport)
    connection._stop = clock
    return connection


class FakeTransport:
    """Returns what the test scripted, one outcome for each request; after the last, every call succeeds."""

    def __init__(self, *script: Outcome) -> None:
        self.script = list(script)
        self.requests: list[Any] = []

    def call(self, request: Request) -> Response:
        self.requests.append(json.loads(request.body))
        outcome: Outcome = self.script.pop(0) if self.script else ok
        if isinstance(outcome, ExchangeError):
            raise outcome
        return outcome if isinstance(outcome, Response) else outcome(request)

    def close(self) -> None:
        """There is nothing to close."""


@contextmanager
def fails(*kinds: str, match: str | None = None) -> Iterator[pytest.ExceptionInfo[ExchangeError]]:
    """The exchange in this context fails, in one of these ways."""
    with pytest.raises(ExchangeError, match=match) as caught:
        yield caught
    assert caught.value.kind in kinds, caught.value


def request(body: bytes, deadline: float, max_memory: int = 2**30) -> Request:
    """A request of a run of its own."""
    return Request(body, deadline, max_memory)


def exchange(url: str, times: int = 1, seconds: float = 86_400, most: int = 2**30, **options: Any) -> Response:
    """Send requests one after the other over HTTP, and return the last response; each has so many seconds."""
    from chainq.transport.http import HttpTransport  # here, because few tests need it

    with closing(HttpTransport(ServiceOptions(url, proxy=proxy_of(url), **options))) as transport:
        return [transport.call(request(b'{"id":1}', time.monotonic() + seconds, most)) for _ in range(times)][-1]


def ok(request: Request) -> Response:
    """A response without rows."""
    return Response(200, envelope("[]", id_=str(json.loads(request.body)["id"])))


def envelope(result: str, id_: str = "1") -> bytes:
    return f'{{"jsonrpc":"2.0","id":{id_},"result":{result}}}'.encode()


def failure(code: str, message: str = "no") -> bytes:
    """A JSON-RPC error; its id is null, so that it fits any request."""
    return f'{{"jsonrpc":"2.0","id":null,"error":{{"code":{code},"message":{json.dumps(message)}}}}}'.encode()


def page(status: int, retry_after: str | None = None) -> Response:
    """An HTML page with that status."""
    headers = {} if retry_after is None else {"retry-after": retry_after}
    return Response(status, b"<h1>Too many</h1>", headers)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """A clock of the test's own; jitter draws its upper bound."""
    monkeypatch.setattr("chainq.transport.attempts.random.uniform", lambda _, high: high)
    made = FakeClock()
    for module in ("attempts", "connection"):
        monkeypatch.setattr(f"chainq.transport.{module}.time", made)
    return made


Connect = Callable[..., Connection]


@pytest.fixture
def connect(clock: FakeClock) -> Iterator[Connect]:
    """Opens connections over a transport, or over a script of outcomes; they are closed at the end."""
    opened: list[Connection] = []

    def connect(transport: FakeTransport, **options: Any) -> Connection:
        clock.clear()
        opened.append(connected(transport, clock, **options))
        return opened[-1]

    yield connect
    for connection in opened:
        connection.close()


def call(connection: Connection, method: str = "m", where: str = "", *, divisible: bool = True) -> list[Any]:
    """Make a call without parameters for rows."""
    return connection.call(method, None, decode_rows, where, divisible=divisible)
