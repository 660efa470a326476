"""The rules over the windows of one source: each table by itself, with the full blocks, and with a second source."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

from chainq.catalog.tables import SOURCE
from chainq.rows.block import UNLISTED
from chainq.verify import rules
from chainq.verify.compare import explained, program_ids, same
from chainq.verify.explain import BLOCK
from chainq.verify.findings import Contradiction, Finding, Located, label
from chainq.verify.unlisted import Missing, Unlisted
from chainq.verify.windows import Window

FIRST = {SOURCE.command: 0, "blocks": 1}  # they show where the second source has other blocks
SHOWN = 5  # kinds of rows that a server does not list


class Check:
    """What is wrong in windows, in order of height. `witness`: the second source may be wrong as well."""

    def __init__(self, *, witness: bool = False) -> None:
        self._witness = witness
        self._last: dict[str, Any] = {}  # the last block, by command
        self._told: set[str] = set()  # IDs with a wrong checksum
        self._unlisted = Unlisted()

    def opens(self) -> list[str]:
        """Return what stays open, in words: rows that the source does not list."""
        kinds = sorted(((number, kind) for kind, number in self._unlisted.counts.items() if number), reverse=True)
        few = ", ".join(f"{number:,} {kind}" for number, kind in kinds[:SHOWN])
        more = f", {sum(number for number, _ in kinds[SHOWN:]):,} of other programs" if kinds[SHOWN:] else ""
        return [f"transitions that are not listed: {few}{more}"] if kinds else []

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
            for height, one in dict.fromkeys(found):
                if height is None or (command, height) not in window.doubts:
                    yield window.finding(command, height, one)
        for (command, height), why in window.doubts.items():
            yield window.finding(command, height, Contradiction("unproved", None, why))

    def _alone(self, command: str, window: Window) -> Iterator[Located]:
        """Yield what is wrong in a table by itself."""
        table = window.tables[command]
        yield from rules.doubled(command, table)
        if command == SOURCE.command or "listed" not in window.due:  # others are compared with their full blocks
            yield from rules.checksums(command, table, self._told)
        if command == SOURCE.command and "listed" in window.due:
            for name, column in (
                ("calls", "transition_id"),
                ("listed", "transaction_id"),
                ("records", "record_ciphertext"),
            ):
                inside = window.due[name].select(["height", column])
                yield from rules.checksums("calls", inside, self._told)
            yield from rules.numbered(window.due["listed"])
        elif command == "transactions" and command in window.derived and "listed" not in window.due:
            yield from rules.numbered(table)
        if not rules.method_of(command).linked:
            return
        yield from rules.absent(command, table, window.heights)
        blocks = window.due["blocks"] if command == SOURCE.command else table
        blocks = blocks.select([name for name in BLOCK if name in blocks.column_names])
        if {"block_hash", "previous_hash"} <= {*blocks.column_names}:
            blocks = blocks.sort_by("height")
            yield from rules.links(self._last.get(command), blocks)
            if blocks.num_rows:
                self._last[command] = blocks.slice(blocks.num_rows - 1)

    def _due(self, command: str, window: Window) -> Iterator[Located]:
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
            yield from self._transitions(table, due)
            return
        yield from rules.compare(command, table, due, explained)

    def _transitions(self, table: Any, due: Any) -> Iterator[Located]:
        """Yield wrong transitions; those that are missing only if others of all their kinds are there."""
        place = table.schema.get_field_index("program")
        named = table.set_column(place, "program", program_ids(table["program"]))
        there = compute.is_in(due["transition_id"], value_set=table["transition_id"].combine_chunks())
        kinds = (
            due.filter(there).select(["fee", "empty", "program"]).group_by(["fee", "empty", "program"]).aggregate([])
        )
        for row in kinds.to_pylist():
            for lost in self._unlisted.listed(_kinds(row)):
                yield lost.height, Contradiction("missing", label("transitions", lost.key), None)
        lacking = due.filter(compute.and_not(compute.invert(there), due["optional"]))
        unlisted = [
            row["transition_id"]
            for row in lacking.select(["height", "transition_id", "fee", "empty", "program"]).to_pylist()
            if not self._unlisted.is_lost(Missing(row["height"], (row["transition_id"],), _kinds(row)))
        ]
        silent = compute.is_in(due["transition_id"], value_set=pa.array(unlisted, pa.string()))
        wanted = compute.or_(there, compute.invert(compute.or_(silent, due["optional"])))
        yield from rules.compare("transitions", named, due.filter(wanted), explained)

    def _second(
        self, command: str, window: Window, second: Window, chosen: frozenset[int] | None, forked: set[int]
    ) -> Iterator[Located]:
        """Yield how a table differs from that of the second source, in all columns but row ids. Blocks with another
        hash are one difference: all rows of these heights, which `forked` gets, differ."""
        mine, derived, linked = window.tables[command], command in window.derived, rules.method_of(command).linked
        if chosen is not None:
            mine = mine.filter(pa.array(np.isin(rules.heights_of(command, mine), [-1, *chosen])))
        judge = same(rules.method_of(command, derived=derived), derived=derived)
        for height, one in rules.compare(command, mine, second.tables[command], judge):
            told = one.check == "missing" and linked  # that a block is missing
            elsewhere = one.check == "unexpected" and height is None and chosen is not None  # perhaps
            if told or elsewhere or height in forked:
                continue
            if height is not None and linked and "block_hash=" in (one.expected or ""):
                forked.add(height)
            yield height, _sided(one) if self._witness else one


def _sided(one: Contradiction) -> Contradiction:
    """Return a difference with the side of each value, because either may be right."""
    due = f"witness: {one.expected}" if one.expected else None
    found = f"here: {one.found}" if one.found else None
    return Contradiction("differs", due, found)


def _kinds(row: dict[str, Any]) -> tuple[str, ...]:
    """Return the kinds of a transition, of which a server may list none (`Transition.kinds` of `rows/block.py`)."""
    few = (kind for kind, has in zip(UNLISTED, (row["fee"], row["empty"]), strict=False) if has)
    return (*few, f"of {row['program']}")
