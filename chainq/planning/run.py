"""What the chunks of one run share: how they ask, and what the responses have shown about the service."""

from bisect import bisect_left
from collections.abc import Callable
from contextlib import suppress
from math import inf
from threading import RLock
from typing import Any

from chainq import tuning
from chainq.catalog.methods import BY_COMMAND
from chainq.errors import OverdueError, ProofError
from chainq.heights.range import HeightRange
from chainq.planning.chunking import Chunker, page_sizes
from chainq.planning.conservation import Conservation
from chainq.planning.exchange import (
    DIVISIBLE,
    UNAVAILABLE,
    Due,
    DueRequest,
    Known,
    RowsRequest,
    TipRequest,
)
from chainq.planning.kernel import Kinds, Order
from chainq.query import Query
from chainq.rows.fields import Picker, text_of
from chainq.rows.sorting import Page, Sorter, name_reader
from chainq.text.sanitize import excerpt, printable

Request = RowsRequest | TipRequest | DueRequest
Send = Callable[[Request], Any]
"""Sends a request and returns its outcome: rows (list[Raw]), a tip height, or what another method tells."""

_pick_block = Picker(["block_hash"])


class Run:
    """The state that the chunks of one run share; threads change it behind its lock.

    `witness`: whether full blocks may name the due rows; `blocks` becomes False if the service lacks them, and
    `located`, whether `records` tells the heights of rows without one, if it lacks that. `order`: of rows; `highest`:
    the highest height of any row. `empty`: how many heights without rows full blocks have named since the last row;
    `heavy`: heights whose full block is too heavy by itself. `dense`: a height that is likely to fill a response.
    `widest`: heights of the widest request that showed a row at its far end. `looked_back`: heights before the run
    were requested, to see which kinds of rows the service lists.
    """

    def __init__(
        self, query: Query, heights: HeightRange, send: Send, tip: int | None, known: Known, *, witness: bool
    ) -> None:
        self.query, self.method, self.heights, self._send = query, query.method, heights, send
        self.size, chunk_rows = page_sizes(query)
        self.pace = Chunker(query.method, chunk_rows, known)
        self.sort = {False: Sorter(query.method), True: Sorter(BY_COMMAND["records"])}
        self.names = name_reader((*self.method.identity, *([self.method.text] if self.method.text else [])))
        self.blocks = bool(self.method.identity) and witness
        self.located = self.blocks and self.method.height is None
        self.conservation = Conservation(reverse=query.reverse)
        self.order, self.kinds = Order(), known.kinds or Kinds()
        self.highest, self.empty, self.dense, self.widest = -1, 0, -1, known.shown_width
        self.heavy: set[int] = set()
        self.late_heights: set[int] = set()
        self.notes: list[str] = []
        self.stopped = self.looked_back = False
        self._tip, self.lock = tip, RLock()
        self._hashes: dict[int, str] = {}
        self._row_ids: dict[int, int] = {}
        self._ranked = True  # whether the service may show row ids

    def disprove_order(self, why: str) -> None:
        """Record that order proves nothing in this run, and why: full blocks name the rows."""
        with self.lock:
            self.order.usable = False
            self.note(f"{why}: its full blocks name the rows that are due")
            self.leave_records()

    def leave_records(self) -> None:
        """Record that `records` does not help: full blocks name the rows of `ownership` themselves."""
        if self.located:
            self.located = False
            self.conservation = Conservation(reverse=self.query.reverse)

    @property
    def top(self) -> int | None:
        """Return the height after the highest known block, or None while the tip is unknown.

        One of several servers behind a URL may return a stale tip: rows seen above it take precedence.
        """
        return None if self._tip is None else max(self._tip, self.highest) + 1

    def find_top(self) -> int:
        """Return the height after the highest known block; request the tip if it is unknown."""
        with self.lock:
            if self._tip is None:
                self._tip = self.ask(TipRequest())
        return self.top or 0

    def ask(self, request: Request) -> Any:
        """Return the outcome of a request. Raises its failure."""
        if self.stopped:
            raise OverdueError("the run has ended")
        return self._send(request)

    def page(self, request: RowsRequest) -> Page:
        """Return a page. Raises what requests raise, and IncompleteError."""
        page = self.sort[request.records](self.ask(request), request.heights, verify=self.query.verify)
        self._check_hashes(page)
        if request.records == self.located:  # else the chunks are those of `records`
            self._learn(request, page)
        return page

    def _learn(self, request: RowsRequest, page: Page) -> None:
        """Learn from a page: how long chunks should be, and rows that must be printed."""
        with self.lock:
            if page.rows:
                self.pace.came(request.heights)
                self.highest = max(self.highest, request.heights.start, *page.heights[-1:])
            if page.heights and (request.records or self.method.height):
                self.widest = max(self.widest, page.heights[-1] - request.heights.start + 1)
                self.conservation.see(page)
            if request.page or request.page_size != self.size:
                return
            covered, count, full = request.heights, len(page.rows), self.full(page)
            if full and not page.heights:
                return
            if full:  # the last height may have more rows
                covered = HeightRange(covered.start, page.heights[-1])
                count = bisect_left(page.heights, page.heights[-1])
            sample = page.rows[:64]
            size = sum(len(bytes(row)) for row in sample) * count // max(1, len(sample))
            self.pace.learn(covered, count, size, complete=not full)

    def too_heavy(self, heights: HeightRange) -> None:
        """Record that a response for some heights failed because of its size, or lacks a row."""
        with self.lock:
            if len(heights) > 1:
                self.pace.too_heavy(heights)

    def full(self, page: Page) -> bool:
        """Return whether a response has as many rows as were asked for."""
        return self.size is not None and len(page.rows) >= self.size

    def clip(self, start: int, reach: int) -> int:
        """Return the end of the heights starting at `start` that one request may cover."""
        top = self.top
        return min(reach, start + self.pace.widest, reach if top is None else max(self.heights.end, top))

    def note(self, text: str) -> None:
        """Record a note for the user, once."""
        if text not in self.notes:
            self.notes.append(text)

    def due(self, heights: HeightRange) -> Due | None:
        """Return the rows due at the first of some heights by their full blocks, or None if these do not arrive: fewer
        are requested then, and the first one twice.

        A block that is too heavy by itself is not requested again; after several of them, no block is.
        """
        start, width, again = heights.start, min(tuning.NAMED_BLOCKS, len(heights)), True
        while self.blocks and start not in self.heavy and width:
            try:
                due: Due = self.ask(DueRequest(HeightRange(start, start + width)))
            except DIVISIBLE:
                if width == 1:
                    self.heavy.add(start)
                    self.blocks = len(self.heavy) < tuning.FEW_HEAVY
                width //= 2
            except UNAVAILABLE:
                self.blocks = False
            else:
                if len(due.heights):
                    with self.lock:
                        self.empty = 0 if due.at else self.empty + len(due.heights)
                        self.highest = max(self.highest, due.heights.end - 1)
                        self._hashes.update(due.hashes)
                    return due
                width, again = (max(1, width // 4), again) if width > 1 else (int(again), False)
        return None

    def _check_hashes(self, page: Page) -> None:
        """Raise ProofError if a row names another block than the one at its height."""
        if self._hashes.keys().isdisjoint(page.heights):  # the hashes of few heights are known
            return
        for row, height in zip(page.rows, page.heights, strict=False):
            known = self._hashes.get(height)
            if known and (named := printable(text_of(_pick_block(row)[0]))) not in ("", known):
                raise ProofError(
                    f"height {height}: a row is of block {excerpt(named, 80)}, but the block is {excerpt(known, 80)}",
                    "the service returns rows of an old fork, perhaps from a cache; run the command again later",
                )

    def find_late(self, heights: HeightRange) -> None:
        """Add to `late_heights` those whose blocks have a higher row id than later ones.

        Deployed servers order rows by these ids: rows of a block that was stored again come late in a response, or not
        at all if it ends before. Servers that show no row ids are taken to order by height.
        """
        at, end = heights.edges
        while self._ranked and (at := next((one for one in range(at, end) if one not in self._row_ids), end)) < end:
            row_ids: dict[int, int] = {}
            for last in dict.fromkeys((at + tuning.ROW_IDS, min(end, at + tuning.ROW_IDS))):  # many may be too many
                with suppress(*UNAVAILABLE, *DIVISIBLE):
                    row_ids = row_ids or self.ask(DueRequest(HeightRange(at, last), row_ids=True))
            self._row_ids |= row_ids
            self._ranked = bool(self._row_ids)
            at = max(at, *row_ids) + 1 if row_ids else at + tuning.ROW_IDS  # a response may end early
        lowest, late = inf, list[int]()
        for height in reversed(range(*heights.edges)):
            row_id = self._row_ids.get(height, lowest)
            if row_id > lowest:
                late.append(height)
            lowest = min(lowest, row_id)
        if late:
            self.note("the service orders rows by the row ids of blocks, not by height: order proves nothing there")
        with self.lock:
            self.late_heights = self.late_heights.union(late)  # other threads read the one before
