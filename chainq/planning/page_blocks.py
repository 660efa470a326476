"""Finds the rows of one block in pages, and collects the rows of a block if no response has all of them.

Every response has the rows of a block at the block's positions in another order (docs/protocol.md, "Pagination"), so
several responses repeat some rows and miss others. The number of due rows is known: one for each position between
the blocks before and after. The rows are complete if one response shows as many, or if as many distinct rows were
seen. They are also complete if the matching transitions of the distinct transactions add up to that number, because a
service that pages by transition returns a transaction once for each transition that calls the function.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import ceil, log

from msgspec import Raw
from msgspec.json import encode

from chainq import tuning
from chainq.errors import IncompleteError
from chainq.planning.page_requests import PageAsking, PageFacts, PageRequest
from chainq.rows.fields import Picker, integer_of
from chainq.rows.transaction import times_called

Time = int | None
"""When a row was finalized, in seconds since 1970; None for a row without that time."""

_pick_time = Picker(["finalizedAt"])


def times_of(rows: Sequence[Raw]) -> list[Time]:
    """Return when the rows of a page were finalized. Raises IncompleteError if they are not in that order."""
    times = [integer_of(_pick_time(row)[0]) for row in rows]
    if not in_order(times):
        raise IncompleteError(
            "a page is not in order: `finalizedAt` falls", "without that order no response can be proved complete"
        )
    return times


def in_order(times: Sequence[Time]) -> bool:
    """Return whether no row was finalized before a row that precedes it. Rows without a time are skipped."""
    known = [time for time in times if time is not None]
    return known == sorted(known)


def blocks_of(times: Sequence[Time]) -> list[slice]:
    """Return which rows of a page belong to each block. A row without a time may belong to any."""
    pairs = enumerate(pairwise(times), 1)
    edges = [place for place, (one, other) in pairs if one != other and None not in (one, other)]
    return [slice(*edge) for edge in pairwise([0, *edges, len(times)])] if times else []


class Block:
    """The rows of a block as responses show them: by position, starting at `position`, and the distinct ones.

    `program`, `function`: whose calls the list has. `together`: whether `rows` came in one response.
    """

    def __init__(self, position: int, program: str, function: str) -> None:
        self.position, self._program, self._function = position, program, function
        self.rows: list[Raw] = []
        self.times: list[Time] = []
        self.together = True
        self._distinct: Counter[bytes] = Counter()  # row -> the most times that it came in one response

    @property
    def end(self) -> int:
        """Return the position after the last row."""
        return self.position + len(self.rows)

    def add(self, rows: Sequence[Raw], times: Sequence[Time]) -> None:
        """Add the rows of the next positions, from one response. Raises IncompleteError if rows repeat endlessly."""
        self.together = not self.rows
        self.rows += rows
        self.times += times
        self.show(rows)
        if not self.together and len(self.rows) > tuning.MOST_TRANSITIONS * len(self._distinct):
            raise IncompleteError(
                f"row {self.position}: {len(self.rows)} rows repeat {len(self._distinct)}",
                "the service seems to ignore `page`",
            )

    def see(self, page: Sequence[Raw]) -> None:
        """Record the rows with the block's times from another response for these positions."""
        times = {*self.times}
        inside = [row for row, time in zip(page, times_of(page), strict=True) if time in times]
        self.show(inside)
        if len(inside) == len(self.rows):
            self.rows, self.together = inside, True

    def show(self, rows: Sequence[Raw]) -> None:
        """Record rows of the block, from one response."""
        self._distinct |= Counter(map(bytes, rows))

    def _weights(self) -> Counter[bytes]:
        return Counter({row: max(1, self._calls(row)) for row in self._distinct})

    def _calls(self, row: bytes) -> int:
        return times_called(row, self._program, self._function)

    def adds_up(self) -> bool:
        """Return whether the distinct transactions have as many matching transitions as the block has positions."""
        return self._weights().total() == len(self.rows)

    def repeats(self) -> bool:
        """Return whether a response has a row twice. Raises IncompleteError if the row has fewer calls than that."""
        repeated = {row: count for row, count in self._distinct.items() if count > 1}
        for row, count in repeated.items():
            if 0 < (most := self._calls(row) or row.count(b'"function":' + encode(self._function))) < count:
                raise IncompleteError(
                    f"a transaction that calls the function {most} times at most appears {count} times in one response",
                    "the service repeats rows",
                )
        return bool(repeated)

    def collected(self, *, by_transition: bool | None) -> list[Raw] | None:
        """Return the rows of all positions, from all responses; None if some may be missing.

        `by_transition`: whether the service returns a transaction once for each matching transition, None if no other
        block has shown that. Raises IncompleteError if there are more distinct rows than positions.
        """
        count, distinct = len(self.rows), self._distinct
        if len(distinct) > count:
            raise IncompleteError(
                f"{count} rows were expected, {len(distinct)} different rows were sent", "run the command again"
            )
        if len(distinct) == count:
            return [*map(Raw, distinct)]
        if by_transition or (by_transition is None and distinct.total() > len(distinct)):
            weights = self._weights()
            if weights.total() == count and distinct <= weights:
                return [*map(Raw, weights.elements())]
        return None

    def __str__(self) -> str:
        return f"{len(self._distinct)} distinct transactions with {self._weights().total()} matching transitions"


def whole_block(block: Block, facts: PageFacts) -> PageAsking[list[Raw]]:
    """Return all rows of a block: request its pages until all are there; record how transactions repeat.

    Raises IncompleteError if a response repeats rows, or if repeated requests do not show all of them.
    """
    for size in _sizes(block, facts):
        last = not size  # pages of one row never show that rows repeat
        by_transition = facts.by_transition is not False if last else facts.by_transition
        rows = block.rows if block.together else block.collected(by_transition=by_transition)
        if rows is not None:
            if block.repeats() and facts.by_transition is None:
                facts.by_transition = block.adds_up()
            return rows
        numbers = range(block.position // size, (block.end - 1) // size + 1) if size else range(0)
        for number in numbers:
            page = yield from facts.ask(PageRequest(number, size, min(facts.ahead, numbers[-1] - number)))
            if page is None:
                break
            block.see(page)
    raise IncompleteError(
        f"row {block.position}: a block has {len(block.rows)} rows there, and of several responses, {block}",
        "chainq program-transactions --page-size N may return all of them in a larger page",
    )


def _sizes(block: Block, facts: PageFacts) -> Iterator[int]:
    """Yield the page sizes to try, then 0: first the smallest page that frames the block, the lightest for the service,
    then other sizes, because the order of rows may depend on the size."""
    sizes = range(len(block.rows) + 1, facts.largest + 1)
    yield from [size for size in sizes if block.position // size == block.end // size][:1]
    for walk in range(int(3 * log(len(block.rows))) + 10):
        yield max(ceil(facts.size / 2), facts.size - walk)
    yield 0
