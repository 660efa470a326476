"""Plans the newest rows of a method that has pages but no heights: finds the end of its list, then reads up to it.

The service lists the oldest rows first and says nothing of their number (docs/protocol.md, "Pagination"). So pages of
one row are requested, further and further along, until one is empty; then the gap between the last row seen and that
page is halved until it is no longer than what is to be read. That is about 20 calls for a million rows, each as light
as the service has them. An empty page that should have had a row does no harm: what is read from there on goes to the
end of the list (`page_plan`).

Pure, as `page_plan` is.
"""

from typing import TYPE_CHECKING

from chainq.errors import IncompleteError
from chainq.planning.page_facts import PageFacts
from chainq.planning.page_plan import BEYOND_LIMIT, PagePlan
from chainq.planning.page_steps import PageAsking, PageRequest, PageResult, PageSteps
from chainq.planning.steps import Grade, Proof
from chainq.query import Query

if TYPE_CHECKING:
    from msgspec import Raw

_HINT = "chainq program-transactions reads the list from its beginning without --newest"
STRIDE = 8  # times as far along goes each request for the end; each gap of that size then takes three to halve
LONGEST = 2**40  # rows: no list has as many


class NewestPlan:
    """One run of a query for the newest `query.limit` rows, newest first. All else is as of PagePlan."""

    def __init__(self, query: Query, *, largest: int | None = None, strict: bool = False) -> None:
        self._query, self._largest, self._strict = query, largest, strict
        self._responses = 0
        self.facts = PageFacts(1, 1, 0)
        self.believed: range | None = None

    def steps(self) -> PageSteps:
        """Yield requests and one result. Raises IncompleteError where rows are missing, and what requests raise."""
        most = self._query.page_size or self._largest or self._query.method.page_size or 1
        wanted = self._query.limit or 0
        behind = wanted + BEYOND_LIMIT
        end = yield from self._end(behind)
        kept: list[Raw] = []
        start = end
        while len(kept) < wanted and start:  # else it began inside a block with very many rows
            size = max(1, min(behind, most))
            start = max(0, end - behind) // size * size
            query = self._query._replace(limit=None, page_size=size)
            plan = PagePlan(query, largest=self._largest, start=start, keep=wanted, strict=self._strict)
            self.facts = plan.facts
            yield from plan.steps()
            kept, stop = plan.kept, plan.believed.stop if plan.believed else 0
            self.believed = range(stop - len(kept), stop)
            behind *= 2
        if kept:
            yield PageResult(kept[::-1], Proof(Grade.BELIEF, self._responses))

    def _end(self, near: int) -> PageAsking[int]:
        """Return a position after which few rows follow: `near` of them at most, as far as empty pages tell."""
        known, beyond = 0, near
        while (yield from self._has_row(beyond)):
            if beyond > LONGEST:
                raise IncompleteError(f"page {beyond} of 1 row is not empty: the service ignores `page`", _HINT)
            known, beyond = beyond, beyond * STRIDE
        while beyond - known > near:
            middle = (known + beyond) // 2
            if (yield from self._has_row(middle)):
                known = middle
            else:
                beyond = middle
        return beyond

    def _has_row(self, position: int) -> PageAsking[bool]:
        self._responses += 1
        rows = yield PageRequest(position, 1)
        if len(rows) > 1:
            raise IncompleteError(
                f"a page of 1 row has {len(rows)}: the service ignores the page size, so that the end of its list"
                " cannot be found",
                _HINT,
            )
        return bool(rows)
