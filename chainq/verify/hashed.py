"""Recomputes block hashes from windows, up to an anchor: `chainq verify --hashes`."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pyarrow as pa
from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.errors import IncompleteError, UsageError
from chainq.formats.arrow_rows import ArrowRows
from chainq.formats.json_rows import JsonRows
from chainq.hashes.check import HEADER
from chainq.hashes.processes import BlockChecks
from chainq.hashes.trees import NotAnElementError, element
from chainq.heights.range import HeightRange
from chainq.process import Closing
from chainq.rows.fields import object_of, text_of
from chainq.text.humanize import counts
from chainq.text.sanitize import quoted
from chainq.verify import rules
from chainq.verify.findings import Finding, Window

_HASHED = {*HEADER, "block_hash", "transactions"}
"""The columns that no hash is checked without, by the last part of their path."""


class Anchor(NamedTuple):
    """A block hash that is trusted, and its height."""

    height: int
    hash: str


def parse_anchor(text: str) -> Anchor:
    """Return the anchor that `HEIGHT:HASH` names. Raises UsageError."""
    found = re.fullmatch(r"([0-9]{1,10}):(ab1[!-@[-~]*|AB1[!-`{-~]*)", text)
    try:
        if found and element(found[2].lower()):
            return Anchor(int(found[1]), found[2].lower())
        why = "expected HEIGHT:HASH, such as 1000:ab1..."
    except NotAnElementError:
        why = "HASH is not the hash of a block (those of the sample chain are made up)"
    raise UsageError(f"invalid --anchor {quoted(text)}: {why}")


class HashCheck(Closing):
    """Checks the hashes of blocks in order of height, and that they reach the anchor, if there is one.

    An anchor proves blocks whose hashes were recomputed, if each contains the hash of the previous block, without a gap
    up to the anchor. `workers` processes check full blocks; leaving the context ends them. Raises UsageError without
    aleo-sdk.
    """

    def __init__(self, anchor: Anchor | None, workers: int) -> None:
        self.anchor = anchor
        self._anchored: bool | None = None  # whether it proves all blocks, once it is reached
        self._checks, self._skipped = BlockChecks(workers), Counter[str]()
        self._command = ""  # of the last blocks
        self._next: tuple[int, str | None] | None = None  # the height and the previous hash that the next one must have
        self._proved = True  # all blocks so far

    def close(self) -> None:
        """End the processes."""
        self._checks.close()

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
                own, before = (text_of(object_of(row).get(name)) or None for name in ("block_hash", "previous_hash"))
                reached[height], self._command = (own, before, checked.proved), command
        for height in sorted(reached):
            yield from self._follow(height, *reached[height])

    def _follow(self, height: int, own: str | None, before: str | None, proved: bool) -> Iterator[Finding]:
        """Take the next block; yield a finding if it is the anchor's, and the anchor does not prove those before."""
        below = self.anchor is not None and height <= self.anchor.height
        self._proved &= not below or (proved and self._next in (None, (height, before)))
        self._next = height + 1, own
        if self.anchor is not None and height == self.anchor.height:
            self._anchored = self._proved and own == self.anchor.hash
            if not self._anchored:
                unproved = "a block up to there was not proved, or is not linked to the one before"
                yield self._unanchored(unproved if own == self.anchor.hash else f"block_hash={own}")

    def ended(self) -> Iterator[Finding]:
        """Yield a finding if the blocks do not reach the anchor. Raises IncompleteError if there were none."""
        if self._next is None:
            raise IncompleteError("--hashes needs the rows of blocks or of full-blocks, and there are none")
        if self.anchor is not None and self._anchored is None:
            yield self._unanchored(None)

    def _unanchored(self, found: str | None) -> Finding:
        height, expected = self.anchor or (None, "")
        return Finding(height, self._command, "anchor", f"block_hash={expected}", found)

    @property
    def compared(self) -> str:
        """With what blocks were compared, for the end of a sentence."""
        anchor = self.anchor if self._anchored else None
        return " and with their own hashes" + (f", anchored: block {anchor.height} is {anchor.hash}" if anchor else "")

    def opens(self) -> Iterable[str]:
        """Yield what stays open."""
        if self.anchor is None or not self._anchored:
            yield "not anchored" + (f" at block {self.anchor.height}" if self.anchor else "")
        elif self._next and self._next[0] > self.anchor.height + 1:
            yield f"not anchored: {HeightRange(self.anchor.height + 1, self._next[0])}"
        if self._skipped:
            yield f"not checked: {counts(self._skipped.most_common())}"
        yield "fields that no hash binds (docs/hashes.md)"


def _sent_rows(command: str, table: pa.Table) -> list[Raw]:
    """Return the rows of a table, which may lack columns, as a service sends them. Raises UsageError if it lacks what
    hashes are made of."""
    schema = ArrowRows(BY_COMMAND[command].columns, pa).schema
    needed = (name for name in schema.names if name.rpartition(".")[2] in _HASHED)
    if lacking := [name for name in needed if name not in table.column_names]:
        raise UsageError(f"--hashes needs all columns of {command}; the file lacks {', '.join(lacking)}")
    for name, kind in zip(schema.names, schema.types, strict=True):
        if name not in table.column_names:
            table = table.append_column(name, pa.nulls(table.num_rows, kind))
    return JsonRows(BY_COMMAND[command]).rows(table)
