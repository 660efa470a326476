"""Rows as far as a service knows them: of a served export that lacks their table, they are read from full blocks.

Such rows lack fields: see `chainq.stored.stand_ins`.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.errors import LackingError
from chainq.fetching.service import Service
from chainq.heights.range import HeightRange
from chainq.process.threads import in_order
from chainq.query import Batch, Query

_BLOCKS = BY_COMMAND["full-blocks"]


def fetch_known(service: Service, query: Query, heights: HeightRange) -> Iterator[Batch]:
    """Yield the rows of a range, from full blocks if the service lacks their table."""
    begun = False
    try:
        for batch in service.fetch_listed(query, heights):
            begun = True
            yield batch
        return
    except LackingError as error:
        if begun or not _can_stand_in(query.method.command, error):
            raise
        service.lacking.add(query.method.command)
    from chainq.stored.stand_ins import stand_ins_in

    for batch in service.fetch_range(Query(_BLOCKS, reverse=query.reverse), heights):
        yield batch._replace(rows=stand_ins_in(batch.rows, query.method.command))


def read_known(service: Service, commands: Sequence[str], heights: HeightRange) -> list[list[Raw]]:
    """Return all these rows of several commands, read concurrently, but the full blocks for them only once."""
    queries = [Query(BY_COMMAND[command]) for command in commands]
    for query in queries:
        service.dialect.of(query.method)  # not in threads
    jobs = (partial(_listed, service, query, heights) for query in queries)
    listed = dict(zip(commands, in_order(len(commands), jobs, len(commands)), strict=True))
    rows = {command: found or [] for command, found in listed.items()}
    lacking = [command for command, found in listed.items() if found is None]
    if lacking:
        from chainq.stored.stand_ins import stand_ins_in

        service.lacking.update(lacking)
        for batch in service.fetch_range(Query(_BLOCKS), heights):
            for command in lacking:
                rows[command] += stand_ins_in(batch.rows, command)
    return list(rows.values())


def _listed(service: Service, query: Query, heights: HeightRange) -> list[Raw] | None:
    """Return all rows of a range; None if the service lacks their table, and full blocks can replace them."""
    try:
        return [row for batch in service.fetch_listed(query, heights) for row in batch.rows]
    except LackingError as error:
        if not _can_stand_in(query.method.command, error):
            raise
        return None


def _can_stand_in(command: str, error: LackingError) -> bool:
    """Return whether full blocks have the rows that a service lacks according to an error."""
    from chainq.stored.stand_ins import can_stand_in
    from chainq.transport.failures import NO_TABLE

    return error.code == str(NO_TABLE) and can_stand_in(command)
