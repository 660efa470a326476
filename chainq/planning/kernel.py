"""The proof kernel: a proof is a value. Only `by_order`, `by_height`, `by_witness` and `believed` make one; `cut` and
`demote` take parts of it.

Everything else in `chainq/planning/` chooses what to request next. A bad choice does no harm, because only rows of a
proof are printed. There are three rules, each with an assumption (examples in docs/completeness.md):

1.  Order. Assumption A: page 0 of a range is a prefix of the due rows, in order of height, of any length.
    Assumption B: rows are in the range that was requested. So if page 0 shows a row at height m, it holds every row
    below m. A response proves nothing else: never its own last height, nothing if it is empty, and pages above 0 prove
    nothing. Each height has exactly one block, so a block that is shown completes its height.
2.  Witness. Assumption C: two methods of the service describe the same chain. If another method names the rows that
    are due at a height, that height is complete once all of them were shown, in any responses.
3.  Belief. What `belief.py` found with repeated requests. It keeps that grade.

Rejected: comparing row counts or byte counts of responses, and "two equal responses": a server may truncate both
in the same way.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from itertools import count
from math import inf
from typing import NamedTuple

from msgspec import Raw

from chainq import tuning
from chainq.errors import ProofError
from chainq.heights.range import HeightRange
from chainq.planning.exchange import Due, Grade, Key, RowsRequest
from chainq.rows.block import UNLISTED
from chainq.rows.sorting import Page

AGAIN = (
    "the data changed while it was read, or the service contradicts itself; run the command again: if it fails again,"
    " chainq verify on these heights names the rows"
)


class Proved(NamedTuple):
    """All rows of `heights`, in order of height, and the grade of that. `row_heights` is empty if rows of the method
    have no height and no other method tells it."""

    heights: HeightRange
    rows: list[Raw]
    row_heights: list[int]
    grade: Grade

    def cut(self, start: int, end: int) -> "Proved":
        """Return the proof of those of its heights that are in [start, end). Of rows without heights none would be
        left."""
        heights = self.heights.common(HeightRange(start, end))
        rows = slice(*(bisect_left(self.row_heights, edge) for edge in heights.edges))
        return Proved(heights, self.rows[rows], self.row_heights[rows], self.grade)


@dataclass(slots=True)
class Order:
    """The known order of rows. `usable`: no response was out of order, except for heights sorted as text. `seen`: rows
    of several heights were in order; a response with rows of only one height may be the first page of a newest-first
    list. `numeric`: rows in order show that heights are not sorted as text ("10" before "9"); `as_text`: that they are.
    """

    usable: bool = True
    seen: bool = False
    numeric: bool = False
    as_text: bool = False

    def note(self, page: Page) -> None:
        """Record a response whose rows are in order."""
        if page.heights and page.heights[0] < page.heights[-1]:
            self.seen = True
            last = bisect_left(page.heights, next_power(page.heights[0]))
            edge = page.heights[last - 1 : last + 1]
            self.numeric |= len(edge) > 1 and str(edge[0]) > str(edge[1])

    def refute(self, page: Page) -> None:
        """Record a response whose rows are out of order."""
        self.numeric, self.as_text = False, True
        self.usable &= page.as_text
        self.seen |= page.as_text and len({*page.heights}) >= tuning.SEVERAL  # fewer may be so by chance


def next_power(height: int) -> int:
    """Return the lowest power of ten above a height: heights below it sort alike as numbers and as text."""
    return int(10 ** len(str(height)))


def by_order(request: RowsRequest, page: Page, order: Order, late: Collection[int] = ()) -> Proved | None:
    """Rule 1: page 0, in order of height, holds every row below its last one.

    While heights may be sorted as text, only the heights below its last one with as many digits as the first height:
    they precede it in both orders. Nothing from a `late` height on, whose rows come behind those of higher ones.
    """
    start, end = request.heights.edges
    there = bisect_left(page.heights, end if order.numeric else next_power(start))
    if request.page or not there or not (order.usable and order.seen):
        return None
    last = min(page.heights[there - 1], *(height for height in late if height >= start), end)
    return Proved(request.heights, page.rows, page.heights, Grade.ORDER).cut(start, last) if last > start else None


def by_height(request: RowsRequest, page: Page) -> Proved | None:
    """Rule 1 for blocks: each height has exactly one, so those that adjoin from the first height on are all."""
    start, have = request.heights.start, {*page.heights}
    end = next(height for height in count(start) if height not in have)
    blocks = Proved(HeightRange(start, end), page.rows, page.heights, Grade.ORDER)
    return blocks.cut(start, end) if end > start else None


def believed(heights: HeightRange, rows: list[Raw], row_heights: list[int]) -> Proved:
    """Rule 3: responses agree that these are all rows."""
    return Proved(heights, rows, row_heights, Grade.BELIEF)


class Kinds:
    """Which kinds of rows (`Transition.kinds` of `rows/block.py`) a service lists. Rows of no kind are all listed."""

    def __init__(self) -> None:
        self._listed: set[str] = set()
        self._absent: dict[str, set[int]] = {}  # by kind: heights where it has a row that is not listed
        self._texts: dict[str, set[str]] = {}  # of programs, by each of them

    def note(self, kinds: Iterable[str]) -> None:
        """Record that a row of these kinds was shown."""
        self._listed.update(kinds)

    def join(self, texts: set[str]) -> None:
        """Record that these are texts of one program: a row comes once for each."""
        joined = texts.union(*(self._texts.get(text, ()) for text in texts))
        self._texts.update(dict.fromkeys(joined, joined))

    def texts(self, text: str) -> Collection[str]:
        """Return all texts of the program of a text; none if it is known with one."""
        return self._texts.get(text, ())

    def lack(self, kinds: Collection[str], height: int) -> None:
        """Record that a response for a height lacks a row of these kinds."""
        if not {*UNLISTED}.intersection(kinds):
            for kind in kinds:
                self._absent.setdefault(kind, set()).add(height)

    def must(self, kinds: Collection[str]) -> bool:
        """Return whether the service lists rows of all these kinds, so that it must list any row of them."""
        return self._listed.issuperset(kinds)

    def may(self, kinds: Collection[str]) -> bool:
        """Return whether a row of these kinds is due for all that is known: not if it is of a kind that services leave
        out, or of a program of which this one lists nothing at several heights, though it lists others."""
        absent = [kind for kind in kinds if kind not in self._listed]
        unknown = tuning.UNKNOWN_PROGRAM if self._listed else inf
        return not any(kind in UNLISTED or len(self._absent.get(kind, ())) >= unknown for kind in absent)


class Named:
    """The rows that another method names at some heights, and those of them that responses have shown.

    `names`: returns what identifies rows in both methods. A program may have several texts, so one transition may be
    several rows.
    """

    def __init__(self, due: Due, names: Callable[[list[Raw]], list[Key]], kinds: Kinds) -> None:
        self.heights, self._due, self._names, self.kinds = due.heights, due, names, kinds
        self._width = len(next(iter(due.at), ()))
        self._found: dict[Key, dict[Key, Raw]] = {}

    def see(self, heights: HeightRange, page: Page) -> None:
        """Record a response for `heights`. Raises ProofError for a row that is not due at its height."""
        row_heights = page.heights or [-1] * len(page.rows)  # -1: not known
        for key, row, height in zip(self._names(page.rows), page.rows, row_heights, strict=True):
            if height >= 0 and height not in self.heights:
                continue
            name = key[: self._width] if self._width else key
            at = self._due.at.get(name)
            if at is None or at not in heights or (height >= 0 and at != height):
                where = heights if height < 0 else f"height {height}"
                raise ProofError(f"{where}: a row is not in the block at that height, by its full block", AGAIN)
            rows = self._found.setdefault(name, {})
            known = rows.setdefault(key, Raw(bytes(row)))  # a row keeps its whole response
            if len(rows) > 1:
                self.kinds.join({one[-1] for one in rows})
            if bytes(known) != bytes(row):
                raise ProofError(f"{heights}: a row differs between responses", AGAIN)
            self.kinds.note(self._due.kinds.get(name, ()))

    def kinds_at(self, key: Key) -> tuple[str, ...]:
        """Return the kinds of a row."""
        return self._due.kinds.get(key, ())

    def missing(self, only: int | None = None) -> list[tuple[int, Key]]:
        """Return the due rows that were not shown, with their heights; `only` those of one height."""
        due = ((height, key) for key, height in self._due.at.items() if only in (None, height))
        lacking = (one for one in due if self._lacks(one[1]))
        return sorted(one for one in lacking if self.kinds.may(self.kinds_at(one[1])))

    def owed(self, height: int) -> int:
        """Return how many rows are missing at a height that the service must list."""
        return sum(self.kinds.must(self.kinds_at(key)) for _, key in self.missing(height))

    def _lacks(self, key: Key) -> bool:
        """Return whether a row was not shown, with each known text of its program."""
        rows = self._found.get(key)
        return not rows or any((*key, text) not in rows for one in rows for text in self.kinds.texts(one[-1]))

    def count(self, height: int) -> int:
        """Return how many rows are due at a height."""
        return sum(at == height for at in self._due.at.values())


def by_witness(named: Named) -> Proved:
    """Rule 2: a height is complete when every row that another method names there was shown."""
    end = min([height for height, _ in named.missing()], default=named.heights.end)
    shown = sorted(
        (
            (at, place, row)
            for place, (key, at) in enumerate(named._due.at.items())
            for row in named._found.get(key, {}).values()
            if at < end
        ),
        key=lambda one: one[:2],
    )
    heights = HeightRange(named.heights.start, end)
    return Proved(heights, [row for _, _, row in shown], [at for at, _, _ in shown], Grade.WITNESS)


def compare(proof: Proved, named: Named) -> list[int]:
    """Return the heights of an ordered proof that lack rows that another method names, if the service need not list
    these. Raises ProofError if it must, or for rows that are not due."""
    both = proof.heights.common(named.heights)
    shown = proof.cut(*both.edges)
    named.see(both, Page(shown.rows, shown.row_heights))
    lacking = [(height, key) for height, key in named.missing() if height in both]
    for height, key in lacking:
        if named.kinds.must(kinds := named.kinds_at(key)):
            raise ProofError(f"height {height}: a row that another method has is not listed", AGAIN)
        named.kinds.lack(kinds, height)
    return sorted({height for height, key in lacking if named.kinds.may(named.kinds_at(key))})


def demote(proof: Proved, heights: Collection[int]) -> list[Proved]:
    """Return a proof as parts, of which the given heights rest on belief."""
    edges = sorted({edge for height in heights if height in proof.heights for edge in (height, height + 1)})
    parts = [proof.cut(*part.edges) for part in proof.heights.split(edges)]
    return [part._replace(grade=Grade.BELIEF) if part.heights.start in heights else part for part in parts]


def check_meeting(below: Proved, above: Proved) -> None:
    """Raise ProofError if two proofs differ in the rows of the heights that both have."""
    both = below.heights.common(above.heights)
    one, other = below.cut(*both.edges).rows, above.cut(*both.edges).rows
    if one != other and sorted(map(bytes, one)) != sorted(map(bytes, other)):
        raise ProofError(f"{both}: two responses differ in their rows", AGAIN)
