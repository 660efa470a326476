"""What a service lacks that it had: one warning, more blocks below the tip to leave out, or the end of the run."""

from collections.abc import Callable
from dataclasses import dataclass

from chainq import tuning
from chainq.defaults import SETTLE
from chainq.errors import BehindError, IncompleteError, Shortfall
from chainq.fetching.service import Service
from chainq.heights.range import HeightRange
from chainq.query import Query
from chainq.resume.journal import Journal
from chainq.resume.reorg import ReorgCheck
from chainq.resume.settings import ResumeSettings
from chainq.resume.settling import UnsteadyError
from chainq.text.humanize import counted


@dataclass(slots=True)
class Lagging:
    """How far the service is behind, as the rounds of one run found it."""

    service: Service
    query: Query
    settings: ResumeSettings
    journal: Journal
    reorg: ReorgCheck
    warn: Callable[[str], None]
    behind: bool = False  # the service is behind what it showed before; the user was warned
    lacked: int | None = None  # the block at which the last rows ended, because the service lacks it below its tip

    @property
    def lag(self) -> int:
        """Return how many blocks below the tip are left out."""
        return max(self.settings.lag, self.journal.learned_lag)

    def note_lacked(self, there: int, end: int) -> None:
        """Warn, and leave out more blocks, if the service has only the blocks below `there` of those below `end`.

        Not again for the same block: it may never come, and then later blocks show that it is missing.
        """
        if there < end:
            if there != self.lacked:
                more, height = self.stay_below(self.lag + end - there), self.service.blocks.tip_height()
                if more or self.lacked is None:
                    self.warn_once(f"it does not have block {end - 1}, although its tip is {height}{more}")
            self.lacked = there
        elif self.lacked is not None and self.lacked < end:
            self.lacked = None

    def lack_known(self, tip: int) -> None:
        """Record that the service lacks the last known block. Raises UnsteadyError if the chain has grown since."""
        known = self.reorg.known
        height, before = known.next - 1, "the checkpoint recorded" if self.journal.checkpoint else "this run has seen"
        if tip - height >= SETTLE:
            raise UnsteadyError(
                IncompleteError(
                    f"the service is behind or its chain was reset: it shows no block {height}, which {before},"
                    f" though its tip is {tip}",
                    "run the command again later",
                )
            )
        self.step_back(f"it does not have block {height}, which {before}")

    def lack_rows(self, error: BehindError, tip: int) -> None:
        """Record that the service has a block but not all of its rows. Raises UnsteadyError far below the tip."""
        if tip - error.height >= tuning.TAIL:
            raise UnsteadyError(error)
        self.step_back(f"it has block {error.height}, and not all of its rows")

    def stay_below(self, lag: int) -> str:
        """Leave out `lag` blocks below the tip from now on, at most MAX_LAG; return a note for the user."""
        if (lag := min(lag, tuning.MAX_LAG)) <= self.lag:
            return ""
        self.journal.learn_lag(lag)
        return f"; from now on runs stay {counted(lag, 'block')} below the tip"

    def miss(self, heights: HeightRange, rows: int, top: int) -> None:
        """Record that rows which were written are missing. Raises UnsteadyError if the chain has grown since."""
        missing = f"{counted(rows, 'row')} of {heights} that came before"
        if top - self.journal.position.next >= SETTLE:
            advice = "the service has lost them, or another one answers; run the command again"
            rewind = f"{advice}; --rewind {len(heights)} writes what it has now"
            raise UnsteadyError(
                IncompleteError(
                    f"{self.query.method.name}: {missing} are missing now",
                    rewind if self.journal.checkpoint else advice,
                )
            )
        self.warn_once(f"it lacks {missing}")

    def step_back(self, what: str) -> None:
        """Warn once that the service lacks a block that it had, and stay further below the tip from now on."""
        if not self.behind:
            self.warn_once(f"{what}{self.stay_below(max(1, self.lag * 2))}")

    def warn_once(self, what: str) -> None:
        """Warn once that the service is lagging."""
        if not self.behind:
            self.warn(Shortfall(f"the service is behind: {what}"))
        self.behind = True
