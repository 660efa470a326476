"""Recomputes block hashes from windows, up to an anchor: `chainq verify --hashes`."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

import pyarrow as pa
from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.errors import IncompleteError, UsageError
from chainq.formats.arrow_rows import ArrowRows
from chainq.hashes.chain import Anchor, Walk
from chainq.hashes.check import HEADER
from chainq.hashes.processes import BlockChecks
from chainq.heights.range import HeightRange
from chainq.lake.files import StoredRows
from chainq.process import Closing
from chainq.rows.fields import object_of, text_or_none
from chainq.text.humanize import counts
from chainq.verify import rules
from chainq.verify.findings import Finding, Window

_BLOCKS = {"blocks", "full-blocks"}
_HASHED = {*HEADER, "block_hash", "transactions"}
"""The columns that no hash is checked without, by the last part of their path."""


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

    def need(self, columns: Mapping[str, Collection[str]]) -> None:
        """Raise UsageError if no table has block hashes, or one lacks columns for them; without any, it has them all.
        `columns`: by table."""
        if not columns.keys() & _BLOCKS:
            raise UsageError("--hashes needs the rows of blocks or of full-blocks, and there are none")
        for command in columns.keys() & _BLOCKS if any(columns.values()) else ():
            due = [column.path for column in BY_COMMAND[command].columns if column.path.split(".")[-1] in _HASHED]
            if lacking := [name for name in due if name not in columns[command]]:
                raise UsageError(f"--hashes needs all columns of {command}; the file lacks {', '.join(lacking)}")

    def findings(self, window: Window) -> Iterator[Finding]:
        """Yield what is wrong with the hashes of blocks in a window, those of full blocks first."""
        reached: dict[int, tuple[str | None, str | None, bool]] = {}
        commands = [name for name in ("blocks", "full-blocks") if name in window.tables]
        for command in commands:
            table, full = window.tables[command], command == "full-blocks"
            rows = _sent_rows(command, table)
            found = self._checks.check(list(map(bytes, rows)), full=full)
            for height, row, checked in zip(rules.heights_of(command, table).tolist(), rows, found, strict=True):
                if full or len(commands) == 1:
                    self._skipped += checked.skipped
                yield from (window.located(Finding(height, command, *one)) for one in checked.wrong)
                own, before = (text_or_none(object_of(row).get(name)) for name in ("block_hash", "previous_hash"))
                reached[height] = own, before, checked.proved
        for height in sorted(reached):
            self._window = window
            if wrong := self._walk.take(height, *reached[height]):
                yield self._finding(window, height, wrong)

    def ended(self) -> Iterator[Finding]:
        """Yield a finding if the blocks do not reach the anchor. Raises IncompleteError if there were none."""
        if self._window is None:
            raise IncompleteError("--hashes needs the rows of blocks or of full-blocks, and there are none")
        if self.anchor is not None and (self._walk.next or 0) <= self.anchor.height:
            yield self._finding(self._window, self.anchor.height, None)

    def _finding(self, window: Window, height: int, found: str | None) -> Finding:
        command = "full-blocks" if "full-blocks" in window.tables else "blocks"
        return Finding(height, command, "anchor", f"block_hash={self.anchor.hash if self.anchor else ''}", found)

    @property
    def compared(self) -> str:
        """With what blocks were compared, as the end of a sentence."""
        anchored = self._walk.anchored and self.anchor
        return " with their own hashes" + (
            f", anchored: block {anchored.height} is {anchored.hash}" if anchored else ""
        )

    def opens(self) -> Iterable[str]:
        """Yield what stays open."""
        if not self._walk.anchored:
            yield "not anchored" + (f" at block {self.anchor.height}" if self.anchor else "")
        elif self.anchor and self._window and (last := self._window.heights.end) > self.anchor.height + 1:
            yield f"not anchored: {HeightRange(self.anchor.height + 1, last)}"
        if self._skipped:
            yield f"not checked: {counts(self._skipped.most_common())}"
        yield "fields that no hash binds (docs/hashes.md)"


def _sent_rows(command: str, table: pa.Table) -> list[Raw]:
    """Return the rows of a table, which may lack columns, as a service sends them."""
    schema = ArrowRows(BY_COMMAND[command].columns, pa).schema
    for name, kind in zip(schema.names, schema.types, strict=True):
        if name not in table.column_names:
            table = table.append_column(name, pa.nulls(table.num_rows, kind))
    return StoredRows(BY_COMMAND[command]).rows(table)
