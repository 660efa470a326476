"""`chainq verify`: a service, an export or a file is compared with full blocks or a second source (`chainq.verify`)."""

import os
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, NamedTuple

from chainq.catalog import identifiers
from chainq.cli import connect, output
from chainq.cli.query import hash_workers, is_range, read_bounds
from chainq.cli.report import Reporter
from chainq.cli.tool_options import VerifyCommand
from chainq.config.server import completed, is_profile
from chainq.errors import IncompleteError, Shortfall, UsageError, needed
from chainq.fetching.reading import reason
from chainq.fetching.service import Service
from chainq.heights.bounds import Bounds
from chainq.heights.range import HeightRange
from chainq.lake.store import is_same_service
from chainq.sinks.open import open_sink
from chainq.text.humanize import counted
from chainq.text.sanitize import mask_url, quoted
from chainq.verify.findings import FINDINGS

if TYPE_CHECKING:
    from chainq.verify.findings import Window
    from chainq.verify.hashed import HashCheck
    from chainq.verify.service_rows import ServiceRows

REPAIR = "if the export is at fault, remove the files that --columns file lists, if any, and export again"
REWRITE = "if the file is at fault, run the command that wrote it again"
LISTS = 64  # lists of transactions of a service that are compared without --sample or --full


class Plan(NamedTuple):
    """What is verified. `compared`: with what; `opens`: what stays open, in words. `end`: of the heights that were
    requested. `hint`: what to do about findings."""

    heights: HeightRange
    windows: "Iterable[Window]"
    compared: str
    opens: list[str]
    second: "ServiceRows | None" = None
    end: int = 0
    hint: str = ""


def run(given: VerifyCommand) -> None:
    """Verify a service, an export or a file. Raises IncompleteError at the end where anything is wrong, and other
    ChainqErrors."""
    with needed("verify needs numpy and pyarrow", "parquet"):
        from chainq.verify.check import Check
    given.exclude("sample", "full")
    settings, reporter = output.settings(FINDINGS, given), Reporter(given)
    rows, checks, reached = Counter[str](), Counter[str](), 0
    of_service = given.range is None or is_range(given.range)
    with ExitStack() as opened:
        hashes = _hashes(given, opened)
        sink = opened.enter_context(open_sink(settings.file))
        opened.callback(reporter.end)
        reporter.draw(rows_on_terminal=settings.spec.terminal)
        plan = (_of_service if of_service else _of_files)(given, reporter, opened, hashes)
        check = Check(plan.second, hashes, witness=of_service)
        reporter.begin(len(plan.heights))
        writer = settings.begin(reporter, sink, counted=False, read=lambda: plan.heights.edges)
        try:
            for heights, found, read in check.steps(plan.windows, reporter):
                rows.update(read)
                checks.update(finding.check for finding in found)
                reached = heights.end or reached
                writer.write([finding.encode() for finding in found])
        except UsageError:
            raise
        except BaseException as error:
            rest = f"resume with --start {reached or plan.heights.start} --end {plan.heights.end}"
            error.add_note(f"{_total(checks)} so far; {rest if of_service else 'run the command again'}")
            raise
        writer.close()
    read_rows = ", ".join(counted(number, name.removesuffix("s"), name) for name, number in rows.items())
    where = f"{plan.heights}, " if len(plan.heights) else ""
    reporter.note(f"compared: {where}{read_rows or 'no rows'} {plan.compared}{hashes.compared if hashes else ''}")
    reporter.note(f"open: {'; '.join([*plan.opens, *check.opens()]) or 'nothing'}")
    if checks:
        kinds = ", ".join(f"{number:,} {check}" for check, number in checks.most_common())
        raise IncompleteError(f"{_total(checks)} ({kinds})", plan.hint)
    reporter.note(_total(checks))
    if plan.end > plan.heights.end:
        raise IncompleteError(f"not verified: {HeightRange(plan.heights.end, plan.end)}, above the tip")


def _total(checks: Counter[str]) -> str:
    """Return how many findings there are, in words."""
    return counted(checks.total(), "finding") if checks else "no findings"


def _hashes(given: VerifyCommand, opened: ExitStack) -> "HashCheck | None":
    """Return what `--hashes` and `--anchor` need, None without them. Raises UsageError, also without aleo-sdk."""
    given.require("anchor", "hashes")
    if not (workers := hash_workers(given)):
        return None
    from chainq.verify.hashed import HashCheck, parse_anchor

    anchor = None if given.anchor is None else parse_anchor(given.anchor)
    return opened.enter_context(HashCheck(anchor, workers))


def _of_service(given: VerifyCommand, reporter: Reporter, opened: ExitStack, hashes: "HashCheck | None") -> Plan:
    """Return what is verified of a service: each height with its full block, and with a witness. Raises ChainqError."""
    from chainq.verify.service_rows import BLOCKS, COMMANDS, ServiceRows

    names = [name.strip() for name in ",".join(given.commands or COMMANDS).split(",")]
    if wrong := {*names} - {*COMMANDS}:
        raise UsageError(f"cannot verify {quoted(min(wrong))}: expected one of {', '.join(COMMANDS)}")
    bounds = read_bounds(given, given.range, whole=False)
    service = opened.enter_context(connect.open_service(connect.service_options(given), reporter))
    service.need(*BLOCKS)
    has = service.export.has if service.export else COMMANDS.__contains__  # a served one only says so in errors
    commands = [one for one in COMMANDS if one in {*BLOCKS, *names} and (given.commands or has(one))]
    witness = _witness(given, service.url, reporter, opened)
    heights = service.height_range(bounds, to_tip=True)
    if not len(heights):
        reporter.warn(Shortfall(reason(service, bounds, heights) or "there are no blocks in that range"))
    # Who names transactions wants all of them.
    listed = None if given.full or given.commands else _drawn(heights, given.sample or LISTS)
    spans, opens, second = {one: [heights] for one in commands}, list[str](), None
    windows, compared = ServiceRows(service, heights, spans, listed=listed).windows(), "with their full blocks"
    if witness is not None:
        both = _within_tip(witness, heights, reporter, opens)
        if len(heights) > len(both) == 0:
            raise IncompleteError("the chain of the witness ends before these heights")
        second = ServiceRows(witness, both, spans, listed=listed)
        compared += f" and, {both}, with {mask_url(witness.url)}"
    elif hashes is None:
        opens.append("the values in full blocks (--witness, --hashes)")
    if listed is not None:
        opens.append(f"the transactions of all but {len(listed)} random heights (--full)")
    if lacking := [name for name in names if name not in commands]:
        opens.append(f"tables that are not in this export: {', '.join(lacking)}")
    rest = HeightRange(heights.end, hashes.anchor.height + 1 if hashes is not None and hashes.anchor else 0)
    if rest.end > rest.start:  # summaries lead to the anchor
        windows = chain(windows, ServiceRows(service, rest, {"blocks": [rest]}).windows())
    return Plan(heights, windows, compared, opens, second, bounds.end or 0)


def _of_files(given: VerifyCommand, reporter: Reporter, opened: ExitStack, hashes: "HashCheck | None") -> Plan:
    """Return what is verified of an export, by itself or with a service, or of a file, with one. Raises ChainqError."""
    from chainq.verify.exports import ExportFiles
    from chainq.verify.files import RowsFile, open_rows
    from chainq.verify.service_rows import ServiceRows

    word, bounds, where = given.range or "", read_bounds(given, whole=True), given.given_bounds()
    single = os.path.isfile(word)  # noqa: PTH113  # a Path raises for a name that is too long
    if wrong := given.stated("witness") + ([] if single else [*given.stated("commands"), *where]):
        raise UsageError(f"{' and '.join(wrong)} cannot be combined with {'a file' if single else 'an export'}")
    if where and not bounds.fixed:
        raise UsageError(f"a file takes --start and --end, two heights of at least 0, not {' and '.join(where)}")
    compared, options = given.full or given.sample is not None, connect.service_options(given)
    files: RowsFile | ExportFiles
    if single:
        compared |= hashes is None
        if compared and not completed(options).url:
            what = "a file alone cannot show what it lacks"
            raise UsageError(what, "compare it with a service or an export: --url URL")
        due = HeightRange(*bounds.fixed) if bounds.fixed else None
        files = open_rows(Path(word), ",".join(given.commands or ()) or None, due, opened)
    else:
        files = ExportFiles(word, options.max_memory)
    opens, hint = files.opens(compared=compared), REWRITE if single else REPAIR
    if not compared:
        return Plan(files.heights, files.windows(), "with each other", opens, hint=hint)
    service = opened.enter_context(connect.open_service(options, reporter))
    both = _within_tip(service, files.heights, reporter, opens)
    drawn = None if given.sample is None else _drawn(both, given.sample)
    if drawn is not None:
        opens.append(f"all but these {len(drawn)} heights (--full)")
    second = ServiceRows(service, both, files.spans(), sample=drawn, listed=drawn, derived=files.derived)
    whose = "" if drawn is None else f" at {counted(len(drawn), 'random height')}"
    return Plan(files.heights, files.windows(), f"with the service{whose}", opens, second, hint=hint)


def _drawn(heights: HeightRange, number: int) -> frozenset[int] | None:
    """Return so many random heights, None for all."""
    return frozenset(SystemRandom().sample(range(*heights.edges), number)) if number < len(heights) else None


def _within_tip(service: Service, heights: HeightRange, reporter: Reporter, opens: list[str]) -> HeightRange:
    """Return heights up to the tip of a service at most; a warning, and `opens`, name the others."""
    both = service.height_range(Bounds(start=heights.start, end=heights.end), to_tip=True)
    if len(above := HeightRange(both.end, heights.end)):
        opens.append(f"{above}, above the tip of {mask_url(service.url)}")
        reporter.warn(Shortfall(f"not compared: {opens[-1]}"))
    return both


def _witness(given: VerifyCommand, own: str, reporter: Reporter, opened: ExitStack) -> Service | None:
    """Return the service that `--witness` names by its URL or a profile, None without it. The dialect, the headers and
    the certificate of the first one, at `own`, are not its own. Raises UsageError if it is the first one."""
    if (named := given.witness) is None:
        return None
    place = {"url": "", "profile": named} if is_profile(named) else {"url": identifiers.url(named), "profile": None}
    options = connect.service_options(given)._replace(dialect=None, headers={}, cert=None, **place)
    service = opened.enter_context(connect.open_service(options, reporter))
    if is_same_service(service.url, own):
        raise UsageError("--witness names the server to verify, which agrees with itself", "name another server")
    return service
