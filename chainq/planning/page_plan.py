"""Plans the pages of a method that has no heights (`chainTransactionsForProgram`), and proves that all rows came.

The service's list of rows is ordered by block. The rows of one block change positions from response to response
(docs/protocol.md, "Pagination"), while the block as a whole keeps its positions. Therefore

- a block whose rows all came in one response is exact;
- a block that a page edge divides is taken from one page that covers it, or collected from several (`split_block`);
- a page with fewer rows than were asked for is the last one only if pages of another size agree (`list_end`). Else the
  page was cut, or lacks rows, and is requested again, then in smaller pages.

Pure, as `range_plan` is: a generator that yields requests and is sent their rows, without threads, clock or network.
Failures are thrown in when their turn comes.
"""

from enum import Enum, auto
from typing import NamedTuple

from msgspec import Raw

from chainq.catalog.methods import Role
from chainq.errors import IncompleteError
from chainq.planning.list_end import ATTEMPTS, list_ends
from chainq.planning.ordering import in_place
from chainq.planning.page_facts import PageFacts
from chainq.planning.page_steps import (
    PageAsking,
    PageRequest,
    PageResult,
    PageSteps,
    Time,
    blocks_of,
    earlier,
    times_of,
    together,
)
from chainq.planning.query import Query
from chainq.planning.split_block import Block, BlockTally, Calls, whole_block
from chainq.planning.steps import DIVISIBLE, Proof, ProofKind

BEYOND_LIMIT = 50  # rows requested beyond --limit, to see where its last block ends


class _After(Enum):
    """What comes after a page."""

    MORE = auto()
    NOTHING = auto()
    NEW_ROWS = auto()  # that were not there when the run began, and come faster than they are read


class _Page(NamedTuple):
    """The rows of a response from position `start` on. `sent`: how many rows it had in all; `full`: as many as were
    asked for; `misplaced`: it does not continue where the page before it ended."""

    start: int
    rows: list[Raw]
    times: list[Time]
    sent: int
    full: bool
    misplaced: bool


class PagePlan:
    """One run of a query without heights.

    `largest`: the most rows that the service allows in a page, None where no limit is known. `window`: pages to request
    ahead. `start`: position to read from; above 0 the block there, of which rows may come before, is left out.
    `facts` has what the pages have shown of the service.
    """

    def __init__(self, query: Query, *, largest: int | None = None, window: int = 10, start: int = 0) -> None:
        size = query.page_size or query.method.page_size or 1
        if query.limit is not None:  # what is requested ahead, or far beyond the limit, may not be needed
            window = 0
            size = query.page_size or min(size, query.limit + BEYOND_LIMIT)
        self._limit, self._order, self._start = query.limit, query.method.order or "", start
        self._calls = Calls(str(query.arguments.get(Role.PROGRAM)), str(query.arguments.get(Role.FUNCTION)))
        self._given = 0  # rows
        self.facts = PageFacts(size, largest or size, window)

    def steps(self) -> PageSteps:
        """Yield requests and results, in the order in which they are wanted.

        Raises IncompleteError where rows are missing or contradict each other, and the failures of requests.
        """
        block, after = Block(self._start, self._calls), _After.MORE
        while after is _After.MORE and (self._limit is None or self._given < self._limit):
            page, after = yield from self._next_page(block)
            if page.start < block.end:  # it holds the whole block once more
                block = Block(page.start, self._calls)
            whole: list[Raw] = []
            for rows in blocks_of(page.times):
                if block.rows and not together(block.times[-1], page.times[rows.start]):
                    if self._is_partial(block):
                        block = Block(block.end, self._calls)
                        block.add(page.rows[rows], page.times[rows])
                        continue
                    found, responses = yield from whole_block(block, self._calls, self.facts)
                    if responses > 1:  # at the beginning of a page
                        yield from self._give(in_place(found, self._order), ProofKind.WALK, responses)
                    else:
                        whole += in_place(found, self._order)
                    block = Block(block.end, self._calls)
                block.add(page.rows[rows], page.times[rows])
            yield from self._give(whole, ProofKind.OVERLAP, 1)
        if after is _After.NOTHING and block.rows and not self._is_partial(block):
            yield from self._last(block)

    def _is_partial(self, block: Block) -> bool:
        """Return whether rows of a block may come before the position that the plan reads from."""
        return block.position == self._start > 0

    def _give(self, rows: list[Raw], kind: ProofKind, responses: int) -> PageSteps:
        self._given += len(rows)
        if rows:
            yield PageResult(rows, Proof(kind, responses))

    def _next_page(self, block: Block) -> PageAsking[tuple[_Page, _After]]:
        """Request the page after a block's rows until it comes full, or is the last."""
        before: int | None = None
        attempts = grown = 0
        while True:
            page = yield from self._page(block)
            if page.full or self._enough(page):
                return page, _After.MORE
            end = page.start + len(page.rows)
            if not page.misplaced and (yield from list_ends(end, [*block.times, *page.times], self.facts)):
                return page, _After.NOTHING
            # Rows follow: the page was cut, or lacks rows that the next response may show; or the list has grown.
            if before is not None and page.sent > before:
                grown += 1
                if grown == ATTEMPTS:
                    return page, _After.NEW_ROWS
            elif before is not None or page.misplaced:
                attempts += 1
                if attempts > ATTEMPTS or self.facts.fixed:
                    raise IncompleteError(
                        f"row {end}: pages of {self.facts.size} rows end there, although more rows follow",
                        "run the command again",
                    )
                if page.sent:
                    self.facts.cut_at(page.sent if attempts == 1 else min(page.sent, self.facts.size // 2))
                else:
                    self.facts.failed()
            before = page.sent

    def _page(self, block: Block) -> PageAsking[_Page]:
        """Request the page with the position after a block's rows, a smaller one after failures.

        Raises IncompleteError for a page that does not go on where those rows end.
        """
        facts, position = self.facts, block.end
        while True:
            size = facts.size
            number, known = divmod(position, size)
            try:
                sent: list[Raw] = yield PageRequest(number, size, facts.ahead)
            except DIVISIBLE:
                if not facts.failed():
                    raise
            else:
                break
        times = times_of(sent)
        if len(sent) > size:
            if position:
                raise IncompleteError(
                    f"row {position}: a page of {size} rows has {len(sent)}",
                    "the service sometimes ignores the page size",
                )
            facts.ignores_size(len(sent))
        full = len(sent) >= size
        last = block.times[-1] if block.times else None
        misplaced = last is not None and (
            (0 < known <= len(sent) and times[known - 1] != last) or (known < len(sent) and earlier(times[known], last))
        )
        if misplaced and full:
            raise IncompleteError(
                f"row {position}: page {number} of {size} rows does not continue where the page before it ended",
                "the data changed while it was read, or the service ignores `page`; run the command again",
            )
        if full:
            facts.worked((number + 1) * size)
        start = number * size
        first = block.position if start <= block.position else position
        return _Page(first, sent[first - start :], times[first - start :], len(sent), full, misplaced)

    def _enough(self, page: _Page) -> bool:
        """Return whether the blocks before the last one of page 0 have all rows that are wanted."""
        blocks = blocks_of(page.times)
        return self._limit is not None and page.start == 0 and bool(blocks) and blocks[-1].start >= self._limit

    def _last(self, block: Block) -> PageSteps:
        """Give the last block. Raises IncompleteError where it lacks rows, by the transitions of those that it has."""
        rows, responses = yield from whole_block(block, self._calls, self.facts)
        if self.facts.by_transition:
            tally = BlockTally(self._calls)
            tally.add(rows)
            if tally.weight != len(rows):
                raise IncompleteError(
                    f"row {block.end}: the list ends inside a block: {len(rows)} rows, and {tally}",
                    "the service may show no more rows than that",
                )
        yield from self._give(in_place(rows, self._order), ProofKind.TAIL, responses + 2)
