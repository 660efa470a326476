"""`--fill`: what the export of `--lake` lacks of a range is written first (`lake/fill.py`), with a bar and warnings."""

from chainq.cli import connect
from chainq.cli.export_progress import Progress
from chainq.cli.report import Reporter
from chainq.config.server import completed
from chainq.errors import BusyError, UsageError
from chainq.lake.fill import fill
from chainq.query import Query
from chainq.stored import data_set
from chainq.stored.open import absolute, open_store
from chainq.transport.base import ServiceOptions


def run(query: Query, options: ServiceOptions, reporter: Reporter, *, dry_run: bool) -> None:
    """Write what the data set of `options` lacks of a query's range. Raises ChainqError; UsageError for `dry_run`."""
    given = completed(options).lake
    if not given:
        raise UsageError("--fill needs --lake DEST")
    if query.bounds is None or query.limit is not None or query.page is not None:
        raise UsageError(f"--fill cannot be combined with {'--page' if query.limit is None else '--limit'}")
    if dry_run:
        raise UsageError("--fill cannot be combined with --dry-run", "chainq export has a --dry-run of its own")
    there = data_set.read(open_store(absolute(given))) is not None
    with connect.open_service(options._replace(lake=given if there else None), reporter) as service:
        progress = Progress(reporter, announce=True)
        reporter.draw()
        try:
            fill(
                service,
                query,
                query.bounds,
                service.options._replace(headers=options.headers, lake=given),
                reporter,
                begin=progress.begin,
                wrote=progress.wrote,
                advanced=progress.advanced,
            )
        except BusyError as busy:
            reporter.warn(f"{busy.message}; --fill writes nothing")
        finally:
            reporter.end()
