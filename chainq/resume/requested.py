"""The rows that an incremental run requests, the first of them beside the tip."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from chainq.errors import BehindError, IncompleteError, WrongHashError
from chainq.fetching.calls import Asked
from chainq.fetching.service import Service
from chainq.heights.bounds import Bounds
from chainq.heights.range import HeightRange
from chainq.planning.exchange import Known
from chainq.process.threads import Later
from chainq.query import Batch, Query
from chainq.resume.journal import Journal
from chainq.resume.reorg import ReorgCheck
from chainq.resume.settings import ResumeSettings
from chainq.resume.settling import UnsteadyError


class _Early:
    """Rows that are requested, up to their first batch, while another request is in progress."""

    def __init__(self, service: Service, query: Query, heights: HeightRange) -> None:
        self.query, self.heights = query, heights
        self._batches = iter(service.fetch_range(query, heights))
        self._first = Later(lambda: next(self._batches, None))

    def batches(self) -> Iterator[Batch]:
        """Yield the batches."""
        if (first := self._first.result()) is not None:
            yield first
            del first
            yield from self._batches


@dataclass(slots=True)
class Requested:
    """Requests rows for the rounds of one run."""

    service: Service
    query: Query
    settings: ResumeSettings
    journal: Journal
    reorg: ReorgCheck
    density: tuple[int, Later[Known]] | None = None  # of the rows up to a height, before the first round
    early: _Early | None = None  # rows that are requested beside the tip

    def foresee(self) -> None:
        """Request the last blocks and the first rows of a long range with an end, while the tip is requested.

        Runs before the first round. These rows only show how many heights fill a response, because rows count once the
        last block is known. Rows that are blocks count at once, because they name the previous ones. Only a first run
        requests them, because the ends of later runs, which have most of the range already, often lack blocks.
        """
        method, bounds, last = self.query.method, self.query.bounds or Bounds(), self.journal.history.last
        start, end = last.next if last else bounds.start or 0, bounds.end or 0
        first = HeightRange(start, start + method.first_heights)
        known = self.query.limit is None and not self.settings.rewind and self.service.dialect.known(method) is not None
        if start < 0 or first.end + 1000 > end or not known:
            return
        if method.linked:
            self.early = _Early(self.service, self.query, HeightRange(start, end)) if last is None else None
        else:
            self.reorg.foresee(end)
            self.density = first.end, Later(lambda: self.service.density(self.query, first))

    def batches(self, query: Query, heights: HeightRange, edges: Sequence[int] = ()) -> Generator[Batch]:
        """Request rows; no batch of rows without heights spans an edge, because only other batches can be split."""
        edges = edges if query.method.height is None else ()
        try:
            early, self.early = self.early, None
            if early is not None and early.heights == heights and query == early.query:
                yield from early.batches()
                return
            compared = self.reorg.compared(heights)
            known = None
            if self.density is not None:  # the first of these rows by themselves: what is to be asked of them waits
                (upto, later), self.density = self.density, None
                known, edges = later.result(), (*edges, upto)
            asked = Asked(known=known, hashes=self.reorg.hashes, compared=compared, edges=edges)
            yield from self.service.fetch_range(query, heights, asked=asked)
        except (BehindError, WrongHashError):
            raise
        except IncompleteError as error:
            self.reorg.check_seen()
            raise UnsteadyError(error) from error
