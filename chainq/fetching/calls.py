"""The calls of one service's methods in its dialect, shared by all code that fetches rows.

The dialect is stated, remembered from an earlier run, or found by the first call that it matters to.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import NamedTuple, TypeVar

from chainq.catalog.dialects import AUTO, DIALECTS, Dialect, Value, is_misunderstood, is_shared
from chainq.catalog.methods import BY_COMMAND, Method, Role
from chainq.errors import ProofError, ServiceError, Shortfall
from chainq.heights.range import HeightRange
from chainq.options import ServiceOptions
from chainq.transport.connection import Connection, Decode
from chainq.transport.jsonrpc import decode_array

T = TypeVar("T")
Say = Callable[[str], None]
_PROBED, _FIRST = BY_COMMAND["blocks"], {Role.START: 0, Role.END: 1}
PUBLISHED = DIALECTS["chain"]
HINT = "the server may speak another dialect (--dialect), or lack the method: chainq doctor shows what it has"


class ServiceDialect:
    """The dialect in which to call the methods of a service. Threads may share it.

    `name`: the one to expect, `auto` for what an earlier run found.
    """

    def __init__(self, name: str, connection: Connection, url: str) -> None:
        self.name = name
        self._connection, self._url = connection, url
        self._trying = Lock()
        self._spoken: dict[str, Dialect] = {}  # by method name, once a response has shown it
        self._expected = None if name == AUTO else DIALECTS[name]

    def known(self, method: Method) -> Dialect | None:
        """Return the dialect in which to call a method, None if nothing says it yet. Sends nothing."""
        if is_shared(method):
            return PUBLISHED
        if method.name in self._spoken:
            return self._spoken[method.name]
        if self._expected is None:
            from chainq.config import dialect_cache

            if name := dialect_cache.remembered(self._url):
                self._expected = DIALECTS[name]
        return self._expected

    def of(self, method: Method) -> Dialect:
        """Return the dialect in which the server has a method; unless it is stated, or the same in all, a response has
        shown it. Raises ChainqError."""
        if self.name == AUTO and not (self._spoken or is_shared(method)):
            self.call(_PROBED, lambda dialect: self._connection.call(*dialect.call(_PROBED, _FIRST), decode_array))
        return self.known(method) or PUBLISHED

    def call(self, method: Method, send: Callable[[Dialect], T]) -> T:
        """Return what `send` returns, which calls a method in a dialect.

        Until a response has shown the dialect, each is tried, the stated one first, by one thread while others wait; it
        is remembered then, unless one was stated. Raises what `send` raises, for the expected dialect if the server
        refuses the method in all of them.
        """
        if is_shared(method) or method.name in self._spoken:
            return self._try([self.known(method) or PUBLISHED], method, send)
        with self._trying:
            first = self.known(method) or PUBLISHED
            others = [] if method.name in self._spoken else DIALECTS.values()
            return self._try([first, *(one for one in others if one != first)], method, send)

    def _try(self, dialects: list[Dialect], method: Method, send: Callable[[Dialect], T]) -> T:
        refusals: list[ServiceError] = []
        for dialect in dialects:
            try:
                outcome = send(dialect)
            except ServiceError as error:  # not those of its kind: too heavy, or lacking at some heights
                if type(error) is not ServiceError or error.code.startswith("HTTP"):
                    raise
                refusals.append(error)
            else:
                if len(dialects) > 1:
                    self._hear(method, dialect)
                return outcome
        if is_misunderstood(refusals[0].code, refusals[0].message):
            refusals[0].hint = HINT
        raise refusals[0]

    def _hear(self, method: Method, dialect: Dialect) -> None:
        self._spoken[method.name] = self._expected = dialect
        if self.name == AUTO:
            from chainq.config import dialect_cache

            if dialect_cache.remembered(self._url) != dialect.name:
                dialect_cache.remember(self._url, dialect.name)


class Calls(NamedTuple):
    """The access of row fetchers to their service. Threads may share it.

    `warn` takes warnings about the service, `trace` the grade of each proof; `warned` has those about faults of a
    method.
    """

    connection: Connection
    dialect: ServiceDialect
    options: ServiceOptions
    warn: Say
    trace: Say
    warned: set[str]

    def of(self, method: Method) -> "MethodCall":
        """Return the method as the server has it."""
        return MethodCall(self, method)

    def tell(self, method: Method, notes: Sequence[str]) -> None:
        """Warn about each note on a method, once a run."""
        for note in notes:
            text = Shortfall(f"{method.name}: {note}")
            if text not in self.warned:
                self.warned.add(text)
                self.warn(text)


class MethodCall(NamedTuple):
    """A method in the dialect of a server. Threads may share it."""

    calls: Calls
    method: Method

    @property
    def dialect(self) -> Dialect:
        """The dialect of the server, as far as it is known."""
        return self.calls.dialect.known(self.method) or PUBLISHED

    @property
    def name(self) -> str:
        """The name of the method there."""
        return self.dialect.wire(self.method).name

    def __call__(
        self,
        arguments: Mapping[Role, Value],
        decode: Decode[T],
        where: str = "",
        *,
        divisible: bool = False,
        purpose: str = "",
    ) -> T:
        """Make a call like `Connection.call` and return the result of `decode`. Raises ChainqError."""

        def send(dialect: Dialect) -> T:
            name, params = dialect.call(self.method, arguments)
            return self.calls.connection.call(name, params, decode, where, divisible=divisible, purpose=purpose)

        return self.calls.dialect.call(self.method, send)


@contextmanager
def naming(method: MethodCall) -> Iterator[None]:
    """Begin the message of an error of planning, which has heights or rows, with the method as the server has it."""
    try:
        yield
    except ProofError as error:
        error.message = f"{method.name} {error.message}"
        raise


class Asked(NamedTuple):
    """Further facts and requirements for a range.

    `concurrency`: concurrent requests, if fewer than the service's are enough. `compared`: heights whose rows must
    match their full blocks, if the service has these. `notes`: warn about faults that rows are passed on with, for
    callers that do not look for them.
    """

    concurrency: int | None = None
    compared: HeightRange = HeightRange(0, 0)
    notes: bool = True


ROWS = Asked()
"""Only the rows of a range."""
