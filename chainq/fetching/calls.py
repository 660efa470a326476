"""The calls of one service's methods, shared by all code that fetches rows."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from chainq.catalog.dialects import Dialect, Value
from chainq.catalog.methods import Method, Role
from chainq.fetching.service_dialect import ServiceDialect
from chainq.heights.range import HeightRange
from chainq.transport.base import ServiceOptions
from chainq.transport.connection import Connection, Decode

if TYPE_CHECKING:
    from chainq.planning.exchange import Known

T = TypeVar("T")
Say = Callable[[str], None]


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
            text = f"{method.name}: {note}"
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
        return self.calls.dialect.known(self.method) or self.calls.dialect.published

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


class Asked(NamedTuple):
    """Further facts and requirements for a range.

    `concurrency`: concurrent requests, if fewer than the service's are enough. `known`: from ranges of the same method
    that another process read; `learned` is called at the end with the value for the next range. `compared`:
    heights whose rows must match their full blocks, if the service has these. `notes`: warn about faults that rows are
    passed on with, for callers that do not look for them.
    """

    concurrency: int | None = None
    known: "Known | None" = None
    learned: "Callable[[Known], None]" = lambda _: None
    compared: HeightRange = HeightRange(0, 0)
    notes: bool = True


ROWS = Asked()
"""Only the rows of a range."""
