"""Proves chunks by counts, where responses are not in height order or rows carry no height.

Of a response with n rows, page 1 of n - 1 rows holds exactly one row where the response was complete, and more where it
was truncated. It needs a server whose pages follow the size that is asked for; one without pages gives none.
"""

from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange
from chainq.planning.dense_height import prove_height
from chainq.planning.look_ahead import check_start, count_further, first_row_at_or_after
from chainq.planning.server import ServerFacts
from chainq.planning.steps import DIVISIBLE, ChunkResult, ChunkSpec, Page, Proof, ProofKind, Request, Steps


def prove_by_counts(chunk: ChunkSpec, server: ServerFacts) -> Steps:
    """Fetch a chunk, or the beginning of it, and prove it by counts. Raises IncompleteError where that cannot be."""
    heights = chunk.heights
    while True:
        try:
            page: Page = yield Request(heights, chunk.page_size)
            if page.heights and not server.start_included:
                yield from check_start(page.heights[0], server)
            more = yield from count_further(page, heights, server)
            # Without rows, too wide a range looks like one that holds none.
            if not page.rows and (yield from first_row_at_or_after(heights.start, heights.end, server)) is not None:
                more = -1
        except DIVISIBLE:
            more = -1
        if more == 0:
            break
        if more is None:
            raise IncompleteError(
                f"{heights}: {len(page.rows)} rows came unordered and without further pages, so they cannot be proved"
                " complete",
                "try a smaller range",
            )
        if len(heights) == 1:
            return (
                yield from prove_height(
                    chunk._replace(heights=heights, overlap=0, horizon=heights.end), server, too_heavy=more < 0
                )
            )
        heights = HeightRange(heights.start, heights.start + len(heights) // 2)
    end = heights.end
    if page.heights and len(heights) > server.trusted_width:
        end = page.heights[-1] + 1  # the range may be clamped: the rest by itself
    return ChunkResult(HeightRange(heights.start, end), page.rows, page.heights, Proof(ProofKind.COUNTS, 2))
