"""HTTP calls without a socket or a wait: a clock of the test's own, connections, and answers."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from pytest_httpx import HTTPXMock

from chainq.transport import base, http

URL = "http://127.0.0.1:8545/"


def envelope(result: str, id_: str = "7", version: str = '"2.0"') -> bytes:
    return f'{{"jsonrpc":{version},"id":{id_},"result":{result}}}'.encode()


def failure(code: str, message: str = "no") -> bytes:
    return f'{{"jsonrpc":"2.0","id":7,"error":{{"code":{code},"message":{json.dumps(message)}}}}}'.encode()


class Clock:
    """Stands in for `time`, and for waiting: sleeping moves it on."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now

    def sleep(self, _: http.Connection, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock of the test's own; jitter draws its upper bound."""
    clock = Clock()
    monkeypatch.setattr(http, "time", clock)
    monkeypatch.setattr("chainq.transport.failures.time", clock)
    monkeypatch.setattr(http.Connection, "_sleep", lambda self, seconds: clock.sleep(self, seconds))
    monkeypatch.setattr("chainq.transport.retry.random.uniform", lambda _, high: high)
    return clock


@pytest.fixture
def connect() -> Iterator[Callable[..., http.Connection]]:
    """Opens connections that are closed at the end."""
    opened: list[http.Connection] = []

    def connect(**options: Any) -> http.Connection:
        opened.append(http.Connection(base.Endpoint(URL, **options)))
        return opened[-1]

    yield connect
    for connection in opened:
        connection.close()


Connect = Callable[..., http.Connection]


def ok(request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, content=envelope("[]", id_=str(json.loads(request.content)["id"])))


def refuse(mock: HTTPXMock, status: int, times: int = 1, retry_after: str | None = None) -> None:
    """Answer so many requests with an HTML page, and those after them well."""
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    for _ in range(times):
        mock.add_response(status_code=status, html="<h1>Too many</h1>", headers=headers)
