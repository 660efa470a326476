"""The careful asker of `chainq doctor`: one call at a time, few of them, none sent again and again.

It keeps what the answers' heads say (HTTP and TLS version, compression, refusals by rate), for `diagnosis` to explain.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msgspec import Raw

from chainq.errors import ChainqError, ServiceError, UnreachableError
from chainq.rows import fields, raw_json
from chainq.transport.base import Endpoint, Report, Response
from chainq.transport.connection import Connection
from chainq.transport.jsonrpc import decode_result

MOST_CALLS = 39  # requests that a service is asked at most, those sent again included
RETRIES = 1  # of a call that fails in passing


@dataclass(frozen=True, slots=True)
class Check:
    """One line of what doctor tells: what was looked at, what was found, and what that means for the user.

    `fault` is the error that chainq would end in; None where it can work with what was found, or nothing was.
    """

    name: str
    finding: str
    meaning: str
    fault: ChainqError | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing stands in the way."""
        return self.fault is None


@dataclass(frozen=True, slots=True)
class Said:
    """What one call brought: its `result` as JSON; or an error, with the error's code as JSON (`-32601`, `"22P02"`)
    where it was the service itself that answered it. `spared`: not asked, or refused for the number of calls only."""

    result: bytes = b""
    error: ChainqError | None = None
    code: str = ""
    spared: bool = False

    @property
    def rows(self) -> list[Raw]:
        """The rows of the result; none where it is no array."""
        return raw_json.items(self.result) if self.result[:1] == b"[" else []

    @property
    def absent(self) -> bool:
        """Whether the service has no method of that name (JSON-RPC 2.0, section 5.1)."""
        return self.code.strip('"') == "-32601"


class Asker:
    """Asks one endpoint. As a context it gives the socket back. `report` is told of every attempt."""

    def __init__(self, endpoint: Endpoint, report: Callable[[Report], None] = lambda _: None) -> None:
        headers = {"Accept-Encoding": "gzip", **endpoint.headers}  # whether or not it would pay: it is to be found out
        self._connection = Connection(
            endpoint._replace(retries=min(RETRIES, endpoint.retries), observe=self._observe, headers=headers),
            self._count,
        )
        self._report = report
        self._method = ""
        self._failures = 0  # one after the other
        self.calls = 0
        self.seconds: list[float] = []  # that each answered call took, in order
        self.http = self.tls = ""
        self.encodings: set[str] = set()
        self.limited: dict[str, str] = {}  # method -> what the refusal said of waiting

    def __enter__(self) -> "Asker":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def ask(self, method: str, params: Any) -> Said:
        """Make a call, unless that would harm or could not help. Never raises a ChainqError: it is in what was said."""
        if self.calls + RETRIES >= MOST_CALLS:
            return _spared(method, f"{self.calls} calls are enough")
        if method in self.limited:
            return _spared(method, "the service refuses more calls")
        if self._failures > 1:
            return Said(error=UnreachableError(f"{method}: not asked, since the service stopped answering"))
        self._method = method
        try:
            said = self._connection.call(method, params, _decode)
        except ChainqError as error:
            spared = method in self.limited
            self._failures += isinstance(error, UnreachableError) and not spared
            return Said(error=error, spared=spared)
        self._failures = 0
        return said

    def result(self, method: str, params: Any) -> Raw:
        """The `result` of a call, as `detect.decide` wants it. Raises ChainqError."""
        said = self.ask(method, params)
        if said.error is not None:
            raise said.error
        return Raw(said.result)

    def _count(self, report: Report) -> None:
        self.calls += 1
        if report.outcome == "ok":
            self.seconds.append(report.seconds)
        self._report(report)

    def _observe(self, response: Response) -> None:
        self.http, self.tls = response.http_version, response.tls
        if encoding := response.headers.get("content-encoding", ""):
            self.encodings.add(encoding)
        if response.status == 429:
            self.limited[self._method] = response.headers.get("retry-after", "")
            # Raised here, it ends the call: whoever examines a server has no need to wait until it is allowed more.
            raise UnreachableError("HTTP 429: the service refuses more calls for now", "lower --rate or -j")


def _spared(method: str, why: str) -> Said:
    return Said(error=UnreachableError(f"{method}: not asked, for {why}"), spared=True)


def _decode(body: bytes, call_id: int) -> Said:
    """An answer with what `rpc` tells of a JSON-RPC error, and its code as it was sent: a number or a string."""
    try:
        return Said(bytes(decode_result(body, call_id)))
    except ServiceError as error:
        sent = fields.Picker(["error.code"])(raw_json.compact(body))[0]
        return Said(error=error, code="" if sent is None else bytes(sent).decode())
