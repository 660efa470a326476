"""How the methods of one service are called: the same for whatever fetches their rows."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from chainq.catalog.dialects import Dialect, Value
from chainq.catalog.methods import Method, Role
from chainq.heights.range import HeightRange
from chainq.transport.base import ServiceOptions
from chainq.transport.connection import Connection, Decode

if TYPE_CHECKING:
    from chainq.planning.exchange import Known

T = TypeVar("T")
Say = Callable[[str], None]


class MethodCall(NamedTuple):
    """A method in the dialect of a server. Threads may share it."""

    connection: Connection
    dialect: Dialect
    method: Method

    @property
    def name(self) -> str:
        """The name of the method there."""
        return self.dialect.wire(self.method).name

    def __call__(
        self, arguments: Mapping[Role, Value], decode: Decode[T], where: str = "", *, divisible: bool = False
    ) -> T:
        """Make a call as `Connection.call` does, and return what `decode` returns. Raises ChainqError."""
        name, params = self.dialect.call(self.method, arguments)
        return self.connection.call(name, params, decode, where, divisible=divisible)


class Calls(NamedTuple):
    """What fetches rows needs of its service. `dialect_for` returns the dialect in which to call a method, detected if
    it is not known; `warn` takes what the user should know of the service, `trace` what the proof of rows rests on."""

    connection: Connection
    dialect_for: Callable[[Method], Dialect]
    options: ServiceOptions
    warn: Say
    trace: Say

    def of(self, method: Method) -> MethodCall:
        """Return the method as the server has it. Raises ChainqError if its dialect cannot be detected."""
        return MethodCall(self.connection, self.dialect_for(method), method)

    def tell(self, method: Method, notes: Sequence[str], told: int) -> int:
        """Warn of notes on a method, of which so many were told; return how many are now."""
        for note in notes[told:]:
            self.warn(f"{method.name}: {note}")
        return len(notes)


class Asked(NamedTuple):
    """What else is known, and asked, of a range.

    `concurrency`: requests at a time, if fewer than the service's are enough. `known`: by ranges of the same method
    before; `learned` is called at the end with that for the next one. `hashes`: returns those of blocks by height,
    which rows must be of; called once the first requests are sent. `compared`: heights whose rows must be those of
    their full blocks, if the service has these. `edges`: heights that no batch spans.
    """

    concurrency: int | None = None
    known: "Known | None" = None
    learned: "Callable[[Known], None]" = lambda _: None
    hashes: Callable[[], Mapping[int, str]] = dict
    compared: HeightRange = HeightRange(0, 0)
    edges: Sequence[int] = ()


ROWS = Asked()
"""The rows of a range, and nothing else."""
