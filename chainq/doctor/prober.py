"""Makes the calls of `chainq doctor`, in sequence, few in total, and without long series of retries.

`Prober` records facts besides the results (rate limits) for `diagnosis`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from msgspec import Raw

from chainq.catalog.dialects import is_unknown_method
from chainq.errors import ChainqError, UnreachableError
from chainq.options import ServiceOptions
from chainq.process import Closing
from chainq.rows import fields, raw_json
from chainq.transport.base import Report, Response, Transport
from chainq.transport.connection import Connection
from chainq.transport.failures import LIMITED, Failure
from chainq.transport.jsonrpc import decode_result

MAX_CALLS = 39
"""The most requests that a diagnosis sends, retries included."""

RETRIES = 3
"""Retries of a call after a transient failure."""

REFUSED = "rate limit: the service refuses more calls for now"


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


class Prober(Closing):
    """Calls one service. As a context it closes the connection at its end. `report` gets every attempt.

    `calls`: requests sent.
    `rate_limited`: methods refused with HTTP 429, each with its Retry-After as it was sent.
    """

    def __init__(
        self,
        options: ServiceOptions,
        report: Callable[[Report], None] = lambda _: None,
        transport: Transport | None = None,
    ) -> None:
        options = options._replace(retries=min(RETRIES, options.retries))
        self._connection = Connection(options, self._count, transport=transport, observe=self._observe)
        self._report = report
        self._method = ""
        self._failures = 0  # in succession
        self.calls = 0
        self.answered = False  # whether any response came
        self.rate_limited: dict[str, str] = {}

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
        if outcome.skipped:  # with HTTP 200
            self.rate_limited[method] = ""
            return Outcome(error=UnreachableError(f"{method}: {REFUSED}"), skipped=True)
        if outcome.error is not None:
            outcome.error.message = f"{method}: {outcome.error.message}"
        return outcome

    def _count(self, report: Report) -> None:
        self.calls += 1
        self._report(report)

    def _observe(self, response: Response) -> None:
        self.answered = True
        if response.status == 429:
            self.rate_limited[self._method] = response.headers.get("retry-after", "")
            # Ends the call: a diagnosis does not need to wait until it may call this method again.
            raise UnreachableError(REFUSED, "lower --rate or -j")


def _skipped(method: str, reason: str) -> Outcome:
    return Outcome(error=UnreachableError(f"{method}: not called, {reason}"), skipped=True)


def _decode(text: memoryview, request_id: int) -> Outcome:
    """Return the outcome in a response, with the code of a JSON-RPC error as sent."""
    try:
        return Outcome(bytes(decode_result(text, request_id)))
    except Failure as failure:
        sent = fields.Picker(["error.code"])(bytes(text))[0]
        code, limited = "" if sent is None else bytes(sent).decode(), failure.meaning is LIMITED
        return Outcome(error=failure.error, code=code, skipped=limited)
