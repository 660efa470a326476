"""`chainq verify DEST|FILE`: a data set of `chainq export`, or a file of `-o`, by itself and against a service."""

import os
import shlex
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext, suppress
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING

from chainq.cli import connect, output, verify
from chainq.cli.query import read_bounds
from chainq.cli.report import Reporter
from chainq.cli.tool_options import VerifyCommand
from chainq.cli.verdict import LISTED, Verdict, begun, conclude, write_findings
from chainq.config import values as config_values
from chainq.config.server import completed
from chainq.errors import Shortfall, UsageError
from chainq.fetching.service import Service
from chainq.heights.range import HeightRange
from chainq.process.signals import signals_deferred
from chainq.sinks.open import open_sink
from chainq.text.sanitize import mask_url, quoted
from chainq.verify.findings import FINDINGS, ORDER, RECOMPUTED, Repair, Step, by_height
from chainq.verify.once import Once

if TYPE_CHECKING:
    from chainq.transport.base import ServiceOptions
    from chainq.verify.data_set import DataSetCheck
    from chainq.verify.file import RowsCheck

    Files = DataSetCheck | RowsCheck


NAMED = 10  # columns that a file lacks, in the verdict
_UNBOUNDED = "lost first or last heights show only with --start and --end"


def run(given: VerifyCommand) -> None:
    """Verify a data set that `chainq export` wrote, or a file of `-o`. Raises as `verify.run` does."""
    settings = output.settings(FINDINGS, given)
    reporter = connect.reporter(given)
    settings.warn_odd(reporter.warn)
    hashes = verify.block_hashes(given)
    options = connect.service_options(given)
    single = os.path.isfile(given.range or "")  # noqa: PTH113  # a Path raises for a name that is too long
    given.full = given.full or (single and hashes is None and _to_compare(given, options))
    compared = given.sample is not None or given.full
    with ExitStack() as opened:
        opened.enter_context(hashes or nullcontext())
        # Before anything is read: a missing URL would be noticed at the end.
        service = opened.enter_context(connect.open_service(options, reporter)) if compared else None
        files = _files(given, reporter)
        verdict = Verdict(files.heights, "no partitions")
        sink = opened.enter_context(open_sink(settings.file))
        reporter.draw(rows_on_terminal=settings.spec.terminal)
        offline = single and not compared
        writer = begun(settings.begin(reporter, sink, counted=False, read=verdict.read), settings, offline=offline)
        try:
            once = Once()
            write_findings(once.of_files(files.steps()) if compared else files.steps(), writer, verdict)
            if not (verdict.rows.total() or verdict.findings or files.counted):
                reporter.warn(f"{given.range} has no rows")
            verdict.heights = files.heights if compared else files.reached
            intact = single and files.counted and not files.differs
            if (unseen := _unseen(files, verdict)) and (intact or not (compared or hashes)):
                verdict.compared = f"; {unseen}"
            if compared and verdict.findings and verdict.rows.total() and not len(files.heights):
                reporter.warn("nothing was compared with the service: the heights of the rows are not known")
            elif service is not None:
                steps = _against(files, service, given.sample, verdict, reporter)
                write_findings(once.of_service(steps), writer, verdict)
            verdict.compared += files.unordered
            if not files.range_known:
                verdict.compared += f"; {_UNBOUNDED}"
            if hashes is None:
                verdict.compared += files.compared(_url(given)) + files.hashed
            else:
                steps = hashes.of_files(files.parts(), reporter, damaged=bool(verdict.findings))
                write_findings(steps, writer, verdict)
                verdict.add_hashes(hashes, "the file" if single else "the export")
                verdict.repairable = not verdict.findings.keys() <= RECOMPUTED
        finally:
            reporter.end()
        with signals_deferred():
            writer.close()
    if verdict.unlike:
        reporter.warn("the service has none of these rows as they are; the rows may be of another network")
    mended = verdict.repairable and not verdict.unlike
    repair = files.hint or _repair(given, settings, verdict) if mended else ""
    conclude(verdict, reporter, repair)


def _to_compare(given: VerifyCommand, options: "ServiceOptions") -> bool:
    """Return whether a file is compared with all rows of the service, and not with some of them.

    Raises UsageError if there is nothing to compare it with.
    """
    if given.sample is not None:
        return False
    if not completed(options).url:
        with_service = "compare it with a service or an export: --url URL"
        raise UsageError("a file alone cannot show what it lacks", with_service)
    return True


def _unseen(files: "Files", verdict: Verdict) -> str:
    """Return what the file does not show by itself; empty if its order is wrong, because --full shows no more."""
    return "" if files.differs and verdict.findings[ORDER] else files.unseen


def _repair(given: VerifyCommand, settings: output.OutputSettings, verdict: Verdict) -> str:
    """Return what repairs a data set or a file, by the findings that are written."""
    name = given.range or ""
    if Path(name).is_file():
        return LISTED if settings.format == "table" else ""
    if not verdict.exported:  # no export writes there
        return "run the commands in repair, which remove these files (--jsonl shows them)"
    return "run the commands in repair, which write these partitions again (--jsonl shows them)"


def _url(given: VerifyCommand) -> str:
    """Return the option that names the service to another command; empty if settings do."""
    if given.url:
        return f" --url {shlex.quote(mask_url(given.url))}"
    with suppress(UsageError):
        return "" if completed(connect.service_options(given)).url else " --url URL"
    return ""


def _files(given: VerifyCommand, reporter: Reporter) -> "Files":
    """Return the files to verify. Raises UsageError."""
    from chainq.verify.data_set import DataSetCheck, check_packages
    from chainq.verify.file import RowsCheck

    check_packages()
    name, path = given.range or "", Path(given.range or "")
    if name.startswith(("http://", "https://")):
        raise UsageError(f"{quoted(mask_url(name))} is neither a range of heights nor a file or folder")
    if ":" not in name and not os.path.exists(path):  # noqa: PTH110  # a Path raises for a name that is too long
        raise UsageError(f"{quoted(name)} is neither a range of heights nor a file or folder")
    lake = not os.path.isfile(path)  # noqa: PTH113  # as above
    if lake and ":" not in name and not path.is_dir():
        raise UsageError(f"{quoted(name)} is a device or a pipe: expected a file of rows or the folder of an export")
    others = [name for name in ("witness", "checkpoint", "commands", "workers") if getattr(given, name) is not None]
    allowed = ("--workers",) if lake else ("--start", "--end", "--commands", *["--workers"] * given.hashes)
    for option in (*given.given_bounds(), *(f"--{name}" for name in others)):
        if option not in allowed:
            raise UsageError(f"{option} cannot be combined with {'an export' if lake else 'a file'}")
    if lake:
        memory = config_values.memory(given.max_memory)
        # Hashes compare more than what is inside of full blocks.
        found = DataSetCheck(name, given.workers, reporter, inside=not given.hashes, memory=memory)
        for warning in found.warnings():
            reporter.warn(warning)
        return found
    bounds = read_bounds(given, whole=True)
    if (bounds.start, bounds.end) != (None, None) and (bounds.start is None or not bounds.fixed):
        raise UsageError("for a file, --start and --end are two heights of at least 0")
    heights = HeightRange(*bounds.fixed) if bounds.fixed else None
    command = ",".join(given.commands) if given.commands else None
    if command is not None:
        verify.check_command(command)
    repair = Repair(given.url if given.url and mask_url(given.url) == given.url else "")
    return RowsCheck(path, repair, command, heights, progress=reporter)


def _against(
    files: "Files", service: Service, sample: int | None, verdict: Verdict, reporter: Reporter
) -> Iterator[Step]:
    """Yield where files differ from the service, at some heights or at all. The verdict will say what that proves."""
    from chainq.verify.against import compare

    start, end = files.heights.edges
    if (tip := service.blocks.tip_for(end)) < end - 1:
        reporter.warn(Shortfall(f"the tip is {tip}: later heights are not compared"))
        end = max(start, tip + 1)
    every = range(start, end)
    drawn = None if sample is None or sample >= len(every) else sorted(SystemRandom().sample(every, sample))
    chosen = every if drawn is None else frozenset(drawn)

    def places(heights: HeightRange) -> list[HeightRange]:
        inside = range(max(start, heights.start), min(end, heights.end))
        if drawn is None:
            return [HeightRange(inside.start, inside.stop)] if inside else []
        return [HeightRange(at, at + 1) for at in drawn if at in inside]

    spans = files.spans()
    unit = "heights" if len(spans) == 1 else "heights of tables"
    reporter.begin(sum(len(place) for span in spans for place in places(span)), unit)
    uncompared: dict[str, None] = {}
    absent: dict[str, None] = {}
    same, differing = 0, False
    for part in files.parts():
        uncompared |= dict.fromkeys(part.uncompared)
        if there := places(part.heights):
            heights = HeightRange(max(start, part.heights.start), min(end, part.heights.end))
            found, lacking, equal = compare(part, service, chosen, there, reporter)
            same, differing = same + equal, differing or any(one.check in ("unexpected", "altered") for one in found)
            yield Step(heights, sorted(found, key=by_height), {})
            absent |= dict.fromkeys(lacking)
    if not spans:
        return
    without = f", except {', '.join(uncompared)}" if uncompared else ""
    if absent:
        more = f" and {len(absent) - NAMED} more" if len(absent) > NAMED else ""
        without += f"; not compared, because the file lacks them: {', '.join([*absent][:NAMED])}{more}"
    verdict.unlike = differing and not same and len(every if drawn is None else drawn) > 1
    if drawn is None:
        verdict.compared += f"; all {len(every):,} heights compared with the service{without}"
        return
    verdict.compared += f"; {len(drawn):,} of {len(every):,} heights compared with the service{without}"
