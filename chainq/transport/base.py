"""The interface between calls and the network: one exchange as plain values, and the ways in which it can fail.

A transport sends one request and returns one response, without JSON-RPC, retries or rate limits: `http.HttpTransport`
for the network; the sample chain and a data set (`demo.service`, `lake.service`) have their own, without a socket.
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from chainq.errors import TooHeavyError


class Request(NamedTuple):
    """One HTTP POST.

    `deadline`: the point of `time.monotonic` at which the exchange has taken too long. `most`: bytes that the body of
    the response may have, decompressed.
    """

    body: bytes
    deadline: float
    most: int


class Response(NamedTuple):
    """One complete HTTP response: `headers` by lower-case names, `body` as it was before compression."""

    status: int
    body: bytes
    headers: Mapping[str, str] = {}  # never changed


class Transport(Protocol):
    """Sends requests to one URL. Threads share it."""

    def call(self, request: Request) -> Response:
        """Return the response with any status. Raises ExchangeError without a response, TooHeavyError for memory."""

    def close(self) -> None:
        """End the exchanges in progress, and close the connections."""


def check_size(size: int, most: int) -> None:
    """Raise TooHeavyError if a body of `size` bytes exceeds `most`: fewer heights may have a smaller one."""
    if size > most:
        raise TooHeavyError(f"response is larger than {most / 2**20:.4g} MiB", "raise --max-memory or lower -j")


class ExchangeError(Exception):
    """No complete response arrived; the text says why. `failures` decides what that means for the call.

    `kind`: the name of what httpx raised, or would raise.
    """

    def __init__(self, kind: str, reason: str = "") -> None:
        super().__init__(reason)
        self.kind = kind


class Report(NamedTuple):
    """One attempt of a call, for `-v` and progress: `outcome` is `ok` or the error, `wait` the seconds to the next.

    `size`: bytes of the response. `seconds`: from the request to the rows. `rate_limited`: the service wants fewer
    calls of the method. `hung`: the server sent no whole response in time, and the run goes on. `call`: the number of
    the request. `purpose`: why it is sent, if nobody asked for it, or for all of its heights.
    """

    method: str
    where: str
    size: int = 0
    seconds: float = 0.0
    attempt: int = 0
    outcome: str = "stopped"
    rows: int | None = None
    wait: float | None = None
    rate_limited: bool = False
    hung: bool = False
    call: int = 0
    purpose: str = ""

    @property
    def named(self) -> str:
        """Return the request as messages name it. One that nobody asked for, or with such heights, has a purpose."""
        return f"{self.method} {self.where}".rstrip() + (f" ({self.purpose})" if self.purpose else "")


class Stopped(Exception):  # noqa: N818  # no error: the run ends, and a waiting call with it
    """The connection was closed while a call waited."""
