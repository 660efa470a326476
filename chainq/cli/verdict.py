"""What a run of `chainq verify` found: writes the findings, and says it in one sentence at the end."""

import gc
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Raw

from chainq.cli.output import BEGINNING, OutputSettings
from chainq.cli.report import Reporter
from chainq.errors import IncompleteError, UsageError
from chainq.formats.protocol import Writer
from chainq.heights.range import HeightRange
from chainq.planning import exact_heights
from chainq.process.signals import signals_deferred
from chainq.resume.checkpoint import Position
from chainq.resume.journal import Journal
from chainq.text.humanize import counted
from chainq.verify.findings import CHECKS, Step
from chainq.verify.service_rows import COMMANDS

if TYPE_CHECKING:
    from chainq.verify.block_hashes import BlockHashes

LISTED = "--jsonl lists the commands that fetch these rows again"
"""What helps where the findings are of a service or a file."""
MANY = 5  # heights whose missing and unexpected rows are not named
SHOWN = 5  # kinds of rows that a server does not list


class Verdict:
    """What a run has verified so far, in one sentence."""

    def __init__(self, heights: HeightRange, nothing: str) -> None:
        self.nothing = nothing  # what is said if there is nothing to verify
        self.heights, self.reached = heights, heights.start
        self.findings: Counter[str] = Counter()
        self.rows: Counter[str] = Counter()
        self.unlisted: Mapping[str, int] = {}  # transitions that the server does not list, by their kind
        self.compared = ""
        self.above = HeightRange(0, 0)  # heights above the tip that were to be verified
        self.repairable = False  # a finding has a command that repairs it
        self.exported = False  # it is one that does not remove files
        self.unwitnessed = False  # there is a witness, and no height was compared with it
        self.of_witness = 0  # findings that the full blocks show to be the witness's fault
        self.wrong: dict[str, set[int]] = {}  # heights with findings, by check
        self.unlike = False  # the service has none of the rows that were compared with it
        self.reorg = ""  # that a reorg during the run ended it, and what to do

    def add_hashes(self, hashes: "BlockHashes", naming: str) -> None:
        """Add what recomputed hashes prove, once all is read. `naming`: who names the hashes."""
        if self.rows.total() or hashes.anchor is not None:
            self.compared += hashes.verdict(naming, self.rows, faulty=bool(self.findings))

    def read(self) -> tuple[int, int] | None:
        """Return the height range that is verified, None if it is not known."""
        return self.heights.edges if len(self.heights) else None

    @property
    def total(self) -> str:
        """Return how many findings there are, in words."""
        return counted(self.findings.total(), "finding") if self.findings else "no findings"

    def __str__(self) -> str:
        above = f"; not verified: {self.above}, above the tip" if len(self.above) else ""
        if not len(self.heights) and not self.rows and not self.findings:
            return f"{self.nothing}{above}"
        counts = (
            (self.rows[command], command if self.rows[command] != 1 else command.removesuffix("s"))
            for command in _ordered(self.rows, COMMANDS)
        )
        rows = ", ".join(f"{number:,} {command}" for number, command in counts)
        often = sorted(_ordered(self.findings, CHECKS), key=self.findings.__getitem__, reverse=True)
        found = ", ".join(f"{self.findings[check]:,} {check}" for check in often)
        where = f"{self.heights}: " if len(self.heights) else ""
        kinds, read = f" ({found})" if found else "", f" in {rows}" if rows else ""
        return f"{where}{self.total}{kinds}{read}{self._renamed()}{self._not_listed()}{self.compared}{above}"

    def _renamed(self) -> str:
        """Return at which heights a missing and an unexpected row may be one; empty for none, and for many."""
        both = self.wrong.get("missing", set()) & self.wrong.get("unexpected", set())
        if not 0 < len(both) < MANY:
            return ""
        return (
            f"; at {exact_heights.listed(sorted(both))} a missing and an unexpected row may be one with an altered ID"
        )

    def _not_listed(self) -> str:
        kinds = sorted(((number, kind) for kind, number in self.unlisted.items() if number), reverse=True)
        if not kinds:
            return ""
        total = counted(sum(number for number, _ in kinds), "transition")
        shown = [f"{number:,} {kind}" for number, kind in kinds[:SHOWN]]
        others = [f"{sum(number for number, _ in kinds[SHOWN:]):,} of other programs"] if kinds[SHOWN:] else []
        return f"; {total} not listed by this server ({', '.join([*shown, *others])})"


def _ordered(names: Iterable[str], order: Iterable[str]) -> list[str]:
    """Return names in that order; the others follow as they come."""
    places = {name: place for place, name in enumerate(order)}
    return sorted(names, key=lambda name: places.get(name, len(places)))


class Beginning:
    """Writes rows: the first `number` together, later ones at once. `release` does not wait for that number."""

    def __init__(self, writer: Writer, number: int = BEGINNING) -> None:
        self._writer, self._number = writer, number
        self._held: list[Raw] | None = []

    def write(self, rows: Sequence[Raw]) -> None:
        """Write the next rows, or hold them back."""
        if self._held is None:
            self._writer.write(rows)
            return
        self._held += rows
        if len(self._held) >= self._number:
            self.release()

    def release(self) -> None:
        """Write what is held back, and all later rows at once."""
        held, self._held = self._held, None
        if held:
            self._writer.write(held)

    def close(self) -> None:
        """Write what is held back, and what follows the last row."""
        self.release()
        self._writer.close()


def write_findings(
    steps: Iterator[Step],
    writer: Beginning,
    verdict: Verdict,
    journal: Journal | None = None,
) -> None:
    """Write the findings as they come, count them in the verdict, and record how far they go.

    If the steps fail, what the writer holds back is written before the error.
    """
    gc.enable()
    try:
        for step in steps:
            _write(step, writer, verdict, journal)
    except BaseException as error:
        writer.release()
        if not isinstance(error, UsageError):
            error.add_note(f"{verdict.total} so far")
        raise


def _write(step: Step, writer: Beginning, verdict: Verdict, journal: Journal | None) -> None:
    with signals_deferred():
        if step.findings:
            writer.write([finding.encode() for finding in step.findings])
        verdict.findings.update(finding.check for finding in step.findings)
        for finding in step.findings:
            if finding.height is not None:
                verdict.wrong.setdefault(finding.check, set()).add(finding.height)
        verdict.of_witness += step.of_witness
        repairs = [finding.repair for finding in step.findings if finding.repair]
        verdict.repairable |= bool(repairs)
        verdict.exported |= bool(repairs)
        verdict.rows.update(step.rows)
        verdict.unlisted = step.unlisted
        verdict.reached = step.heights.end
        if journal is not None and step.heights.end > journal.position.next:
            rows = journal.position.rows + len(step.findings)
            journal.record(Position(step.heights.end, step.last_hash, journal.sink.length, rows))


def begun(writer: Writer, settings: OutputSettings, *, offline: bool) -> Beginning:
    """Return a writer of findings. A table holds the first ones back, on a terminal only if they come soon."""
    held = settings.format == "table" and (offline or not settings.spec.terminal)
    return Beginning(writer) if held else Beginning(writer, 0)


def singles(left_out: Mapping[str, int]) -> str:
    """Return what the verdict says of blocks that responses for several heights left out; empty for none."""
    found = ", ".join(f"{number:,} {command}" for command, number in left_out.items() if number)
    return f"; left out of responses for several heights, and found by a request for each: {found}" if found else ""


def witnessed(heights: HeightRange, verdict: Verdict, witness: str) -> str:
    """Return what the verdict says of the witness, which was compared at `heights`. `witness`: its URL."""
    if not len(heights):
        return "; not compared with the witness, whose chain ends before these heights"
    rest = HeightRange(heights.end, verdict.heights.end)
    agrees = f"the same as the witness at {heights}"
    if verdict.findings["differs"]:
        differing = exact_heights.listed(sorted(verdict.wrong["differs"]))
        agrees = f"compared with the witness {witness} at {heights}, differs at {differing}"
    if verdict.of_witness:
        some = f" in {verdict.of_witness:,} of {counted(verdict.findings['differs'], 'difference')}"
        agrees += ": by the full blocks, which are the same on both sides, the witness is wrong"
        agrees += some if verdict.of_witness < verdict.findings["differs"] else ""
    return f"; {agrees}" + (f"; not compared with it: {rest}" if len(rest) else "")


def conclude(verdict: Verdict, reporter: Reporter, repair: str) -> None:
    """Raise IncompleteError if anything is wrong, not to be verified or without the witness; else say that nothing is.

    `repair`: what helps, if that can.
    """
    if verdict.findings or len(verdict.above) or verdict.unwitnessed or verdict.reorg:
        raise IncompleteError(str(verdict), repair)
    if not reporter.quiet:
        reporter.line(f"chainq: {verdict}")
