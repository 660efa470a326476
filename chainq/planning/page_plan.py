"""Reads the pages of a method that has no heights (`chainTransactionsForProgram`), and grades the proof of their rows.

The service's list is ordered by block, oldest first, and its length is unknown. The rows of one block change
positions from response to response (docs/protocol.md, "Pagination"), but the block as a whole keeps its positions. So
one rule decides everything here: a block is complete if known rows before and after it frame it in one response.

- If page 0 shows a row of a later block, it holds all blocks before that (rule 1 of `kernel`). The rest is belief:
- a block that pages divide is requested in one page that frames it;
- a block that no page can hold, or whose pages are too heavy, has the rows of its full block if the service shows some
  of these at both of its ends, and another block behind them;
- page numbers are right if a page of another size shows known rows at the expected positions;
- the list ends after its last rows if a page of another size shows them and none after them, and later pages are
  empty. Else a short page was truncated or misses rows: it is requested again, then with a smaller size.

A page that is too heavy or too slow is requested again with a smaller size; the size grows again after full pages.

Rejected: to collect the rows of a block from several responses. Transactions repeat there, once for each call, so that
nothing but a count of their calls shows when all have come; the full block has them.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from math import ceil
from operator import eq
from typing import NamedTuple

from msgspec import Raw
from msgspec.json import encode

from chainq import tuning
from chainq.catalog.methods import Role
from chainq.errors import ProofError
from chainq.planning.exchange import DIVISIBLE, Grade, Proof
from chainq.query import Query
from chainq.rows.fields import in_place
from chainq.rows.transaction import Time, blocks_of, in_order, times_called, times_of

_NARROWED = "pages fail for their size or number, so chainq requests fewer rows at a time, which is slow"

Result = tuple[list[Raw], Proof]
"""Rows of complete blocks in the order of the output, and the proof of that."""


class PageRequest(NamedTuple):
    """One call: page `number` of `size` rows. `ahead`: how many pages after it are expected to be needed next."""

    number: int
    size: int
    ahead: int = 0


class _Block:
    """The rows of a block as pages show them, starting at `position`. `whole`: those of its first page, or of its full
    block, which are all rows if they are as many."""

    def __init__(self, position: int) -> None:
        self.position = position
        self.rows: list[Raw] = []
        self.times: list[Time] = []
        self.whole: list[Raw] = []
        self._distinct: set[bytes] = set()

    @property
    def end(self) -> int:
        """Return the position after the last row."""
        return self.position + len(self.rows)

    def add(self, rows: Sequence[Raw], times: Sequence[Time]) -> None:
        """Add the rows of the next positions, from one response. Raises ProofError if rows repeat endlessly."""
        self.whole = self.whole or [*rows]
        self.rows += rows
        self.times += times
        self._distinct.update(map(bytes, rows))
        if len(self.rows) > tuning.MOST_TRANSITIONS * len(self._distinct):
            raise ProofError(f"row {self.position}: {len(self.rows)} rows repeat {len(self._distinct)}")


class PagePlan:
    """One run of a query without heights.

    `ask` returns the rows of a page; `full_block`, the height of the block of a time, and its transactions in the form
    of rows, none if it does not come. `largest`: the most rows that the service allows in a page, None if no limit is
    known. `window`: pages to request ahead. `strict`: raise an error for rows that rest on belief. `notes`: for the
    user. `believed`: the positions of the rows that rest on belief; an empty range if the list is believed to be empty,
    None if nothing rests on belief.
    """

    def __init__(
        self,
        query: Query,
        ask: Callable[[PageRequest], list[Raw]],
        full_block: Callable[[int], list[Raw]],
        *,
        largest: int | None = None,
        window: int = 10,
        strict: bool = False,
    ) -> None:
        size = query.page_size or query.method.page_size or 1
        if query.limit is not None:  # what is requested ahead, or far beyond the limit, may not be needed
            window = 0
            size = query.page_size or min(size, query.limit + tuning.BEYOND_LIMIT)
        self._query, self._limit, self._ask, self._full_block = query, query.limit, ask, full_block
        self._strict = strict
        self._calls = str(query.arguments.get(Role.PROGRAM)), str(query.arguments.get(Role.FUNCTION))
        self._size = self._most = size  # of pages in rows; it grows back to `_most`
        self._largest, self._window, self._ahead = max(largest or size, size), window, 0
        self._full = 0  # full pages since the size changed
        self._tried: set[Time] = set()  # times of blocks whose full blocks were requested
        self._responses = 0
        self._end = 0  # the position after the last row that was given
        self.notes: list[str] = []
        self.believed: range | None = None

    def results(self) -> Iterator[Result]:
        """Yield the rows: of the whole list, or if the query says so its newest ones, the newest first.

        Raises ProofError if rows are missing or contradict each other, and the failures of requests.
        """
        return self._newest(self._query.limit or 0) if self._query.newest else self._read(0)

    def _read(self, start: int) -> Iterator[Result]:
        """Yield the list starting at position `start`; above 0 without the block there, which may begin before it."""
        block = _Block(start)
        ends: bool | None = False
        while ends is False and (self._limit is None or block.position < self._limit):
            grade = Grade.BELIEF if block.end else Grade.ORDER
            rows, times, ends = self._next_page(block)
            whole: list[Raw] = []
            for place in blocks_of(times):
                if block.rows and len(blocks_of([block.times[-1], times[place.start]])) > 1:
                    whole += self._whole(block, start)
                    block = _Block(block.end)
                block.add(rows[place], times[place])
            yield from self._give(whole, block.position, grade)
        if ends and block.rows:
            yield from self._give(self._whole(block, start), block.end, Grade.BELIEF)
        elif ends:
            self._believe(range(0))

    def _newest(self, wanted: int) -> Iterator[Result]:
        """Yield the last rows of the list, the newest first.

        A million rows take about 20 of the lightest calls (`_near_end`). An empty page that should have had a row does
        no harm, because reading goes on to the end of the list.
        """
        behind, kept = wanted + tuning.BEYOND_LIMIT, deque[Raw](maxlen=wanted)
        start = end = self._near_end(behind)
        most, self._limit = self._query.page_size or self._largest, None
        while len(kept) < wanted and start:  # else it began inside a block with very many rows
            self._size = self._most = max(1, min(behind, most))
            start = max(0, end - behind) // self._size * self._size
            kept.clear()
            for rows, _ in self._read(start):
                kept += rows
            behind *= 2
        if kept:
            self.believed = None  # rows before these are not returned
            self._believe(range(self._end - len(kept), self._end))
            yield [*kept][::-1], Proof(Grade.BELIEF, self._responses)

    def _near_end(self, near: int) -> int:
        """Return a position after which at most `near` rows follow, judging by empty pages: of one row at growing
        positions until one is empty, then between that and the last row seen."""
        known = beyond = 0
        while not beyond or beyond - known > near:
            position = (known + beyond) // 2 if beyond else max(near, known * tuning.STRIDE)
            rows = self._page(PageRequest(position, 1))
            if rows and position > tuning.LONGEST_LIST:
                raise ProofError(
                    f"page {position} of 1 row has one: the service ignores `page`",
                    "chainq program-transactions reads the list from its beginning without --newest",
                )
            known, beyond = (position, beyond) if rows else (known, position)
        return beyond

    def _give(self, rows: list[Raw], end: int, grade: Grade) -> Iterator[Result]:
        if rows:
            self._end = end
            if grade is Grade.BELIEF:
                self._believe(range(end - len(rows), end))
            yield rows, Proof(grade, self._responses)

    def _believe(self, positions: range) -> None:
        """Record that rows rest on belief. Raises ProofError if that is not enough."""
        if self._strict:
            raise ProofError(f"row {positions.start}: nothing proves that from there on these are all rows")
        self.believed = range(self.believed.start if self.believed else positions.start, positions.stop)

    # Blocks

    def _whole(self, block: _Block, start: int) -> list[Raw]:
        """Return all rows of a block; none of the first one above 0. Raises ProofError if they do not come."""
        if block.position == start > 0:
            return []
        rows = block.whole
        if len(rows) != len(block.rows):
            rows = self._framed(block) or self._of_full_block(block.position, block.times[-1], block.rows)
        if len(rows) != len(block.rows):
            raise ProofError(
                f"row {block.position}: a block has {len(block.rows)} rows, which no page and no full block shows",
                "chainq program-transactions --page-size N may return all of them in a larger page",
            )
        for row, count in Counter(map(bytes, rows)).items():
            most = times_called(row, *self._calls) or row.count(b'"function":' + encode(self._calls[1]))
            if count > 1 and 0 < most < count:  # 0: its text does not tell how often it calls the function
                raise ProofError(f"a transaction with {most} calls of the function is in one response {count} times")
        return in_place(rows, self._query.method.order or "")

    def _framed(self, block: _Block) -> list[Raw]:
        """Return the rows of a block from a page that has them and a row behind them; none if no page does."""
        sizes = range(len(block.rows) + 1, self._largest + 1)
        framing = [size for size in sizes if block.position // size == block.end // size]
        for size in framing[: tuning.LIST_ATTEMPTS]:  # the smallest one is the lightest for the service
            page = self._page(PageRequest(block.position // size, size))
            if page is None:
                return []
            inside = [row for row, time in zip(page, times_of(page), strict=True) if time in block.times]
            if len(inside) == len(block.rows):
                return inside
        return []

    def _of_full_block(self, start: int, time: Time, begun: Sequence[Raw]) -> list[Raw]:
        """Return the rows of the block of a time, which begins at position `start`, from its full block.

        `begun`: some of them that pages have shown. None if the service does not show the same rows at both ends of
        the block, and a row of another block or none behind these.
        """
        if time is None or time in self._tried:
            return []
        self._tried.add(time)
        calls = [(row, times_called(bytes(row), *self._calls)) for row in self._full_block(time)]
        by_transition = [row for row, count in calls for _ in range(count)]
        for rows in (by_transition, [row for row, count in calls if count]):
            if not rows:
                break
            first, last, behind = (self._page(PageRequest(start + place, 1)) for place in (0, len(rows) - 1, len(rows)))
            if not first or not last or behind is None or times_of(behind)[:1] == [time]:
                continue
            if {*map(bytes, (*begun, *first, *last))} <= {*map(bytes, rows)}:
                if self._size < self._most:  # the block is heavy: pages begin close behind it, and soon grow again
                    sizes, end = range(self._size, self._size // 2, -1), start + len(rows)
                    self._size, self._full = min(sizes, key=lambda size: end % size), 0
                return rows
        return []

    # Pages

    def _next_page(self, block: _Block) -> tuple[list[Raw], list[Time], bool | None]:
        """Request the page after a block's rows until it is full, is the last, or holds the rows that --limit needs.

        Return its rows and times, and whether the list ends with them; None if rows are added faster than read.
        """
        longest, grew = -1, False
        for attempt in range(tuning.LIST_ATTEMPTS + 2):
            rows, times, sent, full = self._following(block)
            end = block.end + len(rows)
            whole = [place.stop for place in blocks_of(times)[:-1]]
            if not block.end and whole and self._limit is not None and whole[-1] >= self._limit:
                return rows, times, False
            if full:
                if not block.end:
                    self._check_numbers(times)
                return rows, times, False
            if end >= longest and self._list_ends(end, [*block.times, *times]):
                return rows, times, True
            # Rows follow: the page was truncated or misses rows that the next response may show; or the list has grown.
            grew = end > longest >= 0
            if end <= longest:
                self._cut_at(sent if attempt == 1 else min(sent, self._size // 2))
            longest = max(longest, end)
        if grew:
            return rows, times, None
        raise ProofError(
            f"row {longest}: pages of {self._size} rows end there, although more rows follow", "run the command again"
        )

    def _following(self, block: _Block) -> tuple[list[Raw], list[Time], int, bool]:
        """Request the page with the position after a block's rows, a smaller one after failures.

        Return its rows starting there, none if it does not continue the block's rows; their times; how many rows it had
        in total; and whether it is full. Raises ProofError if a full page does not continue the block's rows.
        """
        position, sent = block.end, None
        heavy = self._size < self._most and len(block.rows) >= self._size and block.times[-1] not in self._tried
        while sent is None:
            if heavy and (rows := self._rest_of_block(block)):
                return rows, times_of(rows), len(rows), True
            size = self._size
            number, known = divmod(position, size)
            sent = self._page(PageRequest(number, size, self._ahead))
            heavy = sent is None
        times, full = times_of(sent), len(sent) >= size
        last, here = block.times[-1:], times[max(0, known - 1) :][:1]
        misplaced = bool(last and here) and (here != last if known else not in_order([*last, *here]))
        if full and misplaced:
            raise ProofError(
                f"row {position}: page {number} of {size} rows does not continue where the page before it ended",
                "the data changed while it was read, or the service ignores `page`; run the command again",
            )
        if full:
            self._worked((number + 1) * size)
        known = len(sent) if misplaced else known
        return sent[known:], times[known:], len(sent), full

    def _rest_of_block(self, block: _Block) -> list[Raw]:
        """Return the rows from the position after a block's rows to the end of the block there, from its full block."""
        first = self._page(PageRequest(block.end, 1))
        if not first:
            return []
        time = times_of(first)[0]
        begun = block.rows if block.times[-1:] == [time] else []
        rows = self._of_full_block(block.end - len(begun), time, begun)
        block.whole = rows if begun and rows else block.whole
        return rows[len(begun) :]

    def _page(self, request: PageRequest) -> list[Raw] | None:
        """Return the rows of a page, or None if it failed but a smaller page or fewer concurrent ones may not.

        Raises ProofError if the service ignores the page size, and the failures of requests.
        """
        self._responses += 1
        try:
            rows = self._ask(request)
        except DIVISIBLE as failure:
            if self._size == 1 and request.size == 1 and not self._ahead:
                failure.hint = f"row {request.number} of the list does not come even by itself"
                raise
            self._narrow()
            return None
        if len(rows) > request.size:
            counts = f"page {request.number} of {request.size} rows has {len(rows)}"
            raise ProofError(f"{counts}: the service ignores the page size, so nothing shows where its list ends")
        return rows

    def _worked(self, position: int) -> None:
        """Record that a page was full; the next one begins at `position`."""
        self._full += 1
        larger = min(self._most, 2 * self._size)
        if self._full >= tuning.GROW_AFTER and position % larger == 0:  # else it would repeat rows
            self._size, self._full = larger, 0
        if self._size == self._most:  # page 0 alone: most lists have no more
            self._ahead = min(self._window, 2 * self._ahead + 1)

    def _narrow(self) -> None:
        """Record that a page was too heavy or too slow, perhaps for the number of requests."""
        self._size, self._ahead, self._full = max(1, self._size // 2), 0, 0
        if _NARROWED not in self.notes:
            self.notes.append(_NARROWED)

    def _cut_at(self, rows: int) -> None:
        """Record that a page was truncated to `rows` rows: later ones request no more. One empty page may be chance."""
        if rows:
            self._size = self._most = self._largest = min(rows, self._size)
        else:
            self._narrow()

    # The end of the list

    def _check_numbers(self, times: Sequence[Time]) -> None:
        """Check that page 1 of a smaller size begins with the last row of a block in page 0: a shift would show."""
        if len(times) < tuning.SHORT <= self._largest:
            times = times_of(self._page(PageRequest(0, tuning.SHORT)) or [])
        ends = [place.stop - 1 for place in blocks_of(times)[:-1] if place.stop > 2]
        size = [*ends, min(2, len(times) - 1)][0]
        if size > 0:
            self._shown_again(len(times[: 2 * size]), times[: 2 * size], size)

    def _list_ends(self, end: int, times: Sequence[Time]) -> bool:
        """Return whether the list has no rows starting at position `end`. `times`: of the last rows before it.

        Raises ProofError if these rows are not shown again, and the failures of requests.
        """
        if end:
            # It begins as close before the end as possible, so following rows show even if responses are truncated, and
            # ends two rows or more after it: a service may leave out the last row of a full page.
            sizes = [
                n for n in range(3, min(tuning.PROBE, self._largest) + 1) if n != self._size and 0 < end % n <= n - 2
            ]
            if self._shown_again(end, times, min(sizes, key=lambda size: end % size, default=1)):
                return False
        size = max(self._size, min(tuning.SHORT, self._largest))
        singles = [PageRequest(end + more, 1) for more in tuning.BEYOND]
        if any(self._page(look) != [] for look in [PageRequest(ceil(end / size), size), *singles]):
            return False
        if end and end % tuning.ROUND == 0:
            self.notes.append(f"the list ends after exactly {end} rows: the service may show no more than that")
        return True

    def _shown_again(self, end: int, times: Sequence[Time], size: int) -> bool:
        """Request the last rows before position `end` again with a page of `size` rows; return whether it has more.

        `times`: of the last rows before `end`. Raises ProofError if no page shows them at their positions.
        """
        for _ in range(tuning.LIST_ATTEMPTS):
            number = (end - 1) // size
            known = end - number * size
            rows = self._page(PageRequest(number, size))
            if rows is None:  # too heavy
                size = 1
            elif known <= len(rows) and all(map(eq, times_of(rows)[known - 1 :: -1], times[::-1])):
                return len(rows) > known
        raise ProofError(f"row {end - 1}: page {number} of {size} rows does not show the last rows up to there again")
