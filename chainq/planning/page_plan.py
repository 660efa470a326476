"""Plans the pages of a method that has no heights (`chainTransactionsForProgram`), and grades the proof of their rows.

The service's list is ordered by block, oldest first, and its length is unknown. The rows of one block change
positions from response to response (docs/protocol.md, "Pagination"), but the block as a whole keeps its positions. So
one rule decides everything here: a block is complete if known rows before and after it frame it.

- If page 0 shows a row of a later block, it holds all blocks before that (rule 1 of `evidence`). The rest is belief:
- a block fills all positions between the blocks before and after it; `page_blocks` collects its rows;
- a block whose pages are too heavy has the rows of its full block if the service shows some of these at both of its
  ends, and another block behind them;
- page numbers are right if a page of another size shows known rows at the expected positions;
- the list ends after its last rows if a page of another size shows them and none after them, and later pages are
  empty. Else a short page was truncated or misses rows: it is requested again, then with a smaller size.

Pure, like `range_plan`: generators that yield requests and receive their rows, or have failures thrown in.
"""

from collections.abc import Sequence
from math import ceil
from operator import eq

from msgspec import Raw

from chainq import tuning
from chainq.catalog.methods import Role
from chainq.errors import IncompleteError
from chainq.planning.exchange import Grade, Proof
from chainq.planning.page_blocks import Block, Time, blocks_of, in_order, times_of, whole_block
from chainq.planning.page_requests import BlockRequest, PageAsking, PageFacts, PageRequest, PageResult, PageSteps
from chainq.query import Query
from chainq.rows.sorting import in_place
from chainq.rows.transaction import times_called


class PagePlan:
    """One run of a query without heights.

    `largest`: the most rows that the service allows in a page, None if no limit is known. `window`: pages to request
    ahead. `strict`: raise an error for rows that rest on belief. `facts`: what the pages have shown about the service.
    `believed`: the positions of the rows that rest on belief; an empty range if the list is believed to be empty, None
    if nothing rests on belief.
    """

    def __init__(self, query: Query, *, largest: int | None = None, window: int = 10, strict: bool = False) -> None:
        size = query.page_size or query.method.page_size or 1
        if query.limit is not None:  # what is requested ahead, or far beyond the limit, may not be needed
            window = 0
            size = query.page_size or min(size, query.limit + tuning.BEYOND_LIMIT)
        self._limit, self._order, self._strict = query.limit, query.method.order or "", strict
        self._listed = str(query.arguments.get(Role.PROGRAM)), str(query.arguments.get(Role.FUNCTION))
        self.facts = PageFacts(size, largest or size, window)
        self.believed: range | None = None

    def steps(self) -> PageSteps:
        """Yield requests and results, in the order in which they are wanted.

        Raises IncompleteError if rows are missing or contradict each other, and the failures of requests.
        """
        return self._read(0)

    def _read(self, start: int) -> PageSteps:
        """Yield the list starting at position `start`; above 0 without the block there, which may begin before it."""
        block = Block(start, *self._listed)
        ends: bool | None = False
        while ends is False and (self._limit is None or block.position < self._limit):
            grade = Grade.BELIEF if block.end else Grade.ORDER
            rows, times, ends = yield from self._next_page(block)
            whole: list[Raw] = []
            for place in blocks_of(times):
                if block.rows and len(blocks_of([block.times[-1], times[place.start]])) > 1:
                    whole += yield from self._whole(block, start)
                    block = Block(block.end, *self._listed)
                block.add(rows[place], times[place])
            yield from self._give(whole, block.position, grade)
        if ends and block.rows:
            whole = yield from self._whole(block, start)
            if whole and self.facts.by_transition and not block.adds_up():
                raise IncompleteError(
                    f"row {block.end}: the list ends inside a block: {len(block.rows)} rows, and {block}",
                    "the service may show no more rows than that",
                )
            yield from self._give(whole, block.end, Grade.BELIEF)
        elif ends:
            self._believe(range(0))

    def _whole(self, block: Block, start: int) -> PageAsking[list[Raw]]:
        if block.position == start > 0:
            return []
        return in_place((yield from whole_block(block, self.facts)), self._order)

    def _give(self, rows: list[Raw], end: int, grade: Grade) -> PageSteps:
        if rows:
            if grade is Grade.BELIEF:
                self._believe(range(end - len(rows), end))
            yield PageResult(rows, Proof(grade, self.facts.responses))
            self.facts.responses = 0

    def _believe(self, positions: range) -> None:
        """Record that rows rest on belief. Raises IncompleteError if that is not enough."""
        if self._strict:
            raise IncompleteError(
                f"row {positions.start}: nothing proves that from there on these are all rows",
                "leave out --strict to get them",
            )
        self.believed = range(self.believed.start if self.believed else positions.start, positions.stop)

    def _next_page(self, block: Block) -> PageAsking[tuple[list[Raw], list[Time], bool | None]]:
        """Request the page after a block's rows until it is full, is the last, or holds the rows that --limit needs.

        Return its rows and times, and whether the list ends with them; None if rows are added faster than read.
        """
        facts, longest, grew = self.facts, -1, False
        for attempt in range(tuning.LIST_ATTEMPTS + 2):
            rows, times, sent, full = yield from self._page(block)
            end = block.end + len(rows)
            whole = [place.stop for place in blocks_of(times)[:-1]]
            if not block.end and whole and self._limit is not None and whole[-1] >= self._limit:
                return rows, times, False
            if full:
                if not block.end:
                    yield from self._check_numbers(times)
                return rows, times, False
            if end >= longest and (yield from self._list_ends(end, [*block.times, *times])):
                return rows, times, True
            # Rows follow: the page was truncated or misses rows that the next response may show; or the list has grown.
            grew = end > longest >= 0
            if end <= longest:
                facts.cut_at(sent if attempt == 1 else min(sent, facts.size // 2))
            longest = max(longest, end)
        if grew:
            return rows, times, None
        raise IncompleteError(
            f"row {longest}: pages of {facts.size} rows end there, although more rows follow", "run the command again"
        )

    def _page(self, block: Block) -> PageAsking[tuple[list[Raw], list[Time], int, bool]]:
        """Request the page with the position after a block's rows, a smaller one after failures.

        Return its rows starting there, none if it does not continue the block's rows; their times; how many rows it had
        in total; and whether it is full. Raises IncompleteError if a full page does not continue the block's rows.
        """
        facts, position, sent = self.facts, block.end, None
        heavy = facts.narrowed and len(block.rows) >= facts.size and block.times[-1] not in facts.tried
        while sent is None:
            if heavy and (rows := (yield from self._of_full_block(block))):
                return rows, times_of(rows), len(rows), True
            size = facts.size
            number, known = divmod(position, size)
            sent = yield from facts.ask(PageRequest(number, size, facts.ahead))
            heavy = sent is None
        times, full = times_of(sent), len(sent) >= size
        last, here = block.times[-1:], times[max(0, known - 1) :][:1]
        misplaced = bool(last and here) and (here != last if known else not in_order([*last, *here]))
        if full and misplaced:
            raise IncompleteError(
                f"row {position}: page {number} of {size} rows does not continue where the page before it ended",
                "the data changed while it was read, or the service ignores `page`; run the command again",
            )
        if full:
            facts.worked((number + 1) * size)
        known = len(sent) if misplaced else known
        return sent[known:], times[known:], len(sent), full

    def _of_full_block(self, block: Block) -> PageAsking[list[Raw]]:
        """Return the rows from the position after a block's rows to the end of the block there, from its full block.

        None if pages are too heavy for another reason, or if the service does not show the same rows at the first and
        the last position, and a row of another block or none behind these.
        """
        facts, position = self.facts, block.end
        first = yield from facts.ask(PageRequest(position, 1))
        if not first or (time := times_of(first)[0]) is None or time in facts.tried:
            return []
        facts.tried.add(time)
        height, transactions = yield BlockRequest(time)
        begun = block.rows if block.times[-1:] == [time] else []
        start = position - len(begun)
        calls = [(row, times_called(bytes(row), *self._listed)) for row in transactions]
        by_transition = [row for row, count in calls for _ in range(count)]
        for rows in (by_transition, [row for row, count in calls if count]):
            last = (yield from facts.ask(PageRequest(start + len(rows) - 1, 1))) if rows else None
            behind = yield from facts.ask(PageRequest(start + len(rows), 1))
            shown = {bytes(row) for row in (*begun, *first, *(last or ()))}
            if last and behind is not None and times_of(behind)[:1] != [time] and shown <= {*map(bytes, rows)}:
                facts.note_heavy(height, "chainq takes rows from full blocks")
                facts.passed(start + len(rows))
                block.show(rows if begun else ())
                return rows[len(begun) :]
        facts.note_heavy(height, "rows come a few at a time, because its full block does not have the same rows")
        return []

    def _check_numbers(self, times: Sequence[Time]) -> PageAsking[None]:
        """Check that page 1 of a smaller size begins with the last row of a block in page 0: a shift would show."""
        if len(times) < tuning.SHORT <= self.facts.largest:
            times = times_of((yield from self.facts.ask(PageRequest(0, tuning.SHORT))) or [])
        ends = [place.stop - 1 for place in blocks_of(times)[:-1] if place.stop > 2]
        size = [*ends, min(2, len(times) - 1)][0]
        if size > 0:
            yield from self._shown_again(len(times[: 2 * size]), times[: 2 * size], size)

    def _list_ends(self, end: int, times: Sequence[Time]) -> PageAsking[bool]:
        """Return whether the list has no rows starting at position `end`. `times`: of the last rows before it.

        Raises IncompleteError if these rows are not shown again, and the failures of requests.
        """
        facts = self.facts
        if end:
            # It begins as close before the end as possible, so following rows show even if responses are truncated, and
            # ends two rows or more after it: a service may leave out the last row of a full page.
            sizes = [
                n for n in range(3, min(tuning.PROBE, facts.largest) + 1) if n != facts.size and 0 < end % n <= n - 2
            ]
            if (yield from self._shown_again(end, times, min(sizes, key=lambda size: end % size, default=1))):
                return False
        size = max(facts.size, min(tuning.SHORT, facts.largest))
        singles = [PageRequest(end + more, 1) for more in tuning.BEYOND]
        for look in [PageRequest(ceil(end / size), size), *singles]:
            if (yield from facts.ask(look)) != []:
                return False
        if end and end % tuning.ROUND == 0:
            facts.notes.append(f"the list ends after exactly {end} rows: the service may show no more than that")
        return True

    def _shown_again(self, end: int, times: Sequence[Time], size: int) -> PageAsking[bool]:
        """Request the last rows before position `end` again with a page of `size` rows; return whether it has more.

        `times`: of the last rows before `end`. Raises IncompleteError if no page shows them at their positions.
        """
        for _ in range(tuning.LIST_ATTEMPTS):
            number = (end - 1) // size
            known = end - number * size
            rows = yield from self.facts.ask(PageRequest(number, size))
            if rows is None:  # too heavy
                size = 1
            elif known <= len(rows) and all(map(eq, times_of(rows)[known - 1 :: -1], times[::-1])):
                return len(rows) > known
        raise IncompleteError(
            f"row {end - 1}: page {number} of {size} rows does not show the last rows that are known up to there",
            "the service counts pages in its own way, has no further pages, or ends its list early",
        )


class NewestPlan(PagePlan):
    """One run of a query for the newest `query.limit` rows, newest first. Otherwise like PagePlan.

    It requests pages of one row at growing positions until one is empty, then halves the gap between the last row
    seen and that page until the gap is no longer than the part to read. A million rows take about 20 of the lightest
    calls. An empty page that should have had a row does no harm, because reading goes on to the end of the list.
    """

    def __init__(self, query: Query, *, largest: int | None = None, strict: bool = False) -> None:
        super().__init__(query._replace(limit=None), largest=largest, strict=strict)
        self._wanted, self._most = query.limit or 0, query.page_size or self.facts.largest
        self._largest = largest or 0
        self._kept: list[Raw] = []
        self.facts = PageFacts(1, 1, 0)

    def steps(self) -> PageSteps:
        """Yield requests and one result. Raises IncompleteError if rows are missing, and what requests raise."""
        behind = self._wanted + tuning.BEYOND_LIMIT
        start = end = yield from self._near_end(behind)
        while len(self._kept) < self._wanted and start:  # else it began inside a block with very many rows
            size = max(1, min(behind, self._most))
            start = max(0, end - behind) // size * size
            self.facts, self._kept = PageFacts(size, self._largest, 10, self.facts.responses), []
            yield from self._read(start)
            behind *= 2
        if self._kept:
            yield PageResult(self._kept[::-1], Proof(Grade.BELIEF, self.facts.responses))

    def _give(self, rows: list[Raw], end: int, grade: Grade) -> PageSteps:
        """Keep the last rows; yield none yet."""
        del grade  # the end of a list rests on belief in any case
        self._kept = [*self._kept, *rows][-self._wanted :]
        self.believed = None  # rows before these are not returned
        if self._kept:
            self._believe(range(end - len(self._kept), end))
        yield from ()

    def _near_end(self, near: int) -> PageAsking[int]:
        """Return a position after which at most `near` rows follow, judging by empty pages."""
        known = beyond = 0
        while not beyond or beyond - known > near:
            position = (known + beyond) // 2 if beyond else max(near, known * tuning.STRIDE)
            rows = yield from self.facts.ask(PageRequest(position, 1))
            if rows and position > tuning.LONGEST_LIST:
                raise IncompleteError(
                    f"page {position} of 1 row has one: the service ignores `page`",
                    "chainq program-transactions reads the list from its beginning without --newest",
                )
            known, beyond = (position, beyond) if rows else (known, position)
        return beyond
