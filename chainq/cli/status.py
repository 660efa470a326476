"""`chainq status`: how far a checkpoint or a data set has come, from its files alone; no request is sent."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from chainq import tuning
from chainq.cli.balance_checkpoint import Kept
from chainq.cli.output import form_of, on_terminal
from chainq.errors import ChainqError, IncompleteError, StaleError, UsageError
from chainq.heights.block_time import format_age, parse_age
from chainq.heights.range import HeightRange
from chainq.process.signals import STOPPED
from chainq.resume.checkpoint import State, recorded
from chainq.resume.kept_file import in_use, is_checkpoint, of_lock
from chainq.sinks.open import open_sink
from chainq.text.humanize import age, counted, duration, in_bytes, utc
from chainq.text.sanitize import printable
from chainq.text.width import terminal_width

if TYPE_CHECKING:
    from chainq.cli.tool_options import StatusCommand
    from chainq.lake.store import Store


SHOWN = 10
"""Gaps that a line names."""
IN_PROGRESS = "a run is in progress"


class Status(NamedTuple):
    """How far a checkpoint, or one table of a data set, has come; None for what its files do not say.

    `next`: the first height that is not there yet, of a table without partitions the first that belongs there. `tip`:
    the height of the tip at the last success. `tip_time`: of that block, as all times in seconds since 1970. `lag`:
    blocks from there to the tip. `success`: when a run of it went well last. `age`: seconds since then. `rows`,
    `bytes`: of the output below `next`. `failure`, `error`: when and why a run failed last. `missing`: the heights,
    from and below, that are not there although later ones are or were, or an export began to write them.
    `keys`, `records`, `unspent`: of a balance, how many view keys, their records, and those not spent. `rows_above`:
    of a data set, those of later heights than the first gap. `start`: the first height of an output, or
    of a table with partitions. `running`: whether a run or an export has its lock now.
    `unfinished`: whether an export began to write the table, and neither succeeded nor is running.
    `lasting`: whether the last run failed for good (`errors.is_lasting`).
    """

    target: str
    command: str
    next: int
    tip: int | None
    tip_time: int | None
    lag: int | None
    success: float | None
    age: float | None
    rows: int | None = None
    bytes: int | None = None
    failure: float | None = None
    error: str = ""
    missing: tuple[tuple[int, int], ...] = ()
    keys: int | None = None
    records: int | None = None
    unspent: int | None = None
    rows_above: int | None = None
    start: int | None = None
    running: bool | None = None
    unfinished: bool | None = None
    lasting: bool | None = None


class Group(NamedTuple):
    """A checkpoint, or the tables of a data set."""

    tables: list[Status]


def run(given: "StatusCommand") -> None:
    """Print how far checkpoints and data sets have come.

    After those that can be read, raises a ChainqError that names the others, and with `--max-age` StaleError if
    one is older or its last run failed for good, and IncompleteError if one lacks heights or is unfinished.
    """
    limit = None if given.max_age is None else parse_age(given.max_age, "max-age")
    form = form_of(given, "quiet", "json")
    now = time.time()
    groups, unread = _read(given.targets, now)
    found = [status for group in groups.values() for status in group.tables]
    if form == "json":
        of_balance = ("keys", "records", "unspent")
        tables = [
            {
                name: value
                for name, value in status._asdict().items()
                if status.keys is not None or name not in of_balance
            }
            for status in found
        ]
        alone = len(given.targets) == 1 and Path(given.targets[0]).is_file()  # a checkpoint is about one command
        text = msgspec.json.encode(tables[0] if alone else tables).decode() + "\n"
    else:
        texts = (
            _line(group.tables[0]) if Path(target).is_file() else _table(group) for target, group in groups.items()
        )
        text = "".join(texts)
    if not given.quiet:
        with open_sink(None) as sink:
            sink.write(text.encode())
            sink.keep()
    if unread is not None:
        raise unread
    alike = _alike(found)
    faults = [] if limit is None else [fault for status in alike if (fault := _fault(status, limit)) is not None]
    if len(faults) == 1:
        raise faults[0]
    if faults:
        kind = StaleError if all(isinstance(fault, StaleError) for fault in faults) else IncompleteError
        raise kind("; ".join(fault.message for fault in faults))


def _read(targets: Sequence[str], now: float) -> tuple[dict[str, Group], ChainqError | None]:
    """Return the statuses of the targets that can be read, and one error for all others; raise it if there are none.

    Lock files, which `*.ckpt*` names as well, are skipped unless there is nothing else.
    """
    groups: dict[str, Group] = {}
    unread: ChainqError | None = None
    for target in dict.fromkeys([target for target in targets if of_lock(Path(target)) is None] or targets):
        try:
            groups[target] = statuses(target, now)
        except ChainqError as error:
            if unread is None:
                unread = error
            else:
                unread.add_note(str(error))
    if unread is not None and not groups:
        raise unread
    return groups, unread


def statuses(target: str, now: float) -> Group:
    """Return the status of a checkpoint, or those of the tables of a data set. Raises UsageError if there is none."""
    if (path := Path(target)).is_file():
        if checkpoint := of_lock(path):
            raise UsageError(f"{printable(target)} is the lock file of the checkpoint {printable(str(checkpoint))}")
        if path.stat().st_size and not is_checkpoint(path):
            raise UsageError(f"{printable(target)} is not a checkpoint")
        return Group([_of_checkpoint(target, now)._replace(running=in_use(path))])
    if not path.exists() and in_use(path):
        raise UsageError(f"no checkpoint {printable(target)} yet: {IN_PROGRESS}, and has recorded nothing so far")
    from chainq.lake.store import open_store

    return _of_data_set(open_store(target), now)


def _of_checkpoint(target: str, now: float) -> Status:
    try:
        kept = msgspec.json.decode(Path(target).read_bytes(), type=Kept)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        known = recorded(Path(target))
        last, command = known.positions[-1], printable(str(known.query.get("command", "")))
        size = last.length if known.output else None
        return _of_runs(target, command, last.next, known.state, now)._replace(
            rows=last.rows, bytes=size, start=known.positions[0].next
        )
    entries = kept.book.entries
    return _of_runs(target, "balance", kept.book.next, kept.state, now)._replace(
        keys=kept.keys, records=len(entries), unspent=sum(entry.spent is None for entry in entries)
    )


def _of_runs(target: str, command: str, next_height: int, state: State, now: float) -> Status:
    """Return what the last runs of a command say of themselves."""
    seen = state.success > 0
    tip = max(state.tip, next_height - 1)  # --follow records positions more often than the tip
    return Status(
        target=printable(target),
        command=command,
        next=next_height,
        tip=tip if seen else None,
        tip_time=state.tip_time,
        lag=tip + 1 - next_height if seen else None,
        success=state.success or None,
        age=now - state.success if seen else None,
        failure=state.failure or None,
        error=printable(state.error),
        lasting=state.lasting,
    )


def _of_data_set(store: "Store", now: float) -> Group:
    """Return the status of each table, up to its first gap; tables of full blocks come first.

    The last success is when the newest file was written. A table of `chainq.json` without a partition has no rows, so
    that monitoring sees it.
    """
    from chainq.catalog.tables import CHAIN, COMMANDS
    from chainq.lake.data_set import find, gaps

    contents = find(store)
    if contents is None:
        raise UsageError(f"no checkpoint and no data set at {store.label}")
    start = contents.data_set.start
    whole = contents.span or HeightRange(start, start)
    tip = max((entry.tip for entries in contents.tables.values() for entry in entries), default=-1)
    found = []
    for command in (one for one in dict.fromkeys([*CHAIN, *COMMANDS]) if one in contents.known):
        entries = contents.tables.get(command, [])
        heights = contents.heights(command) if entries else whole
        missing = tuple(gap.edges for gap in gaps((entry.spec for entry in entries), heights))
        end = missing[0][0] if missing else heights.end
        success = max((entry.modified for entry in entries), default=None)
        below = [entry for entry in entries if entry.spec.end <= end]
        found.append(
            Status(
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
                missing=missing,
                rows_above=sum(entry.rows for entry in entries if entry.spec.end > end),
                start=heights.start if entries else None,
            )
        )
    return Group(found)


def _table(group: Group) -> str:
    """Return a table of the tables of a data set, then gaps, which several may have in common.

    With short numbers it fits 60 character cells; on a narrower terminal each row is upright. `from` is the first
    height, `through` the last height up to the first gap, `lag` counts blocks from there to the tip, `age` is the time
    since the newest file was written.
    """
    from chainq.formats.drawing import ENDLESS, draw_texts

    found = group.tables
    if not any(one.bytes for one in found):
        every = found[0]._replace(command=" ".join(one.command for one in found))
        return f"{every.target}: no partition yet{f'; {_missing(every)}' if every.missing else ''}\n"
    lines = [("table", "from", "through", "lag", "rows", "size", "age")]
    for one in found:
        through = str(one.next - 1) if one.next and one.bytes else "-"
        lag, since = "-" if one.lag is None else f"{one.lag:,}", "-" if one.age is None else age(max(0, int(one.age)))
        start = str(one.start) if one.next and one.bytes else "-"
        lines.append((one.command, start, through, lag, f"{one.rows:,}", in_bytes(one.bytes or 0), since))
    columns = [(cells, number > 0) for number, cells in enumerate(zip(*lines, strict=True))]
    rows = draw_texts(columns, terminal_width() if on_terminal(None) else ENDLESS)
    notes: list[str] = []
    for one in _alike(found):
        above = f"{counted(one.rows_above, 'more row')} above the first gap, " if one.rows_above else ""
        notes += [f"{_names(one)}: {above}{_missing(one)}"] if one.missing else []
    return "".join(f"{line}\n" for line in (f"{found[0].target}, tip {found[0].tip}", *rows, *notes))


def _alike(found: Sequence[Status]) -> list[Status]:
    """Return tables with the same gaps as one status, since one export writes them; others as they are."""
    groups: dict[tuple[object, ...], list[Status]] = {}
    for one in found:
        key = (one.target, one.missing) if one.missing else (one.target, one.command)
        groups.setdefault(key, []).append(one)
    return [
        some[0]._replace(
            command=" ".join(one.command for one in some), rows_above=sum(one.rows_above or 0 for one in some)
        )
        for some in groups.values()
    ]


def _names(status: Status) -> str:
    from chainq.lake.data_set import export_words

    return ", ".join(export_words(status.command.split()))


def _failure(found: Sequence[Status]) -> list[str]:
    """Return the last error of a checkpoint, or of a data set, whose tables share it; nothing after a later success."""
    failure = found[0].failure
    if failure is not None and failure >= max(one.success or 0 for one in found):
        error = found[0].error
        return [f"{error}, {utc(failure)}" if error.startswith(STOPPED) else f"last error, {utc(failure)}: {error}"]
    return []


def _line(status: Status) -> str:
    """Return a line that says all of a checkpoint, and one for an error."""
    reached = f"up to block {status.next - 1}" if status.next else "without blocks yet"
    if status.start == status.next and status.age is None:  # else the output may be a new one, after others
        reached = f"from block {status.next}, nothing yet"
    parts = [f"{status.target}: {status.command} {reached}"]
    if status.lag is not None:
        parts.append(f"{counted(status.lag, 'block')} below tip {status.tip} at the last success")
    if status.age is not None:
        parts.append(f"{duration(max(0.0, status.age))} ago")
    elif not status.running or status.failure:  # else the first run is in progress
        parts.append("no run went well yet")
    if status.running:
        parts.append(IN_PROGRESS)
    if status.rows is not None:
        parts.append(counted(status.rows, "row"))
    if status.bytes is not None:
        parts.append(in_bytes(status.bytes))
    if status.keys is not None:
        parts += [counted(status.keys, "view key"), counted(status.records or 0, "record")]
        parts.append(f"{status.unspent:,} unspent")
    return "".join(f"{line}\n" for line in [", ".join(parts), *_failure([status])])


def _missing(status: Status) -> str:
    """Return which heights are missing, and what writes them."""
    from chainq.lake.data_set import export_command, listed

    gaps = [HeightRange(*edges) for edges in status.missing]
    writes = export_command(status.command.split(), HeightRange(gaps[0].start, gaps[-1].end), status.target)
    return f"missing {listed(gaps, SHOWN)} ({writes} writes them)"


def _fault(status: Status, limit: float) -> IncompleteError | None:
    """Return why a status is not one of success within `limit` seconds, None if it is."""
    name = f"{status.target}: {_names(status)}"
    wanted = f"--max-age {format_age(limit)}"
    if status.age is None:
        hint = f"{_names(status)}: {_missing(status)}" if status.missing else ""
        kind = IncompleteError if status.missing else StaleError
        running = status.running and not status.failure
        why = "its first run is in progress" if running else "no run went well yet"
        return kind(f"{name}: {why}, so its age is above {wanted}", hint)
    if status.age < -tuning.AHEAD:
        return StaleError(f"{name}: the last success is {duration(-status.age)} in the future")
    if status.age > limit:
        age = duration(status.age)
        return StaleError(f"{name}: the last success was {age} ago, longer than {wanted}")
    if status.lasting:
        return StaleError(f"{name}: the last run failed for good: {status.error}")
    if status.missing:
        return IncompleteError(f"{name}: {_missing(status)}")
    return None
