"""How a range is cut into chunks, and what proves a chunk's answer complete. Pure: no calls, no rows, only counts.

The rules are those of the reference page "How completeness is proved" in the README; numbers of rows are per method,
because hidden caps are.
"""

from dataclasses import dataclass, field
from enum import Enum, auto

from chainq.methods import Method
from chainq.span import Span

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

    def __init__(self, method: Method, span: Span, page_size: int | None, reverse: bool = False) -> None:
        self._rest = span
        self._reverse = reverse
        self._limit = method.span or (WIDEST_LINKED if method.linked else WIDEST)
        self._steady = method.linked  # one row a height: the only weight that varies is a row's
        self._next = min(method.first_span or self._limit, self._limit)
        self._leader = 0
        self._leader_out = False
        self._aim_rows: float = page_size * FILL if page_size else self._limit
        self._density: float | None = None  # rows a height, of late
        self._row_bytes: float | None = None
        self._longest = 0  # rows

    def __bool__(self) -> bool:
        """Whether heights are left to cut."""
        return len(self._rest) > 0

    def cut(self) -> tuple[Span, bool]:
        """The next chunk and whether it is the leader. Needs heights left."""
        leads = not self._leader_out and not self._steady
        if leads:
            self._leader, self._leader_out = self._next, True
        length = self._next if leads or self._steady else max(1, int(self._leader * FOLLOW))
        rest = self._rest
        if self._reverse:
            middle = max(rest.start, rest.end - length)
            chunk, self._rest = Span(middle, rest.end), Span(rest.start, middle)
        else:
            middle = min(rest.end, rest.start + length)
            chunk, self._rest = Span(rest.start, middle), Span(middle, rest.end)
        return chunk, leads

    def stop_at(self, top: int) -> None:
        """Leave out the heights from `top` on."""
        self._rest = Span(min(self._rest.start, top), min(self._rest.end, top))

    def learn(self, span: Span, rows: int, size: int, leads: bool) -> None:
        """Take in what an answer weighed: rows, and bytes."""
        density = rows / len(span)
        self._density = density if self._density is None else (self._density + density) / 2
        if rows:
            self._row_bytes = size / rows
        self._longest = max(self._longest, rows)
        if leads:
            self._leader_out = False
        self._choose(len(span))

    def hold_back(self, span: Span, rows: int | None, leads: bool) -> None:
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


class Verdict(Enum):
    """What the number of rows in an answer says."""

    WHOLE = auto()
    FULL = auto()  # more rows exist, or may: a smaller range or a larger page is needed
    DOUBT = auto()  # as long as any answer so far: only an empty page 1 would prove it


@dataclass(slots=True)
class Evidence:
    """What the answers of one method have shown of the server's caps on rows.

    An answer shorter than its page is whole, unless the server has a cap that it does not tell. Any answer of m rows
    shows that such a cap is at least m, so an answer shorter than one seen before was not cut. That leaves those as
    long as the longest. `counts` are pairs (rows, distinct rows): a server may page by something other than rows
    where rows repeat, and both measures must be shorter.
    """

    longest: tuple[int, int] = (0, 0)
    cuts: set[int] = field(default_factory=set)

    def see(self, counts: tuple[int, int]) -> None:
        """Take in an answer."""
        self.longest = (max(self.longest[0], counts[0]), max(self.longest[1], counts[1]))

    def cut_at(self, rows: int) -> None:
        """Take in that an answer of so many rows was followed by more."""
        self.cuts.add(rows)

    def judge(self, counts: tuple[int, int], page_size: int) -> Verdict:
        """What an answer to a call for `page_size` rows is worth."""
        rows, distinct = counts
        if rows == 0:
            return Verdict.WHOLE
        if rows == page_size or rows in self.cuts:
            return Verdict.FULL
        if rows < page_size and rows < self.longest[0] and distinct < self.longest[1]:
            return Verdict.WHOLE
        return Verdict.DOUBT
