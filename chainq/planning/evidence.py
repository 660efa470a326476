"""The proof kernel: takes every response of a run as evidence, and is the only maker of a proof.

Everything else in `chainq/planning/` chooses what to request next. A bad choice does no harm, because only rows that
`Evidence.prove` returns are printed. It has three rules, each with an assumption (examples in docs/completeness.md):

1.  Order. Assumption A: page 0 of a range is a prefix of the due rows, in order of height, of any length.
    Assumption B: rows are in the range that was requested. So if page 0 shows a row known to be at height m or above,
    it holds every row below m. A response proves nothing else: never its own last height, nothing if it is empty,
    and pages above 0 prove nothing. Each height has exactly one block, so a block that is shown completes its height.
    A proof needs a response that has shown rows of several heights in order.
2.  Witness. Assumption C: two methods of the service describe the same chain. If another method names the rows that
    are due at a height, that height is complete once all of them were shown, in any responses.
3.  Belief. What `belief.py` found with repeated requests. It keeps that grade.

If evidence contradicts itself or an assumption, `see` and `witness` raise IncompleteError.

Rejected: comparing row counts or byte counts of responses, and "two equal responses": a server may truncate both
in the same way.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from msgspec import Raw

from chainq import tuning
from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange
from chainq.planning.exchange import Due, DueRequest, Grade, Key, Located, RowsRequest
from chainq.planning.order import Order, same_digits
from chainq.planning.seen import Said, Shown
from chainq.planning.spans import AGAIN, Points, Spans, Whole
from chainq.rows.block import UNLISTED
from chainq.rows.sorting import Page
from chainq.text.sanitize import excerpt

_RANK = {Grade.ORDER: 0, Grade.WITNESS: 1, Grade.BELIEF: 2}


class Proved(NamedTuple):
    """All rows of `heights`, in order of height, and the grade of that. `row_heights` is empty if rows of the method
    have no height."""

    heights: HeightRange
    rows: list[Raw]
    row_heights: list[int]
    grade: Grade


class Evidence:
    """All that a run has seen of one method.

    `heights`: whether rows have a height; `linked`: whether each height has exactly one row. `names`: returns what
    identifies rows in other methods; `block_hash`: returns the block that a row names, empty if it names none.
    """

    def __init__(
        self,
        *,
        heights: bool = True,
        linked: bool = False,
        names: Callable[[list[Raw]], list[Key]] = lambda _: [],
        block_hash: Callable[[Raw], str] | None = None,
    ) -> None:
        self.with_heights, self._names, self._block_hash = heights, names, block_hash
        self._responses: list[Shown] = []
        self._witnesses: list[Said] = []
        self._beliefs: list[Shown] = []
        self._texts: dict[str, set[str]] = {}  # of programs, as `Said` has them
        self._spans = Spans()
        self._hashes: dict[int, str] = {}
        self._located: list[tuple[DueRequest, Located]] = []  # until the order of rows is seen
        self._doubts: list[HeightRange] = []  # heights for which rule 1 is not applied
        self.puzzles: list[tuple[Shown, frozenset[int]]] = []  # out of order at these heights: why is to be found out
        self._listed: set[str] = set()  # kinds of rows
        self._absent: dict[str, set[int]] = {}  # the same, at heights where others are due that are not listed
        self.order = Order(linked)
        self.alone = False  # no other method has rows like these without heights: their order is only believed
        self.widest = 0  # heights of the widest request that showed a row at its far end

    # Input

    def see(self, request: RowsRequest, page: Page) -> None:
        """Record a response. Raises IncompleteError if it contradicts earlier responses."""
        shown = Shown(request.heights, page.rows, page.heights)
        if self.with_heights:
            self._see_heights(shown, page, first=not request.page)
        else:
            self._see_rows(shown)
        before = [*self._responses, *self._beliefs]
        if page.rows and not request.page:  # an empty response shows nothing; one that contradicts is kept, too
            self._responses.append(shown)
        for witness in self._witnesses:
            self._match(witness, shown)
        for other in before if self.order.usable else ():
            shown.check(other)
        for complete in shown.complete:
            self._check_due(complete, shown)

    def _see_heights(self, shown: Shown, page: Page, *, first: bool) -> None:
        """Record rows that have a height. `first`: whether they are from page 0."""
        self._check_hashes(page.rows, page.heights)
        strayed = first and self.order.usable and bool(page.strays) and not (page.as_text or self.order.linked)
        if page.ordered or (strayed and all(map(self.doubted, page.strays))):
            self.order.note(page.heights)
        elif strayed:
            self.puzzles.append((shown, page.strays))
        elif self.order.broken(as_text=page.as_text):
            self._out_of_order()
        puzzling = any(shown is one for one, _ in self.puzzles)
        if first and self.order.usable and not puzzling:
            shown.complete = self._undoubted(self.order.complete(shown.heights, page.heights))
        if page.heights:
            self.widest = max(self.widest, page.heights[-1] - shown.heights.start + 1)

    def _see_rows(self, shown: Shown) -> None:
        """Record rows without heights: a row that two responses show is in the heights of both."""
        rows = list(map(bytes, shown.rows))
        shown.keys = {row: place for place, row in enumerate(rows)}
        shown.rows = list(map(Raw, rows))  # a row of a body keeps all of it in memory
        for belief in self._beliefs:
            if belief.heights.common(shown.heights) == shown.heights and not shown.keys.keys() <= belief.keys.keys():
                raise IncompleteError(f"{shown.heights}: two responses differ in their rows", AGAIN)
        # A narrower response from the same height on says more of its rows than the one before it.
        self._responses = [other for other in self._responses if not shown.narrows(other)]
        for other in self._responses:
            other.points = other.far = None  # where rows of one response lie may rest on a third one
            for row in shown.keys.keys() & other.keys.keys():
                self._spans.narrow(row, *other.heights.edges)
        for row in self._spans.shared(shown.keys):
            self._spans.narrow(row, *shown.heights.edges)

    def witness(self, due: Due, *, by_order: bool = False) -> None:
        """Record which rows another method names, `by_order` of its own rows. Raises IncompleteError if it contradicts
        the rows shown, or another witness.

        It is kept when responses contradict each other, because it does not depend on the requested page.
        """
        witness = Said(due, by_order, self._texts)
        for other in self._witnesses:
            both = due.heights.common(other.due.heights)
            if witness.named(both) != other.named(both):
                if other.by_order and not by_order:  # a block has its rows, whatever lists of many heights leave out
                    kept = [one for one in self._witnesses if not one.by_order or not one.due.heights.overlaps(both)]
                    self._witnesses = [*kept, witness]
                raise IncompleteError(f"{both}: other methods differ in the rows that are due", AGAIN)
        self.know_hashes(due.hashes)
        for shown in self._responses:
            shown.points = shown.far = None
            self._match(witness, shown)
        self._witnesses.append(witness)
        for shown in self._responses:
            for complete in shown.complete:
                self._check_due(complete, shown)

    def locate(self, request: DueRequest, located: Located) -> None:
        """Record a page of another method that has a row with a height for each row of this one (rules 1 and 2)."""
        if not located.ordered:  # nor are rows that show no height
            self.order.broken(as_text=False)
            self._out_of_order()
        else:
            self.order.note(located.heights)
            self._located.append((request, located))
        if self.order.proves:
            waiting, self._located = self._located, []
            for one in waiting:
                self._witness_located(*one)

    def _out_of_order(self) -> None:
        """Drop what the order of rows seemed to prove."""
        self._spans, self._located, self.puzzles = Spans(), [], []
        self._witnesses = [witness for witness in self._witnesses if not witness.by_order]
        for shown in self._responses:
            shown.complete, shown.points, shown.far = [], None, None

    def _witness_located(self, request: DueRequest, located: Located) -> None:
        proved = [] if request.page else self.order.complete(request.heights, located.heights)
        doubted = any(doubt.overlaps(one) for doubt in self._doubts for one in proved)
        complete = proved[0] if proved and not doubted else HeightRange(request.heights.start, request.heights.start)
        at = dict(zip(located.keys, located.heights, strict=True))
        inside = {key: height for key, height in at.items() if height in complete}
        self.witness(Due(complete, inside, shown=at), by_order=True)

    def know_hashes(self, hashes: Mapping[int, str]) -> None:
        """Record block hashes by height: a row that names another block at that height is of another chain."""
        self._hashes.update(hashes)
        for shown in self._responses if hashes else ():
            self._check_hashes(shown.rows, shown.row_heights)

    def believe(self, heights: HeightRange, rows: list[Raw], row_heights: list[int]) -> None:
        """Record that these are all rows of the heights, as far as can be found out without a proof (rule 3)."""
        believed = Shown(
            heights, rows, row_heights if self.with_heights else [], keys=dict.fromkeys(map(bytes, rows), 0)
        )
        believed.complete = [heights] if len(believed.row_heights) == len(rows) else []
        self._beliefs.append(believed)

    def doubt(self, heights: HeightRange) -> None:
        """Record that page 0 may lack rows of these heights before rows that it shows: order proves nothing there."""
        self._doubts.append(heights)
        self._witnesses = [one for one in self._witnesses if not one.by_order or not one.due.heights.overlaps(heights)]
        for shown in self._responses:
            shown.complete = self._undoubted(shown.complete)

    def settle(self) -> None:
        """Decide about responses whose heights are out of order: if all that are were put in doubt, the others are in
        order; else no order proves anything."""
        puzzles, self.puzzles = self.puzzles, []
        for shown, strays in puzzles:
            if not all(map(self.doubted, strays)):
                self.order.broken(as_text=False)
                self._out_of_order()
                return
            self.order.note(shown.row_heights)
            shown.complete = self._undoubted(self.order.complete(shown.heights, shown.row_heights))

    def _undoubted(self, heights: list[HeightRange]) -> list[HeightRange]:
        """Return the parts of some heights that are not in doubt."""
        for doubt in self._doubts:
            parts = (
                (HeightRange(one.start, min(one.end, doubt.start)), HeightRange(max(one.start, doubt.end), one.end))
                if one.overlaps(doubt)
                else (one,)
                for one in heights
            )
            heights = [part for pair in parts for part in pair if part.start < part.end]
        return heights

    def doubted(self, height: int) -> HeightRange | None:
        """Return heights for which order proves nothing and that include this one; None if there are none."""
        return next((heights for heights in self._doubts if height in heights), None)

    def forget(self, heights: HeightRange) -> None:
        """Drop contradictory responses and beliefs for these heights, so that the heights are requested again.

        Rows seen before must be shown again all the same (`conservation.py`). Rows without heights may have been
        located with wrong data, so all their locations are dropped.
        """
        self._beliefs = [one for one in self._beliefs if not one.heights.overlaps(heights)]
        if self.with_heights:
            self._responses = [one for one in self._responses if not one.heights.overlaps(heights)]
        else:
            self._responses, self._spans = [], Spans()

    # Output

    def prove(self, heights: HeightRange, *, reverse: bool = False) -> Proved | None:
        """Return all rows of some heights, the first ones of these (in reverse the last ones); None if no rule
        proves any."""
        proofs = [proof for proof in self._proofs(heights, reverse=reverse) if len(proof.heights)]
        if not proofs:
            return None
        return min(proofs, key=lambda proof: (_RANK[proof.grade], -len(proof.heights)))

    def reach(self, start: int, end: int) -> int:
        """Return the height, at most `end`, up to which all rows starting at `start` can be proved."""
        while start < end and (proof := self.prove(HeightRange(start, end))) is not None:
            start = proof.heights.end
        return start

    def known_row(self, start: int) -> tuple[int, int] | None:
        """Return heights [low, high) that contain the lowest known row not below `start`, or None if there is none."""
        if self.with_heights:
            rows = [shown.row_heights[at] for shown in self._responses for at in shown.from_height(start)]
            return min(((height, height + 1) for height in rows), default=None)
        found = [r.heights.edges for r in self._responses if r.heights.start >= start]
        found += self._spans.from_height(start)
        known = min(found, key=lambda span: (span[1], span[0]), default=None)
        for witness in self._witnesses:
            for height in (*witness.due.at.values(), *witness.due.shown.values()):
                if height >= start and (known is None or height < known[1]):
                    known = (height, height + 1)
        return known

    def missing(self, heights: HeightRange) -> tuple[int, list[int]]:
        """Return how many rows witnesses name at these heights, and the heights of those that no response has shown.
        Rows that the server need not list do not count."""
        witnesses = [witness for witness in self._witnesses if witness.due.heights.overlaps(heights)]
        named = {row for witness in witnesses for row in witness.named(heights) if self._is_due(witness, row[1])}
        lacking = (height for height, key in named if not any(witness.shows(key) for witness in witnesses))
        return len(named), sorted(lacking)

    def lost(self, heights: HeightRange) -> bool:
        """Return whether a row is missing at some heights that the server lists if it has it."""
        return any(self._is_owed(witness, key) for witness, _, key in self._lacking(heights))

    def due(self, height: int) -> list[Due]:
        """Return what other methods named at a height."""
        return [witness.due for witness in self._witnesses if height in witness.due.heights]

    def given(self, heights: HeightRange, *, reverse: bool, edge: int = 16) -> None:
        """Drop responses for heights that were returned, except `edge` heights that the next ones may show again."""
        low, high = (0, heights.start + edge) if reverse else (heights.end, 1 << 63)
        self._responses = [r for r in self._responses if r.heights.end > low and r.heights.start < high]
        self._spans.keep(set().union(*(response.keys for response in self._responses)))
        self._witnesses = [w for w in self._witnesses if w.due.heights.end >= low and w.due.heights.start <= high]
        self._beliefs = [b for b in self._beliefs if b.heights.end > low and b.heights.start < high]
        self._doubts = [d for d in self._doubts if d.end > low and d.start < high]

    # Rule 1

    def _proofs(self, heights: HeightRange, *, reverse: bool) -> Iterator[Proved]:
        edge = heights.end - 1 if reverse else heights.start
        if len(clear := self._clear(heights, reverse=reverse)):
            yield from self._ordered(clear, edge, reverse=reverse)
        for witness in self._witnesses:
            if edge in witness.due.heights:
                yield self._witnessed(witness, heights, reverse=reverse)
        for belief in self._beliefs:
            if edge in belief.heights:
                if belief.complete:
                    yield _cut(belief, heights, belief.heights)._replace(grade=Grade.BELIEF)
                elif heights.start <= belief.heights.start and belief.heights.end <= heights.end:
                    yield Proved(belief.heights, belief.rows, [], Grade.BELIEF)

    def _ordered(self, heights: HeightRange, edge: int, *, reverse: bool) -> Iterator[Proved]:
        if self.puzzles or (self.with_heights and not self.order.proves):
            return
        for shown in self._responses:
            if self.with_heights:
                for complete in shown.complete:
                    if edge in complete:
                        yield self._explained(_cut(shown, heights, complete), shown, reverse=reverse)
            elif self.order.usable and edge in shown.heights:
                yield from self._cut_without_heights(shown, heights, reverse=reverse)

    def _clear(self, heights: HeightRange, *, reverse: bool) -> HeightRange:
        """Return the first ones of some heights (in reverse the last ones) up to a height that is in doubt."""
        start, end = heights.edges
        for doubt in self._doubts:
            if doubt.overlaps(heights):
                start, end = (max(start, doubt.end), end) if reverse else (start, min(end, doubt.start))
        return HeightRange(start, max(start, end))

    def _explained(self, proof: Proved, shown: Shown, *, reverse: bool) -> Proved:
        """Return the first part of a proof (in reverse the last one) where another method names no more rows. If it
        does at the first height, that height rests on belief: they may be lost, or of a program that the server does
        not know.

        Raises IncompleteError if it lists rows of their kinds elsewhere.
        """
        start, end = proof.heights.edges
        for witness, height, key in self._lacking(proof.heights):
            if self._is_owed(witness, key):
                raise _not_listed(height)
            start, end = (max(start, height + 1), end) if reverse else (start, min(end, height))
        if start < end:
            return (
                proof
                if HeightRange(start, end) == proof.heights
                else _cut(shown, HeightRange(start, end), proof.heights)
            )
        edge = proof.heights.end - 1 if reverse else proof.heights.start
        return _cut(shown, HeightRange(edge, edge + 1), proof.heights)._replace(grade=Grade.BELIEF)

    def _lacking(self, heights: HeightRange) -> Iterator[tuple[Said, int, Key]]:
        """Yield the rows of kinds that witnesses name at some heights, that are due, and that no response has shown."""
        for witness in self._witnesses:
            if witness.due.kinds:
                for height, key in witness.named(heights):
                    if not witness.shows(key) and self._is_due(witness, key):
                        yield witness, height, key

    def _is_owed(self, witness: Said, key: Key) -> bool:
        """Return whether the server lists rows of all kinds of a row, so that it must list this one."""
        return self._listed.issuperset(witness.due.kinds.get(key, ()))

    def _is_due(self, witness: Said, key: Key) -> bool:
        """Return whether a row was shown, or must be for all that is known: it is of no kind that servers leave out,
        nor of a program of which this one lists nothing at several heights."""
        absent = (kind for kind in witness.due.kinds.get(key, ()) if kind not in self._listed)
        return key in witness.found or not any(
            kind in UNLISTED or len(self._absent.get(kind, ())) >= tuning.UNKNOWN_PROGRAM for kind in absent
        )

    # Rule 1 for rows without heights

    def _points(self, shown: Shown) -> Points | None:
        """Return where the rows of a response are, or None while the order of rows is not known, or whether it is
        numeric.

        A row is not at heights for which another response or method is complete without it; and rows are in order.
        """
        if shown.points is not None:
            return shown.points
        self.order.seen = self.order.seen or any(self._spans.rise(other.keys) for other in self._responses)
        if not (self.order.seen or self.alone):
            return None
        if not (self.order.numeric or same_digits(shown.heights)):
            self.order.note_digits(self._spans.exact(map(bytes, shown.rows)))
            if not self.order.numeric:
                return None
        whole = [
            Whole(other.heights.start, self._far(other), other.keys)
            for other in self._responses
            if other is not shown and other.heights.start < shown.heights.end and self._far(other) > shown.heights.start
            if self.order.numeric or same_digits(other.heights)
        ]
        for witness in self._witnesses:
            if witness.due.heights.overlaps(shown.heights):
                names = self._names_of(shown)
                named = {bytes(names[key]) for key in names.keys() & witness.due.at.keys()}
                whole.append(Whole(*witness.due.heights.edges, named))
        points = self._spans.points(shown.rows, shown.keys, shown.heights, whole)
        if points.lows[-1] > shown.heights.start:
            self.widest = max(self.widest, points.lows[-1] - shown.heights.start + 1)
        shown.points = points
        return points

    def _far(self, shown: Shown) -> int:
        if shown.far is None:
            shown.far = self._spans.far(shown.keys)
        return shown.far

    def _names_of(self, shown: Shown) -> dict[Key, Raw]:
        """Return the rows of a response without heights by identity, and cache the result."""
        if shown.names is None:
            shown.names = self._named(shown, shown.rows)
        return shown.names

    def _named(self, shown: Shown, rows: list[Raw]) -> dict[Key, Raw]:
        """Return rows of a response by identity. Raises IncompleteError if two rows have the same identity."""
        named = dict(zip(self._names(rows), rows, strict=True))
        if len(named) < len(rows):
            raise IncompleteError(f"{shown.heights}: two rows of a response have the same identity", AGAIN)
        return named

    def _cut_without_heights(self, shown: Shown, heights: HeightRange, *, reverse: bool) -> Iterator[Proved]:
        """Yield the rows of a response in the widest heights with edges that no row's possible heights cross."""
        points = self._points(shown)
        start = max(heights.start, shown.heights.start)
        since = points.first_from(start, len(shown.rows)) if points else None
        if not points or since is None or not shown.rows:
            return
        cuts = [heights.end] if reverse else sorted({low for low in points.lows if low < heights.end} | {heights.end})
        for cut in reversed(cuts):
            upto = points.first_from(cut, len(shown.rows))
            if upto is not None and start < cut <= points.lows[-1]:
                self._check_due(HeightRange(start, cut), shown)
                grade = Grade.BELIEF if self.alone else Grade.ORDER
                yield Proved(HeightRange(start, cut), shown.rows[since:upto], [], grade)
                return

    # Rule 2

    def _match(self, witness: Said, shown: Shown) -> None:
        """Compare the rows of a response with the due rows, and keep the due ones. Raises IncompleteError."""
        due = witness.due
        width = len(next(iter(due.at or due.shown), ()))
        if self.with_heights:
            part = shown.at(due.heights)
            named = self._named(shown, shown.rows[part])
            found = {key: Raw(bytes(row)) for key, row in named.items()}  # a row keeps its whole response alive
            for key, height in zip(found, shown.row_heights[part], strict=True):
                if due.at.get(key[:width]) != height:
                    said = "a row is not in the block at that height, by its full block"
                    raise IncompleteError(f"height {height}: {said}", AGAIN)
        else:
            lie = [*due.heights.edges, *due.shown.values()]
            if not shown.heights.overlaps(HeightRange(min(lie), max(lie) + 1)):
                return
            names = self._names_of(shown)
            at = {**due.shown, **due.at}
            found = {key: names[key] for key in names.keys() & at.keys()}
            placed = sorted((shown.keys[bytes(row)], at[key], bytes(row)) for key, row in found.items())
            for height, rows in groupby(placed, itemgetter(1)):
                first, *others = rows  # those between two rows of a height are of this height
                for _, _, row in (first, *others[-1:]):
                    self._spans.narrow(row, height, height + 1)
        self._listed.update(kind for key in found for kind in due.kinds.get(key[:width], ()))
        for key, raw in found.items():
            if not witness.keep(key, raw, width):
                raise IncompleteError(f"{shown.heights}: a row differs between responses", AGAIN)

    def _check_due(self, complete: HeightRange, shown: Shown) -> None:
        """Raise IncompleteError if a response that is complete for some heights lacks a row known to be there."""
        for witness in self._witnesses:
            for height, key in witness.known(complete):
                if key in (witness.found if self.with_heights else self._names_of(shown)):
                    continue
                if self._is_owed(witness, key):
                    raise _not_listed(height)
                if not {*UNLISTED}.intersection(kinds := witness.due.kinds[key]):
                    self._absent.setdefault(kinds[-1], set()).add(height)

    def _witnessed(self, witness: Said, heights: HeightRange, *, reverse: bool) -> Proved:
        """Return the rows that a witness names, up to the first height with a row that was not shown."""
        low, high = heights.common(witness.due.heights).edges
        due = [(at, key) for at, key in witness.named(HeightRange(low, high)) if self._is_due(witness, key)]
        lacking = [height for height, key in due if not witness.shows(key)]
        if lacking and reverse:
            low = lacking[-1] + 1
        elif lacking:
            high = lacking[0]
        keys = [(height, key) for height, key in due if low <= height < high]
        shown = [(height, row) for height, key in keys for row in sorted(witness.found[key].values(), key=bytes)]
        rows, row_heights = [row for _, row in shown], [height for height, _ in shown] if self.with_heights else []
        return Proved(HeightRange(low, max(low, high)), rows, row_heights, Grade.WITNESS)

    def _check_hashes(self, rows: Sequence[Raw], row_heights: Sequence[int]) -> None:
        """Raise IncompleteError if a row names another block than the one at its height."""
        if self._block_hash is None or not self._hashes:
            return
        for row, height in zip(rows, row_heights, strict=False):
            if (known := self._hashes.get(height)) and (named := self._block_hash(row)) not in ("", known):
                raise IncompleteError(
                    f"height {height}: a row is of block {excerpt(named, 80)}, but the block is {excerpt(known, 80)}",
                    "the service returns rows of an old fork, perhaps from a cache; run the command again later",
                )


def _not_listed(height: int) -> IncompleteError:
    return IncompleteError(f"height {height}: a row that another method has is not listed", AGAIN)


def _cut(shown: Shown, heights: HeightRange, complete: HeightRange) -> Proved:
    """Return the rows of a response at the part of `heights` for which it is complete."""
    part = heights.common(complete)
    rows = shown.at(part)
    return Proved(part, shown.rows[rows], shown.row_heights[rows], Grade.ORDER)
