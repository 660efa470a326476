"""Collects the rows of a block that no single response holds, until they are shown to be all.

Every response has the rows of a block at the block's positions in another order (docs/protocol.md, "Pagination"), so
that several responses repeat some rows and lack others. How many rows are due is known: one for each position. They
are all there when as many distinct rows were seen; or when the transitions of the distinct transactions that call the
function add up to that number, for a service that pages by transition returns a transaction once for each of them.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import ceil, log

from msgspec import Raw
from msgspec.json import encode

from chainq.errors import IncompleteError
from chainq.planning.page_facts import PageFacts
from chainq.planning.page_steps import PageAsking, PageRequest, Time, times_of
from chainq.rows.fields import Picker, array_of, text_of

MOST_TRANSITIONS = 64  # of one transaction that call one function; the ledger allows 32 in all


class Calls:
    """Counts how often a transaction calls one function: in its execution and in its fee."""

    def __init__(self, program: str, function: str) -> None:
        self._called = [program, function]
        self.name = b'"function":' + encode(function)
        self._pick = Picker(["transaction.execution.transitions", "transaction.fee.transition"])
        self._pick_called = Picker(["program", "function"])

    def __call__(self, row: bytes) -> int:
        """Return the number of matching transitions of a row; 0 for a rejected one, which has them elsewhere."""
        transitions, fee = self._pick(row)
        called = map(self._pick_called, [*array_of(transitions), fee or b""])
        return sum([*map(text_of, names)] == self._called for names in called)


class Block:
    """The rows of a block as responses show them: at its positions, from `position` on, and the distinct ones.

    `responses`: in how many responses the rows of its positions came.
    """

    def __init__(self, position: int, calls: Calls) -> None:
        self.position, self._calls = position, calls
        self.rows: list[Raw] = []
        self.times: list[Time] = []
        self.responses = 0
        self._distinct: Counter[bytes] = Counter()  # row -> the most times that it came in one response

    @property
    def end(self) -> int:
        """Return the position after the last row."""
        return self.position + len(self.rows)

    def add(self, rows: Sequence[Raw], times: Sequence[Time]) -> None:
        """Add the rows of the next positions, from one response. Raises IncompleteError where rows repeat for ever."""
        self.responses += 1
        self.rows += rows
        self.times += times
        self._show(rows)
        if self.responses > 1 and len(self.rows) > MOST_TRANSITIONS * len(self._distinct):
            raise IncompleteError(
                f"row {self.position}: {len(self.rows)} rows repeat {len(self._distinct)}",
                "the service seems to ignore `page`",
            )

    def see(self, page: list[Raw]) -> list[Raw]:
        """Take in the rows of a page that are of this block, by their times, and return them."""
        times = set(self.times)
        inside = [row for row, time in zip(page, times_of(page), strict=True) if time in times]
        self._show(inside)
        return inside

    def _show(self, rows: Iterable[Raw]) -> None:
        self._distinct |= Counter(map(bytes, rows))

    def _weights(self) -> dict[bytes, int]:
        return {row: max(1, self._calls(row)) for row in self._distinct}

    def adds_up(self) -> bool:
        """Return whether the distinct transactions have as many matching transitions as the block has positions."""
        return sum(self._weights().values()) == len(self.rows)

    def repeats(self) -> bool:
        """Return whether a row came twice in a response. Raises IncompleteError where it cannot call as often."""
        repeated = {row: count for row, count in self._distinct.items() if count > 1}
        for row, count in repeated.items():
            if 0 < (most := self._calls(row) or row.count(self._calls.name)) < count:
                raise IncompleteError(
                    f"a transaction that calls the function {most} times at most appears {count} times in one response",
                    "the service repeats rows",
                )
        return bool(repeated)

    def collected(self, *, by_transition: bool | None) -> list[Raw] | None:
        """Return the rows of all positions, from all responses; None where some may be missing.

        `by_transition`: whether the service returns a transaction once for each matching transition, None where other
        blocks do not tell. Raises IncompleteError where there are more distinct rows than positions.
        """
        count, distinct = len(self.rows), self._distinct
        if len(distinct) > count:
            raise IncompleteError(
                f"{count} rows were expected, {len(distinct)} different rows were sent", "run the command again"
            )
        if len(distinct) == count:
            return [*map(Raw, distinct)]
        repeated = by_transition is None and max(distinct.values(), default=0) > 1
        weights = self._weights() if by_transition or repeated else {}
        if sum(weights.values()) != count or any(distinct[row] > weight for row, weight in weights.items()):
            return None
        return [Raw(row) for row, weight in weights.items() for _ in range(weight)]

    def __str__(self) -> str:
        return f"{len(self._distinct)} distinct transactions with {sum(self._weights().values())} matching transitions"


def whole_block(block: Block, facts: PageFacts) -> PageAsking[tuple[list[Raw], int]]:
    """Return all rows of a block and from how many responses they are; learn from them how transactions repeat.

    Of a block in several responses the smallest page that covers it is requested, else its pages again and again.
    Raises IncompleteError where a response repeats rows, or where no number of responses shows all.
    """
    count, responses = len(block.rows), block.responses
    rows = block.rows if responses == 1 else None
    if rows is None and (covering := _covering(block, facts)):
        responses += 1
        page = yield from facts.ask(covering)
        rows = block.see(page or [])
        rows = rows if len(rows) == count else None
    walks = int(3 * log(count)) + 10
    for walk in range(walks + 1):
        last = walk == walks  # pages of one row never show that rows repeat
        rows = rows or block.collected(by_transition=facts.by_transition is not False if last else facts.by_transition)
        if rows is not None:
            if block.repeats() and facts.by_transition is None:
                facts.by_transition = block.adds_up()
            return rows, responses
        responses += yield from _walk(block, walk, facts)
    raise IncompleteError(
        f"row {block.position}: a block has {count} rows there, and {responses} responses showed {block}",
        "chainq program-transactions --page-size N may return all of them in a larger page",
    )


def _walk(block: Block, walk: int, facts: PageFacts) -> PageAsking[int]:
    """Request all pages of a block once more and return how many; their size changes from walk to walk, for the order
    of rows may depend on it."""
    size = facts.size if facts.fixed else max(ceil(facts.size / 2), facts.size - walk)
    numbers = range(block.position // size, (block.end - 1) // size + 1)
    for number in numbers:
        page = yield from facts.ask(PageRequest(number, size, min(facts.ahead, numbers[-1] - number)))
        if page is None:
            return number - numbers[0] + 1
        block.see(page)
    return len(numbers)


def _covering(block: Block, facts: PageFacts) -> PageRequest | None:
    """Return the smallest page, the lightest for the service, of a block and the row after it; None where none does."""
    for size in range(len(block.rows) + 1, 1 if facts.fixed else facts.largest + 1):
        if block.position // size == block.end // size:
            return PageRequest(block.position // size, size)
    return None
