"""`chainq status`: how far a checkpoint or a data set has come, from its files alone; no request is sent."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from chainq import tuning
from chainq.cli.output import as_json, write
from chainq.errors import IncompleteError, StaleError, UsageError
from chainq.heights.block_time import format_age
from chainq.heights.range import HeightRange, in_words
from chainq.resume.checkpoint import in_use, is_checkpoint, recorded
from chainq.text.humanize import counted, duration, utc
from chainq.text.sanitize import printable

if TYPE_CHECKING:
    from chainq.cli.tool_options import StatusCommand
    from chainq.lake.store import Store


class Status(NamedTuple):
    """How far a checkpoint, or one table of a data set, has come; None for what its files do not say.

    `next`: the first height that is not there yet. `tip`: the height of the tip at the last success; `tip_time`: of
    that block, as all times in seconds since 1970. `lag`: blocks from `next` to the tip. `success`: when a run of it
    went well last; `age`: seconds since then. `rows`: of the output, or of an export; of a balance its records.
    `failure`, `error`: when and why a run failed last; `lasting`: whether the last run failed for good
    (`errors.is_lasting`). `missing`: the heights, from and below, that are not there although other tables or
    later ones are. `running`: whether a run has the lock of a checkpoint now.
    """

    target: str
    command: str
    next: int
    tip: int | None = None
    tip_time: int | None = None
    lag: int | None = None
    success: float | None = None
    age: float | None = None
    rows: int = 0
    failure: float | None = None
    error: str = ""
    lasting: bool = False
    missing: tuple[tuple[int, int], ...] = ()
    running: bool | None = None

    @property
    def gaps(self) -> str:
        """Return the heights that are missing, in words."""
        return f"missing {in_words([HeightRange(*gap) for gap in self.missing])}"

    @property
    def no_success(self) -> str:
        """Return why there is no last success."""
        return "its first run is in progress" if self.running and not self.failure else "no run went well yet"


def run(given: "StatusCommand") -> None:
    """Print how far a checkpoint or a data set has come.

    Raises UsageError if there is none. After the output, raises IncompleteError if it lacks heights, and with
    `--max-age` StaleError if it is older or its last run failed for good.
    """
    statuses, single = _statuses(given.target, time.time())
    if as_json(given):
        tables = [status._asdict() for status in statuses]
        text = msgspec.json.encode(tables[0] if single else tables).decode() + "\n"
    else:
        text = "".join(f"{line}\n" for status in statuses for line in _lines(status))
    if not given.quiet:
        write(text)
    faults = [f"{one.target}: {one.command}: {why}" for one in statuses if (why := _fault(one, given.max_age))]
    if faults:
        raise (IncompleteError if any(one.missing for one in statuses) else StaleError)("; ".join(faults))


def _statuses(target: str, now: float) -> tuple[list[Status], bool]:
    """Return the status of a checkpoint, or those of the tables of a data set, and which it is. Raises UsageError."""
    path = Path(target)
    if path.is_file():
        return [_of_checkpoint(path, printable(target), now)], True
    from chainq.lake.store import open_store

    store = open_store(target)
    if tables := list(_of_data_set(store, now)):
        return tables, False
    raise UsageError(f"no checkpoint and no data set at {store.label}")


def _of_checkpoint(path: Path, name: str, now: float) -> Status:
    if not is_checkpoint(path) or (path.suffix == ".lock" and not path.stat().st_size):
        raise UsageError(f"{name} is not a checkpoint")
    known = recorded(path)
    last, state = known.positions[-1], known.state
    tip = max(state.tip, last.next - 1) if state.success else None  # --follow records positions more often than the tip
    return Status(
        name,
        printable(str(known.query.get("command", ""))),
        last.next,
        tip,
        state.tip_time,
        None if tip is None else tip + 1 - last.next,
        state.success or None,
        now - state.success if state.success else None,
        last.rows,
        state.failure or None,
        printable(state.error),
        state.lasting,
        running=in_use(path),
    )


def _of_data_set(store: "Store", now: float) -> Iterator[Status]:
    """Yield the status of each table, up to its first gap; tables of full blocks come first.

    The last success is when the newest file was written: no file says how a run ended. A table that the first export
    has not begun to write has no rows, so that monitoring sees it.
    """
    from chainq.catalog.tables import CHAIN, COMMANDS
    from chainq.lake.data_set import find, gaps

    contents = find(store)
    if contents is None:
        return
    tip = max((entry.tip for entries in contents.tables.values() for entry in entries), default=None)
    for command in (one for one in dict.fromkeys([*CHAIN, *COMMANDS]) if one in contents.known):
        entries = contents.tables.get(command, [])
        missing = tuple(gap.edges for gap in gaps((entry.spec for entry in entries), contents.heights))
        end = missing[0][0] if missing else contents.heights.end
        success = max((entry.modified for entry in entries), default=None)
        yield Status(
            store.label,
            command,
            end,
            tip,
            lag=None if tip is None else max(0, tip + 1 - end),
            success=success,
            age=None if success is None else now - success,
            rows=sum(entry.rows for entry in entries),
            missing=missing,
        )


def _lines(status: Status) -> Iterator[str]:
    """Yield a line that says all of a status, and one for the last error, unless a later run succeeded."""
    written = "newest file written" if status.running is None else "last success"
    parts = [
        f"{status.target}: {status.command} {f'up to block {status.next - 1}' if status.next else 'not begun'}",
        "" if status.tip is None else f"{counted(status.lag or 0, 'block')} below tip {status.tip}",
        status.no_success if status.age is None else f"{written} {duration(status.age)} ago",
        "a run is in progress" if status.running and status.age is not None else "",
        counted(status.rows, "row"),
        status.gaps if status.missing else "",
    ]
    yield ", ".join(filter(None, parts))
    if status.failure is not None and status.failure >= (status.success or 0):
        yield f"{status.target}: last error, {utc(status.failure)}: {status.error}"


def _fault(status: Status, limit: float | None) -> str:
    """Return which heights a status lacks, or why it is not one of success within `limit` seconds if there is one;
    empty for neither."""
    if status.missing:
        from chainq.lake.data_set import writing

        heights = HeightRange(status.missing[0][0], status.missing[-1][1])
        return f"{status.gaps}; {writing([status.command], heights, status.target)}"
    if limit is None:
        return ""
    if status.age is None:
        return status.no_success
    if status.age < -tuning.AHEAD:
        return f"the last success is {duration(-status.age)} in the future"
    if status.age > limit:
        what = "newest file was written" if status.running is None else "last success was"
        return f"the {what} {duration(status.age)} ago, longer than --max-age {format_age(limit)}"
    return f"the last run failed for good: {status.error}" if status.lasting else ""
