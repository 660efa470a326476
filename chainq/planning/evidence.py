"""The proof kernel: takes every response of a run as evidence, and is the only maker of a proof.

Everything else in `chainq/planning/` chooses what to request next, and may choose badly without harm: what is printed
is what `Evidence.prove` returns. Its three rules, and the assumption under each (docs/completeness.md has examples):

1.  Order. Assumption A: page 0 of a range is a prefix of the rows due, in order of height, of whatever length.
    Assumption B: rows lie in the range that was requested. So page 0 that shows a row known to lie at height m or above
    holds every row below m. That is all a response proves: never its own last height, nothing where it is empty,
    and pages above 0 prove nothing. Of blocks each height has one: a height that is shown is complete.
2.  Witness. Assumption C: two methods of the service tell of the same chain. Where another method names the rows that
    are due at a height, that height is complete when all of them were shown, in whatever response.
3.  Belief. What `belief.py` found by looking twice. It is handed on as what it is.

Where evidence contradicts itself or an assumption, `see` and `witness` raise IncompleteError.

Rejected: to compare numbers of rows or bytes of responses, and "two responses alike": a server may cut both alike.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import ge
from typing import NamedTuple

from msgspec import Raw

from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange
from chainq.planning.order import Order, same_digits
from chainq.planning.spans import Spans, Whole, in_order
from chainq.planning.steps import Due, DueRequest, Grade, Key, Located, Page, Request
from chainq.text.sanitize import excerpt

_AGAIN = "the data changed while it was read, or the service contradicts itself; run the command again"
_RANK = {Grade.ORDER: 0, Grade.WITNESS: 1, Grade.BELIEF: 2}


class Proved(NamedTuple):
    """All rows of `heights`, in order of height, and on what that rests. `row_heights` is empty where rows of the
    method carry none."""

    heights: HeightRange
    rows: list[Raw]
    row_heights: list[int]
    grade: Grade


@dataclass(slots=True, eq=False)
class _Response:
    """Page 0 of a range. `complete`: the heights whose rows it holds by rule 1, of rows with heights. Of rows without:
    `keys`, the rows as a set; `bounds`: between which heights each lies, as of a version of the evidence; `identities`:
    what identifies each, once that is asked for."""

    heights: HeightRange
    rows: list[Raw]
    row_heights: list[int]
    complete: list[HeightRange] = field(default_factory=list)
    keys: set[bytes] = field(default_factory=set)
    bounds: tuple[int, list[int], list[int]] = (-1, [], [])
    identities: list[Key] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Witness:
    """What another method said, and the rows shown so far that it names."""

    due: Due
    found: dict[Key, Raw] = field(default_factory=dict)
    by_height: list[tuple[int, Key]] = field(default_factory=list)


class Evidence:
    """All that a run has seen of one method.

    `heights`: whether rows carry their height; `linked`: whether each height has exactly one row. `key`: what
    identifies a row in other methods; `block_hash`: the block that a row names, empty where it names none.
    """

    def __init__(
        self,
        *,
        heights: bool = True,
        linked: bool = False,
        key: Callable[[Raw], Key] = lambda row: (str(row),),
        block_hash: Callable[[Raw], str] | None = None,
    ) -> None:
        self.with_heights, self._key, self._block_hash = heights, key, block_hash
        self._responses: list[_Response] = []
        self._witnesses: list[_Witness] = []
        self._beliefs: list[Proved] = []
        self._spans = Spans()
        self._hashes: dict[int, str] = {}
        self._version = 0  # counts what came in
        self.order = Order(linked)
        self.start_shown = False  # a response had rows at the first height that was asked for
        self.widest = 0  # heights of the widest request that showed a row at its far end

    # What comes in

    def see(self, request: Request, page: Page) -> None:
        """Take in a response. Raises IncompleteError where it contradicts what was seen before."""
        self._version += 1
        shown = _Response(request.heights, page.rows, page.heights)
        if self.with_heights:
            self._see_heights(shown, page, first=not request.page)
        else:
            self._see_rows(shown)
        for witness in self._witnesses:
            self._match(witness, shown)
        for complete in shown.complete:
            self._check_due(complete)
        if not request.page:
            self._responses.append(shown)

    def _see_heights(self, shown: _Response, page: Page, *, first: bool) -> None:
        """Take in rows that carry their height. `first`: of page 0."""
        self._check_hashes(page.rows, page.heights)
        if page.ordered:
            self.order.note(page.heights)
        elif not self.order.linked and self.order.broken(as_text=page.as_text):
            for other in self._responses:
                other.complete = []
        if first and (self.order.linked or (self.order.usable and (page.ordered or page.as_text))):
            shown.complete = self.order.complete(shown.heights, page.heights)
        for other in self._responses if self.order.usable or self.order.linked else ():
            _agree(shown, other)
        if page.heights:
            self.widest = max(self.widest, page.heights[-1] - shown.heights.start + 1)
            self.start_shown |= page.heights[0] == shown.heights.start

    def _see_rows(self, shown: _Response) -> None:
        """Take in rows without heights: one that two responses show lies in the heights of both."""
        shown.rows = [Raw(bytes(row)) for row in shown.rows]  # a row keeps its whole response alive
        shown.keys = set(map(bytes, shown.rows))
        # A narrower response from the same height on says more of its rows than the one before it.
        self._responses = [other for other in self._responses if not _narrower(shown, other)]
        for other in self._responses:
            for row in shown.keys & other.keys:
                self._spans.narrow(row, *other.heights.edges)
        for row in self._spans.shared(shown.keys):
            self._spans.narrow(row, *shown.heights.edges)

    def witness(self, due: Due) -> None:
        """Take in what another method says. Raises IncompleteError where it contradicts the rows shown.

        It is kept when responses contradict each other: of the two it does not depend on the page that was asked for.
        """
        self._version += 1
        witness = _Witness(due, by_height=sorted((height, key) for key, height in due.at.items()))
        self.know_hashes(due.hashes)
        for shown in self._responses:
            self._match(witness, shown)
        self._witnesses.append(witness)
        for shown in self._responses:
            for complete in shown.complete:
                self._check_due(complete)

    def locate(self, request: DueRequest, located: Located) -> None:
        """Take in a page of another method whose rows carry heights, one for each row of this one (rules 1 and 2)."""
        if not located.ordered:  # nor are rows that show no height
            self.order.broken(as_text=False)
            return
        proved = [] if request.page else self.order.complete(request.heights, located.heights)
        complete = proved[0] if proved else HeightRange(request.heights.start, request.heights.start)
        at = dict(zip(located.keys, located.heights, strict=True))
        inside = {key: height for key, height in at.items() if complete.start <= height < complete.end}
        self.witness(Due(complete, inside, shown=at))

    def know_hashes(self, hashes: Mapping[int, str]) -> None:
        """Take in the hashes of blocks by height: rows that name another block at these heights are of another chain."""
        self._hashes.update(hashes)
        for shown in self._responses if hashes else ():
            self._check_hashes(shown.rows, shown.row_heights)

    def believe(self, heights: HeightRange, rows: list[Raw], row_heights: list[int]) -> None:
        """Take in that these are all rows of the heights, as far as can be found out without a proof (rule 3)."""
        self._beliefs.append(Proved(heights, rows, row_heights if self.with_heights else [], Grade.BELIEF))

    def forget(self, heights: HeightRange) -> None:
        """Drop the responses to these heights, which contradict each other, so that others take their place."""
        self._version += 1
        self._responses = [
            r for r in self._responses if r.heights.end <= heights.start or heights.end <= r.heights.start
        ]
        self._spans.keep(set().union(*(response.keys for response in self._responses)))

    # What goes out

    def prove(self, heights: HeightRange, *, reverse: bool = False) -> Proved | None:
        """Return all rows of some heights, the first ones of these (in reverse the last ones); None where no rule
        proves any."""
        proofs = [proof for proof in self._proofs(heights, reverse=reverse) if len(proof.heights)]
        return min(proofs, key=lambda proof: (_RANK[proof.grade], -len(proof.heights)), default=None)

    def reach(self, start: int, end: int) -> int:
        """Return up to which height, `end` at most, all rows from `start` on can be proved."""
        while start < end and (proof := self.prove(HeightRange(start, end))) is not None:
            start = proof.heights.end
        return start

    def known_row(self, start: int) -> tuple[int, int] | None:
        """Return between which heights [low, high) the lowest known row lies that is not below `start`; None for none."""
        if self.with_heights:
            rows = (_first_from(r.row_heights, start) for r in self._responses)
            lowest = min((height for height in rows if height is not None), default=None)
            return None if lowest is None else (lowest, lowest + 1)
        found = [r.heights.edges for r in self._responses if r.rows and r.heights.start >= start]
        found += self._spans.from_height(start)
        known = min(found, key=lambda span: (span[1], span[0]), default=None)
        for witness in self._witnesses:
            for height in (*witness.due.at.values(), *witness.due.shown.values()):
                if height >= start and (known is None or height < known[1]):
                    known = (height, height + 1)
        return known

    def missing(self, heights: HeightRange) -> tuple[int, int]:
        """Return how many rows witnesses name at some heights, and how many of them no response has shown."""
        found: dict[Key, bool] = {}
        for witness in self._witnesses:
            low, high = (bisect_left(witness.by_height, (edge,)) for edge in heights.edges)
            for _, key in witness.by_height[low:high]:
                found[key] = found.get(key, False) or key in witness.found
        return len(found), sum(not shown for shown in found.values())

    def strict_at(self, height: int) -> bool:
        """Return whether a row that is due at a height must be listed."""
        return all(w.due.strict for w in self._witnesses if w.due.heights.start <= height < w.due.heights.end)

    def witnessed(self, height: int) -> int:
        """Return up to which height another method has said what is due from a height on; 0 where it has not."""
        ends = (w.due.heights.end for w in self._witnesses if w.due.heights.start <= height < w.due.heights.end)
        return max(ends, default=0)

    def given(self, heights: HeightRange, *, reverse: bool, edge: int = 16) -> None:
        """Take in that rows were handed on: drop them, but for `edge` heights which the next responses may show again."""
        low, high = (0, heights.start + edge) if reverse else (heights.end, 1 << 63)
        kept = []
        for shown in self._responses:
            if shown.heights.end <= low or shown.heights.start >= high:
                continue
            if shown.row_heights and (shown.heights.start < low or shown.heights.end > high):
                some = slice(bisect_left(shown.row_heights, low), bisect_left(shown.row_heights, high))
                shown.rows = [Raw(bytes(row)) for row in shown.rows[some]]  # a row keeps its whole response alive
                shown.row_heights = shown.row_heights[some]
                shown.heights = HeightRange(max(low, shown.heights.start), min(high, shown.heights.end))
                shown.complete = [HeightRange(max(low, c.start), min(high, c.end)) for c in shown.complete]
            kept.append(shown)
        if len(kept) < len(self._responses) and not self.with_heights:
            self._spans.keep(set().union(*(response.keys for response in kept)))
        self._responses = kept
        self._witnesses = [w for w in self._witnesses if w.due.heights.end >= low and w.due.heights.start <= high]
        self._beliefs = [b for b in self._beliefs if b.heights.end > low and b.heights.start < high]

    # Rule 1

    def _proofs(self, heights: HeightRange, *, reverse: bool) -> Iterator[Proved]:
        edge = heights.end - 1 if reverse else heights.start
        for shown in self._responses if self.order.usable or self.order.linked else ():
            if self.with_heights:
                yield from (_cut(shown, heights, complete) for complete in shown.complete if _holds(complete, edge))
            elif _holds(shown.heights, edge):
                yield from self._cut_without_heights(shown, heights, reverse=reverse)
        yield from (
            self._witnessed(one, heights, reverse=reverse) for one in self._witnesses if _holds(one.due.heights, edge)
        )
        for belief in self._beliefs:
            if _holds(belief.heights, edge):
                if self.with_heights and len(belief.row_heights) == len(belief.rows):
                    yield _cut(_Response(*belief[:3]), heights, belief.heights)._replace(grade=Grade.BELIEF)
                elif heights.start <= belief.heights.start and belief.heights.end <= heights.end:
                    yield belief

    # Rule 1 for rows without heights

    def _bounds(self, shown: _Response) -> tuple[list[int], list[int]]:
        """Return between which heights each row of a response lies: lows and highs, both rising; none while it is not
        known whether the order is numeric.

        A row that is missing where another response or method holds all rows does not lie there; and rows are in order.
        """
        if shown.bounds[0] == self._version:
            return shown.bounds[1:]
        whole = [
            Whole(other.heights.start, self._spans.far(other.keys), other.keys)
            for other in self._responses
            if other is not shown and _overlap(other.heights, shown.heights)
            if self.order.numeric or same_digits(other.heights)
        ]
        for witness in self._witnesses:
            if _overlap(witness.due.heights, shown.heights):
                named = zip(map(bytes, shown.rows), self._identities(shown), strict=True)
                whole.append(Whole(*witness.due.heights.edges, {row for row, key in named if key in witness.due.at}))
        lows, highs = self._spans.bounds(list(map(bytes, shown.rows)), shown.heights, whole)
        if not (self.order.numeric or same_digits(shown.heights)):
            self.order.note([low for low, high in zip(lows, highs, strict=True) if high - low == 1])
            if not self.order.numeric:
                lows, highs = [], []
        lows, highs = in_order(lows, highs)
        if any(map(ge, lows, highs)):
            raise IncompleteError(f"{shown.heights}: a row of the response lies at no height", _AGAIN)
        if lows and lows[-1] > shown.heights.start:
            self.widest = max(self.widest, lows[-1] - shown.heights.start + 1)
        shown.bounds = self._version, lows, highs
        return lows, highs

    def _identities(self, shown: _Response) -> list[Key]:
        """Return what identifies each row of a response."""
        if len(shown.identities) != len(shown.rows):
            shown.identities = list(map(self._key, shown.rows))
        return shown.identities

    def _cut_without_heights(self, shown: _Response, heights: HeightRange, *, reverse: bool) -> Iterator[Proved]:
        """Yield the rows of a response in the widest heights whose edges no row may lie across."""
        lows, highs = self._bounds(shown)
        start = max(heights.start, shown.heights.start)
        since = bisect_left(lows, start)
        if not lows or (since and highs[since - 1] > start):
            return
        cuts = [heights.end] if reverse else sorted({low for low in lows if start < low < heights.end} | {heights.end})
        for cut in reversed(cuts):
            upto = bisect_left(lows, cut)
            if start < cut <= lows[-1] and (not upto or highs[upto - 1] <= cut):
                self._check_due(HeightRange(start, cut))
                yield Proved(HeightRange(start, cut), shown.rows[since:upto], [], Grade.ORDER)
                return

    # Rule 2

    def _match(self, witness: _Witness, shown: _Response) -> None:
        """Hold the rows of a response against those that are due, and keep the ones that are. Raises IncompleteError."""
        due = witness.due
        if self.with_heights:
            part = slice(*(bisect_left(shown.row_heights, edge) for edge in due.heights.edges))
            rows, row_heights, keys = shown.rows[part], shown.row_heights[part], list(map(self._key, shown.rows[part]))
        else:
            lie = [*due.heights.edges, *due.shown.values()]
            if not _overlap(shown.heights, HeightRange(min(lie), max(lie) + 1)):
                return
            rows, row_heights, keys = shown.rows, [], self._identities(shown)
        for i, (row, key) in enumerate(zip(rows, keys, strict=True)):
            height = due.at.get(key, due.shown.get(key))
            if height is not None and not self.with_heights:
                self._spans.narrow(bytes(row), height, height + 1)
            if self.with_heights and height != row_heights[i]:
                raise IncompleteError(
                    f"height {row_heights[i]}: a row is not in the block at that height, by its full block", _AGAIN
                )
            if height is not None:
                witness.found.setdefault(key, row)

    def _check_due(self, complete: HeightRange) -> None:
        """Raise IncompleteError where a row is due at heights of which all rows were shown, and is none of them."""
        for witness in self._witnesses:
            due = witness.by_height if witness.due.strict else []
            for height, key in due[bisect_left(due, (complete.start,)) : bisect_left(due, (complete.end,))]:
                if key not in witness.found:
                    raise IncompleteError(f"height {height}: a row that another method has is not listed", _AGAIN)

    def _witnessed(self, witness: _Witness, heights: HeightRange, *, reverse: bool) -> Proved:
        """Return the rows of the heights that a witness names, up to the first one of which a row was not shown."""
        low, high = max(heights.start, witness.due.heights.start), min(heights.end, witness.due.heights.end)
        due = witness.by_height[bisect_left(witness.by_height, (low,)) : bisect_left(witness.by_height, (high,))]
        lacking = [height for height, key in due if key not in witness.found]
        if lacking and reverse:
            low = lacking[-1] + 1
        elif lacking:
            high = lacking[0]
        keys = [(height, key) for height, key in due if low <= height < high]
        rows = [witness.found[key] for _, key in keys]
        row_heights = [height for height, _ in keys] if self.with_heights else []
        return Proved(HeightRange(low, max(low, high)), rows, row_heights, Grade.WITNESS)

    def _check_hashes(self, rows: Sequence[Raw], row_heights: Sequence[int]) -> None:
        """Raise IncompleteError where a row names another block than the one at its height."""
        if self._block_hash is None or not self._hashes:
            return
        for height, known in self._hashes.items():
            for i in range(bisect_left(row_heights, height), bisect_left(row_heights, height + 1)):
                named = self._block_hash(rows[i])
                if named and known and named != known:
                    raise IncompleteError(
                        f"height {height}: a row is of block {excerpt(named, 80)}, but the block is {excerpt(known, 80)}",
                        "the service returns rows of an old fork, perhaps from a cache; run the command again later",
                    )


def _overlap(one: HeightRange, other: HeightRange) -> bool:
    return one.start < other.end and other.start < one.end


def _narrower(one: _Response, other: _Response) -> bool:
    return one.heights.start == other.heights.start and one.heights.end <= other.heights.end and bool(one.rows)


def _holds(heights: HeightRange, height: int) -> bool:
    return heights.start <= height < heights.end


def _first_from(row_heights: Sequence[int], start: int) -> int | None:
    at = bisect_left(row_heights, start)
    return row_heights[at] if at < len(row_heights) else None


def _rows_in(shown: _Response, low: int, high: int) -> slice:
    """Return which rows of a response lie in [low, high)."""
    return slice(bisect_left(shown.row_heights, low), bisect_left(shown.row_heights, high))


def _cut(shown: _Response, heights: HeightRange, complete: HeightRange) -> Proved:
    """Return the rows of a response at those of some heights of which it holds all."""
    low, high = max(heights.start, complete.start), min(heights.end, complete.end)
    rows = _rows_in(shown, low, high)
    return Proved(HeightRange(low, max(low, high)), shown.rows[rows], shown.row_heights[rows], Grade.ORDER)


def _agree(one: _Response, other: _Response) -> None:
    """Raise IncompleteError where one response has a row at heights of which the other, without it, holds all."""
    if not _overlap(one.heights, other.heights):
        return
    for whole, some in ((one, other), (other, one)):
        for complete in whole.complete:
            low, high = max(complete.start, some.heights.start), min(complete.end, some.heights.end)
            rows = set(map(bytes, whole.rows[_rows_in(whole, low, high)]))
            shown = _rows_in(some, low, high)
            for row, height in zip(some.rows[shown], some.row_heights[shown], strict=True):
                if bytes(row) not in rows:
                    raise IncompleteError(f"height {height}: two responses differ in its rows", _AGAIN)
