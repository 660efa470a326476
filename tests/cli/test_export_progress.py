"""What the bar of an export counts."""

from chainq.cli.report import Reporter
from chainq.cli.tools.export import ExportProgress
from chainq.heights.bounds import Bounds
from chainq.lake.data_set import PartitionSpec
from chainq.lake.export import ExportQuery
from chainq.lake.workers import Advance, Done
from chainq.planning.exchange import NOTHING_KNOWN


def test_a_partition_that_is_shortened_counts_once() -> None:
    """A worker that finds the service behind begins it again, up to a lower height."""
    reporter = Reporter()
    progress = ExportProgress(reporter, ExportQuery(("blocks",), Bounds(whole=True)))
    whole, part = PartitionSpec("blocks", 0, 1000), PartitionSpec("blocks", 0, 600)
    for advance in (Advance(whole), Advance(whole, 500, 50), Advance(part), Advance(part, 600, 60)):
        progress.hear(1, advance)
    progress.wrote(Done(part, (), 1, NOTHING_KNOWN, (), {}))
    assert reporter._done == 600
