"""`Client(fill=True)`: what the data set of `lake` lacks of a range is written before the range is read."""

from contextlib import suppress

from chainq.catalog.tables import COMMANDS
from chainq.errors import BusyError, UsageError
from chainq.fetching.service import Service
from chainq.heights.bounds import Bounds
from chainq.lake.fill import fill
from chainq.query import Query
from chainq.stored import data_set
from chainq.stored.open import absolute, open_store
from chainq.transport.base import Report, ServiceOptions


class Fill:
    """The data set that a client fills. `options`: with the headers that were given, for workers.

    `begun`: the data set, None if there is none yet. Raises UsageError for options without a data set.
    """

    def __init__(self, options: ServiceOptions) -> None:
        if not options.lake:
            raise UsageError("fill needs lake")
        self._options = options
        self.begun = options.lake if data_set.read(open_store(absolute(options.lake))) else None

    def run(self, service: Service, query: Query) -> None:
        """Write what is lacking of the range of a query, if tables have its rows and it has no limit."""
        if query.method.command not in COMMANDS or query.limit is not None:
            return
        with suppress(BusyError):
            if fill(service, query, query.bounds or Bounds(whole=True), self._options, _Silent()):
                service.use_lake(self._options.lake or "")


class _Silent:
    """Hears what workers say: a client prints nothing."""

    def warn(self, text: str) -> None:
        """Ignore a line for the user."""

    def trace(self, text: str) -> None:
        """Ignore a step."""

    def call(self, report: Report) -> None:
        """Ignore an attempt of a request."""
