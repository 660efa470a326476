"""Recomputes block hashes from windows, up to an anchor: `chainq verify --hashes`."""

from collections import Counter
from collections.abc import Iterable, Iterator

from chainq.catalog.methods import BY_COMMAND
from chainq.errors import IncompleteError
from chainq.hashes.chain import Anchor, Walk
from chainq.hashes.processes import BlockChecks
from chainq.process import Closing
from chainq.rows.fields import object_of, text_or_none
from chainq.text.humanize import counts
from chainq.verify import rules
from chainq.verify.compare import json_rows
from chainq.verify.findings import ANCHOR, Contradiction, Finding
from chainq.verify.windows import Window


class Hashes(Closing):
    """Checks the hashes of blocks in order of height, and that they reach the anchor, if there is one.

    `workers` processes check full blocks; leaving the context ends them. Raises UsageError without aleo-sdk.
    """

    def __init__(self, anchor: Anchor | None, workers: int) -> None:
        self.anchor = anchor
        self._checks, self._walk = BlockChecks(workers), Walk(anchor)
        self._skipped: Counter[str] = Counter()
        self._window: Window | None = None  # the last one with blocks

    def close(self) -> None:
        """End the processes."""
        self._checks.close()

    def findings(self, window: Window) -> Iterator[Finding]:
        """Yield what is wrong with the hashes of blocks in a window, those of full blocks first."""
        reached: dict[int, tuple[str | None, str | None, bool]] = {}
        commands = [name for name in ("blocks", "full-blocks") if name in window.tables]
        for command in commands:
            table, full = window.tables[command], command == "full-blocks"
            rows = json_rows(BY_COMMAND[command], table)
            found = self._checks.check(list(map(bytes, rows)), full=full)
            for height, row, checked in zip(rules.heights_of(command, table).tolist(), rows, found, strict=True):
                if full or len(commands) == 1:
                    self._skipped += checked.skipped
                yield from (window.finding(command, height, Contradiction(*one)) for one in checked.wrong)
                fields = object_of(row)
                reached[height] = (
                    text_or_none(fields.get("block_hash")),
                    text_or_none(fields.get("previous_hash")),
                    checked.proved,
                )
        for height in sorted(reached):
            self._window = window
            if wrong := self._walk.take(height, *reached[height]):
                yield window.finding(commands[-1], height, self._contradiction(wrong))

    def ended(self) -> Iterator[Finding]:
        """Yield a finding if the blocks do not reach the anchor. Raises IncompleteError if there were none."""
        if self._window is None:
            raise IncompleteError("--hashes needs the rows of blocks or of full-blocks, and there are none")
        if self.anchor is not None and (self._walk.next or 0) <= self.anchor.height:
            command = "full-blocks" if "full-blocks" in self._window.tables else "blocks"
            yield self._window.finding(command, self.anchor.height, self._contradiction(None))

    def _contradiction(self, found: str | None) -> Contradiction:
        return Contradiction(ANCHOR, f"block_hash={self.anchor.hash if self.anchor else ''}", found)

    @property
    def compared(self) -> str:
        """With what blocks were compared, as the end of a sentence."""
        own = " with their own hashes"
        return (
            f"{own}, anchored: block {self.anchor.height} is {self.anchor.hash}"
            if self._walk.anchored and self.anchor
            else own
        )

    def opens(self) -> Iterable[str]:
        """Yield what stays open."""
        if self.anchor is None:
            yield "not anchored"
        elif not self._walk.anchored:
            yield f"not anchored at block {self.anchor.height}"
        if self._skipped:
            yield f"not checked: {counts(self._skipped.most_common())}"
        yield "fields that no hash binds (docs/hashes.md)"
