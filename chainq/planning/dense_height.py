"""Proves a single height that fills a response: by a larger page, else by walks through its pages."""

from math import ceil, log

from msgspec import Raw

from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange
from chainq.planning.look_ahead import first_row_at_or_after, nothing_further
from chainq.planning.server import BELOW_TIP, ServerFacts
from chainq.planning.steps import DIVISIBLE, Asking, ChunkResult, ChunkSpec, Page, Proof, ProofKind, Request

LARGER = 4  # times the page size, for a height that fills a page
TRIES = 3  # of larger pages
SMALLEST_PAGE = 50  # rows; a height that is too heavy even so is given up
MOST_PAGES = 100_000  # of one walk through a height
UNCHANGED = 3  # walks that show no further row, of a service whose single rows cannot be requested


def prove_height(
    chunk: ChunkSpec, server: ServerFacts, *, known: int = 1, too_heavy: bool = False
) -> Asking[ChunkResult]:
    """Fetch the first height of a chunk and prove it.

    `known`: how many rows of it a response showed. `too_heavy`: a response of the usual page size already failed.
    Raises IncompleteError where that cannot be, and the failures of requests.
    """
    start = chunk.heights.start
    size = chunk.page_size or 1
    if too_heavy:
        size = max(1, size // LARGER)
    else:
        result = yield from _in_one_response(chunk, server, known)
        if result is not None:
            return result
    following = yield from first_row_at_or_after(start + 1, chunk.horizon, server, thorough=False)
    while True:
        try:
            rows, pages = yield from _walk(start, size, following)
        except DIVISIBLE:
            size //= LARGER
            if size < SMALLEST_PAGE:
                raise
        else:
            return ChunkResult(HeightRange(start, start + 1), rows, [start] * len(rows), Proof(ProofKind.WALK, pages))


def _in_one_response(chunk: ChunkSpec, server: ServerFacts, known: int) -> Asking[ChunkResult | None]:
    """Fetch the height in larger pages; None where no response holds it."""
    start, size = chunk.heights.start, chunk.page_size or 1
    for _ in range(TRIES):
        size *= LARGER
        try:
            page: Page = yield Request(HeightRange(start, start + 1 + chunk.overlap), size)
        except DIVISIBLE:
            return None
        if page.heights and page.heights[-1] > start:
            heights = HeightRange(start, min(page.heights[-1], chunk.heights.end))
            at = next(i for i, height in enumerate(page.heights) if height >= heights.end)
            return ChunkResult(heights, page.rows[:at], page.heights[:at], Proof(ProofKind.OVERLAP, 2))
        if known <= len(page.rows) < size:
            heights = HeightRange(start, start + 1)
            if (yield from nothing_further(page, heights, server)):
                return ChunkResult(heights, page.rows, [start] * len(page.rows), Proof(ProofKind.COUNTS, 3))
            return None
        known = max(known, len(page.rows))
    return None


def _walk(height: int, size: int, following: int | None) -> Asking[tuple[list[Raw], int]]:
    """Return all rows of one height by its pages, and how many pages that took.

    Rows of one height come in another order in each response, so the pages of one walk repeat some and lack others;
    but they add up to the true number, so walks are repeated until so many distinct rows have been seen. A walk lacks
    a row with a chance of about 1/e. With `following`, the height of the next row, a walk must come as far as that
    row: a server whose pages end early is found out.
    """
    heights = HeightRange(height, height + 1 if following is None else following + 1)
    first: Page = yield Request(heights, size)
    if not first.rows and following is None:
        raise IncompleteError(
            f"height {height}: a response has none of its rows", f"where a server is behind, {BELOW_TIP}"
        )
    # What a server gives for the first page is its true page size: a cap of its own may be lower than the size asked.
    size = len(first.rows) or 1
    if following is None and not (yield Request(heights, size, 1)).rows:
        size = max(1, (size + 1) // 2)  # without a row to come as far as, two pages show that there is paging at all
    seen: dict[bytes, Raw] = {}
    total, pages = yield from _count(heights, first, size, following, seen)
    walks = 1
    while len(seen) < total:
        if walks > 3 * log(total) + 10:
            raise IncompleteError(
                f"height {height}: {walks} walks through its pages of {size} rows showed {len(seen)} of {total} rows"
            )
        pages += yield from _walk_again(heights, size, total, seen, until=total)
        walks += 1
    if pages > 1:
        pages += 2
        if not (yield from _counts_singly(heights, following, total)):
            if walks == 1 or len((yield Request(heights, 1)).rows) == 1:
                raise IncompleteError(f"height {height}: its pages add up to {total} rows, and pages of one row do not")
            for _ in range(UNCHANGED):  # the page size is ignored, but the order changes: what is missing would be seen
                pages += yield from _walk_again(heights, size, total, seen, until=total + 1)
    if len(seen) > total:
        raise IncompleteError(f"height {height}: its {total} rows differ between responses")
    return [seen[key] for key in seen], pages


def _count(
    heights: HeightRange, first: Page, size: int, following: int | None, seen: dict[bytes, Raw]
) -> Asking[tuple[int, int]]:
    """Go through all pages once: the number of rows of the first height, and of pages.

    `first`: page 0, if it has `size` rows.
    """
    count = number = 0
    while True:
        page: Page = first if not number and len(first.rows) == size else (yield Request(heights, size, number))
        rows = _rows_of(heights.start, page)
        number += 1
        if rows and count != (number - 1) * size:
            raise _differ(heights.start, size)
        seen.update((bytes(row), row) for row in rows)
        count += len(rows)
        if len(page.rows) > len(rows):
            return count, number
        if not page.rows:
            if following is not None or number < 3:
                raise IncompleteError(
                    f"height {heights.start}: its pages of {size} rows end after {count} rows, so they cannot be proved"
                    " complete: "
                    + ("there is no second page" if following is None else f"the row at height {following} is missing")
                )
            return count, number
        if count > 100 * max(1, len(seen)) or number == MOST_PAGES:
            raise IncompleteError(f"height {heights.start}: its pages of {size} rows do not end")


def _walk_again(heights: HeightRange, size: int, total: int, seen: dict[bytes, Raw], *, until: int) -> Asking[int]:
    """Go through the pages with rows of the first height again, until so many rows were seen: the number of pages."""
    for number in range(ceil(total / size)):
        if len(seen) >= until:
            return number
        page: Page = yield Request(heights, size, number)
        rows = _rows_of(heights.start, page)
        if len(rows) != min(size, total - number * size):
            if total > (number + 1) * size:
                raise _differ(heights.start, size)
            raise IncompleteError(
                f"height {heights.start}: its pages held {total} rows in total, and later {number * size + len(rows)}"
            )
        seen.update((bytes(row), row) for row in rows)
    return ceil(total / size)


def _counts_singly(heights: HeightRange, following: int | None, total: int) -> Asking[bool]:
    """Return whether the first height has so many rows: the last of them is at its position, and none after it.

    That pages add up to the number does not show that: they may be shorter than the steps between them.
    """
    last: Page = yield Request(heights, 1, total - 1)
    after: Page = yield Request(heights, 1, total)
    single = len(last.rows) == len(_rows_of(heights.start, last)) == 1
    return single and not _rows_of(heights.start, after) and (following is None or bool(after.rows))


def _rows_of(height: int, page: Page) -> list[Raw]:
    return [row for row, at in zip(page.rows, page.heights, strict=True) if at == height]


def _differ(height: int, size: int) -> IncompleteError:
    return IncompleteError(f"height {height}: its pages of {size} rows differ in length")
