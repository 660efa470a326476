"""Plans the pages of a method that has no heights (`chainTransactionsForProgram`), and says what their rows rest on.

The service's list of rows is ordered by block. The rows of one block change positions from response to response
(docs/protocol.md, "Pagination"), while the block as a whole keeps its positions. Therefore

- page 0 that shows a row of a later block holds all blocks before it (rule 1 of `evidence`). All else is belief:
- a block whose rows all came in one response is taken as it came;
- a block that a page edge divides is taken from one page that covers it, or collected from several (`split_block`);
- pages begin where their numbers say, if page 1 of a smaller size begins with the row that page 0 has there;
- a page with fewer rows than were asked for is the last one only if pages of another size agree (`list_end`). Else the
  page was cut, or lacks rows, and is requested again, then in smaller pages.

Pure, as `range_plan` is: a generator that yields requests and is sent their rows, without threads, clock or network.
Failures are thrown in when their turn comes.
"""

from operator import eq
from typing import NamedTuple

from msgspec import Raw

from chainq.catalog.methods import Role
from chainq.errors import IncompleteError
from chainq.planning.list_end import ATTEMPTS, SHORT, list_ends
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
)
from chainq.planning.split_block import Block, Calls, whole_block
from chainq.planning.steps import Grade, Proof
from chainq.query import Query
from chainq.rows.sorting import in_place

BEYOND_LIMIT = 50  # rows requested beyond --limit, to see where its last block ends


class _Page(NamedTuple):
    """The rows of page `number` from position `start` on. `sent`: how many rows it had in all; `full`: as many as were
    asked for; `misplaced`: it does not continue where the page before it ended."""

    number: int
    start: int
    rows: list[Raw]
    times: list[Time]
    sent: int
    full: bool
    misplaced: bool


class PagePlan:
    """One run of a query without heights.

    `largest`: the most rows that the service allows in a page, None where no limit is known. `window`: pages to request
    ahead. `start`: position to read from; above 0 the block there, of which rows may come before, is left out. `keep`:
    that many rows, the last ones, are kept in `kept`, and none are given. `strict`: rows that rest on belief are an
    error. `facts` has what the pages have shown of the service, `believed` the positions of the rows that rest on
    belief: none where the list is believed to be empty, None for no belief.
    """

    def __init__(
        self,
        query: Query,
        *,
        largest: int | None = None,
        window: int = 10,
        start: int = 0,
        keep: int = 0,
        strict: bool = False,
    ) -> None:
        size = query.page_size or query.method.page_size or 1
        if query.limit is not None:  # what is requested ahead, or far beyond the limit, may not be needed
            window = 0
            size = query.page_size or min(size, query.limit + BEYOND_LIMIT)
        self._limit, self._order = query.limit, query.method.order or ""
        self._start, self._keep, self._strict = start, keep, strict
        self._calls = Calls(str(query.arguments.get(Role.PROGRAM)), str(query.arguments.get(Role.FUNCTION)))
        self._given = 0  # rows
        self.facts = PageFacts(size, largest or size, window)
        self.believed: range | None = None
        self.kept: list[Raw] = []

    def steps(self) -> PageSteps:
        """Yield requests and results, in the order in which they are wanted.

        Raises IncompleteError where rows are missing or contradict each other, and the failures of requests.
        """
        block = Block(self._start, self._calls)
        ends: bool | None = False
        while ends is False and (self._limit is None or self._given < self._limit):
            page, ends = yield from self._next_page(block)
            if page.start < block.end:  # it holds the whole block once more
                block = Block(page.start, self._calls)
            whole: list[Raw] = []
            for rows in blocks_of(page.times):
                if block.rows and len(blocks_of([block.times[-1], page.times[rows.start]])) > 1:
                    if block.position > self._start or not self._start:
                        found, responses = yield from whole_block(block, self.facts)
                        whole += in_place(found, self._order)
                        if responses > 1:  # at the beginning of a page
                            yield from self._give(whole, block.end, Grade.BELIEF, responses)
                            whole = []
                    block = Block(block.end, self._calls)
                block.add(page.rows[rows], page.times[rows])
            yield from self._give(whole, block.position, Grade.BELIEF if page.number else Grade.ORDER, 1)
        if ends and (block.position > self._start or not self._start):
            yield from self._last(block)

    def _give(self, rows: list[Raw], end: int, grade: Grade, responses: int) -> PageSteps:
        self._given += len(rows)
        if rows and (grade is Grade.BELIEF or self._keep):
            self._believe(range(end - len(rows), end))
        if self._keep:
            self.kept = [*self.kept, *rows][-self._keep :]
        elif rows:
            yield PageResult(rows, Proof(grade, responses))

    def _believe(self, positions: range) -> None:
        """Note that rows rest on belief. Raises IncompleteError where that is not enough."""
        if self._strict:
            raise IncompleteError(
                f"row {positions.start}: nothing proves that from there on these are all rows",
                "leave out --strict to get them",
            )
        self.believed = range(self.believed.start if self.believed else positions.start, positions.stop)

    def _next_page(self, block: Block) -> PageAsking[tuple[_Page, bool | None]]:
        """Request the page after a block's rows until it comes full, or is the last.

        Return whether the list ends with it; None where rows come faster than they are read: they are left out.
        """
        before, attempts, grown = -1, 0, 0
        while True:
            page = yield from self._page(block)
            enough = self._enough(page)
            if enough or page.full:
                if not enough and not page.number:
                    yield from self._check_numbers(page.times)
                return page, False
            end = page.start + len(page.rows)
            ends = list_ends(end, [*block.times, *page.times], self.facts)
            if end >= before and not page.misplaced and (yield from ends):
                return page, True
            # Rows follow: the page was cut, or lacks rows that the next response may show; or the list has grown.
            if end > before >= 0:  # it has grown
                grown += 1
                if grown == ATTEMPTS:
                    return page, None
            elif before >= 0 or page.misplaced:
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
            before = max(before, end)

    def _enough(self, page: _Page) -> bool:
        """Return whether the first page has all blocks that are wanted, and a row of the next one."""
        blocks = blocks_of(page.times)
        return self._limit is not None and not page.number and bool(blocks) and blocks[-1].start >= self._limit

    def _page(self, block: Block) -> PageAsking[_Page]:
        """Request the page with the position after a block's rows, a smaller one after failures.

        Raises IncompleteError for a page that does not go on where those rows end.
        """
        facts, position, sent = self.facts, block.end, None
        while sent is None:
            size = facts.size
            number, known = divmod(position, size)
            sent = yield from facts.ask(PageRequest(number, size, facts.ahead))
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
        return _Page(number, first, sent[first - start :], times[first - start :], len(sent), full, misplaced)

    def _check_numbers(self, times: list[Time]) -> PageAsking[None]:
        """Have page 1 of a smaller size begin with a row of page 0: the last of its block, so that the next one would
        be noticed. Raises IncompleteError where it does not."""
        if len(times) < SHORT <= self.facts.largest:
            times = times_of((yield from self.facts.ask(PageRequest(0, SHORT))) or [])
        ends = [rows.stop - 1 for rows in blocks_of(times)[:-1]]
        size = next((end for end in ends if end > 1), min(2, len(times) - 1))
        for _ in range(ATTEMPTS if size > 0 and not self.facts.fixed else 0):
            rows = yield from self.facts.ask(PageRequest(1, size))
            if rows and len(rows) > size:
                self.facts.ignores_size(len(rows))
                return
            if rows and all(map(eq, times_of(rows), times[size:])):
                return
        if size > 0 and not self.facts.fixed:
            raise IncompleteError(
                f"row {size}: page 1 of {size} rows does not begin with the row that page 0 has there",
                "the service counts pages in its own way",
            )

    def _last(self, block: Block) -> PageSteps:
        """Give the last block. Raises IncompleteError where it lacks rows, by the transitions of those that it has."""
        if not block.rows:
            self._believe(range(0))
            return
        rows, responses = yield from whole_block(block, self.facts)
        if self.facts.by_transition and not block.adds_up():
            raise IncompleteError(
                f"row {block.end}: the list ends inside a block: {len(rows)} rows, and {block}",
                "the service may show no more rows than that",
            )
        yield from self._give(in_place(rows, self._order), block.end, Grade.BELIEF, responses + 2)
