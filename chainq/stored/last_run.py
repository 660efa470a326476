"""`_chainq/last_run.json`: how the last exports into a data set ended, for `chainq status`.

Receipts do not show it, because an export that finds nothing new writes none.
"""

import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Annotated

import msgspec
from msgspec.structs import replace

from chainq.errors import BusyError, ChainqError, OutputError, UsageError, is_lasting
from chainq.heights.range import HeightRange
from chainq.stored import data_set
from chainq.stored.inventory import export_command, take_inventory
from chainq.stored.narrow import HIGHEST, UNFIT, End, Height, Table
from chainq.stored.store import Listed, Store
from chainq.text.sanitize import printable, recordable

NAME = "_chainq/last_run.json"


class LastRun(msgspec.Struct, frozen=True, omit_defaults=True):
    """`success`: when an export last succeeded, with new rows or not, in seconds since 1970, 0 for never; `tip`: the
    tip height then, -1 for none. `failure`, `error`: when and why an export last failed; `lasting`: the last one failed
    for good (`errors.is_lasting`). `begun`: the heights, from and below, of an export of tables without partitions,
    until one succeeds. `pending`: the tables that exports began to write, until one of them succeeds. `tables`: when an
    export of a table last succeeded; empty in records of earlier versions, whose `success` counts for all tables.
    `spans`: the heights, from and below, that the last export of a pending table was to write.
    """

    success: float = 0
    tip: Annotated[int, msgspec.Meta(ge=-1, le=HIGHEST)] = -1
    failure: float = 0
    error: str = ""
    lasting: bool = False
    begun: tuple[Height, End] | None = None
    pending: tuple[Table, ...] = ()
    tables: Mapping[Table, float] = {}
    spans: Mapping[Table, tuple[Height, End]] = {}

    def __post_init__(self) -> None:
        for start, end in (*([self.begun] if self.begun else ()), *self.spans.values()):
            if start > end:
                raise ValueError("no heights")

    def warning(self, label: str) -> str:
        """Return that an export into the data set with a label failed, was killed or is still running; empty if
        it succeeded.

        Rejected: to look at the lock, because exports with `--no-lock` have none; `chainq status` says if one has it.
        """
        if self.pending or self.begun is not None:
            how_far = f"chainq status {shlex.quote(label)} shows its heights"
            which = f"an export of {', '.join(map(printable, self.pending))}" if self.pending else "the last export"
            return f"{which} into {label} has not finished; {how_far}"
        if self.failure > self.success:
            return f"the last export into {label} failed before it wrote anything: {printable(self.error)}"
        return ""

    def due(self, table: str, *, running: bool) -> tuple[int, int] | None:
        """Return the heights, from and below, that an export was to write of a table and may have left out.

        None if it succeeded, or if one is `running` that may write them and earlier ones succeeded.
        """
        if (table in self.pending and not running) or not self.success_of(table):
            return self.spans.get(table, self.begun if table in self.pending else None)
        return None

    def success_of(self, table: str) -> float:
        """Return when an export of a table last succeeded, 0 for never."""
        return self.tables.get(table, 0) if self.tables else self.success


@contextmanager
def recorded(store: Store, tables: Sequence[str], tip: Callable[[], int]) -> Iterator[None]:
    """Record how an export of tables that had started ends. `tip` returns the tip height.

    Raises OutputError if a success cannot be recorded.
    """
    try:
        yield
    except (BusyError, UsageError):  # it did not start
        raise
    except ChainqError as error:
        with suppress(OutputError, UsageError):
            found = data_set.read(store)
            # If it has none of the tables, the export wrote nothing, and the set lacks nothing.
            if found is not None and not found.schemas.keys().isdisjoint(tables):
                last = replace(_known(store), failure=time.time(), error=recordable(str(error)))
                _save(store, replace(last, lasting=is_lasting(error)))
        raise
    last, now, height = _known(store), time.time(), tip()
    found = data_set.read(store) if last.success and not last.tables else None
    earlier = dict.fromkeys(found.schemas, last.success) if found else last.tables
    succeeded = {**earlier, **dict.fromkeys(tables, now)}
    pending = tuple(table for table in last.pending if table not in tables)
    begun = last.begun if pending else None
    spans = {table: edges for table, edges in last.spans.items() if table in pending}
    last = replace(last, success=now, tip=height, begun=begun, pending=pending, tables=succeeded, spans=spans)
    _save(store, replace(last, lasting=False))


def of_receipts(listing: Sequence[Listed]) -> LastRun:
    """Return the record of a data set that has none, as those of earlier versions: a receipt was a success."""
    written = {one.name: one.modified for one in listing}
    tables: dict[str, float] = {}
    for entry in take_inventory(listing).valid.values():
        tables[entry.spec.command] = max(tables.get(entry.spec.command, 0), written[entry.name])
    return LastRun(tables=tables)


def _known(store: Store) -> LastRun:
    """Return the record, that of its receipts if there is none. Raises OutputError."""
    return of_receipts([*store.listing()]) if store.read(NAME) is None else read(store)


def begin(store: Store, tables: Sequence[str], heights: HeightRange, *, fresh: bool, new: bool) -> None:
    """Record that an export of tables begins to write some heights. `fresh`: some have no partitions to show them.

    Of a `new` data set also that no run was successful yet: the receipts of a killed one look like success. Raises
    OutputError.
    """
    last = LastRun() if new else _known(store)
    begun, pending = heights.edges if fresh else last.begun, tuple(dict.fromkeys([*last.pending, *tables]))
    spans = {**last.spans, **dict.fromkeys(tables, heights.edges)}
    _save(store, replace(last, begun=begun, pending=pending, spans=spans))


def read(store: Store) -> LastRun:
    """Return the record, or an empty one if it is missing or unreadable. Raises OutputError."""
    try:
        return msgspec.json.decode(store.read(NAME) or b"{}", type=LastRun)
    except UNFIT:
        return LastRun()


def begun(store: Store) -> HeightRange | None:
    """Return the heights of an export that left tables without partitions, if they are known. Raises OutputError."""
    found = read(store).begun
    return None if found is None else HeightRange(*found)


def starts(store: Store) -> list[int]:
    """Return the first heights of exports that have not finished: partitions may show others. Raises OutputError."""
    last = read(store)
    return [start for start, _ in (*([last.begun] if last.begun else ()), *last.spans.values())]


def what_writes(
    store: Store,
    tables: Iterable[str],
    heights: HeightRange | None,
    does: str = "writes them",
    *,
    needs_url: bool = False,
) -> str:
    """Return how to get heights of tables that are missing, as a hint: an export that is running, or the command that
    writes them. `needs_url`: as in `export_command`. Raises OutputError."""
    if store.is_locked():
        return f"an export is running: try again later, or see chainq status {shlex.quote(store.label)}"
    return f"{export_command(tables, heights, store.label, needs_url=needs_url)} {does}"


def _save(store: Store, last: LastRun) -> None:
    store.write(NAME, msgspec.json.encode(last) + b"\n")
