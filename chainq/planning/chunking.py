"""The length of chunks: as many heights as fill a response, estimated from earlier responses."""

from collections.abc import Iterable, Iterator
from math import ceil

from chainq import tuning
from chainq.catalog.methods import Method
from chainq.errors import UsageError
from chainq.heights.range import HeightRange
from chainq.planning.exchange import NOTHING_KNOWN, Known, RowsRequest
from chainq.query import Query
from chainq.text.humanize import counted


def page_sizes(query: Query) -> tuple[int | None, float | None]:
    """Return the page size that requests ask for, and the rows that a chunk should hold; None without pages.

    A page size that the user sets is requested unchanged. Otherwise chunks hold the documented page size, and requests
    ask for more, because the number of rows in the next heights is an estimate.
    """
    method = query.method
    if method.page_size is None:
        return None, None
    if query.page_size is not None:
        return query.page_size, query.page_size * tuning.FILL
    return min(ceil(method.page_size * tuning.ROOM), method.page_size_max or tuning.WIDEST), method.page_size


class Chunker:
    """Chooses the lengths of chunks. `rows`: how many a chunk should hold, None for methods without pages.

    `known`, from earlier ranges, counts as one response: the next responses have the same weight.
    """

    def __init__(self, method: Method, rows: float | None, known: Known = NOTHING_KNOWN) -> None:
        self._limit = method.max_heights or (tuning.WIDEST_BLOCKS if method.single else tuning.WIDEST)
        self._first = min(method.first_heights or self._limit, self._limit)
        self._single = method.single
        self._page_rows: float = rows or self._limit
        self._ceiling: float = self._page_rows  # rows; lower while responses are cut or fail
        self._seen: tuple[tuple[int, int, int], ...] = ()  # heights, rows, bytes; other threads read it
        self._longest = 0  # heights of one response
        self.widest = self._limit  # heights of a request; fewer if wider ones fail
        self._came = 0  # the widest response
        if known.rows_per_height:
            aim = min(self._page_rows, tuning.AIM_BYTES / max(1.0, known.row_bytes))
            length = max(1, min(self._limit, int(aim / known.rows_per_height)))
            rows_there = ceil(length * known.rows_per_height)
            self.learn(HeightRange(0, length), rows_there, ceil(rows_there * known.row_bytes), complete=True)

    @property
    def rows_per_height(self) -> float:
        """Return rows per height: the median over the recent responses, weighted by heights; 0 before the first.

        Rejected: the mean. One height with 25,000 rows raised it so much that the next chunks were too short.
        """
        densities = sorted((rows / heights, heights) for heights, rows, _ in self._seen)
        half = sum(heights for _, heights in densities) / 2
        for density, heights in densities:
            half -= heights
            if half <= 0:
                return density
        return 0.0

    @property
    def row_bytes(self) -> float:
        """Return the mean size of a row; 0 before the first."""
        rows = sum(seen[1] for seen in self._seen)
        return sum(seen[2] for seen in self._seen) / rows if rows else 0.0

    @property
    def settled(self) -> bool:
        """Return whether chunks have the length that fills a response, and are not still growing towards it."""
        if self._single and self._first == self._limit:
            return True
        longest = tuning.GROWTH * self._longest
        return bool(self._seen) and (longest >= self._limit or longest * self.rows_per_height >= self._aim())

    def choose(self) -> tuple[int, int]:
        """Return the length of the next chunk and its overlap, in heights."""
        if not self._seen:
            first = min(self._first, self.widest)
            overlap = 0 if self._single else max(1, first // 16)
            return max(1, first - (overlap if first == self.widest else 0)), overlap
        density = self.rows_per_height
        grown = tuning.GROWTH * max(1, self._longest)
        length = min(grown, self.widest, int(self._aim() / density) if density else grown)
        overlap = 0
        if not self._single:
            overlap = ceil(tuning.OVERLAP_ROWS / density) if density else length // 4
            overlap = max(1, min(overlap, length // 4))
        return max(1, length - overlap), overlap

    def _aim(self) -> float:
        """Return how many rows the next response should hold."""
        return min(self._ceiling, max(1.0, tuning.AIM_BYTES / self.row_bytes)) if self.row_bytes else self._ceiling

    def learn(self, heights: HeightRange, rows: int, size: int, *, complete: bool) -> None:
        """Record that a response covered `heights` with `rows` rows, `size` bytes. `complete`: it was not truncated."""
        if len(heights):
            self._seen = (*self._seen, (len(heights), rows, size))[-tuning.RECENT :]
            self._longest = max(self._longest, len(heights))
        if complete:
            self._ceiling = min(self._page_rows, self._ceiling * 1.25)

    def too_heavy(self, heights: HeightRange) -> None:
        """Record that a response for `heights` failed because of its size."""
        expected = self.rows_per_height * len(heights)
        if expected:
            self._ceiling = max(1.0, min(self._ceiling, expected / 2))
        if len(heights) > self._came:  # perhaps for its width, too
            self.widest = max(1, self._came, min(self.widest, len(heights) // 2))

    def came(self, heights: HeightRange) -> None:
        """Record that a response for `heights` arrived and has rows."""
        self._came = max(self._came, len(heights))


def within_limit(query: Query, heights: HeightRange) -> HeightRange:
    """Return the heights that rows up to the limit can have: fewer only if each height has one row, or for 0."""
    limit = query.limit
    if limit is None or limit >= len(heights) or (limit and not query.method.single):
        return heights
    if query.reverse:
        return HeightRange(heights.end - limit, heights.end)
    return HeightRange(heights.start, heights.start + limit)


def refuse_whole(what: str, methods: Iterable[Method], heights: HeightRange) -> None:
    """Raise UsageError if there are heights: `what` reads the whole chain by these methods, which nobody asked for."""
    if not len(heights):
        return
    calls = sum(1 for method in methods for _ in first_requests(Query(method), heights))
    message = f"no range was given: {what} would read {heights}, up to {counted(calls, 'call')}"
    raise UsageError(message, "pass 0: for the whole chain, or a range such as 12K:")


def first_requests(query: Query, heights: HeightRange) -> Iterator[RowsRequest]:
    """Yield the first request of each chunk of a range, as if nothing were learned from responses.

    With a limit, only requests that are certain to be sent: the first one, if heights may have any number of rows.
    """
    heights = within_limit(query, heights)
    page_size, chunk_rows = page_sizes(query)
    length, overlap = Chunker(query.method, chunk_rows).choose()
    for at in range(0, len(heights), length):
        if query.reverse:
            start, end = max(heights.start, heights.end - at - length), heights.end - at
        else:
            start, end = heights.start + at, min(heights.end, heights.start + at + length)
        yield RowsRequest(HeightRange(start, end + overlap), page_size)
        if query.limit is not None and not query.method.single:
            return
