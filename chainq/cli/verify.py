"""`chainq verify`: runs the pass, prints the findings by any format, and ends with a verdict.

What is compared is in `chainq.verify`.
"""

import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from itertools import chain
from random import SystemRandom
from typing import TYPE_CHECKING

from chainq.catalog import identifiers
from chainq.cli import connect, output
from chainq.cli.query import is_range, read_bounds
from chainq.cli.report import Reporter
from chainq.cli.tool_options import VerifyCommand
from chainq.cli.verdict import (
    LISTED,
    Verdict,
    begun,
    conclude,
    singles,
    witnessed,
    write_findings,
)
from chainq.config.server import is_profile
from chainq.errors import (
    ChainqError,
    IncompleteError,
    LackingError,
    OutputError,
    ReorgError,
    Shortfall,
    UsageError,
    is_lasting,
)
from chainq.fetching.service import Service
from chainq.fetching.short_range import reason, unreached
from chainq.fetching.tip import Tip
from chainq.heights.bounds import Bounds
from chainq.heights.range import HeightRange
from chainq.process.pool import cores
from chainq.process.signals import Interrupted, signals_deferred
from chainq.resume.follow import from_genesis, open_journal
from chainq.resume.journal import Journal
from chainq.resume.rounds import difference
from chainq.resume.settings import ResumeSettings
from chainq.sinks.open import open_sink
from chainq.stored.open import is_same_service
from chainq.text.humanize import counted, end_above
from chainq.text.sanitize import mask_url
from chainq.transport.base import ServiceOptions
from chainq.verify.audit import Audit
from chainq.verify.findings import FINDINGS, Repair, Step
from chainq.verify.service_rows import BLOCKS, COMMANDS

if TYPE_CHECKING:
    from chainq.verify.block_hashes import BlockHashes

UNCHECKED = "the values in full blocks were not checked ({} checks them)"
LISTS = 64  # lists of transactions of a service that are compared without --sample or --full


def run(given: VerifyCommand) -> None:
    """Verify a service, a data set or a file.

    Raises IncompleteError at the end where anything is wrong, and other ChainqErrors.
    """
    word = given.range
    if given.sample is not None and given.full:
        raise UsageError("--sample and --full exclude each other")
    if word is not None and not is_range(word):
        from chainq.cli import verify_files

        verify_files.run(given)
        return
    commands, bounds, kept = _commands(given.commands), _bounds(given), given.checkpoint is not None
    hashes = block_hashes(given)
    settings = output.settings(FINDINGS, given, appended=kept)
    reporter, options = _reporter(given), connect.service_options(given)
    settings.warn_odd(reporter.warn)
    with ExitStack() as opened:
        opened.enter_context(hashes or nullcontext())
        service = opened.enter_context(connect.open_service(options, reporter))
        _needs_blocks(service)
        lacking = [] if given.commands else [one for one in commands if one not in BLOCKS and service.lacks(one)]
        commands = tuple(command for command in commands if command not in lacking)
        witness = _witness(given, options, service.url, reporter)
        if witness is not None:
            opened.enter_context(witness)
        journal = None
        if kept:
            identity = _identity(service, witness, commands, bounds, settings, hashes)
            journal = open_journal(opened, ResumeSettings(given.checkpoint, output=settings.file), identity)
            sink = journal.sink
        else:
            sink = opened.enter_context(open_sink(settings.file))
        opened.enter_context(_failure_recorded(journal))
        opened.callback(reporter.end)
        reporter.draw(rows_on_terminal=settings.spec.terminal)
        heights = _heights(service, witness, bounds, journal, reporter)
        empty = journal is None and not len(heights)
        nothing = (empty and reason(service, bounds, heights)) or "no blocks in that range"
        if journal is not None and journal.last is not None:
            nothing = f"no new blocks since block {heights.start - 1}"
        verdict = Verdict(heights, nothing)
        verdict.above = HeightRange(heights.end, heights.end if journal else max(heights.end, bounds.end or 0))
        begin = partial(settings.begin, reporter, counted=False, read=verdict.read)  # the verdict counts
        made = begin(sink) if journal is None else journal.begin(lambda: verdict.heights.start, 0, begin, reporter.warn)
        writer = begun(made, settings, offline=False)
        linked = journal is not None and bool(journal.position.hash) and len(heights) > 0
        listed = _listed(given, heights, commands)
        repair = Repair("" if given.profile or service.url != mask_url(service.url) else service.url)
        try:
            make = partial(
                Audit,
                service,
                heights,
                repair=repair,
                listed=listed,
                witness=witness,
                progress=reporter,
                hashes=hashes,
                linked=linked,
            )
            audit, steps = _begin(make, commands, lacking, named=given.commands is not None)
            write_findings(steps, writer, verdict, journal)
            _after_reorg(audit, verdict, journal, reporter)
            tip = journal and service.blocks.tip()
        except UsageError:
            raise
        except BaseException as error:
            error.add_note(_rest(verdict, settings, journal))
            with suppress(OutputError):
                if journal is not None:
                    journal.end()
            raise
        with signals_deferred():
            writer.close()
            if journal and tip:
                _end(journal, verdict, tip)
    left_out = f"; not in this export: {', '.join(sorted(lacking, key=COMMANDS.index))}" if lacking else ""
    verdict.compared = left_out + _sampled(listed) + singles(audit.singles)
    _compared_further(audit, verdict, hashes, service=service, witness=mask_url(witness.url) if witness else "")
    listed_by = LISTED if settings.format == "table" and verdict.repairable else ""
    conclude(verdict, reporter, verdict.reorg or listed_by)


def _begin(
    make: Callable[[tuple[str, ...]], Audit], commands: tuple[str, ...], lacking: list[str], *, named: bool
) -> tuple[Audit, Iterator[Step]]:
    """Return a pass and its steps, the first one read; unless commands were `named`, without those of which a served
    export says that it has no table, which are added to `lacking`. Raises ChainqError."""
    audit = make(commands)
    steps = audit.steps()
    try:
        first = next(steps, None)  # reads all commands
    except LackingError as error:
        if named or error.table in BLOCKS or error.table not in commands:
            raise
        lacking.append(error.table)
        return _begin(make, tuple(one for one in commands if one != error.table), lacking, named=named)
    return audit, steps if first is None else chain([first], steps)


def _needs_blocks(service: Service) -> None:
    """Raise IncompleteError for an export without blocks."""
    if any(map(service.lacks, BLOCKS)):
        name = mask_url(service.url)
        hint = f"chainq verify {shlex.quote(name)} verifies an export without them"
        raise IncompleteError(f"{name} lacks the blocks with which rows are compared", hint)


def _compared_further(
    audit: Audit,
    verdict: Verdict,
    hashes: "BlockHashes | None",
    *,
    service: Service,
    witness: str,
) -> None:
    """Add to the verdict what the full blocks were compared with."""
    if hashes is not None:
        verdict.add_hashes(hashes, "the server")
    if witness:
        verdict.compared += witnessed(audit.witnessed, verdict, witness)
        verdict.unwitnessed = len(verdict.heights) > len(audit.witnessed) == 0
    elif hashes is None and verdict.rows:
        checks = "--witness URL" if service.url == "demo:" else "--witness URL or --hashes"  # its hashes are made up
        verdict.compared += f"; {UNCHECKED.format(checks)}"


@contextmanager
def _failure_recorded(journal: Journal | None) -> Iterator[None]:
    """Record in the checkpoint, if there is one, why a run fails, for `chainq status`."""
    try:
        yield
    except (ChainqError, Interrupted) as error:
        if journal is not None and not isinstance(error, UsageError):
            with suppress(OutputError):
                journal.failed(str(error), lasting=is_lasting(error))
        raise


def _end(journal: Journal, verdict: Verdict, tip: Tip) -> None:
    """Record that a run has ended; it was a success if it found nothing. Raises OutputError."""
    if verdict.findings or verdict.reorg:
        journal.failed(str(verdict))
    else:
        journal.succeeded(tip.height, tip.time)
    journal.end()


def _bounds(given: VerifyCommand) -> Bounds:
    """Return the heights to verify of a service. Raises UsageError for options that are not for one."""
    if given.workers is not None and not given.hashes:
        raise UsageError("--workers needs --hashes, or a data set", "name one")
    kept = given.checkpoint is not None
    bounds = read_bounds(given, given.range, whole=kept)
    if kept and (bounds.last is not None or bounds.since is not None or bounds.until is not None):
        raise UsageError("--checkpoint cannot be combined with --last, --since or --until", "use --start and --end")
    return bounds


def block_hashes(given: VerifyCommand) -> "BlockHashes | None":
    """Return what `--hashes` and `--anchor` need, None without them. Raises UsageError, also without aleo-sdk."""
    if given.anchor is not None and not given.hashes:
        raise UsageError("--anchor needs --hashes")
    if given.anchor is not None and given.checkpoint is not None:
        raise UsageError("--anchor cannot be combined with --checkpoint")
    if not given.hashes:
        return None
    from chainq.hashes.chain import parse_anchor
    from chainq.verify.block_hashes import BlockHashes

    return BlockHashes(parse_anchor(given.anchor) if given.anchor is not None else None, given.workers or cores())


def _after_reorg(audit: Audit, verdict: Verdict, journal: Journal | None, reporter: Reporter) -> None:
    """Say in the verdict that a reorg during the run ended it, or warn of one that led to no finding.

    A checkpoint goes back to the blocks below it. Without one, only findings are worth the request. Raises OutputError.
    """
    at = audit.replaced
    if at is None and (journal is None or (at := audit.replaced_from()) is None):
        return
    again = "verify again"
    if journal is not None:
        journal.go_back_to(at)
        again = f"the next run verifies again from height {journal.position.next}"
    if audit.replaced is None:
        reporter.warn(f"a reorg during this run replaced the blocks from height {at} on; {again}")
        return
    verdict.heights = HeightRange(verdict.heights.start, max(verdict.heights.start, at))
    verdict.nothing = "nothing is verified"
    verdict.reorg = f"a reorg during this run replaced the blocks from height {at} on: {again}"


def _listed(given: VerifyCommand, heights: HeightRange, commands: tuple[str, ...]) -> frozenset[int] | None:
    """Return the heights whose lists of transactions are compared, each by a call of its own; None for all."""
    drawn = given.sample or LISTS
    named = given.sample is None and given.commands is not None  # who names transactions wants them
    if given.full or named or "transactions" not in commands or drawn >= len(heights):
        return None
    return frozenset(SystemRandom().sample(range(*heights.edges), drawn))


def _sampled(listed: frozenset[int] | None) -> str:
    """Return what the verdict says of a sample; empty without one."""
    if listed is None:
        return ""
    return f"; the transactions are those of {counted(len(listed), 'random height')} (--full: of all)"


def _identity(
    service: Service,
    witness: Service | None,
    commands: tuple[str, ...],
    bounds: Bounds,
    settings: output.OutputSettings,
    hashes: "BlockHashes | None",
) -> dict[str, object]:
    """Return what a checkpoint tells runs apart by, as JSON values without secrets."""
    return {
        "command": FINDINGS.command,
        "commands": list(commands),
        "start": bounds.start or 0,
        "url": mask_url(service.url),
        "witness": None if witness is None else mask_url(witness.url),
        "format": settings.recorded_format,
        "columns": settings.requested,
        **({"hashes": True} if hashes else {}),
    }


def _reporter(given: VerifyCommand) -> Reporter:
    """Return what prints to stderr, and say that a range is one where a file has the same name."""
    reporter, word = connect.reporter(given), given.range
    if word is not None and os.path.exists(word):  # noqa: PTH110  # a Path raises for a name that is too long
        reporter.warn(f"{word} is read as heights; for the file or folder of that name use ./{word}")
    return reporter


def _heights(
    service: Service, witness: Service | None, bounds: Bounds, journal: Journal | None, reporter: Reporter
) -> HeightRange:
    """Return the heights to verify: from where the checkpoint is, as far as the chain goes.

    Raises IncompleteError if the last block that was verified was replaced.
    """
    start, end = service.height_range(bounds).edges
    if end > start and (tip := service.blocks.tip_for(end)) < end - 1:
        reporter.warn(end_above(end, tip))
        end = max(start, tip + 1)
    elif bounds.until is not None and (why := unreached(service, bounds, HeightRange(start, end))):
        reporter.warn(why)
    if witness is not None and end > start and (tip := witness.blocks.tip_for(end)) < end - 1:
        ends = f"the chain of the witness ends at height {tip}: later heights are not compared with it"
        reporter.warn(Shortfall(ends))
        end = end if journal is None else max(start, tip + 1)  # a resumed run compares them
    known = journal.last if journal else None
    if journal is not None and known is None and bounds == Bounds(whole=True):
        reporter.note(from_genesis(end))
    if known is not None:
        start = known.next
        now = service.blocks.hash_of(start - 1) if known.hash else None
        if now is not None and (reorg := difference(known, now)):
            raise ReorgError(reorg, "delete the checkpoint and verify again from below it")
    return HeightRange(start, max(start, end))


def _rest(verdict: Verdict, settings: output.OutputSettings, journal: Journal | None) -> str:
    """Return how to get what is left after a failure."""
    if journal is not None:
        return f"the next run resumes at height {journal.position.next}"
    if settings.file is not None:
        return settings.unchanged
    header = " --no-header" if settings.has_header else ""
    return f"resume with --start {verdict.reached} --end {verdict.heights.end}{header}"


def _witness(given: VerifyCommand, options: ServiceOptions, own: str, reporter: Reporter) -> Service | None:
    """Return the service that `--witness` names by its URL or a profile. The dialect, the headers and the certificate
    of the first one, at `own`, are not its own.

    Raises UsageError if it is the first one.
    """
    named = given.witness
    if named is None:
        return None
    profile = named if is_profile(named) else None
    url = "" if profile else identifiers.url(named)
    own_options = options._replace(url=url, profile=profile, dialect=None, headers={}, cert=None)
    service = connect.open_service(own_options, reporter)
    if is_same_service(service.url, own):
        raise UsageError("--witness names the server to verify, which agrees with itself", "name another server")
    return service


def _commands(given: list[str] | None) -> tuple[str, ...]:
    """Return the commands to verify. Raises UsageError."""
    if given is None:
        return COMMANDS
    names = tuple(name.strip() for name in ",".join(given).split(","))
    for name in names:
        check_command(name)
    return (*BLOCKS, *names)


def check_command(name: str) -> None:
    """Raise UsageError unless the rows of this command can be verified."""
    if name not in COMMANDS:
        raise UsageError(f"cannot verify {name!r}: expected one of {', '.join(COMMANDS)}")
