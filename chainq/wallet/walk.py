"""The one pass of `balance` and `owned`: ownership rows, then the full blocks of the same heights.

Ownership rows show who owns which record; full blocks contain the outputs, and the tags of spent records. Nothing can
be spent before the first record, so only ownership rows are read up to there.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.errors import IncompleteError
from chainq.fetching.service import Service
from chainq.heights.range import HeightRange
from chainq.query import Query
from chainq.rows.block import Block, read_block
from chainq.wallet.book import NEAR, Book, Entry, Mark
from chainq.wallet.examine import Examiner, Record
from chainq.wallet.records import Key, key_of, place_of, shown
from chainq.wallet.shown import amount_in, members_of

_FULL_BLOCKS = BY_COMMAND["full-blocks"]


class Seen(NamedTuple):
    """A full block, and the records in it that the keys own. `listed`: whether each record in it has an ownership row;
    `last`: whether later blocks of the same heights have no owned record."""

    block: Block
    records: list[Record]
    listed: bool
    last: bool


def full_blocks(service: Service, heights: HeightRange) -> Iterator[Block]:
    """Yield the full blocks of heights.

    Raises Stopped as the service closes, and ChainqError. If the service sends incomplete blocks, its hint is not the
    one of commands that print blocks. Errors of an export keep theirs.
    """
    try:
        for batch in service.fetch_range(Query(_FULL_BLOCKS), heights):
            service.connection.check_open()
            yield from map(read_block, batch.rows)
    except IncompleteError as error:
        if error.again:
            raise IncompleteError(error.message, "run the command again later") from error
        raise


def walk(
    service: Service, examiner: Examiner, heights: HeightRange, rows: Sequence[Raw], owned: Mapping[Key, int]
) -> Iterator[Seen]:
    """Yield the full blocks of heights whose ownership rows these are; `owned`: those of the keys, with their numbers.

    Raises ChainqError, IncompleteError for an owned record that no block has.
    """
    listed, left = set(map(key_of, rows)), set(owned)
    for block in full_blocks(service, heights):
        outputs = {place_of(output): output for output in block.outputs}
        left -= outputs.keys()
        found = (examiner.examine(outputs[key], owned[key], block.height) for key in outputs if key in owned)
        yield Seen(block, [record for record in found if record], outputs.keys() <= listed, not left)
    if left:
        raise IncompleteError(
            f"records/isOwner {heights}: {shown(min(left))} is owned, but in no block: "
            "the chain may have been reorganized",
            "run the command again",
        )


class Keeper:
    """Enters blocks into a book, in order of height. `unspent`: its unspent records by their tags."""

    def __init__(self, book: Book, examiner: Examiner) -> None:
        self._book, self.examiner = book, examiner
        self.unspent = {entry.tag: entry for entry in book.entries if entry.spent is None}

    def enter(self, block: Block, records: Sequence[Record]) -> dict[Key, Entry]:
        """Enter the records that a block creates and spends; return the entries of those that are genuine.

        Raises IncompleteError for a block that does not follow the last one.
        """
        last = self._book.as_of
        follows = last is None or block.height != last.height + 1 or block.previous == last.hash
        if block.height is None or not follows:
            raise IncompleteError(
                f"full blocks: block {block.height} does not follow the block before it: the chain was reorganized",
                "run the command again",
            )
        created = {place_of(one.output): self._entry(one, block.height) for one in records if one.genuine}
        self._book.entries += created.values()
        self.unspent |= {entry.tag: entry for entry in created.values()}
        for transition in block.transitions:  # also of records of this block
            for tag in transition.spent:
                if entry := self.unspent.pop(tag, None):
                    entry.spent, entry.spender = block.height, transition.transaction
        self._book.read(Mark(block.height, block.hash, block.time))
        if block.height % NEAR == 0:
            self._book.thin()
        return created

    def _entry(self, record: Record, height: int) -> Entry:
        program = record.output.program
        amount = amount_in(program, members_of(str(record.opened.plaintext)) or {})
        return Entry(
            *(record.owner, program, amount.token, None if amount.amount is None else str(amount.amount)),
            *(self.examiner.tag_of(record), height, record.output.transaction),
        )


def unlisted(height: int | None, effect: str) -> IncompleteError:
    """Return the error for a block with a record that has no ownership row. `effect`: of that."""
    return IncompleteError(
        f"records/isOwner height {height}: the service lists fewer records than the full block has{effect}",
        f"run the command again later; chainq verify {height} shows which are missing",
    )
