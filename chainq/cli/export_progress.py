"""The progress of `chainq export`."""

from threading import Lock

from chainq.cli.report import Reporter
from chainq.heights.range import HeightSet
from chainq.lake.export import ExportPlan
from chainq.lake.job import Advance, Done
from chainq.process.progress import heights_of
from chainq.text.humanize import counted, in_bytes


def without_range(plan: ExportPlan) -> str:
    """Return which heights a plan without a range has, and how to get those below; empty if it has nothing to do."""
    if not plan.todo:
        return ""
    start = plan.heights.start
    if not plan.new:
        return f"; no range was given, so it continues at height {start}; pass 0: for the whole chain" if start else ""
    return "; no range was given, so it is all that the source has"


class Progress:
    """The bar and the lines of an export: heights and rows within partitions, partitions, and what workers do."""

    def __init__(self, reporter: Reporter, *, announce: bool, whole: bool = False) -> None:
        self._reporter, self._announce, self._whole = reporter, announce, whole
        self._lock = Lock()  # of those below
        self._partitions = self._written = 0
        self._underway: dict[str, Advance] = {}  # by partition

    def begin(self, plan: ExportPlan) -> None:
        """Start the bar; with `announce`, because nobody gave these heights, say how much, with `whole` also why."""
        if plan.todo and self._announce:
            heights = HeightSet(todo.spec.heights for todo in plan.todo)
            what = f"{counted(len(plan.todo), 'partition')} of {heights} to write"
            self._reporter.note(f"{what}, {len(plan.kept):,} complete{without_range(plan) if self._whole else ''}")
        self._partitions = len(plan.todo)
        reads = heights_of(len({task.spec.command for task in plan.tasks}))
        self._reporter.begin(sum(len(task.spec.heights) for task in plan.tasks), reads)

    def advanced(self, advance: Advance) -> None:
        """Count what a worker has written of a partition, which it may have begun anew; for any thread."""
        with self._lock:
            self._count(advance)

    def wrote(self, done: Done) -> None:
        """Count a partition."""
        with self._lock:
            self._written += len(done.files)
            self._count(Advance(done.spec, len(done.spec.heights), done.rows))
            del self._underway[str(done.spec)]
        rows, calls = counted(done.rows, "row"), counted(done.calls, "call")
        self._reporter.trace(f"{done.spec!s}: {rows}, {in_bytes(done.size)}, {calls}")

    def _count(self, advance: Advance) -> None:
        before = self._underway.get(str(advance.spec), Advance(advance.spec))
        self._underway[str(advance.spec)] = advance
        self._reporter.wrote(advance.heights - before.heights, advance.rows - before.rows)
        self._reporter.show(f"{self._written:,} of {counted(self._partitions, 'partition')}")
