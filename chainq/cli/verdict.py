"""What `chainq verify` says at the end: what was compared with what, what stays open, and the findings."""

from collections import Counter
from collections.abc import Iterable

from chainq.cli.report import Reporter
from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange
from chainq.text.humanize import counted, counts
from chainq.verify.findings import CHECKS, Step

REPAIR = "the column repair has the commands that fetch these rows again"


class Verdict:
    """What a run has verified so far. `reached`: the height after the last one."""

    def __init__(self) -> None:
        self.rows: Counter[str] = Counter()
        self.findings: Counter[str] = Counter()
        self.reached: int | None = None
        self._repairs = False

    def add(self, step: Step) -> None:
        """Count what is in a step."""
        self.rows.update(step.rows)
        self.findings.update(finding.check for finding in step.findings)
        self._repairs |= any(finding.repair for finding in step.findings)
        self.reached = step.heights.end or self.reached

    @property
    def total(self) -> str:
        """How many findings there are, in words."""
        return counted(self.findings.total(), "finding") if self.findings else "no findings"

    def conclude(self, reporter: Reporter, heights: HeightRange, compared: str, opens: Iterable[str]) -> None:
        """Print three lines: what was compared, what stays open, and the result. Raises IncompleteError for findings.

        `compared`: with what.
        """
        rows = counts((command, number) for command, number in self.rows.items()) or "no rows"
        where = f"{heights}, " if len(heights) else ""
        reporter.note(f"compared: {where}{rows}{compared}")
        reporter.note(f"open: {'; '.join(filter(None, opens)) or 'nothing'}")
        if self.findings:
            often = sorted(self.findings, key=[*CHECKS].index)
            kinds = ", ".join(f"{self.findings[check]:,} {check}" for check in often)
            raise IncompleteError(f"{self.total} ({kinds})", REPAIR if self._repairs else "")
        reporter.note("no findings")
