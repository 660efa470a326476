"""The rows of Parquet files of the same heights, as windows of the heights of a row group."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

from chainq.catalog.methods import height_of
from chainq.catalog.tables import SOURCE
from chainq.errors import IncompleteError
from chainq.formats.arrow_rows import ArrowRows
from chainq.heights.range import HeightRange
from chainq.text.humanize import counted
from chainq.verify import rules
from chainq.verify.explain import beside, explain
from chainq.verify.findings import Finding, Window

UNREADABLE = (pa.ArrowException, OSError, UnicodeDecodeError, IncompleteError)
"""What is raised for damage in a Parquet file."""


Read = Callable[[int, list[str]], Any]


class Sheet:
    """The rows of a table in an open Parquet file. `heights`: those it should have, None for those of its rows.

    `damage`: why its rows cannot be read, once that is known. `names`: the columns of its table that it
    has. `placed`: whether rows have a height. `wrong`: what is wrong with their heights.
    `read` returns columns of a row group. Raises what UNREADABLE names.
    """

    def __init__(
        self, file: Any, command: str, heights: HeightRange | None, read: Read | None = None, *, derived: bool = False
    ) -> None:
        self.damage: str | None = None
        self.command, self.derived = command, derived
        self._read = read or (lambda group, names: file.read_row_group(group, columns=names, use_threads=False))
        method = rules.method_of(command, derived=self.derived)
        self._schema = ArrowRows(method.columns, pa).schema
        self._every = list(file.schema_arrow.names)
        self.names = [name for name in self._schema.names if name in self._every]
        height = height_of(method) or ""
        groups = range(file.metadata.num_row_groups)
        self._group = np.repeat(groups, [file.metadata.row_group(group).num_rows for group in groups])
        named = [height] if height in self.names else []
        none = file.schema_arrow.empty_table().select(named)
        column = pa.concat_tables([none, *(self._read(group, named) for group in groups if named)])
        self.placed = bool(named) and not column[height].null_count == column.num_rows > 0
        self._at = rules.heights_of(command, column) if self.placed else np.empty(0, dtype=np.int64)
        self.wrong: list[Finding] = [*rules.order(command, column)] if self.placed else []
        known = self._at[self._at >= 0]
        edges = HeightRange(int(known.min()), int(known.max()) + 1) if len(known) else HeightRange(0, 0)
        self.heights, self.rows = heights or edges, file.metadata.num_rows
        for at in known[(known < self.heights.start) | (known >= self.heights.end)].tolist():
            self.wrong.append(Finding(at, command, "misplaced", str(self.heights), f"height {at}"))
        if lacking := len(self._at) - len(known):
            found = f"{counted(lacking, 'row')} without a valid height"
            self.wrong.append(Finding(None, command, "invalid", "a height", found))
        self._held: dict[int, Any] = {}  # the last row group

    def cuts(self) -> list[int]:
        """Return heights that divide the rows into parts that fit into memory, as row groups do."""
        last = np.flatnonzero(np.diff(self._group)) if self.placed else ()
        return sorted({self.heights.start, self.heights.end, *(int(self._at[row]) + 1 for row in last)})

    def read(self, heights: HeightRange) -> Any:
        """Return the rows of some heights; all rows if they have no height. Raises what UNREADABLE names."""
        chosen = (
            (self._at >= heights.start) & (self._at < heights.end) if self.placed else np.ones(self.rows, dtype=bool)
        )
        tables = [self._schema.empty_table().select(self.names)]
        for group in np.unique(self._group[chosen]).tolist():
            if group not in self._held:
                self._held = {group: self._whole(group)}
            tables.append(self._held[group].filter(pa.array(chosen[self._group == group])))
        return pa.concat_tables(tables).combine_chunks()

    def _whole(self, group: int) -> Any:
        """Return a row group. All columns are read, so that damage in any is noticed; pyarrow accepts texts that are
        not UTF-8."""
        table = self._read(group, self._every)
        table.validate(full=True)
        return pa.table({name: table[name].cast(self._schema.field(name).type) for name in self.names})


def windows(sheets: Sequence[Sheet], located: Callable[[Finding], Finding] = lambda one: one) -> Iterator[Window]:
    """Yield the rows of sheets of the same heights; last, those that have no height. A sheet with damage ends there."""
    left = [sheet for sheet in sheets if sheet.placed]
    wrong = [located(one) for sheet in sheets for one in sheet.wrong]
    edges = {edge for sheet in left for edge in sheet.heights.edges}
    most = max([sheet.cuts() for sheet in left], key=lambda some: len(some), default=[])
    cuts = sorted(edges.union(most))
    owned: list[Any] = []
    for heights in (HeightRange(*pair) for pair in pairwise(cuts)):
        window = _window([sheet for sheet in left if sheet.heights.overlaps(heights)], heights, located, wrong)
        left = [sheet for sheet in left if sheet.damage is None]
        owned += [window.due["ownership"]] if "ownership" in window.due else []
        yield window
        wrong = []
    others = [sheet for sheet in sheets if not sheet.placed]
    whole = HeightRange(min(edges, default=0), max((one.heights.end for one in (*sheets,)), default=0))
    last = _window(others, whole, located, wrong)
    if others or last.wrong:
        source = next((one for name in (SOURCE.command, "records") for one in left if one.command == name), None)
        if owned and source and all(other.heights.common(source.heights) == other.heights for other in others):
            due = pa.concat_tables(owned)
            last.due["ownership"] = due.filter(compute.less(due["height"], others[0].heights.end))
        yield last


def _window(
    sheets: Sequence[Sheet], heights: HeightRange, located: Callable[[Finding], Finding], wrong: list[Finding]
) -> Window:
    """Return the rows of sheets at some heights, with findings about damage in them."""
    tables = {}
    for sheet in sheets:
        try:
            tables[sheet.command] = sheet.read(heights)
        except UNREADABLE as error:
            sheet.damage = reason(error)
            wrong.append(located(Finding(None, sheet.command, "invalid", "a Parquet file", sheet.damage)))
    full = tables.get(SOURCE.command)
    due = explain(full) if full is not None else beside(tables)
    derived = frozenset(sheet.command for sheet in sheets if sheet.derived)
    return Window(heights, tables, due, {}, derived, wrong, located)


def reason(error: BaseException) -> str:
    """Return the first line of an error, or its type if it has none."""
    return str(error).split("\n", 1)[0] or type(error).__name__
