"""`chainq status`: how far a checkpoint or a data set has come, from its files alone; no request is sent."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from chainq import tuning
from chainq.cli.output import as_json
from chainq.errors import ChainqError, IncompleteError, StaleError, UsageError
from chainq.heights.block_time import format_age, parse_age
from chainq.heights.range import HeightRange
from chainq.resume.checkpoint import in_use, is_checkpoint, recorded
from chainq.sinks.open import open_sink
from chainq.text.humanize import counted, duration, in_bytes, utc
from chainq.text.sanitize import printable

if TYPE_CHECKING:
    from chainq.cli.tool_options import StatusCommand
    from chainq.lake.store import Store


SHOWN = 10
"""Gaps that a line names."""


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
    tip: int | None
    tip_time: int | None
    lag: int | None
    success: float | None
    age: float | None
    rows: int
    bytes: int | None
    failure: float | None
    error: str
    lasting: bool
    missing: tuple[tuple[int, int], ...]
    running: bool | None


def run(given: "StatusCommand") -> None:
    """Print how far checkpoints and data sets have come.

    After those that can be read, raises a ChainqError that names the others, and with `--max-age` StaleError if
    one is older or its last run failed for good, and IncompleteError if one lacks heights.
    """
    limit = None if given.max_age is None else parse_age(given.max_age, "max-age")
    found: list[Status] = []
    errors: list[ChainqError] = []
    for target in dict.fromkeys(given.targets):
        try:
            found += statuses(target, time.time())
        except ChainqError as error:
            errors.append(error)
    if as_json(given):
        alone = len(given.targets) == 1 and Path(given.targets[0]).is_file()  # a checkpoint is about one command
        tables = [status._asdict() for status in found]
        lines = [msgspec.json.encode(tables[0] if alone and tables else tables).decode()] if found else []
    else:
        lines = list(dict.fromkeys(line for status in found for line in _lines(status)))
    if not given.quiet:
        with open_sink(None) as sink:
            sink.write("".join(f"{line}\n" for line in lines).encode())
            sink.keep()
    if not errors and limit is not None:
        errors = [fault for status in found if (fault := _fault(status, limit)) is not None]
    if errors:
        kind = next((type(error) for error in errors if not isinstance(error, StaleError)), StaleError)
        raise kind("; ".join(dict.fromkeys(map(str, errors))))


def statuses(target: str, now: float) -> list[Status]:
    """Return the status of a checkpoint, or those of the tables of a data set. Raises UsageError if there is none."""
    path = Path(target)
    if not path.is_file():
        from chainq.lake.store import open_store

        store = open_store(target)
        found = list(_of_data_set(store, now))
        if not found:
            raise UsageError(f"no checkpoint and no data set at {store.label}")
        return found
    if not is_checkpoint(path):
        raise UsageError(f"{printable(target)} is not a checkpoint")
    known = recorded(path)
    last, state = known.positions[-1], known.state
    tip = max(state.tip, last.next - 1)  # --follow records positions more often than the tip
    succeeded = state.success > 0
    return [
        Status(
            target=printable(target),
            command=printable(str(known.query.get("command", ""))),
            next=last.next,
            tip=tip if succeeded else None,
            tip_time=state.tip_time,
            lag=tip + 1 - last.next if succeeded else None,
            success=state.success or None,
            age=now - state.success if succeeded else None,
            rows=last.rows,
            bytes=last.length if known.output else None,
            failure=state.failure or None,
            error=printable(state.error),
            lasting=state.lasting,
            missing=(),
            running=in_use(path),
        )
    ]


def _of_data_set(store: "Store", now: float) -> Iterator[Status]:
    """Yield the status of each table, up to its first gap; tables of full blocks come first.

    The last success is when the newest file was written. A table that the first export has not begun to write has no
    rows, so that monitoring sees it.
    """
    from chainq.catalog.tables import CHAIN, COMMANDS
    from chainq.lake.data_set import find, gaps

    contents = find(store)
    if contents is None:
        return
    start = contents.data_set.start
    whole = contents.span or HeightRange(start, start)
    tip = max((entry.tip for entries in contents.tables.values() for entry in entries), default=-1)
    for command in (one for one in dict.fromkeys([*CHAIN, *COMMANDS]) if one in contents.known):
        entries = contents.tables.get(command, [])
        heights = contents.heights(command) if entries else whole
        missing = tuple(gap.edges for gap in gaps((entry.spec for entry in entries), heights))
        end = missing[0][0] if missing else heights.end
        success = max((entry.modified for entry in entries), default=None)
        below = [entry for entry in entries if entry.spec.end <= end]
        yield Status(
            target=store.label,
            command=command,
            next=end,
            tip=None if tip < 0 else tip,
            tip_time=None,
            lag=None if tip < 0 else max(0, tip + 1 - end),
            success=success,
            age=None if success is None else now - success,
            rows=sum(entry.rows for entry in below),
            bytes=sum(entry.size for entry in below),
            failure=None,
            error="",
            lasting=False,
            missing=missing,
            running=None,
        )


def _lines(status: Status) -> Iterator[str]:
    """Yield a line that says all of a status, and one for the last error, unless a later run succeeded."""
    parts = [
        f"{status.target}: {status.command} {f'up to block {status.next - 1}' if status.next else 'without blocks'}"
    ]
    if status.tip is not None:
        parts.append(f"{counted(status.lag or 0, 'block')} below tip {status.tip}")
    if status.age is not None:
        parts.append(f"last success {duration(max(0.0, status.age))} ago")
    elif not status.running or status.failure:  # else the first run is in progress
        parts.append("no run went well yet")
    if status.running:
        parts.append("a run is in progress")
    parts.append(counted(status.rows, "row"))
    if status.bytes is not None:
        parts.append(in_bytes(status.bytes))
    if status.missing:
        parts.append(_missing(status))
    yield ", ".join(parts)
    if status.failure is not None and status.failure >= (status.success or 0):
        yield f"{status.target}: last error, {utc(status.failure)}: {status.error}"


def _missing(status: Status) -> str:
    from chainq.lake.data_set import listed

    return f"missing {listed([HeightRange(*edges) for edges in status.missing], SHOWN)}"


def _fault(status: Status, limit: float) -> ChainqError | None:
    """Return why a status is not one of success within `limit` seconds, None if it is."""
    name = f"{status.target}: {status.command}"
    age = status.age
    if age is None and not status.missing:
        first = status.running and not status.failure
        return StaleError(f"{name}: {'its first run is in progress' if first else 'no run went well yet'}")
    if age is not None and age < -tuning.AHEAD:
        return StaleError(f"{name}: the last success is {duration(-age)} in the future")
    if age is not None and age > limit:
        longer = f"longer than --max-age {format_age(limit)}"
        return StaleError(f"{name}: the last success was {duration(age)} ago, {longer}")
    if status.lasting:
        return StaleError(f"{name}: the last run failed for good: {status.error}")
    if status.missing:
        from chainq.lake.data_set import export_command

        heights = HeightRange(status.missing[0][0], status.missing[-1][1])
        writes = export_command([status.command], heights, status.target)
        return IncompleteError(f"{name}: {_missing(status)}", f"{writes} writes them")
    return None
