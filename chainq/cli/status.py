"""`chainq status`: how far a checkpoint or a data set has come, from its files alone; no request is sent."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from chainq import tuning
from chainq.cli.output import as_json, write
from chainq.errors import ChainqError, IncompleteError, StaleError, UsageError
from chainq.heights.block_time import format_age
from chainq.heights.range import HeightRange
from chainq.resume.checkpoint import in_use, is_checkpoint, recorded
from chainq.text.humanize import counted, duration, in_bytes, utc
from chainq.text.sanitize import printable

if TYPE_CHECKING:
    from chainq.cli.tool_options import StatusCommand
    from chainq.lake.store import Store


SHOWN = 10  # gaps that a line names
NONE_YET = "no run went well yet"


class Status(NamedTuple):
    """How far a checkpoint, or one table of a data set, has come; None for what its files do not say.

    `next`: the first height that is not there yet. `tip`: the height of the tip at the last success; `tip_time`: of
    that block, as all times in seconds since 1970. `lag`: blocks from `next` to the tip. `success`: when a run of it
    went well last; `age`: seconds since then. `rows`, `bytes`: of the output below `next`, of a balance its records.
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
    bytes: int | None = None
    failure: float | None = None
    error: str = ""
    lasting: bool = False
    missing: tuple[tuple[int, int], ...] = ()
    running: bool | None = None


def run(given: "StatusCommand") -> None:
    """Print how far checkpoints and data sets have come.

    After those that can be read, raises a ChainqError that names the others, IncompleteError if one lacks heights, and
    with `--max-age` StaleError if one is older or its last run failed for good.
    """
    found: list[Status] = []
    errors: list[ChainqError] = []
    locks = {f"{target}.lock" for target in given.targets}  # as `status *` names them
    for target in dict.fromkeys(one for one in given.targets if one not in locks):
        try:
            found += statuses(target, time.time())
        except ChainqError as error:
            errors.append(error)
    if as_json(given):
        alone = len(given.targets) == 1 and Path(given.targets[0]).is_file()  # a checkpoint is about one command
        tables = [status._asdict() for status in found]
        lines = [msgspec.json.encode(tables[0] if alone else tables).decode()] if found else []
    else:
        lines = list(dict.fromkeys(line for status in found for line in _lines(status)))
    if not given.quiet:
        write("".join(f"{line}\n" for line in lines))
    if not errors:
        errors = [fault for status in found if (fault := _fault(status, given.max_age)) is not None]
    if errors:
        kind = next((type(error) for error in errors if not isinstance(error, StaleError)), StaleError)
        raise kind("; ".join(dict.fromkeys(map(str, errors))))


def statuses(target: str, now: float) -> list[Status]:
    """Return the status of a checkpoint, or those of the tables of a data set. Raises UsageError if there is none."""
    path = Path(target)
    if path.is_file():
        return [_of_checkpoint(path, printable(target), now)]
    from chainq.lake.store import open_store

    store = open_store(target)
    if found := list(_of_data_set(store, now)):
        return found
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
        tip=tip,
        tip_time=state.tip_time,
        lag=None if tip is None else tip + 1 - last.next,
        success=state.success or None,
        age=now - state.success if state.success else None,
        rows=last.rows,
        bytes=last.length if known.output else None,
        failure=state.failure or None,
        error=printable(state.error),
        lasting=state.lasting,
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
    start, first = contents.data_set.start, contents.data_set.tables  # those of one export, which end together
    last = max((entries[-1].spec.end for table, entries in contents.tables.items() if table in first), default=start)
    whole = contents.span or HeightRange(start, start)
    tip = max((entry.tip for entries in contents.tables.values() for entry in entries), default=None)
    for command in (one for one in dict.fromkeys([*CHAIN, *COMMANDS]) if one in contents.known):
        entries = contents.tables.get(command, [])
        heights = contents.heights(command) if entries else whole
        heights = HeightRange(heights.start, max(heights.end, last if command in first else 0))
        missing = tuple(gap.edges for gap in gaps((entry.spec for entry in entries), heights))
        end = missing[0][0] if missing else heights.end
        success = max((entry.modified for entry in entries), default=None)
        below = [entry for entry in entries if entry.spec.end <= end]
        yield Status(
            store.label,
            command,
            end,
            tip=tip,
            lag=None if tip is None else max(0, tip + 1 - end),
            success=success,
            age=None if success is None else now - success,
            rows=sum(entry.rows for entry in below),
            bytes=sum(entry.size for entry in below),
            missing=missing,
        )


def _lines(status: Status) -> Iterator[str]:
    """Yield a line that says all of a status, and one for the last error, unless a later run succeeded."""
    reached = f"up to block {status.next - 1}" if status.next else "not begun"
    first = status.running and not status.failure  # the first run is in progress
    newest = "newest file written" if status.running is None else "last success"
    parts = [
        f"{status.target}: {status.command} {reached}",
        "" if status.tip is None else f"{counted(status.lag or 0, 'block')} below tip {status.tip}",
        f"{newest} {duration(max(0.0, status.age))} ago" if status.age is not None else "" if first else NONE_YET,
        "a run is in progress" if status.running else "",
        counted(status.rows, "row"),
        "" if status.bytes is None else in_bytes(status.bytes),
        _missing(status),
    ]
    yield ", ".join(filter(None, parts))
    if status.failure is not None and status.failure >= (status.success or 0):
        yield f"{status.target}: last error, {utc(status.failure)}: {status.error}"


def _missing(status: Status) -> str:
    if not status.missing:
        return ""
    from chainq.lake.data_set import listed

    return f"missing {listed([HeightRange(*edges) for edges in status.missing], SHOWN)}"


def _stale(status: Status, limit: float) -> str:
    """Return why the last success is not one within `limit` seconds, empty if it is."""
    age = status.age
    if age is None:
        first = "its first run is in progress" if status.running and not status.failure else NONE_YET
        return "" if status.missing else first
    if age < -tuning.AHEAD:
        return f"the last success is {duration(-age)} in the future"
    if age > limit:
        what = "newest file was written" if status.running is None else "last success was"
        return f"the {what} {duration(age)} ago, longer than --max-age {format_age(limit)}"
    return f"the last run failed for good: {status.error}" if status.lasting else ""


def _fault(status: Status, limit: float | None) -> ChainqError | None:
    """Return which heights a status lacks, or why it is not one of success within `limit` seconds if there is one; None
    for neither."""
    name = f"{status.target}: {status.command}"
    if limit is not None and (why := _stale(status, limit)):
        return StaleError(f"{name}: {why}")
    if not status.missing:
        return None
    from chainq.lake.data_set import export_command

    heights = HeightRange(status.missing[0][0], status.missing[-1][1])
    writes = export_command([status.command], heights, status.target)
    return IncompleteError(f"{name}: {_missing(status)}", f"{writes} writes them")
