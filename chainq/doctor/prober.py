"""Prober: makes the calls of `chainq doctor`, in sequence, few in total, and without long series of retries.

It records facts besides the results (HTTP and TLS version, compression, rate limits) for `diagnosis`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from msgspec import Raw

from chainq.errors import ChainqError, ServiceError, UnreachableError
from chainq.process import Closing
from chainq.rows import fields, raw_json
from chainq.transport.base import Report, Response, ServiceOptions, Transport
from chainq.transport.connection import Connection
from chainq.transport.failures import PassingError, is_unknown_method, retry_after
from chainq.transport.jsonrpc import decode_result

MAX_CALLS = 39
"""The most requests that a diagnosis sends, retries included."""

RETRIES = 3
"""Retries of a call after a transient failure."""

REFUSED = "rate limit: the service refuses more calls for now"

UNKNOWN = "unknown"
"""The finding of a check that could not be made."""


@dataclass(frozen=True, slots=True)
class Check:
    """One finding: what was examined, what was found, and what that means for the user.

    `fault` is the error that commands would end with; None if chainq works with what was found, or nothing was found.
    """

    name: str
    finding: str
    meaning: str
    fault: ChainqError | None = None

    @property
    def ok(self) -> bool:
        """Whether chainq works with the finding."""
        return self.fault is None


@dataclass(frozen=True)
class Outcome:
    """What one call returned: its `result` as JSON, or an error.

    `code` is the code of a JSON-RPC error as it was sent (`-32601`, `"22P02"`), empty for other errors. `skipped`: the
    call was not made, or only refused by a rate limit, so it shows nothing about the server.
    """

    result: bytes = b""
    error: ChainqError | None = None
    code: str = ""
    skipped: bool = False

    @cached_property
    def rows(self) -> list[Raw]:
        """The rows of the result; none if it is not an array."""
        return raw_json.items(self.result) if self.result[:1] == b"[" else []

    @property
    def unknown_method(self) -> bool:
        """Whether the service has no method of that name."""
        return is_unknown_method(self.code)


class Refusal(NamedTuple):
    """A method that was refused with HTTP 429.

    `calls`: how many of its calls came through before, in the `seconds` since the first of them. `retry_after`: the
    header as it was sent, empty for none; `wait`: the seconds that it asks to wait, None if it does not say.
    """

    calls: int
    seconds: float
    retry_after: str
    wait: float | None


class Prober(Closing):
    """Calls one service. As a context it closes the connection at its end. `report` gets every attempt.

    `calls`: requests sent. `seconds`: the time of each successful call, in order. `http`, `tls`: protocol versions.
    `encodings`: compressions seen. `rate_limited`: methods refused with HTTP 429.
    """

    def __init__(
        self,
        options: ServiceOptions,
        report: Callable[[Report], None] = lambda _: None,
        transport: Transport | None = None,
    ) -> None:
        headers = {"Accept-Encoding": "gzip", **options.headers}  # even if it does not pay off: the check needs it
        options = options._replace(retries=min(RETRIES, options.retries), headers=headers)
        self._connection = Connection(options, self._count, transport=transport, observe=self._observe)
        self._report = report
        self._method = ""
        self._failures = 0  # in succession
        self.calls = 0
        self.seconds: list[float] = []
        self.answered = False  # whether any response came
        self.http = self.tls = ""
        self.encodings: set[str] = set()
        self.rate_limited: dict[str, Refusal] = {}
        self._sent: dict[str, list[float]] = {}  # by method: when its calls that came through had a response

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def call(self, method: str, params: Any) -> Outcome:
        """Make a call, or skip it if it would exceed the number of calls or cannot succeed. Never raises a
        ChainqError: it is in the outcome."""
        if self.calls + RETRIES >= MAX_CALLS:
            return _skipped(method, f"{self.calls} calls are the most that doctor makes")
        if method in self.rate_limited:
            return _skipped(method, "the service refuses more calls for now")
        if self._failures > 1:
            return Outcome(error=UnreachableError(f"{method}: not called, the service stopped responding"))
        self._method = method
        try:
            outcome = self._connection.call(method, params, _decode)
        except ChainqError as error:
            skipped = method in self.rate_limited
            self._failures += isinstance(error, UnreachableError) and not skipped
            if skipped:
                error.message = f"{method}: {REFUSED}"  # without the URL, which the report begins with
            return Outcome(error=error, skipped=skipped)
        self._failures = 0
        if isinstance(outcome.error, PassingError) and outcome.error.meaning.rate_limited:  # with HTTP 200
            self._refused("", None)
            return Outcome(error=UnreachableError(f"{method}: {REFUSED}"), skipped=True)
        if outcome.error is not None:
            outcome.error.message = f"{method}: {outcome.error.message}"
        return outcome

    def _count(self, report: Report) -> None:
        self.calls += 1
        if report.outcome == "ok":
            self.seconds.append(report.seconds)
        self._report(report)

    def _observe(self, response: Response) -> None:
        self.http, self.tls, self.answered = response.http_version, response.tls, True
        if encoding := response.headers.get("content-encoding", ""):
            self.encodings.add(encoding)
        if response.status == 429:
            self._refused(response.headers.get("retry-after", ""), retry_after(response))
            # Ends the call: a diagnosis does not need to wait until it may call this method again.
            raise UnreachableError(REFUSED, "lower --rate or -j")
        self._sent.setdefault(self._method, []).append(time.monotonic())

    def _refused(self, header: str, wait: float | None) -> None:
        """Record that the service refused the method. `header`: its Retry-After, which asks to `wait` seconds."""
        sent = self._sent.get(self._method, [])
        seconds = time.monotonic() - sent[0] if sent else 0.0
        self.rate_limited[self._method] = Refusal(len(sent), seconds, header, wait)


def _skipped(method: str, reason: str) -> Outcome:
    return Outcome(error=UnreachableError(f"{method}: not called, {reason}"), skipped=True)


def _decode(text: memoryview, request_id: int) -> Outcome:
    """Return the outcome in a response, with the code of a JSON-RPC error as sent."""
    try:
        return Outcome(bytes(decode_result(text, request_id)))
    except ServiceError as error:
        sent = fields.Picker(["error.code"])(bytes(text))[0]
        return Outcome(error=error, code="" if sent is None else bytes(sent).decode())
