"""The first rows of a list without heights, of which nobody knows how long it is, for a terminal."""

from collections.abc import Callable, Iterator

from chainq.query import Batch, Query

ROWS = 50


class Screenful:
    """The first rows of a query's list, or its newest ones; `fetch` yields the batches of a query.

    One row more than ROWS is requested, to see whether the list goes on; then `note` says how to get the others.
    """

    def __init__(self, query: Query, fetch: Callable[[Query], Iterator[Batch]]) -> None:
        self._query, self._fetch = query, fetch
        self.note = ""

    def batches(self) -> Iterator[Batch]:
        """Yield the batches as far as ROWS goes."""
        left = ROWS
        for batch in self._fetch(self._query._replace(limit=ROWS + 1)):
            if left:
                yield batch._replace(rows=batch.rows[:left])
            if len(batch.rows) > left:
                self.note = (
                    f"these are the newest {ROWS} rows; --limit N shows more"
                    if self._query.newest
                    else f"these are the first {ROWS} rows; --limit N shows more, --newest the newest, a pipe all"
                )
                return
            left -= len(batch.rows)
