"""What a run of `chainq verify` found: writes the findings, and says it in one sentence at the end."""

import gc
from collections import Counter
from collections.abc import Iterator, Mapping

from chainq.cli.report import Reporter
from chainq.errors import IncompleteError
from chainq.formats.protocol import Writer
from chainq.heights.range import HeightRange
from chainq.process.signals import signals_deferred
from chainq.resume.history import Position
from chainq.resume.journal import Journal
from chainq.text.humanize import counted
from chainq.verify.findings import Step

LISTED = "--jsonl lists the commands that fetch these rows again"
"""What helps where the findings are of a service or a file."""
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
        self.repairable = False  # a finding has a command that repairs it

    def read(self) -> tuple[int, int] | None:
        """Return the height range that is verified, None if it is not known."""
        return self.heights.edges if len(self.heights) else None

    def __str__(self) -> str:
        if not len(self.heights) and not self.rows and not self.findings:
            return self.nothing
        counts = (
            (number, command if number != 1 else command.removesuffix("s")) for command, number in self.rows.items()
        )
        rows = ", ".join(f"{number:,} {command}" for number, command in counts)
        found = ", ".join(f"{number} {check}" for check, number in self.findings.items())
        total = counted(sum(self.findings.values()), "finding") if found else "no findings"
        where = f"{self.heights}: " if len(self.heights) else ""
        kinds, read = f" ({found})" if found else "", f" in {rows}" if rows else ""
        return f"{where}{total}{kinds}{read}{self._not_listed()}{self.compared}"

    def _not_listed(self) -> str:
        kinds = sorted(((number, kind) for kind, number in self.unlisted.items() if number), reverse=True)
        if not kinds:
            return ""
        total = counted(sum(number for number, _ in kinds), "transition")
        shown = [f"{number:,} {kind}" for number, kind in kinds[:SHOWN]]
        others = [f"{sum(number for number, _ in kinds[SHOWN:]):,} of other programs"] if kinds[SHOWN:] else []
        return f"; {total} not listed by this server ({', '.join([*shown, *others])})"


def write_findings(
    steps: Iterator[Step],
    writer: Writer,
    verdict: Verdict,
    journal: Journal | None = None,
) -> None:
    """Write the findings as they come, count them in the verdict, and record how far they go."""
    gc.enable()
    for step in steps:
        with signals_deferred():
            if step.findings:
                if journal is not None:
                    journal.expect_rows()
                writer.write([finding.encode() for finding in step.findings])
            verdict.findings.update(finding.check for finding in step.findings)
            verdict.repairable |= any(finding.repair for finding in step.findings)
            verdict.rows.update(step.rows)
            verdict.unlisted = step.unlisted
            verdict.reached = step.heights.end
            if journal is not None and step.heights.end > journal.position.next:
                journal.record(Position(step.heights.end, step.last_hash, journal.sink.length))


def conclude(verdict: Verdict, reporter: Reporter, repair: str) -> None:
    """Raise IncompleteError if anything is wrong; else say that nothing is. `repair`: what helps, if that can."""
    if verdict.findings:
        raise IncompleteError(str(verdict), repair if verdict.repairable else "")
    if not reporter.quiet:
        reporter.line(f"chainq: {verdict}")
