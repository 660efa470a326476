"""Reads the rows of a service for several commands in step, in order of height, even if the service is faulty.

Rows are read as for the command itself: proved complete, in few requests. If the proof fails, a binary search finds the
height, and the rows of one response for that height are used unproved, so that they can be compared and the fault
named.
"""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

import pyarrow as pa
from msgspec import Raw
from pyarrow import compute

from chainq.catalog.methods import BY_COMMAND, Role
from chainq.catalog.tables import SOURCE
from chainq.errors import IncompleteError
from chainq.fetching.calls import Asked
from chainq.fetching.service import Service
from chainq.formats.arrow_rows import ArrowRows
from chainq.heights.range import HeightRange
from chainq.process.threads import in_order
from chainq.query import Query
from chainq.rows.block import IDENTITY
from chainq.rows.fields import Picker, integer_of, object_of, text_of
from chainq.rows.tables import table_rows
from chainq.transport.jsonrpc import decode_listed
from chainq.verify import rules
from chainq.verify.explain import explain
from chainq.verify.findings import Window

BLOCKS = ("blocks", "full-blocks")
COMMANDS = (*BLOCKS, *IDENTITY)
"""The commands that can be verified."""
FEW = 2  # concurrent requests, except for full blocks, by far the slowest; more would only fill the memory
LARGEST = 100_000  # row limit of a request for a single height


class Part(NamedTuple):
    """The rows of `heights`, each with its height, None if the row does not contain it.

    `doubt`: why rows may be missing, empty if all are there.
    """

    heights: HeightRange
    rows: list[tuple[int | None, Raw]]
    doubt: str = ""


class CommandRows:
    """The rows of a command with a height range. Raises ChainqError if the service fails."""

    def __init__(self, service: Service, command: str) -> None:
        self._service, self._method = service, BY_COMMAND[command]
        self._height = Picker([self._method.height]) if self._method.height else None
        self._asked = Asked(None if self._method is SOURCE else FEW, notes=False)

    def parts(self, heights: HeightRange) -> Iterator[Part]:
        """Yield the rows of some heights, in order, as parts that adjoin and cover all of the heights."""
        rest = heights
        try:
            for found in self._proved(heights):
                yield found
                rest = HeightRange(found.heights.end, heights.end)
            if len(rest):
                yield Part(rest, [])  # the chain ends here for this command
        except IncompleteError as error:
            if not error.again:  # an export lacks the rows: no single height is wrong
                raise
            if len(rest) == 1:
                yield self.single(rest.start, error.message)
            else:
                yield from chain.from_iterable(map(self.parts, rest.halves()))

    def single(self, height: int, doubt: str = "") -> Part:
        """Return the rows of one height from one response, in doubt only if a page follows.

        That is enough here: a comparison with the full block shows missing rows.
        """
        heights = HeightRange(height, height + 1)
        rows = self._page(heights, 0, LARGEST)
        more = self._method.page_size is not None and rows and self._page(heights, 1, len(rows))
        return Part(heights, [(height, row) for row in rows], doubt if more else "")

    def _page(self, heights: HeightRange, page: int, size: int) -> list[Raw]:
        query = Query(self._method, page=page, page_size=size)
        return [row for batch in self._service.fetch_one_page(query, heights) for row in batch.rows]

    def _proved(self, part: HeightRange) -> Iterator[Part]:
        query = Query(self._method)
        for batch in self._service.fetch_range(query, part, self._asked):
            if batch.heights is not None:
                heights = (integer_of(self._height(row)[0]) if self._height else None for row in batch.rows)
                yield Part(batch.heights, list(zip(heights, batch.rows, strict=True)))


class ServiceRows:
    """The rows of several commands of a service at some of the `heights`, in step.

    `spans`: by command or table, its heights in order. `sample`: only these heights of them. `listed`: those whose
    lists of transactions are read, one request each; None for all. `derived`: tables that are read off the full blocks.
    """

    def __init__(
        self,
        service: Service,
        heights: HeightRange,
        spans: Mapping[str, Sequence[HeightRange]],
        *,
        sample: Collection[int] | None = None,
        listed: Container[int] | None = None,
        derived: Collection[str] = (),
    ) -> None:
        self._service, self._heights, self._sample, self._listed = service, heights, sample, listed
        self._derived = derived
        inside = [some for name, some in spans.items() if name in derived or name == SOURCE.command]
        own = {name: some for name, some in spans.items() if name not in derived}
        own |= {SOURCE.command: max(inside, key=lambda some: sum(map(len, some)))} if inside else {}
        if "transactions" in own:
            own.setdefault("blocks", own["transactions"])  # whose row ids a dialect may need
        self._spans = {name: self._places(some, heights) for name, some in own.items()}
        self._rows = {name: CommandRows(service, name) for name in self._spans if BY_COMMAND[name].ranged}
        self._parts = {
            name: chain.from_iterable(map(rows.parts, self._spans[name])) for name, rows in self._rows.items()
        }
        self._read = dict.fromkeys(self._rows, 0)  # where each command continues
        self._ahead: dict[str, list[tuple[int | None, Raw]]] = {name: [] for name in self._rows}
        self._doubts: dict[tuple[str, int], str] = {}
        self._made: dict[str, ArrowRows] = {}

    def _places(self, spans: Iterable[HeightRange], heights: HeightRange) -> list[HeightRange]:
        """Return those of some heights that are read, as ranges."""
        both = [common for span in spans if len(common := span.common(heights))]
        if self._sample is None:
            return both
        return [HeightRange(at, at + 1) for at in sorted(self._sample) if any(at in span for span in both)]

    def windows(self) -> Iterator[Window]:
        """Yield the rows of all commands, as they are read, with what full blocks explain.

        Ownership rows, which have no height, set the pace: they need the full blocks of all their heights.
        """
        pace = next(name for name in ("ownership", SOURCE.command, "blocks") if name in self._spans)
        for part in self._parts[pace]:
            self._take(pace, part)
            window = self.read(part.heights, self._spans, pace)
            due = explain(window.tables[SOURCE.command]) if SOURCE.command in window.tables else {}
            if self._listed is not None and due:
                some = [at for at in range(*part.heights.edges) if at in self._listed]
                due["transactions"] = rules.at_heights("transactions", due["listed"], some)
            if pace == "ownership":
                window.tables[pace] = self._asked_again(part.heights, window.tables[pace], due[pace])
            yield window._replace(due=due)

    def read(self, heights: HeightRange, names: Collection[str], pace: str = "") -> Window:
        """Return the rows of some commands or tables at the next heights, no rows if none of these are read; those
        of `pace` have been read."""
        tables = dict[str, pa.Table]()
        compared = self._places([self._heights], heights)
        for name in sorted(self._spans, key=COMMANDS.index) if compared else ():
            places = self._places(self._spans[name], heights)
            if name == pace or name not in ("transactions", "ownership"):
                found = self._until(name, heights)
            elif name not in names:
                continue
            elif name == "transactions":
                found = [row for place in places for row in self._lists(place, tables["blocks"])]
            else:
                found = [row for place in places for part in self._rows[name].parts(place) for row in part.rows]
            tables[name] = self._table(name, [row for _, row in found])
            if name == "transactions":
                at = pa.array([height for height, _ in found], pa.int64())
                tables[name] = tables[name].set_column(0, "height", at)
            if name == SOURCE.command and self._derived:
                inside = [table_rows(row) for _, row in found]
                tables |= {
                    one: self._table(one, [row for rows in inside for row in rows[one]]) for one in self._derived
                }
        doubts = {place: self._doubts.pop(place) for place in [*self._doubts] if place[1] < heights.end}
        return Window(heights, tables, {}, doubts, compared=compared)

    def _until(self, name: str, heights: HeightRange) -> list[tuple[int | None, Raw]]:
        """Return the rows of a command at the next heights; rows before them are not compared."""
        while self._read[name] < heights.end and (part := next(self._parts[name], None)):
            self._take(name, part)
        rows = self._ahead[name]
        count = sum(height is None or height < heights.end for height, _ in rows)
        found, self._ahead[name] = rows[:count], rows[count:]
        return [one for one in found if one[0] is None or one[0] >= heights.start]

    def _take(self, name: str, part: Part) -> None:
        self._read[name] = part.heights.end
        if part.doubt:
            self._doubts[name, part.heights.start] = part.doubt
        self._ahead[name] += ((height, row.copy()) for height, row in part.rows)

    def _table(self, name: str, rows: Sequence[Raw]) -> pa.Table:
        """Return rows as a table, with values that do not fit in a column of their own (`formats/arrow_rows.py`)."""
        derived = name in self._derived
        made = self._made.setdefault(name, ArrowRows(rules.method_of(name, derived=derived).columns, pa))
        return pa.Table.from_batches(made.batches(rows), made.schema).combine_chunks()

    def _lists(self, heights: HeightRange, blocks: pa.Table) -> list[tuple[int | None, Raw]]:
        """Return the transactions of some heights. Where the dialect needs row ids, a block without one has no list.

        Rejected: `Service.fetch_lookups`, which stops at the first wrong list.
        """
        call = self._service.calls.of(BY_COMMAND["transactions"])
        by_id = call.dialect.transactions_by_row_id
        known = dict(zip(*(blocks[name].to_pylist() for name in ("height", "id")), strict=True))

        def listed(height: int) -> list[tuple[int | None, Raw]]:
            sent = known.get(height) if by_id else height
            rows = [] if sent is None else call({Role.HEIGHT: sent}, decode_listed, f"height {height}")
            return [(height, row) for row in rows]

        threads = self._service.options.concurrency
        jobs = (partial(listed, at) for at in range(*heights.edges) if self._listed is None or at in self._listed)
        return [row for rows in in_order(threads, jobs, threads + 2) for row in rows]

    def _asked_again(self, heights: HeightRange, found: pa.Table, due: pa.Table) -> pa.Table:
        """Return ownership rows with their heights. Heights whose rows are not those that are due are requested alone:
        in responses for several heights, other methods tell where one ends, and these may have a wrong row.
        """
        names = rules.identity("ownership")
        here, there = rules.keys(found, names), rules.keys(due, names)
        place = compute.index_in(here, value_set=there)
        strays = {*here.filter(compute.is_null(place)).to_pylist()}
        own = found.filter(compute.is_valid(place)).append_column("height", due["height"].take(place.drop_null()))
        lacking = due["height"].filter(compute.invert(compute.is_in(there, value_set=here))).unique().to_pylist()
        alone = {at: self._rows["ownership"].single(at).rows for at in lacking}
        strays -= {_key(row) for rows in alone.values() for _, row in rows}
        for at in self._located(strays, heights):
            alone[at] = self._rows["ownership"].single(at).rows
        again = self._table("ownership", [row for rows in alone.values() for _, row in rows])
        again = again.append_column("height", pa.array([at for at, rows in alone.items() for _ in rows], pa.int64()))
        kept = compute.invert(compute.is_in(own["height"], value_set=pa.array([*alone], pa.int64())))
        return pa.concat_tables([own.filter(kept), again]).combine_chunks()

    def _located(self, strays: set[str], heights: HeightRange) -> Iterator[int]:
        """Yield the heights of rows that no full block explains, by requesting ever narrower ranges."""
        if strays and len(heights) == 1:
            yield heights.start
        for half in heights.halves() if strays and len(heights) > 1 else ():
            rows = (row for part in self._rows["ownership"].parts(half) for _, row in part.rows)
            yield from self._located(strays & set(map(_key, rows)), half)


def _key(row: Raw) -> str:
    """Return the identity of an ownership row, as `rules.keys` does."""
    fields = object_of(row)
    return ":".join(text_of(fields.get(name)) for name in IDENTITY["ownership"])
