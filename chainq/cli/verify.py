"""`chainq verify`: a service, an export or a file is compared with full blocks or a second source (`chainq.verify`)."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, NamedTuple

from chainq.catalog import identifiers
from chainq.cli import connect, output
from chainq.cli.query import is_range, read_bounds
from chainq.cli.report import Reporter
from chainq.cli.tool_options import VerifyCommand
from chainq.config.server import completed, is_profile
from chainq.errors import IncompleteError, Shortfall, UsageError, needed
from chainq.fetching.reading import reason
from chainq.fetching.service import IN_PROCESS, Service
from chainq.heights.range import HeightRange
from chainq.lake.store import is_same_service
from chainq.process.pool import cores
from chainq.sinks.open import open_sink
from chainq.text.humanize import counted
from chainq.text.sanitize import mask_url, quoted
from chainq.transport.base import ServiceOptions
from chainq.verify.findings import FINDINGS

if TYPE_CHECKING:
    from chainq.verify.check import Check
    from chainq.verify.findings import Window
    from chainq.verify.hashed import Hashes
    from chainq.verify.run import Second

REPAIR = "if the export is at fault, remove the files that --columns file lists, if any, and export again"
REWRITE = "if the file is at fault, run the command that wrote it again"
LISTS = 64  # lists of transactions of a service that are compared without --sample or --full


class Plan(NamedTuple):
    """What is verified. `compared`: with what; `opens`: what stays open, in words. `above`: heights above the tip.
    `hint`: what to do about findings."""

    heights: HeightRange
    windows: "Iterable[Window]"
    check: "Check"
    compared: str
    opens: Sequence[str]
    second: "Second | None" = None
    above: HeightRange = HeightRange(0, 0)
    hint: str = ""


def run(given: VerifyCommand) -> None:
    """Verify a service, an export or a file. Raises IncompleteError at the end where anything is wrong, and other
    ChainqErrors."""
    with needed("verify needs numpy and pyarrow", "parquet"):
        from chainq.verify.run import steps
    given.exclude("sample", "full")
    settings, reporter = output.settings(FINDINGS, given), Reporter(given)
    rows, checks, reached = Counter[str](), Counter[str](), 0
    with ExitStack() as opened:
        hashes = _hashes(given, opened)
        make = _of_service if given.range is None or is_range(given.range) else _of_files
        sink = opened.enter_context(open_sink(settings.file))
        opened.callback(reporter.end)
        reporter.draw(rows_on_terminal=settings.spec.terminal)
        plan = make(given, reporter, opened, hashes)
        reporter.begin(len(plan.heights))
        writer = settings.begin(reporter, sink, counted=False, read=lambda: plan.heights.edges)
        try:
            for step in steps(plan.windows, plan.check, reporter, plan.second, hashes):
                rows.update(step.rows)
                checks.update(finding.check for finding in step.findings)
                reached = step.heights.end or reached
                writer.write([finding.encode() for finding in step.findings])
        except UsageError:
            raise
        except BaseException as error:
            rest = f"resume with --start {reached or plan.heights.start} --end {plan.heights.end}"
            error.add_note(f"{_total(checks)} so far; {rest if make is _of_service else 'run the command again'}")
            raise
        writer.close()
    opens = filter(None, [*plan.opens, *plan.check.opens(), *(hashes.opens() if hashes else ())])
    where = f"{plan.heights}, " if len(plan.heights) else ""
    compared = plan.compared + (f" and{hashes.compared}" if hashes else "")
    reporter.note(f"compared: {where}{_counts(rows) or 'no rows'}{compared}")
    reporter.note(f"open: {'; '.join(opens) or 'nothing'}")
    if checks:
        kinds = ", ".join(f"{number:,} {check}" for check, number in checks.most_common())
        raise IncompleteError(f"{_total(checks)} ({kinds})", plan.hint)
    reporter.note(_total(checks))
    if len(plan.above):
        raise IncompleteError(f"not verified: {plan.above}, above the tip")


def _total(checks: Counter[str]) -> str:
    """Return how many findings there are, in words."""
    return counted(checks.total(), "finding") if checks else "no findings"


def _counts(rows: Counter[str]) -> str:
    """Return how many rows of each command were read, in words."""
    return ", ".join(counted(number, name.removesuffix("s"), name) for name, number in rows.items())


def _hashes(given: VerifyCommand, opened: ExitStack) -> "Hashes | None":
    """Return what `--hashes` and `--anchor` need, None without them. Raises UsageError, also without aleo-sdk."""
    given.require("anchor", "hashes")
    given.require("workers", "hashes")
    if not given.hashes:
        return None
    from chainq.hashes.chain import parse_anchor
    from chainq.verify.hashed import Hashes

    anchor = parse_anchor(given.anchor) if given.anchor is not None else None
    return opened.enter_context(Hashes(anchor, given.workers or cores()))


def _of_service(given: VerifyCommand, reporter: Reporter, opened: ExitStack, hashes: "Hashes | None") -> Plan:
    """Return what is verified of a service: each height with its full block, and with a witness. Raises ChainqError."""
    from chainq.verify.check import Check
    from chainq.verify.run import Second
    from chainq.verify.service_rows import BLOCKS, COMMANDS, ServiceRows

    names = [name.strip() for name in ",".join(given.commands or COMMANDS).split(",")]
    if wrong := {*names} - {*COMMANDS}:
        raise UsageError(f"cannot verify {quoted(min(wrong))}: expected one of {', '.join(COMMANDS)}")
    bounds, options = read_bounds(given, given.range, whole=False), connect.service_options(given)
    service = opened.enter_context(connect.open_service(options, reporter))
    service.need(*BLOCKS)
    commands = [one for one in COMMANDS if one in {*BLOCKS, *names} and (given.commands or not service.lacks(one))]
    witness = _witness(given, options, service.url, reporter)
    asked = service.height_range(bounds)
    heights = _within_tip(service, asked, reporter)
    if not len(heights):
        reporter.warn(reason(service, bounds, asked) or "there are no blocks in that range")
    whole = bool(given.full or given.commands)  # who names transactions wants all of them
    listed = None if whole else _drawn(heights, given.sample or LISTS)
    windows = ServiceRows(service, {one: [heights] for one in commands}, listed=listed).windows()
    second, compared, beyond = None, " with their full blocks", HeightRange(0, 0)
    if witness is not None:
        both = _within_tip(opened.enter_context(witness), heights, reporter, "of the witness ")
        if len(heights) > len(both) == 0:
            raise IncompleteError("the chain of the witness ends before these heights")
        second = Second(witness, {one: [both] for one in commands}, both, listed=listed)
        compared = f"{compared} and, {both}, with {mask_url(witness.url)}"
        beyond = HeightRange(both.end, heights.end)
    end = hashes.anchor.height + 1 if hashes is not None and hashes.anchor is not None else 0
    if end > heights.end:  # summaries lead to the anchor
        windows = chain(windows, ServiceRows(service, {"blocks": [HeightRange(heights.end, end)]}).windows())
    lacking = [name for name in names if name not in commands]
    opens = {
        "the values in full blocks (--witness, --hashes)": witness is None and hashes is None,
        f"the transactions of all but {len(listed or ())} random heights (--full)": listed is not None,
        f"{beyond}, above the tip of the witness": len(beyond) > 0,
        f"tables that are not in this export: {', '.join(lacking)}": bool(lacking),
    }
    above = HeightRange(heights.end, max(heights.end, asked.end, bounds.end or 0))
    check, named = Check(witness=witness is not None), [one for one, is_open in opens.items() if is_open]
    return Plan(heights, windows, check, compared, named, second, above)


def _of_files(given: VerifyCommand, reporter: Reporter, opened: ExitStack, hashes: "Hashes | None") -> Plan:
    """Return what is verified of an export, by itself or with a service, or of a file, with one. Raises ChainqError."""
    from chainq.verify.check import Check
    from chainq.verify.exports import ExportFiles
    from chainq.verify.file import RowsFile, open_rows
    from chainq.verify.run import Second

    word, bounds = given.range or "", read_bounds(given, whole=True)
    single, folder = os.path.isfile(word), os.path.isdir(word)  # noqa: PTH112, PTH113  # a Path raises for a name that is too long
    if word in IN_PROCESS or word.startswith(("http://", "https://")) or not (":" in word or single or folder):
        what = f"{quoted(mask_url(word))} is neither a range of heights nor a file or folder"
        raise UsageError(what, "name a service with --url")
    where = given.given_bounds()
    if wrong := given.stated("witness") + ([] if single else [*given.stated("commands"), *where]):
        raise UsageError(f"{' and '.join(wrong)} cannot be combined with {'a file' if single else 'an export'}")
    if where and not bounds.fixed:
        raise UsageError(f"a file takes --start and --end, two heights of at least 0, not {' and '.join(where)}")
    options = connect.service_options(given)
    compared = given.full or given.sample is not None or (single and hashes is None)
    if single and compared and not completed(options).url:
        raise UsageError("a file alone cannot show what it lacks", "compare it with a service or an export: --url URL")
    service = opened.enter_context(connect.open_service(options, reporter)) if compared else None
    files: RowsFile | ExportFiles
    if single:
        due = HeightRange(*bounds.fixed) if bounds.fixed else None
        files = open_rows(Path(word), ",".join(given.commands or ()) or None, due, opened)
    else:
        files = ExportFiles(word, options.max_memory)
    if hashes is not None:
        hashes.need(files.columns())
    opens, hint = files.opens(compared=compared), REWRITE if single else REPAIR
    if service is None:
        return Plan(files.heights, files.windows(), Check(), " with each other", opens, hint=hint)
    both = _within_tip(service, files.heights, reporter)
    drawn = None if given.sample is None else _drawn(both, given.sample)
    second = Second(service, files.spans(), both, drawn, listed=drawn, derived=files.derived())
    above = HeightRange(both.end, files.heights.end)
    whose = "" if drawn is None else f" at {counted(len(drawn), 'random height')}"
    opens += [f"all but these {len(drawn)} heights (--full)"] if drawn is not None else []
    opens += [f"{above}, above the tip"] if len(above) else []
    return Plan(files.heights, files.windows(), Check(), f" with the service{whose}", opens, second, hint=hint)


def _drawn(heights: HeightRange, number: int) -> frozenset[int] | None:
    """Return so many random heights, None for all."""
    return frozenset(SystemRandom().sample(range(*heights.edges), number)) if number < len(heights) else None


def _within_tip(service: Service, heights: HeightRange, reporter: Reporter, whose: str = "") -> HeightRange:
    """Return heights up to the tip of a service at most; a warning says so."""
    start, end = heights.edges
    if end <= start or (tip := service.blocks.tip_for(end)) >= end - 1:
        return heights
    reporter.warn(Shortfall(f"the tip {whose}is {tip}: later heights are not compared"))
    return HeightRange(start, max(start, tip + 1))


def _witness(given: VerifyCommand, options: ServiceOptions, own: str, reporter: Reporter) -> Service | None:
    """Return the service that `--witness` names by its URL or a profile. The dialect, the headers and the certificate
    of the first one, at `own`, are not its own. Raises UsageError if it is the first one."""
    named = given.witness
    if named is None:
        return None
    profile = named if is_profile(named) else None
    url = "" if profile else identifiers.url(named)
    service = connect.open_service(
        options._replace(url=url, profile=profile, dialect=None, headers={}, cert=None), reporter
    )
    if is_same_service(service.url, own):
        raise UsageError("--witness names the server to verify, which agrees with itself", "name another server")
    return service
