"""`--fill`: what the export of `--lake` lacks of a range, exported into it before the range is read from there.

Partitions are written as `chainq export` writes them, with the same proofs and receipts. Each is whole, from its first
height on, so up to one partition more is requested on either side of the range, once. The partition below the tip ends
if rows may still appear. It is written again only when it is complete, because each time takes all of its requests.

Rejected: files of the rows that a run prints anyway. A range that begins inside a partition could not be kept.
"""

from chainq.cli import connect
from chainq.cli.export_progress import Progress
from chainq.cli.report import Reporter
from chainq.config.server import completed
from chainq.errors import BusyError, UsageError
from chainq.heights.bounds import Bounds
from chainq.heights.range import HeightRange
from chainq.lake.export import Export, ExportQuery
from chainq.lake.local import LocalEngine
from chainq.lake.plan import to_fill
from chainq.process.pool import cores
from chainq.query import Query
from chainq.stored import data_set
from chainq.stored.open import absolute, open_store
from chainq.transport.base import ServiceOptions


def run(query: Query, options: ServiceOptions, reporter: Reporter) -> None:
    """Write what the data set of `options` lacks of a query's range. Raises ChainqError."""
    given = completed(options).lake
    if not given:
        raise UsageError("--fill needs --lake DEST")
    if query.bounds is None or query.limit is not None or query.page is not None:
        raise UsageError(f"--fill cannot be combined with {'--page' if query.limit is None else '--limit'}")
    destination = absolute(given)
    store = open_store(destination)
    found = data_set.read(store)
    size = found.partition if found else data_set.PARTITION
    with connect.open_service(options._replace(lake=given if found else None), reporter) as service:
        heights = service.height_range(query.bounds, to_tip=True)
        wanted = HeightRange(heights.start - heights.start % size, heights.end)
        missing = service.requested(query._replace(reverse=False), wanted) if heights else []
        heights = to_fill(missing, service.tip_height(), size) if missing else HeightRange(0, 0)
        if not heights:
            return
        export = Export(service, store, ExportQuery((query.method.command,), Bounds(*heights.edges)), reporter.warn)
        progress = Progress(reporter, everything=False)
        reporter.draw()
        try:
            export.run(
                LocalEngine(cores(), reporter, progress.advanced),
                service.options._replace(headers=options.headers, names=None, lake=None),
                destination,
                lock=True,
                begin=progress.begin,
                wrote=progress.wrote,
            )
        except BusyError as busy:
            reporter.warn(f"{busy.message}; --fill writes nothing")
        finally:
            reporter.end()
