"""`chainq verify`: runs the pass, prints the findings by any format, and ends with a verdict.

What is compared is in `chainq.verify`.
"""

import gc
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, Any

from chainq.cli import connect, output
from chainq.cli.query import read_bounds
from chainq.cli.report import Reporter
from chainq.errors import IncompleteError, UsageError
from chainq.fetching.service import Service
from chainq.formats.protocol import Writer
from chainq.heights.range import HeightRange
from chainq.process.signals import signals_deferred
from chainq.sinks.open import open_sink
from chainq.text.humanize import counted
from chainq.text.sanitize import mask_url, quoted
from chainq.verify.audit import BLOCKS, COMMANDS, Step, audit
from chainq.verify.findings import FINDINGS, FilesStep, by_height
from chainq.verify.repair import Repair

if TYPE_CHECKING:
    from chainq.verify.file import RowsCheck
    from chainq.verify.lake import Lake

_RANGE = re.compile(r"[0-9_.:KkMm\u2212-]+|latest")
"""What a range can look like; anything else is a data set or a file, and so is ./5."""


def run(values: Mapping[str, Any]) -> None:
    """Verify a service, a data set or a file; `values` are those of the command line.

    Raises IncompleteError at the end where anything is wrong, and other ChainqErrors.
    """
    if values["range"] is not None and not _RANGE.fullmatch(values["range"]):
        _verify_files(values)
        return
    if values["sample"] is not None or values["full"]:
        raise UsageError("--sample and --full compare a data set or a file with the service", "name one")
    commands, bounds = _commands(values["commands"]), read_bounds(values, whole=False)
    settings = output.settings(FINDINGS, values, check=True, appended=False, endless=False)
    reporter = connect.reporter(values)
    with ExitStack() as opened:
        service = opened.enter_context(connect.open_service(connect.settings(values), reporter))
        witness = _witness(values, reporter)
        if witness is not None:
            opened.enter_context(witness)
        start, end = service.height_range(bounds).edges
        if end > start and (tip := service.tip_for(end)) < end - 1:
            reporter.warn(f"--end {end} is not reached: the tip is {tip}")
            end = max(start, tip + 1)
        if witness is not None and end > start and (tip := witness.tip_for(end)) < end - 1:
            reporter.warn(f"the chain of the witness ends at height {tip}: later heights are not compared with it")
        verdict = _Verdict(HeightRange(start, end))
        with open_sink(settings.file, pager=not settings.can.binary) as sink:
            writer = settings.make(sink, settings.spec._replace(warn=reporter.warn))
            reporter.begin(end - start, rows_on_terminal=settings.spec.terminal)
            try:
                steps = audit(service, verdict.heights, commands, _repair(service, values), witness=witness)
                _write(steps, writer, verdict, reporter)
            except BaseException as error:
                error.add_note(f"resume with --start {verdict.reached} --end {end}")
                raise
            finally:
                reporter.end()
            with signals_deferred():
                writer.close()
    _end(verdict, reporter)


def _verify_files(values: Mapping[str, Any]) -> None:
    """Verify a data set that `chainq export` wrote, or a file of `-o`. Raises as `run` does."""
    settings = output.settings(FINDINGS, values, check=True, appended=False, endless=False)
    reporter = connect.reporter(values)
    files = _files(values, reporter)
    verdict = _Verdict(files.heights)
    with open_sink(settings.file, pager=not settings.can.binary) as sink:
        writer = settings.make(sink, settings.spec._replace(warn=reporter.warn))
        reporter.begin(len(files.heights), rows_on_terminal=settings.spec.terminal)
        try:
            _write(files.steps(), writer, verdict, reporter)
            verdict.heights = files.heights
            if values["sample"] is not None or values["full"]:
                with connect.open_service(connect.settings(values), reporter) as service:
                    _write(_against(files, service, values["sample"], verdict, reporter), writer, verdict, reporter)
        finally:
            reporter.end()
        with signals_deferred():
            writer.close()
    _end(verdict, reporter)


def _files(values: Mapping[str, Any], reporter: Reporter) -> "Lake | RowsCheck":
    """Return the files to verify. Raises UsageError."""
    from chainq.verify.file import RowsCheck
    from chainq.verify.lake import Lake, check_packages

    check_packages()
    path = Path(values["range"])
    if not path.exists() and ":" not in values["range"]:
        raise UsageError(f"{quoted(values['range'])} is neither a range of heights nor a file or folder")
    lake = not path.is_file()
    for name in ("last", "since", "until", "witness", *(("start", "end", "commands") if lake else ())):
        if values[name] is not None:
            what = "a data set, which is verified as a whole" if lake else "a file"
            raise UsageError(f"--{name} cannot be combined with {what}")
    if lake:
        from chainq.lake.store import open_store

        return Lake(open_store(values["range"]))
    bounds = read_bounds({**values, "range": None}, whole=True)
    if (bounds.start, bounds.end) != (None, None) and not bounds.fixed:
        raise UsageError("for a file, --start and --end are two heights of at least 0")
    heights = HeightRange(bounds.start, bounds.end) if bounds.start is not None and bounds.end is not None else None
    if values["commands"] is not None and values["commands"] not in COMMANDS:
        raise UsageError(f"cannot verify {values['commands']!r}", f"expected one of {', '.join(COMMANDS)}")
    check = RowsCheck(path, Repair(), values["commands"], heights)
    if not check.method.linked:
        reporter.warn(f"{path} has no receipt: rows that are missing leave no trace in it")
    return check


def _against(
    files: "Lake | RowsCheck", service: Service, sample: int | None, verdict: "_Verdict", reporter: Reporter
) -> Iterator[FilesStep]:
    """Yield where files differ from the service, at some heights or at all. The verdict will say what that proves."""
    from chainq.verify.against import compare, odds

    start, end = files.heights.edges
    if (tip := service.tip_for(end)) < end - 1:
        reporter.warn(f"the tip is {tip}: later heights are not compared")
        end = max(start, tip + 1)
    every = range(start, end)
    drawn = None if sample is None or sample >= len(every) else sorted(SystemRandom().sample(every, sample))
    chosen = every if drawn is None else frozenset(drawn)
    for part in files.parts():
        inside = range(max(start, part.heights.start), min(end, part.heights.end))
        heights = HeightRange(inside.start, max(inside.start, inside.stop))
        places = [heights] if drawn is None else [HeightRange(at, at + 1) for at in drawn if at in inside]
        if len(heights) and places:
            yield FilesStep(heights, sorted(compare(part, service, chosen, places), key=by_height), {})
    if drawn is None:
        verdict.compared = f"; all {len(every):,} heights compared with the service"
        return
    lost = [number for number in (1, 10, 100, 1000) if number <= len(every)]
    seen = ", ".join(f"at {counted(number, 'height')} {odds(len(drawn), len(every), number):.1%}" for number in lost)
    verdict.compared = (
        f"; {len(drawn):,} of {len(every):,} heights compared with the service, odds that rows missing {seen} would"
        " have been seen"
    )


def _end(verdict: "_Verdict", reporter: Reporter) -> None:
    """Raise IncompleteError where anything is wrong; else say that nothing is."""
    if verdict.findings:
        raise IncompleteError(str(verdict))
    if not reporter.quiet:
        reporter.line(f"chainq: {verdict}")


class _Verdict:
    """What a run has verified so far, in one sentence."""

    def __init__(self, heights: HeightRange) -> None:
        self.heights, self.reached = heights, heights.start
        self.findings: Counter[str] = Counter()
        self.rows: Counter[str] = Counter()
        self.compared = ""

    def __str__(self) -> str:
        if not len(self.heights) and not self.rows:
            return "no blocks in that range"
        rows = ", ".join(f"{number:,} {command}" for command, number in self.rows.items())
        found = ", ".join(f"{number} {check}" for check, number in self.findings.items())
        total = counted(sum(self.findings.values()), "finding") if found else "no findings"
        where = f"{self.heights}: " if len(self.heights) else ""
        return f"{where}{total}{f' ({found})' if found else ''} in {rows}{self.compared}"


def _write(steps: Iterator[Step] | Iterator[FilesStep], writer: Writer, verdict: _Verdict, reporter: Reporter) -> None:
    """Write the findings as they come, and count them in the verdict."""
    gc.enable()
    for step in steps:
        with signals_deferred():
            if step.findings:
                writer.write([finding.encode() for finding in step.findings])
            verdict.findings.update(finding.check for finding in step.findings)
            verdict.rows.update(step.rows)
            verdict.reached = step.heights.end
        reporter.wrote(len(step.heights), sum(step.rows.values()))


def _witness(values: Mapping[str, Any], reporter: Reporter) -> Service | None:
    """Return the service that `--witness` names. Headers and the dialect of the first one are not its own."""
    if values["witness"] is None:
        return None
    settings = connect.settings(values)._replace(url=values["witness"], profile=None, dialect=None, header=None)
    return connect.open_service(settings, reporter)


def _commands(given: str | None) -> tuple[str, ...]:
    """Return the commands to verify. Raises UsageError."""
    if given is None:
        return COMMANDS
    names = tuple(name.strip() for name in given.split(","))
    for name in names:
        if name not in COMMANDS:
            raise UsageError(f"cannot verify {name!r}", f"expected one of {', '.join(COMMANDS)}")
    return (*BLOCKS, *names)


def _repair(service: Service, values: Mapping[str, Any]) -> Repair:
    """Return what makes the commands that fetch rows anew: by the URL, unless a profile or the environment has it."""
    url = service.url
    return Repair(url if url == mask_url(url) and not values["profile"] else "")
