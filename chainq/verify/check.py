"""The rules over the windows of one source: each table by itself, with the full blocks, and with a second source.

Deployed servers omit whole kinds of transitions from `transitionsWithoutRecordInputs`: fees, transitions without any
input, and transitions of programs missing from their program table (docs/protocol.md, "Results"). A missing row was
lost only if the server lists other rows of each of its kinds.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import compute

from chainq.catalog.tables import SOURCE
from chainq.heights.range import HeightRange, HeightSet
from chainq.rows.block import UNLISTED
from chainq.verify import rules
from chainq.verify.explain import BESIDE, BLOCK
from chainq.verify.findings import Finding, Window, label

FIRST = {SOURCE.command: 0, "blocks": 1}  # they show where the second source has other blocks
NAMED = 10  # columns that a file lacks
SHOWN = 5  # kinds of rows that a server does not list
MOST = 100_000  # missing rows of a kind that are remembered; further ones are only counted
_IDS = {"calls": "transition_id", "listed": "transaction_id", "records": "record_ciphertext"}
"""The columns of full blocks whose checksums are checked, by the rows due that contain them."""


class Missing(NamedTuple):
    """A row that is missing at a height, and its `kinds`."""

    height: int
    key: str
    kinds: tuple[str, ...]


class Unlisted:
    """A record of listed and missing rows that determines which missing rows are lost.

    `counts`: how many rows are not listed, by their first kind that no listed row has had so far.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._listed: set[str] = set()  # kinds
        self._waiting: dict[str, list[Missing]] = {}  # by a kind that was not listed

    def listed(self, kinds: Iterable[str]) -> Iterator[Missing]:
        """Record the kinds of a listed row; yield the rows that are now known to be lost."""
        for kind in kinds:
            if kind not in self._listed:
                self._listed.add(kind)
                waiting = self._waiting.pop(kind, [])
                self.counts[kind] -= len(waiting)
                yield from filter(self.is_lost, waiting)

    def is_lost(self, missing: Missing) -> bool:
        """Return whether a missing row was lost; otherwise remember it until its kinds are listed."""
        unseen = next((kind for kind in missing.kinds if kind not in self._listed), None)
        if unseen is None:
            return True
        self.counts[unseen] += 1
        if self.counts[unseen] <= MOST:
            self._waiting.setdefault(unseen, []).append(missing)
        return False


class Check:
    """What is wrong in windows, in order of height. `witness`: the second source may be wrong as well."""

    def __init__(self, *, witness: bool = False) -> None:
        self._witness = witness
        self._last: dict[str, Any] = {}  # the last block, by command
        self._told: set[str] = set()  # IDs with a wrong checksum
        self._unlisted = Unlisted()
        self._forked = HeightSet()
        self._gone: dict[str, int] = {}  # heights of missing rows
        self._lacking: dict[str, None] = {}  # columns that only the second source has

    def opens(self) -> list[str]:
        """Return what stays open, in words: columns that the source lacks, rows that it does not list, and rows of
        heights whose blocks differ."""
        lacking = [*self._lacking]
        further = f" and {len(lacking) - NAMED} more" if len(lacking) > NAMED else ""
        columns = [f"columns that the file lacks: {', '.join(lacking[:NAMED])}{further}"] if lacking else []
        counts = +self._unlisted.counts
        few = ", ".join(f"{number:,} {kind}" for kind, number in counts.most_common(SHOWN))
        more = f", and {len(counts) - SHOWN} more kinds" if len(counts) > SHOWN else ""
        columns += [f"other rows of {self._forked}, whose blocks differ"] if len(self._forked) else []
        return [*columns, f"transitions that are not listed: {few}{more}"] if few else columns

    def findings(
        self, window: Window, second: "tuple[Window, frozenset[int] | None] | None" = None
    ) -> Iterator[Finding]:
        """Yield what is wrong in a window, command by command; rows in doubt are only said to be. `second`: the rows of
        the second source, and the heights that are compared, None for all."""
        yield from window.wrong
        forked: set[int] = set()
        for command in sorted(window.tables, key=lambda name: FIRST.get(name, 2)):
            found = chain(self._alone(command, window), self._due(command, window))
            if second is not None and command in second[0].tables:
                found = chain(found, self._second(command, window, *second, forked))
            for one in dict.fromkeys(found):
                if one.height is None or (command, one.height) not in window.doubts:
                    yield window.located(self._moved(one))
        for (command, height), why in window.doubts.items():
            yield Finding(height, command, "unproved", None, why)

    def _moved(self, one: Finding) -> Finding:
        """Return an unexpected row that was missing in an earlier window as misplaced; other findings as they are."""
        if one.check == "missing" and one.expected and one.height is not None and len(self._gone) < MOST:
            self._gone[one.expected] = one.height
        if one.check != "unexpected" or one.height is None or (height := self._gone.get(one.found or "")) is None:
            return one
        return one._replace(check="misplaced", expected=f"{one.found} at height {height}", found="at this height")

    def _alone(self, command: str, window: Window) -> Iterator[Finding]:
        """Yield what is wrong in a table by itself."""
        table, explained = window.tables[command], "listed" in window.due
        yield from rules.doubled(command, table)
        if command == SOURCE.command or not explained:  # others are compared with their full blocks
            yield from rules.checksums(command, table, self._told)
        if command == SOURCE.command and explained:
            for name, column in _IDS.items():
                yield from rules.checksums(command, window.due[name].select(["height", column]), self._told)
            yield from rules.numbered(command, window.due["listed"])
        elif command == "transactions" and command in window.derived and not explained:
            yield from rules.numbered(command, table)
        if not rules.method_of(command).linked:
            return
        yield from rules.absent(command, table, window.heights)
        blocks = window.due["blocks"] if command == SOURCE.command else table
        blocks = blocks.select([name for name in BLOCK if name in blocks.column_names])
        if {"block_hash", "previous_hash"} <= {*blocks.column_names}:
            blocks = blocks.sort_by("height")
            yield from rules.links(command, self._last.get(command), blocks)
            if blocks.num_rows:
                self._last[command] = blocks.slice(blocks.num_rows - 1)

    def _due(self, command: str, window: Window) -> Iterator[Finding]:
        """Yield how a table differs from what full blocks explain, or else from the other tables."""
        due, table = window.due.get(command), window.tables[command]
        if due is None or command == SOURCE.command:
            return
        if "listed" in window.due:  # nothing is known of heights whose full blocks are missing
            known = [-1, *window.due["blocks"]["height"].to_pylist()]
            table = table.filter(pa.array(np.isin(rules.heights_of(command, table), known)))
        if command == "blocks":  # those that are missing are known
            here = compute.is_in(due["height"], value_set=table["height"].combine_chunks())
            due = due.filter(here)
        if "fee" in due.column_names:
            place = table.schema.get_field_index("program")
            table = table.set_column(place, "program", rules.program_ids(table["program"]))
            there = compute.is_in(due["transition_id"], value_set=table["transition_id"].combine_chunks())
            yield from self._lost(due, there)
            due = due.filter(there)
        for one in rules.compare(command, table, due, explained=True):
            yield one
            if one.check == "unexpected" and BESIDE in due.column_names:
                lost = (one.found or "").replace(command, "record")
                yield Finding(one.height, "records", "missing", lost, "its ownership row")

    def _lost(self, due: Any, there: Any) -> Iterator[Finding]:
        """Yield transitions that are missing, if others of all their kinds are `there`."""
        names = ["fee", "empty", "program"]
        lost: list[Missing] = []
        for row in due.filter(there).select(names).group_by(names).aggregate([]).to_pylist():
            lost += self._unlisted.listed(_kinds(row))
        lacking = due.filter(compute.and_not(compute.invert(there), due["optional"]))
        for row in lacking.select(["height", "transition_id", *names]).to_pylist():
            one = Missing(row["height"], row["transition_id"], _kinds(row))
            lost += [one] if self._unlisted.is_lost(one) else []
        for one in lost:
            yield Finding(one.height, "transitions", "missing", label("transitions", one.key), None)

    def _second(
        self, command: str, window: Window, second: Window, chosen: frozenset[int] | None, forked: set[int]
    ) -> Iterator[Finding]:
        """Yield how a table differs from that of the second source, in all columns but row ids. Blocks with another
        hash are one difference: all rows of these heights, which `forked` gets, differ."""
        mine, linked = window.tables[command], rules.method_of(command).linked
        whose = "witness: " if self._witness else "second source: "
        theirs, due = second.tables[command], window.due.get(command)
        if command == "ownership" and due is not None:  # whose rows name no heights
            place = compute.index_in(*(rules.keys(one, rules.identity(command)) for one in (theirs, due)))
            theirs = theirs.append_column("height", due["height"].take(place))
        sent = {column.path for column in rules.method_of(command).columns if not column.computed}
        lacking = (name for name in theirs.column_names if name in sent - {*mine.column_names, *rules.OWN})
        self._lacking |= dict.fromkeys(name for name in lacking if theirs[name].null_count < theirs.num_rows)
        for one in rules.doubled(command, theirs):
            yield one._replace(found=f"{whose}{one.found}")
        if chosen is not None:
            mine = mine.filter(pa.array(np.isin(rules.heights_of(command, mine), [-1, *chosen])))
        for one in rules.compare(command, mine, theirs, explained=False):
            told = one.check == "missing" and linked  # that a block is missing
            elsewhere = one.check == "unexpected" and one.height is None and chosen is not None  # perhaps
            if told or elsewhere or one.height in forked:
                if one.height in forked and not linked:
                    self._forked.add(HeightRange(one.height, one.end or one.height + 1))
                continue
            if one.height is not None and linked and "block_hash=" in (one.expected or ""):
                forked.add(one.height)
            yield _sided(one) if self._witness else one


def _sided(one: Finding) -> Finding:
    """Return a difference with the side of each value, because either may be right."""
    due = f"witness: {one.expected}" if one.expected else None
    found = f"here: {one.found}" if one.found else None
    return one._replace(check="differs", expected=due, found=found)


def _kinds(row: dict[str, Any]) -> tuple[str, ...]:
    """Return the kinds of a transition, of which a server may list none (`Transition.kinds` of `rows/block.py`)."""
    few = (kind for kind, has in zip(UNLISTED, (row["fee"], row["empty"]), strict=False) if has)
    return (*few, f"of {row['program']}")
