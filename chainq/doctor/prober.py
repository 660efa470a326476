"""Makes the calls of `chainq doctor`, in sequence, few in total, and without long series of retries.

`Prober` records facts besides the results (HTTP version, rate limits) for `diagnosis`; `MethodProber` finds which
methods a server has, and under which names.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from msgspec import Raw

from chainq.catalog.dialects import DIALECTS, Dialect, Value
from chainq.catalog.methods import BY_COMMAND, Method, Role
from chainq.errors import ChainqError, IncompleteError, LackingError, TooHeavyError, UnreachableError
from chainq.process import Closing
from chainq.rows import fields, raw_json
from chainq.text.sanitize import excerpt
from chainq.transport.base import Report, Response, ServiceOptions, Transport
from chainq.transport.connection import Connection
from chainq.transport.failures import LIMITED, Failure, is_unknown_method
from chainq.transport.jsonrpc import decode_result

MAX_CALLS = 39
"""The most requests that a diagnosis sends, retries included."""

RETRIES = 3
"""Retries of a call after a transient failure."""

REFUSED = "rate limit: the service refuses more calls for now"

UNKNOWN = "unknown"
"""The finding of a check that could not be made."""

WORKS = "the command works"
"""What the check of a method means if all is well."""


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


class Prober(Closing):
    """Calls one service. As a context it closes the connection at its end. `report` gets every attempt.

    `calls`: requests sent. `http`: the protocol version.
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
        self.http = ""
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
        self.http, self.answered = response.http_version, True
        if response.status == 429:
            self.rate_limited[self._method] = response.headers.get("retry-after", "")
            # Ends the call: a diagnosis does not need to wait until it may call this method again.
            raise UnreachableError(REFUSED, "lower --rate or -j")


class MethodProber:
    """Calls methods by command and parameters by role, in the dialect that is known so far.

    A server may have some methods as another dialect has them; chainq finds these anew in each run.
    """

    def __init__(self, prober: Prober, stated: Dialect) -> None:
        """Takes the dialect that applies until another one is found."""
        self.prober, self.dialect = prober, stated

    def call(self, command: str, arguments: Mapping[Role, Value]) -> Outcome:
        """Call a command's method."""
        return self.prober.call(*self.dialect.call(BY_COMMAND[command], arguments))

    def find(self, command: str, arguments: Mapping[Role, Value], made_up: bool = False) -> tuple[Outcome, Check]:
        """Call a method, in other dialects too if that fails; return the outcome and a check.

        `made_up`: the arguments refer to nothing that exists, so an error proves the method exists as a result does.
        """
        method = BY_COMMAND[command]
        wire, best = self.dialect.wire(method), self.call(command, arguments)
        for dialect in DIALECTS.values():
            if not best.code or (made_up and not best.unknown_method):
                break
            if dialect.wire(method) != self.dialect.wire(method):
                outcome = self.prober.call(*dialect.call(method, arguments))
                if outcome.result or (best.unknown_method and not outcome.unknown_method):
                    wire, best = dialect.wire(method), outcome
        self.dialect = self.dialect._replace(wires={**self.dialect.wires, method.name: wire})
        return best, self.check(method, best, made_up)

    def check(self, method: Method, outcome: Outcome, made_up: bool = False) -> Check:
        """Return a check of whether the server has the method."""
        own = self.dialect.wire(method).name
        name, known = method.command, "yes" if own == method.name else f"yes, as {own}"
        if outcome.result or (made_up and outcome.code and not outcome.unknown_method):
            return Check(name, known, WORKS)
        if outcome.unknown_method and outcome.error is not None:
            return Check(name, "no", f"the server has no {method.name}", outcome.error)
        if isinstance(outcome.error, TooHeavyError):
            return Check(name, f"{known}, but slow", "chainq will request shorter ranges")
        if isinstance(outcome.error, LackingError | IncompleteError):
            if outcome.error.table:
                return Check(name, "not in this export", str(outcome.error))
            return Check(name, f"{known}, of some heights", str(outcome.error))
        if outcome.code:
            meaning = f"the command will fail: {outcome.error}"
            return Check(name, f"error {excerpt(outcome.code, 20)}", meaning, outcome.error)
        return Check(name, UNKNOWN, str(outcome.error), None if outcome.skipped else outcome.error)


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
