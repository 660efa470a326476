"""`Opened`: what a client's methods are made of: its service, and how ranges and lookups of it become rows."""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Unpack

from chainq.catalog import identifiers
from chainq.catalog.methods import BY_COMMAND, Role
from chainq.client import arguments
from chainq.client.arguments import Height, Location, RangeOptions, Texts, WhereOptions
from chainq.client.notes import complete, retried, short
from chainq.client.progress import Progress
from chainq.client.rows import Rows, while_open
from chainq.config import values
from chainq.config.server import completed
from chainq.defaults import CONCURRENCY, MAX_MEMORY, RETRIES
from chainq.errors import UsageError
from chainq.fetching.lookups import with_height
from chainq.fetching.service import Service
from chainq.heights.bounds import HIGHEST, Bounds
from chainq.heights.range import HeightRange
from chainq.process import Closing
from chainq.query import Batch, Query, limited, matching
from chainq.rows.where import Where
from chainq.text.sanitize import mask_url
from chainq.transport.base import ServiceOptions

if TYPE_CHECKING:
    from chainq.client.row_types import TransactionsRow

MOST_REQUESTS = 64  # at a time


class Opened(Closing):
    """The base of `Client`, which describes the arguments and has the public methods."""

    def __init__(
        self,
        url: Location | None = None,
        *,
        profile: str | None = None,
        dialect: str | None = None,
        timeout: float | None = None,
        retries: int = RETRIES,
        rate: float | None = None,
        headers: Mapping[str, str] | None = None,
        cert: str | None = None,
        lake: Location | None = None,
        concurrency: int = CONCURRENCY,
        max_memory: int = MAX_MEMORY,
        strict: bool = False,
        typed: bool = False,
        progress: bool = False,
    ) -> None:
        named = None if profile is None else arguments.text("profile", profile)
        if url is None and named is None:
            url, named = os.environ.get("CHAINQ_URL") or None, os.environ.get("CHAINQ_PROFILE") or None
        given = ServiceOptions(
            url="" if url is None else identifiers.url(arguments.location("URL", url)),
            profile=named,
            dialect=None if dialect is None else arguments.text("dialect", dialect),
            rate=None if rate is None else values.checked_number("rate", rate),
            timeout=None if timeout is None else values.checked_number("timeout", timeout),
            headers=arguments.headers(headers),
            cert=None if cert is None else arguments.text("cert", cert),
            retries=arguments.integer("retries", retries, 0, HIGHEST),
            concurrency=arguments.integer("concurrency", concurrency, 1, MOST_REQUESTS),
            max_memory=arguments.integer("max_memory", max_memory, values.LEAST_MEMORY, HIGHEST),
            strict=arguments.flag("strict", strict),
            lake="" if lake is None else arguments.location("lake", lake),
        )
        complete = completed(given)
        if not complete.url:
            raise UsageError("no service URL", "pass url=, set CHAINQ_URL or a profile, or try Client('demo:')")
        self._unowned: set[str] = set()  # addresses that were said to own nothing
        self._typed = arguments.flag("typed", typed)
        self._progress = Progress(drawn=arguments.flag("progress", progress))
        self._service = Service(complete, report=partial(retried, self._progress.count))
        if complete.cert:  # is read before the first request
            self._service.connection.opened()

    def _warn_unowned(self, text: str, addresses: Sequence[str]) -> None:
        """Log a warning about addresses that own nothing: once, as programs may read new blocks every minute."""
        if not self._unowned.issuperset(addresses):
            self._unowned.update(addresses)
            self._progress.warn(text)

    def __repr__(self) -> str:
        closed = ", closed" if self._service.connection.closed else ""
        return f"<Client of {mask_url(self._service.url)}{closed}>"

    def _transactions_of(self, height: Height, where: Texts | None = None) -> "list[TransactionsRow]":
        condition = arguments.condition(BY_COMMAND["transactions"], where)
        return list(self._lookup("transactions", self._height(height), condition))

    def _range_of_transactions(
        self, start: Height | None = None, end: Height | None = None, **options: Unpack[WhereOptions]
    ) -> "list[TransactionsRow] | Rows[TransactionsRow]":
        query = arguments.range_query("transactions", "transactions", start, end, options)
        with while_open():
            heights = self._service.height_range(query.bounds or Bounds(whole=True), to_tip=True)
        wanted = reversed(range(*heights.edges)) if query.reverse else [heights]
        found = short(self._service.fetch_lookups(query.method, wanted), self._service, query, heights, to_tip=True)
        found = matching(found, query.where)
        rows = map(with_height, limited(self._progress.follow(found, len(heights)), query.limit))
        return Rows(query.method, rows, typed=self._typed, of=self._of(range_of(query)))

    def _range(
        self,
        command: str,
        start: Height | None,
        end: Height | None,
        options: RangeOptions,
        sent: Mapping[Role, int | str] = MappingProxyType({}),
        *,
        verify: bool = True,
        hashes: bool = False,
    ) -> Rows[Any]:
        caller = command.replace("-", "_")
        query = arguments.range_query(caller, command, start, end, options, sent, verify=verify)
        if arguments.flag("hashes", hashes):
            from chainq.hashes.sdk import check_installed
            from chainq.process.pool import cores

            check_installed("hashes", "hashes")
            query = query._replace(hash_workers=cores())
        of = self._of(range_of(query))
        rows = complete(self._batches(query), query.method, query.limit)
        return Rows(query.method, rows, typed=self._typed, of=of)

    def _batches(self, query: Query) -> Iterator[Batch]:
        batches, heights = self._found(query)
        return self._progress.follow(batches, len(heights))

    def _found(self, query: Query) -> tuple[Iterator[Batch], HeightRange]:
        """Return the batches of a range, and its heights."""
        with while_open():
            heights = self._service.height_range(query.bounds or Bounds(whole=True), to_tip=query.reverse)
        rows = self._service.fetch_range(query, heights)
        found = short(rows, self._service, query, heights, to_tip=query.reverse)
        return matching(found, query.where), heights

    def _height(self, given: Height) -> int:
        height = arguments.lookup(given)
        with while_open():
            return height if isinstance(height, int) else self._service.blocks.latest_height(known=False)

    def _lookup(self, command: str, lookup: int | str, where: Where | None = None) -> Rows[Any]:
        method = BY_COMMAND[command]
        found = matching(self._service.fetch_lookups(method, [lookup]), where)
        return Rows(method, found, typed=self._typed, of=self._of(str(lookup)))

    def _of(self, what: str) -> str:
        return f"{what} of {mask_url(self._service.url)}".lstrip()


def range_of(query: Query) -> str:
    """Return the bounds of a query as its caller gave them, in the form of the commands, and what limits its rows."""
    bounds = (query.bounds or Bounds())._asdict()
    others = [f"{name}={bounds[name]}" for name in ("last", "since", "until") if bounds[name] is not None]
    start, end = ("" if bounds[name] is None else str(bounds[name]) for name in ("start", "end"))
    heights = f"{start}:{end}" if start or end else ""
    filters = {} if query.where is None else query.where.given
    given = {"reverse": query.reverse or None, "limit": query.limit, **filters}
    others += [f"{name}={value!r}" for name, value in given.items() if value is not None]
    return " ".join(filter(None, (*map(str, query.arguments.values()), heights, *others)))
