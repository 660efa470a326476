"""Updates the book of a wallet up to the tip.

Ownership rows show who owns which record; the full blocks of the same heights contain the outputs, and the tags of
spent records. The book ends before the first block with outputs that have no ownership row yet, so it is exact as of
its last block. Nothing can be spent before the first record, so only ownership rows are read up to there.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from chainq.catalog.methods import BY_COMMAND
from chainq.errors import BehindError, IncompleteError, Shortfall, UsageError
from chainq.fetching.blocks import Tip
from chainq.fetching.service import Service
from chainq.heights.bounds import none_below
from chainq.heights.range import HeightRange
from chainq.process import Closing
from chainq.process.progress import UNSEEN, Progress
from chainq.query import Query
from chainq.rows.block import Block, RecordOutput, read_block
from chainq.text.humanize import counted, end_above
from chainq.wallet import genuine
from chainq.wallet.book import Book, Entry, Mark
from chainq.wallet.examine import Names
from chainq.wallet.keys import ViewKey
from chainq.wallet.listed import Listed, advice, fewer, full_blocks
from chainq.wallet.records import Key, in_words, key_of, opened_by, shown
from chainq.wallet.scan import Scanned, Scanner
from chainq.wallet.shown import Style, shown_plaintext
from chainq.wallet.spends import Tags, announce

WINDOW = 1_000  # heights between two recordings of the book
FIRST_WINDOW = 125  # the same at first, doubled each time: runs that are stopped after a few seconds must get on, too
_WAYS = "--end HEIGHT reads fewer, with --checkpoint FILE a stopped run resumes"
SETTLED = 10  # blocks below the tip whose rows may still arrive (docs/completeness.md, "Following the tip")

_OWNERSHIP = BY_COMMAND["ownership"]


class _Window(NamedTuple):
    """The ownership rows of some heights: all of them, and the owned ones with the number of their key."""

    listed: Listed
    owned: dict[Key, int]


def check_heights(start: int, end: int | None) -> None:
    """Raise UsageError for bounds without a block between them."""
    if end is not None and end <= start:
        raise UsageError(none_below(start, end))


class Bookkeeper(Closing):
    """Reads what view keys own and spend. A context manager, which ends its processes and drops the keys.

    `keys`: sorted by address. `recorded` is called with the book after every `WINDOW` heights, at first more often, and
    after each response before the first record. `findings`: why the book is not exact, by
    record. Raises IncompleteError for an export that lacks tables.
    """

    def __init__(
        self,
        keys: Sequence[ViewKey],
        service: Service,
        workers: int,
        *,
        warn: Callable[[str], None] = lambda _: None,
        progress: Progress = UNSEEN,
        recorded: Callable[[Book], None] = lambda _: None,
    ) -> None:
        service.need("ownership", "full-blocks")
        self._keys, self._service, self._warn = list(keys), service, warn
        self._progress, self._recorded = progress, recorded
        self._scanner = Scanner([key.text for key in keys], workers, progress)
        self._tags, self._names = Tags(keys), Names(service, warn)
        self.findings: dict[Key, str] = {}

    def close(self) -> None:
        """End the processes and drop the keys."""
        self._scanner.close()
        self._keys.clear()

    def bring_up(self, book: Book, tip: Tip, hash_of: Callable[[int], str | None], end: int | None = None) -> None:
        """Continue reading to the tip, or to `end` (excluded).

        `hash_of` returns the service's current hash of a block. Raises ChainqError.
        """
        stop = tip.height + 1 if end is None else min(end, tip.height + 1)
        if end is not None and end > stop:
            self._warn(end_above(end, tip.height))
        if book.as_of is not None and tip.height < book.as_of.height and book.may_follow(tip.height, hash_of):
            before = f"the tip is {tip.height}: the server may be behind block {book.as_of.height}, read before"
            self._warn(Shortfall(before))
            return
        if forgotten := book.go_back(hash_of):
            self._warn(f"reorg: block {forgotten.height} is another one now; reading again from block {book.next}")
        start = self._first(book, stop)
        self._progress.begin(max(0, stop - start), "full blocks")
        announce("chainq balance", HeightRange(start, max(start, stop)), self._service, self._warn, _WAYS)
        size = FIRST_WINDOW
        while start < stop:
            window = HeightRange(start, min(start + min(size, WINDOW), stop))
            size *= 2
            try:
                behind = self._read(book, window)
            except IncompleteError as error:
                if book.as_of is None:
                    raise
                ends = f"{error.message}; the balance ends at block {book.as_of.height}"
                raise IncompleteError(ends, error.hint) from error
            book.thin()
            self._recorded(book)
            if behind is not None:
                self._say_behind(behind, tip)
                return
            start = window.end

    def check(self) -> None:
        """Raise IncompleteError if the book is not exact."""
        if self.findings:
            raise IncompleteError(
                f"the balance is not exact: {counted(len(self.findings), 'record')} left out:"
                f" {in_words(self.findings)}",
                "report it to the operator of the server",
            )

    def _first(self, book: Book, stop: int) -> int:
        """Return the first height of full blocks to read: for an empty book, the earliest possible record."""
        end = stop - max(SETTLED, WINDOW)
        if book.entries or book.next >= end:
            return book.next
        skipped = HeightRange(book.next, end)
        self._progress.begin(len(skipped), "heights up to the first record")
        try:
            for scanned in self._scan(skipped):
                heights = scanned.batch.heights or skipped
                if scanned.findings.owned or scanned.findings.malformed:
                    return heights.start
                self._progress.wrote(len(heights), len(scanned.batch.rows))
                book.next = max(book.next, heights.end - 1)
                self._recorded(book)
        except BehindError:
            return book.next  # the block that the balance will be as of
        return end

    def _scan(self, heights: HeightRange) -> Iterator[Scanned]:
        """Yield the ownership rows of heights with what is known about them. Raises Stopped as the service closes."""
        batches = self._service.fetch_range(Query(_OWNERSHIP), heights)
        return self._scanner.scan(batches, check=self._service.connection.check_open)

    def _read(self, book: Book, heights: HeightRange) -> int | None:
        """Read a window; return the height of the first block with missing ownership rows, if any."""
        window, open_tags = self._ownership(heights), {e.tag: e for e in book.entries if e.spent is None}
        left = set(window.owned)
        for batch in full_blocks(self._service, heights):
            for row in batch.rows:
                block = read_block(row)
                if window.listed.lacks(block):
                    return book.next if block.height is None else block.height
                left -= {(output.transition, output.place) for output in block.outputs}
                self._enter(book, block, window, open_tags)
            self._progress.wrote(len(batch.heights or ()), 0)
        if left:
            raise IncompleteError(
                f"records/isOwner {heights}: {shown(min(left))} is owned, but in no block: "
                "the chain may have been reorganized",
                "run the command again",
            )
        return None

    def _ownership(self, heights: HeightRange) -> _Window:
        window = _Window(Listed(), {})
        with suppress(BehindError):  # the full block of that height will show which rows are missing
            for scanned in self._scan(heights):
                rows = scanned.batch.rows
                self._progress.wrote(0, len(rows))
                window.listed.add(scanned.batch.heights or heights, rows)
                window.owned.update((key_of(rows[number]), key) for number, key in scanned.findings.owned)
                for number, problem in scanned.findings.malformed:
                    self.findings.setdefault(key_of(rows[number]), f"is malformed: {problem}")
        return window

    def _enter(self, book: Book, block: Block, window: _Window, open_tags: dict[str, Entry]) -> None:
        """Enter the records that a block creates and spends."""
        last = book.as_of
        follows = last is None or block.height != last.height + 1 or block.previous == last.hash
        if block.height is None or not follows:
            raise IncompleteError(
                f"full blocks: block {block.height} does not follow the block before it: the chain was reorganized",
                "run the command again",
            )
        for output in block.outputs:  # before the inputs: a transaction can spend its own outputs
            owner = window.owned.get((output.transition, output.place))
            if owner is not None and (entry := self._entry(output, owner, block.height)):
                book.entries.append(entry)
                open_tags[entry.tag] = entry
        for tag, transaction in block.spent:
            if entry := open_tags.pop(tag, None):
                entry.spent, entry.spender = block.height, transaction
        book.read(Mark(block.height, block.hash, block.time))

    def _entry(self, output: RecordOutput, owner: int, height: int) -> Entry | None:
        """Return the entry of an owned record; None for one that is not genuine, which is a finding."""
        key, place = self._keys[owner], (output.transition, output.place)
        opened = opened_by(key, output.ciphertext)
        if opened is None:
            self.findings.setdefault(place, "does not decrypt, although its ownership row is that of the key")
            return None
        names = self._names.of(output.program, height)
        if names and genuine.name_of(opened, output, names) is None:
            self.findings.setdefault(place, "has a plaintext that its commitment, the id of its output, does not match")
            return None
        _, worth = shown_plaintext(str(opened.plaintext), output.program, Style.LINE)
        amount = None if worth.amount is None else str(worth.amount)
        return Entry(
            *(owner, output.program, worth.token, amount),
            *(self._tags.of(key.address, output), height, output.transaction),
        )

    def _say_behind(self, height: int, tip: Tip) -> None:
        if height < tip.height - SETTLED:
            raise IncompleteError(f"{fewer(height)}; the balance ends at block {height - 1}", advice(height))
        self._warn(Shortfall(f"{fewer(height)}, as it may be indexing; the balance is as of block {height - 1}"))
