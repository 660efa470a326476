"""How a range is cut into chunks, and what proves a chunk's answer complete. Pure: no calls, no rows, only counts.

The rules are those of docs/completeness.md; numbers of rows are per method, because row caps are.
"""

from chainq.catalog.methods import Method
from chainq.heights.range import HeightRange

AIM_BYTES = 6 * 2**20  # of an answer: larger ones cost memory, smaller ones round trips
WIDEST = 100_000  # heights of a chunk where the document sets no limit
WIDEST_LINKED = 1000  # the same for full blocks; deployed servers refuse more
FILL = 0.8  # of a page: room for chunks that are denser than those before
FOLLOW = 0.9  # of the leading chunk's heights, so that its answer stays the longest


class Cutter:
    """Cuts chunks off a range, one at a time, each as long as earlier answers suggest and never over the limit.

    Of the chunks under way at one time, the first (the leader) is the longest, so that on an even chain its answer,
    once proved, proves the others'.
    """

    def __init__(self, method: Method, span: HeightRange, page_size: int | None, reverse: bool = False) -> None:
        self._rest = span
        self._reverse = reverse
        self._limit = method.max_heights or (WIDEST_LINKED if method.linked else WIDEST)
        self._steady = method.linked  # one row a height: the only weight that varies is a row's
        self._next = min(method.first_heights or self._limit, self._limit)
        self._leader = 0
        self._leader_out = False
        self._aim_rows: float = page_size * FILL if page_size else self._limit
        self._density: float | None = None  # rows a height, of late
        self._row_bytes: float | None = None
        self._longest = 0  # rows

    def __bool__(self) -> bool:
        """Whether heights are left to cut."""
        return len(self._rest) > 0

    def cut(self) -> tuple[HeightRange, bool]:
        """The next chunk and whether it is the leader. Needs heights left."""
        leads = not self._leader_out and not self._steady
        if leads:
            self._leader, self._leader_out = self._next, True
        length = self._next if leads or self._steady else max(1, int(self._leader * FOLLOW))
        rest = self._rest
        if self._reverse:
            middle = max(rest.start, rest.end - length)
            chunk, self._rest = HeightRange(middle, rest.end), HeightRange(rest.start, middle)
        else:
            middle = min(rest.end, rest.start + length)
            chunk, self._rest = HeightRange(rest.start, middle), HeightRange(middle, rest.end)
        return chunk, leads

    def stop_at(self, top: int) -> None:
        """Leave out the heights from `top` on."""
        self._rest = HeightRange(min(self._rest.start, top), min(self._rest.end, top))

    def learn(self, span: HeightRange, rows: int, size: int, leads: bool) -> None:
        """Take in what an answer weighed: rows, and bytes."""
        density = rows / len(span)
        self._density = density if self._density is None else (self._density + density) / 2
        if rows:
            self._row_bytes = size / rows
        self._longest = max(self._longest, rows)
        if leads:
            self._leader_out = False
        self._choose(len(span))

    def hold_back(self, span: HeightRange, rows: int | None, leads: bool) -> None:
        """Take in that a chunk was too much for one answer; `rows` is how many an answer can hold, where known."""
        if rows is not None:
            self._aim_rows = min(self._aim_rows, rows * FILL)
        elif self._density:
            self._aim_rows = max(1.0, min(self._aim_rows, self._density * len(span) / 2))
        if leads:
            self._leader_out = False
        self._next = max(1, min(self._next, len(span) // 2))

    def _choose(self, length: int) -> None:
        aim = self._aim_rows
        if self._row_bytes:
            aim = min(aim, AIM_BYTES / self._row_bytes)
        if not self._steady and self._longest >= aim * FILL:
            aim = min(aim, self._longest * FOLLOW)
        grown = length * 4
        wanted = int(aim / self._density) if self._density else grown
        self._next = max(1, min(wanted, grown, self._limit))
