"""Proves one chunk: a function that asks and returns, run by a thread.

It requests, in this order:

1.  The heights and a few beyond. A row there proves them.
2.  If no row is there: fewer heights if the response failed for its size or lacks a row that is known; else more of
    them, up to the tip.
3.  The due rows, from another method: at a single height that fills a response, at heights that the list does not show,
    at the tip, and everywhere if rows are not in order.
4.  Without such a method, repeated responses (belief).

Rows of `ownership` have no height: `records` has a row with a height for each. So its chunk is that of `records`, and
it is proved when the same pairs of transition and output index were shown.
"""

from collections import Counter
from contextlib import suppress
from math import ceil
from typing import NamedTuple

from chainq import tuning
from chainq.errors import BehindError, ChainqError, ProofError, ServiceError
from chainq.heights.range import HeightRange
from chainq.planning.belief import Believer
from chainq.planning.blocks import prove_blocks
from chainq.planning.exchange import DIVISIBLE, Due, Grade, RowsRequest
from chainq.planning.kernel import Named, Proved, by_order, by_witness, compare, demote, next_power
from chainq.planning.named import Collector
from chainq.planning.run import Run
from chainq.rows.sorting import Page


class Outcome(NamedTuple):
    """What a chunk came to: the proofs of its first heights, one next to the other; none if all are above the tip.

    `beyond`: of the heights behind its last one, to be compared. `given`: the proofs with the rows to print.
    """

    proofs: list[Proved]
    beyond: Proved | None
    given: list[Proved]
    responses: int


class Prover:
    """Proves the first heights of one chunk."""

    def __init__(self, run: Run) -> None:
        self._run, self._responses, self._located = run, 0, run.located
        self._beyond: Proved | None = None

    def prove(self, heights: HeightRange, overlap: int) -> Outcome:
        """Return proofs of the first of some heights.

        Raises ProofError if responses contradict each other or nothing helps, and the failures of requests.
        """
        run = self._run
        if run.method.single:
            proofs = prove_blocks(heights, run)
        elif not (self._listed_heights and run.order.usable):
            top = run.find_top() if run.blocks else heights.end
            proofs = self._named(heights.start, min(heights.end, top)) if heights.start < top else []
        elif heights.start in run.late_heights:
            proofs = self._named(heights.start, heights.start + 1)
        else:
            proofs = self._by_list(heights, overlap)
        given = proofs
        if self._located and proofs:
            proofs, given = self._owned(proofs)
        return Outcome(proofs, self._beyond, given, self._responses)

    @property
    def _listed_heights(self) -> bool:
        """Whether rows of the list have heights."""
        return self._located or self._run.method.height is not None

    # Requests

    def _list(self, heights: HeightRange, size: int | None, number: int = 0) -> Page:
        """Return a page of the list, whose order is noted, if rows have heights. Raises what requests raise."""
        self._responses += 1
        page = self._run.page(RowsRequest(heights, size, number, self._located))
        if page.ordered:
            self._run.order.note(page)
        elif not (page.strays and page.strays <= self._late(heights, page)):
            self._run.order.refute(page)
            if not page.as_text:
                self._run.disprove_order("the service does not order rows by height")
        return page

    def _late(self, heights: HeightRange, page: Page) -> set[int]:
        """Return the heights whose rows may come behind others that a page of some heights shows."""
        before = HeightRange(heights.start, page.heights[-1] + 1)
        if len(before) <= tuning.MOST_ROW_IDS:
            self._run.find_late(before)
        return self._run.late_heights

    def _page(self, heights: HeightRange, size: int | None = None) -> Page | None:
        """Return page 0 of some heights, None if it fails because of its size."""
        try:
            return self._list(heights, size or self._run.size)
        except DIVISIBLE:
            self._run.too_heavy(heights)
            return None
        except ServiceError:
            if not self._located:
                raise
            self._run.leave_records()
            raise ProofError(f"{heights}: the service has no records") from None

    def _due(self, start: int, end: int) -> Due | None:
        self._responses += 1
        return self._run.due(HeightRange(start, end))

    # Rule 1

    def _by_list(self, heights: HeightRange, overlap: int) -> list[Proved]:
        run, (start, end) = self._run, heights.edges
        reach = next_power(start) if run.order.as_text else end + overlap
        asked = HeightRange(start, min(reach, max(end, run.clip(start, end + overlap))))
        while start != run.dense:
            page = self._page(asked)
            if page is not None and (proof := self._ordered(asked, page)):
                return self._checked(proof, heights, asked, page)
            if not run.order.usable:
                return self._named(start, min(end, run.find_top()))
            if page is not None and not self._lacks(asked, page):
                if not run.full(page):
                    return self._wider(heights, asked, page)
                if page.heights[0] == page.heights[-1] > start:  # order was not seen: they may be the newest
                    return self._named(start, min(end, page.heights[0]))
                if page.heights[-1] == start:
                    break
            if len(asked) == 1:
                break
            asked = asked.halves()[0]
        return self._dense(start, overlap)

    def _wider(self, heights: HeightRange, asked: HeightRange, page: Page) -> list[Proved]:
        """Request more heights than those of which a page shows no row, or only rows of the first: up to a row."""
        run, (start, end) = self._run, heights.edges
        while start < (top := run.find_top()):
            limit = min(top, next_power(start)) if run.order.as_text else top
            if asked.end >= limit or len(asked) >= run.pace.widest:
                return self._named(start, min(end, top, asked.end), page)
            asked = HeightRange(start, run.clip(start, min(limit, start + tuning.WIDER * len(asked))))
            wide = self._page(asked)
            if wide is not None and (proof := self._ordered(asked, wide)):
                return self._checked(proof, heights, asked, wide)
            if wide is None or run.full(wide) or not run.order.usable or self._lacks(asked, wide):
                return self._named(start, min(end, top))
            page = wide
        return []

    def _lacks(self, asked: HeightRange, page: Page) -> bool:
        """Return whether a page lacks a row that another response has shown: then it failed for its size."""
        with self._run.lock:
            known = self._run.conservation.lowest(HeightRange(asked.start + 1, asked.end))
        if known is None or known in page.heights:
            return False
        self._run.too_heavy(asked)
        return True

    def _ordered(self, asked: HeightRange, page: Page) -> Proved | None:
        """Return what the order of a page proves."""
        run = self._run
        if run.full(page) and len({*page.heights}) <= page.heights[-1] - asked.start:
            # Rows of heights that show none may come behind the end of the page: fewer heights would show them.
            self._page(HeightRange(asked.start, page.heights[-1]))
        return by_order(RowsRequest(asked), page, run.order, run.late_heights)

    def _checked(self, proof: Proved, heights: HeightRange, asked: HeightRange, page: Page) -> list[Proved]:
        """Return the proofs of a chunk's heights: what order proves, compared at some heights, and at the tip the last
        heights, which another method names."""
        run, (start, end) = self._run, heights.edges
        self._beyond = proof.cut(end, proof.heights.end)
        here, reach = proof.cut(start, end), proof.heights.end
        if run.full(page) and page.heights[len(page.heights) // 2] == reach:
            run.dense = reach
        first = start == run.heights.start
        if reach < end == run.heights.end and not run.full(page) and end - reach < tuning.NAMED_BLOCKS:
            end = min(end, run.find_top())
            if asked.end >= end == run.top:
                few = first and end - start <= tuning.NAMED_BLOCKS
                parts = self._first(here, page) if first and not few else [here]
                return [*parts[:-1], *self._last(parts[-1], end, page, all_of_it=few)]
        return self._first(here, page) if first else [here]

    def _width(self, proof: Proved) -> int:
        """Return how many heights to compare: those that hold some rows."""
        rows = len(proof.rows)
        spread = ceil(tuning.OVERLAP_ROWS * len(proof.heights) / rows) if rows else len(proof.heights)
        return min(tuning.NAMED_BLOCKS, max(2, spread))

    def _first(self, proof: Proved, page: Page) -> list[Proved]:
        """Compare the first heights of the run up to the first row, and the one with the most rows: a service may leave
        out its first rows or some of each height, or lack all that is below some height. If it has full blocks, and
        none there, order proves nothing up to the first row."""
        run, start = self._run, proof.heights.start
        first = min(page.heights[0], proof.heights.end)
        due = self._due(start, min(proof.heights.end, start + max(first + 1 - start, self._width(proof))))
        if due is None and run.blocks and start not in run.heavy and first > start:
            if start:  # a service may leave out the first height of each range: the row that shows it must be printed
                self._page(HeightRange(start - 1, start + 1))
            parts = [proof.cut(start, first)._replace(grade=Grade.BELIEF), proof.cut(first, proof.heights.end)]
            return [part for part in parts if len(part.heights)]
        lacking = compare(proof, self._names(due)) if due else []
        if lacking and (more := self._due(start, min(proof.heights.end, start + tuning.NAMED_BLOCKS))):
            lacking = compare(proof, self._names(more))  # of which several heights show what the service never lists
        counts = {at: rows for at, rows in Counter(proof.row_heights).items() if 1 < rows <= tuning.MOST_NAMED}
        densest = max(counts, key=counts.__getitem__, default=start)
        alone = run.query.limit is not None  # then one request more would be one too many
        if due and not alone and densest >= due.heights.end and (other := self._due(densest, densest + 1)):
            compare(proof, self._names(other))
        return demote(proof, lacking)

    def _last(self, proof: Proved, end: int, page: Page, *, all_of_it: bool) -> list[Proved]:
        """Return proofs up to the tip: full blocks name the last rows, and are compared with some rows below, or with
        all of a short run."""
        start, reach = proof.heights.edges
        low = start if all_of_it else max(start, end - tuning.NAMED_BLOCKS, reach - self._width(proof))
        due = self._due(low, end)
        if due is None or due.heights.end <= reach:
            return [*(self._first(proof, page) if all_of_it else [proof]), *self._named(reach, end, page)]
        parts = demote(proof, compare(proof, self._names(due)))
        at = {key: height for key, height in due.at.items() if height >= reach}
        return [*parts, *self._shown(due._replace(heights=HeightRange(reach, due.heights.end), at=at), page)]

    # Rules 2 and 3

    def _names(self, due: Due) -> Named:
        return Named(due, self._run.names, self._run.kinds)

    def _dense(self, start: int, overlap: int) -> list[Proved]:
        """Prove one height that fills a response: with a larger page that shows a row beyond, else by name."""
        run = self._run
        asked = HeightRange(start, max(start + 1, run.clip(start, start + 1 + max(1, overlap))))
        page = self._page(asked, (run.size or 1) * tuning.LARGER)
        proof = page and self._ordered(asked, page)
        return [proof.cut(start, start + 1)] if proof else self._named(start, start + 1, page)

    def _named(self, start: int, end: int, page: Page | None = None) -> list[Proved]:
        """Prove the first of some heights by their full blocks, else believe them. `page`: what the list shows of them.

        More than some empty heights are not requested.
        """
        run = self._run
        parts: list[Proved] = []
        few = end - start <= tuning.MOST_EMPTY
        while start < end and not (parts and parts[-1].rows):
            due = self._due(start, end) if few or run.empty < tuning.MOST_EMPTY else None
            if due is None:
                end = start + 1 if start in run.heavy and run.blocks else end
                return [*parts, Believer(run, self._list).believe(HeightRange(start, end))]
            parts += self._shown(due, page)
            start = parts[-1].heights.end
        return parts

    def _shown(self, due: Due, page: Page | None) -> list[Proved]:
        """Return proofs of heights whose rows another method names; rows that do not come leave theirs to belief."""
        run, named = self._run, self._names(due)
        if page is not None:
            named.see(due.heights, page)
        proof, left = self._collected(named, seen=page is not None)
        if left is not None and self._must_come(named, left):
            proof, left = self._collected(named, seen=True)
        if self._listed_heights:
            page = run.sort[self._located](proof.rows, proof.heights)
            proof = proof._replace(rows=page.rows, row_heights=page.heights)
        parts = [proof] if len(proof.heights) else []
        if left is not None and left == proof.heights.end:
            parts.append(Believer(run, self._list).believe(HeightRange(left, left + 1)))
        return parts

    def _must_come(self, named: Named, height: int) -> bool:
        """Return whether rows that are missing at a height must come after all: the rows of earlier heights, which are
        requested once a run, show of which kinds the service lists any."""
        run = self._run
        before = HeightRange(max(0, run.heights.start - tuning.NAMED_BLOCKS), run.heights.start)
        if len(before) and not run.looked_back:
            run.looked_back = True
            with suppress(ChainqError):  # they may be pruned
                if (due := run.due(before)) and (page := self._page(due.heights)):
                    self._names(due).see(due.heights, page)
        return named.owed(height) > 0

    def _collected(self, named: Named, *, seen: bool = False) -> tuple[Proved, int | None]:
        """Return the proof of the first heights whose rows came, and the height whose rows need not come.

        Raises BehindError if rows of the first height must come and do not; of others, when it is their turn.
        """
        left = None
        try:
            left = Collector(named, self._list, self._run.size, self._run.top or 0).collect(seen=seen)
        except BehindError:
            if not len(by_witness(named).heights):
                raise
        return by_witness(named), left

    def _owned(self, proofs: list[Proved]) -> tuple[list[Proved], list[Proved]]:
        """Return the proofs of records whose identities rows of `ownership` have too, and these rows for each."""
        run, self._located = self._run, False  # the list is that of ownership now
        heights = HeightRange(proofs[0].heights.start, proofs[-1].heights.end)
        at = {
            key: height
            for proof in proofs
            for key, height in zip(run.names(proof.rows), proof.row_heights, strict=True)
        }
        shown, _ = self._collected(self._names(Due(heights, at)))
        proofs = [proof.cut(*shown.heights.edges) for proof in proofs if proof.heights.overlaps(shown.heights)]
        if shown.heights != heights:
            self._beyond = None
        return proofs, [shown.cut(*proof.heights.edges)._replace(grade=proof.grade) for proof in proofs]
