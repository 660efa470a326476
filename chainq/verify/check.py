"""The rules over the windows of one source: each table by itself, with the full blocks, and with a second source.

Deployed servers omit whole kinds of transitions from `transitionsWithoutRecordInputs`: fees, transitions without any
input, and transitions of programs missing from their program table (docs/protocol.md, "Results"). A missing row was
lost only if the server lists other rows of each of its kinds.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import compute

from chainq.catalog.tables import SOURCE
from chainq.heights.range import HeightRange, HeightSet
from chainq.process.progress import UNSEEN, Progress
from chainq.rows.block import UNLISTED
from chainq.verify import rules
from chainq.verify.explain import BESIDE
from chainq.verify.findings import Finding, Window, by_height, label
from chainq.verify.service_rows import ServiceRows

if TYPE_CHECKING:
    from chainq.verify.hashed import HashCheck

FIRST = {SOURCE.command: 0, "blocks": 1}  # they show where the second source has other blocks
SHOWN = 5  # kinds of rows that a server does not list
MOST = 100_000  # missing rows of the same kinds that are remembered; further ones are only counted

Kinds = tuple[str, ...]
"""The kinds of a transition, of which a server may list none (`Transition.kinds` of `rows/block.py`)."""


class Unlisted:
    """The missing rows that may not be lost, by their kinds: the server has listed no row of one of these."""

    def __init__(self) -> None:
        self._listed: set[str] = set()
        self._counts: Counter[Kinds] = Counter()
        self._rows: dict[Kinds, list[Any]] = {}

    def lost(self, listed: Iterable[Kinds], missing: Iterable[tuple[Kinds, Any]]) -> Iterator[Any]:
        """Take the kinds of listed rows, and missing rows; yield the missing rows that are now known to be lost."""
        self._listed.update(*listed)
        for kinds, row in missing:
            self._counts[kinds] += 1
            if self._counts[kinds] <= MOST:
                self._rows.setdefault(kinds, []).append(row)
        for kinds in [one for one in self._counts if self._listed.issuperset(one)]:
            del self._counts[kinds]
            yield from self._rows.pop(kinds)

    @property
    def counts(self) -> Counter[str]:
        """How many rows are not listed, by their first kind that no listed row has."""
        counts = Counter[str]()
        for kinds, number in self._counts.items():
            counts[next(kind for kind in kinds if kind not in self._listed)] += number
        return counts


class Check:
    """What is wrong in windows, in order of height. `second`: a source to compare with. `witness`: it may be wrong as
    well. `hashes`: what recomputes those of blocks."""

    def __init__(
        self, second: ServiceRows | None = None, hashes: "HashCheck | None" = None, *, witness: bool = False
    ) -> None:
        self._rows_of_second, self._hashes, self._witness = second, hashes, witness
        self._seen = rules.Seen({}, set())
        self._unlisted = Unlisted()
        self._forked: set[int] = set()  # heights of other blocks than those of the second source
        self._lacking: dict[str, None] = {}  # columns that only the second source has

    def steps(
        self, windows: Iterable[Window], progress: Progress = UNSEEN
    ) -> Iterator[tuple[HeightRange, list[Finding], dict[str, int]]]:
        """Yield the heights of each window, its findings in order of height, and how many rows it has, by command.

        `progress` counts heights and rows.
        """
        pa.set_memory_pool(pa.system_memory_pool())  # Arrow's own keeps what was freed: 90 MB more
        read = 0
        for window in windows:
            found = [*map(window.located, self.findings(window))]
            found += self._hashes.findings(window) if self._hashes else ()
            rows = {command: table.num_rows for command, table in window.tables.items()}
            start, end = window.heights.edges
            progress.wrote(max(0, end - max(start, read)), sum(rows.values()))
            read = max(read, end)
            yield window.heights, sorted(dict.fromkeys(found), key=by_height), rows
        if self._hashes:
            yield HeightRange(0, 0), [*self._hashes.ended()], {}

    def opens(self) -> Iterator[str]:
        """Yield what stays open, in words: columns that the source lacks, rows that it does not list, and hashes."""
        if self._lacking:
            yield f"columns that the file lacks: {', '.join(self._lacking)}"
        if self._forked:
            heights = HeightSet(HeightRange(at, at + 1) for at in self._forked)
            yield f"what else differs at {heights}, where blocks differ"
        if counts := self._unlisted.counts:
            few = ", ".join(f"{number:,} {kind}" for kind, number in counts.most_common(SHOWN))
            more = f", and {len(counts) - SHOWN} more kinds" if len(counts) > SHOWN else ""
            yield f"transitions that are not listed: {few}{more}"
        if self._hashes:
            yield from self._hashes.opens()

    def findings(self, window: Window) -> Iterator[Finding]:
        """Yield what is wrong in a window, command by command; rows in doubt are only said to be."""
        yield from window.wrong
        second = self._rows_of_second and self._rows_of_second.read(window.heights, window.tables)
        for command in sorted(window.tables, key=lambda name: FIRST.get(name, 2)):
            found = chain(rules.alone(command, window, self._seen), self._due(command, window))
            if second and command in second.tables:
                found = chain(found, self._second(command, window, second))
            for one in found:
                if one.height is None or (command, one.height) not in window.doubts:
                    yield one
        for (command, height), why in window.doubts.items():
            yield Finding(height, command, "unproved", None, why)

    def _due(self, command: str, window: Window) -> Iterator[Finding]:
        """Yield how a table differs from what full blocks explain, or else from the other tables."""
        due, table = window.due.get(command), window.tables[command]
        if due is None or command == SOURCE.command:
            return
        if "listed" in window.due:  # nothing is known of heights whose full blocks are missing
            table = rules.at_heights(command, table, window.due["blocks"]["height"].to_pylist())
        if command == "blocks":  # those that are missing are known
            due = due.filter(rules.among(due["height"], table["height"]))
        if "fee" in due.column_names:
            place = table.schema.get_field_index("program")
            table = table.set_column(place, "program", rules.program_ids(table["program"]))
            there = rules.among(due["transition_id"], table["transition_id"])
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
        listed = due.filter(there).select(names).group_by(names).aggregate([]).to_pylist()
        missing = due.filter(compute.and_not(compute.invert(there), due["optional"]))
        rows = missing.select(["height", "transition_id", *names]).to_pylist()
        for row in self._unlisted.lost(map(_kinds, listed), ((_kinds(row), row) for row in rows)):
            yield Finding(row["height"], "transitions", "missing", label("transitions", row["transition_id"]), None)

    def _second(self, command: str, window: Window, second: Window) -> Iterator[Finding]:
        """Yield how a table differs from that of the second source, in all columns but row ids. Another block is one
        difference: all rows of its height differ."""
        mine, theirs, due = window.tables[command], second.tables[command], window.due.get(command)
        whose, single = "witness: " if self._witness else "second source: ", rules.method_of(command).single
        if command == "ownership" and due is not None:  # whose rows name no heights
            place = compute.index_in(*(rules.keys(one, rules.identity(command)) for one in (theirs, due)))
            theirs = theirs.append_column("height", due["height"].take(place))
        sent = {column.path for column in rules.method_of(command).columns if not column.computed}
        lacking = (name for name in theirs.column_names if name in sent - {*mine.column_names, *rules.OWN})
        self._lacking |= dict.fromkeys(name for name in lacking if theirs[name].null_count < theirs.num_rows)
        for one in rules.doubled(command, theirs):
            yield one._replace(found=f"{whose}{one.found}")
        if part := sum(map(len, second.compared)) < len(window.heights):
            mine = rules.at_heights(command, mine, chain.from_iterable(range(*one.edges) for one in second.compared))
        for one in rules.compare(command, mine, theirs, explained=False):
            told = one.check == "missing" and single  # that a block is missing
            elsewhere = one.check == "unexpected" and one.height is None and part  # perhaps
            if not (told or elsewhere or one.height in self._forked):
                if single and one.height is not None and "block_hash=" in (one.expected or ""):
                    self._forked.add(one.height)
                yield _sided(one) if self._witness else one


def _sided(one: Finding) -> Finding:
    """Return a difference with the side of each value, because either may be right."""
    due = f"witness: {one.expected}" if one.expected else None
    found = f"here: {one.found}" if one.found else None
    return one._replace(check="differs", expected=due, found=found)


def _kinds(row: dict[str, Any]) -> Kinds:
    """Return the kinds of a transition."""
    few = (kind for kind, has in zip(UNLISTED, (row["fee"], row["empty"]), strict=False) if has)
    return (*few, f"of {row['program']}")
