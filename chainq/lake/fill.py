"""Exports the missing heights of a range into the data set in front of a service, before the range is read from it.

Partitions are written as in an export, with the same proofs and receipts. Each starts at its first height, so up to one
extra partition is requested on either side of the range, once. The partition below the tip ends where rows may still
appear. It is rewritten only when it is complete, because each rewrite repeats all of its requests.

Rejected: storing the rows that a run prints anyway, because a range that begins inside a partition could not be kept.
"""

from collections.abc import Callable

from chainq.fetching.service import Service
from chainq.heights.bounds import Bounds
from chainq.heights.range import HeightRange
from chainq.lake.engine import Listener
from chainq.lake.export import Export, ExportPlan, ExportQuery
from chainq.lake.job import Advance, Done
from chainq.lake.local import LocalEngine
from chainq.lake.plan import to_fill
from chainq.lake.table import SCHEMAS
from chainq.process.pool import cores
from chainq.query import Query
from chainq.stored import data_set
from chainq.stored.data_set import Wanted
from chainq.stored.manifest import look
from chainq.stored.open import absolute, open_store
from chainq.stored.restore import restored
from chainq.transport.base import ServiceOptions


def fill(
    service: Service,
    query: Query,
    bounds: Bounds,
    options: ServiceOptions,
    listener: Listener,
    *,
    begin: Callable[[ExportPlan], None] = lambda _: None,
    wrote: Callable[[Done], None] = lambda _: None,
    advanced: Callable[[int, Advance], None] = lambda *_: None,
) -> bool:
    """Write the heights of a range missing from the data set of `options.lake`; return whether any were missing.

    `service`: with that data set in front of it, if there is one. `options`: for the workers, with the given headers.
    `begin`, `wrote` and `advanced` are called as in an export. Raises ChainqError; BusyError if another export is
    running.
    """
    destination = absolute(options.lake or "")
    store = open_store(destination)
    found = data_set.read(store) or restored(store, look(store).inventory, Wanted(None, None, {}), SCHEMAS)
    size = found.partition if found else data_set.PARTITION
    heights = service.height_range(bounds, to_tip=True)
    wanted = HeightRange(heights.start - heights.start % size, heights.end)
    missing = service.requested(query._replace(reverse=False), wanted) if heights else []
    heights = to_fill(missing, service.blocks.tip_height(), size) if missing else HeightRange(0, 0)
    if not heights:
        return False
    lacking = ExportQuery((query.method.command,), Bounds(*heights.edges), apart=True)
    export = Export(service, store, lacking, listener.warn)
    engine = LocalEngine(cores(), listener, advanced)
    worker = options._replace(names=None, lake=None)
    export.run(engine, worker, destination, lock=True, begin=begin, wrote=wrote)
    return True
