"""Collects the rows of a block that no single response holds, until they are shown to be all.

Every response has the rows of a block at the block's positions in another order (docs/protocol.md, "Pagination"), so
that several responses repeat some rows and lack others. How many rows are due is known: one for each position. They
are all there when

- as many distinct rows were seen as the block has positions, or
- the transitions of the distinct transactions that call the function add up to that number: a service that pages by
  transition returns a transaction once for each of them.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import ceil, log

from msgspec import Raw
from msgspec.json import encode

from chainq.errors import IncompleteError
from chainq.planning.page_facts import PageFacts
from chainq.planning.page_steps import PageAsking, PageRequest, Time, times_of
from chainq.planning.steps import DIVISIBLE
from chainq.rows.fields import Picker, array_of, text_of
from chainq.text.humanize import counted

MOST_TRANSITIONS = 64  # of one transaction that call one function; the ledger allows 32 in all


class Calls:
    """Counts how often a transaction calls one function: in its execution and in its fee."""

    def __init__(self, program: str, function: str) -> None:
        self._called = [program, function]
        self._name = b'"function":' + encode(function)
        paths = ("execution.transitions", "fee.transition.program", "fee.transition.function")
        self._pick = Picker([f"transaction.{path}" for path in paths])
        self._pick_called = Picker(["program", "function"])

    def __call__(self, row: bytes | Raw) -> int:
        """Return the number of matching transitions of a row."""
        transitions, *fee = self._pick(row)
        called = [self._pick_called(transition) for transition in array_of(transitions)]
        return sum([*map(text_of, pair)] == self._called for pair in (*called, fee))

    def at_most(self, row: bytes) -> int:
        """Return how often a response may have a row; 0 where that cannot be told.

        A rejected transaction has its transitions elsewhere: there every mention of the function counts.
        """
        return self(row) or row.count(self._name)


class BlockTally:
    """The distinct rows of one block, as responses show them."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._weights: dict[bytes, int] = {}  # row -> its matching transitions
        self._most: Counter[bytes] = Counter()  # times that a row came in one response

    @property
    def distinct(self) -> int:
        """Return the number of distinct rows seen."""
        return len(self._weights)

    @property
    def weight(self) -> int:
        """Return the number of matching transitions in the rows seen."""
        return sum(self._weights.values())

    def add(self, rows: Iterable[Raw]) -> None:
        """Take in the rows of the block that one response shows."""
        counts = Counter(map(bytes, rows))
        for row in counts.keys() - self._weights.keys():
            self._weights[row] = max(1, self._calls(row))
        self._most |= counts

    def check_repeats(self) -> None:
        """Raise IncompleteError where a response has a row more often than it can call the function."""
        for row, count in self._most.items():
            most = self._calls.at_most(row) if count > 1 else 0
            if most and count > most:
                raise IncompleteError(
                    f"a transaction that calls the function {counted(most, 'time')} appears {counted(count, 'time')} in"
                    " one response",
                    "the service repeats rows",
                )

    def proved(self, count: int, *, by_transition: bool | None) -> list[Raw] | None:
        """Return the rows of all `count` positions; None where some may be missing.

        `by_transition`: whether the service returns a transaction once for each matching transition, None where other
        blocks do not tell. Raises IncompleteError where there are more distinct rows than positions.
        """
        if self.distinct > count:
            raise IncompleteError(
                f"{count} rows were expected, {self.distinct} different rows were sent", "run the command again"
            )
        if self.distinct == count:
            return [Raw(row) for row in self._weights]
        if by_transition is None:
            by_transition = max(self._most.values(), default=0) > 1
        if not by_transition or self.weight != count or any(self._most[row] > n for row, n in self._weights.items()):
            return None
        return [Raw(row) for row, weight in self._weights.items() for _ in range(weight)]

    def __str__(self) -> str:
        return f"{self.distinct} distinct transactions with {self.weight} matching transitions"


class Block:
    """The rows of a block that were seen so far, from `position` on; `responses`: in how many responses."""

    def __init__(self, position: int, calls: Calls) -> None:
        self.position = position
        self.rows: list[Raw] = []
        self.times: list[Time] = []
        self.responses = 0
        self.tally = BlockTally(calls)

    def add(self, rows: Sequence[Raw], times: Sequence[Time]) -> None:
        """Add the rows of the next positions, from one response. Raises IncompleteError where rows repeat for ever."""
        self.responses += 1
        if self.responses == 2:
            self.tally.add(self.rows)
        if self.responses > 1:
            self.tally.add(rows)
            if len(self.rows) > MOST_TRANSITIONS * self.tally.distinct:
                raise IncompleteError(
                    f"row {self.position}: {len(self.rows)} rows repeat {self.tally.distinct}",
                    "the service seems to ignore `page`",
                )
        self.rows += rows
        self.times += times

    @property
    def end(self) -> int:
        """Return the position after the last row."""
        return self.position + len(self.rows)

    def inside(self, rows: list[Raw]) -> list[Raw]:
        """Return the rows of a page that are of this block, by their times."""
        times = set(self.times)
        return [row for row, time in zip(rows, times_of(rows), strict=True) if time in times]


def whole_block(block: Block, calls: Calls, facts: PageFacts) -> PageAsking[tuple[list[Raw], int]]:
    """Return all rows of a block and from how many responses they are; learn from them how transactions repeat.

    Raises IncompleteError where a response repeats rows, or where no number of responses shows all.
    """
    rows, responses = block.rows, 1
    if block.responses > 1:
        rows, responses = yield from _collect(block, facts)
    if len(set(map(bytes, rows))) < len(rows):
        tally = BlockTally(calls)
        tally.add(rows)
        tally.check_repeats()
        if facts.by_transition is None:
            facts.by_transition = tally.weight == len(rows)
    return rows, responses


def _collect(block: Block, facts: PageFacts) -> PageAsking[tuple[list[Raw], int]]:
    """Collect the rows of a block that came in several responses.

    The smallest page that covers the block is requested, else the block's pages again and again.
    """
    count, responses = len(block.rows), block.responses
    rows = block.tally.proved(count, by_transition=facts.by_transition)
    if rows is None and (covering := _covering(block, facts)):
        responses += 1
        try:
            inside = block.inside((yield covering))
        except DIVISIBLE:
            inside = []
        if len(inside) == count:
            return inside, responses
    for walk in range(int(3 * log(count)) + 10):
        if rows is not None:
            return rows, responses
        responses += yield from _walk(block, walk, facts)
        rows = block.tally.proved(count, by_transition=facts.by_transition)
    raise IncompleteError(
        f"row {block.position}: a block has {count} rows there, and {responses} responses showed {block.tally}",
        "chainq program-transactions --page-size N may return all of them in a larger page",
    )


def _walk(block: Block, walk: int, facts: PageFacts) -> PageAsking[int]:
    """Request all pages of a block once more and return how many; their size changes from walk to walk, for the order
    of rows may depend on it."""
    size = facts.size if facts.fixed else max(ceil(facts.size / 2), facts.size - walk)
    numbers = range(block.position // size, (block.end - 1) // size + 1)
    for number in numbers:
        try:
            rows = yield PageRequest(number, size, min(facts.ahead, numbers[-1] - number))
        except DIVISIBLE:
            if not facts.failed():
                raise
            return number - numbers[0] + 1
        block.tally.add(block.inside(rows))
    return len(numbers)


def _covering(block: Block, facts: PageFacts) -> PageRequest | None:
    """Return the smallest page that covers a block, the lightest for the service; None where none does."""
    for size in range(len(block.rows), 1 if facts.fixed else facts.largest + 1):
        if block.position // size == (block.end - 1) // size:
            return PageRequest(block.position // size, size)
    return None
