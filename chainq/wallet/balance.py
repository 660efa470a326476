"""Updates the book of a wallet up to the tip.

The book ends before the first block with outputs that have no ownership row yet, so it is exact as of its last block.
"""

from collections.abc import Callable, Sequence

from chainq.catalog.methods import BY_COMMAND
from chainq.defaults import SETTLE
from chainq.errors import BehindError, Shortfall, UsageError
from chainq.fetching.blocks import Tip
from chainq.fetching.service import Service
from chainq.heights.bounds import none_below
from chainq.heights.range import HeightRange, end_above
from chainq.process import Closing
from chainq.process.progress import UNSEEN, Progress
from chainq.query import Batch, Query
from chainq.wallet.book import NEAR, Book
from chainq.wallet.examine import Examiner
from chainq.wallet.keys import ViewKey
from chainq.wallet.scan import Scanned, Scanner
from chainq.wallet.walk import Keeper, unlisted, walk

RECORDED = 250  # heights after which the book is recorded, unless one of its records is expected in a later block

_OWNERSHIP = BY_COMMAND["ownership"]


def check_heights(start: int, end: int | None) -> None:
    """Raise UsageError for bounds without a block between them."""
    if end is not None and end <= start:
        raise UsageError(none_below(start, end))


class Bookkeeper(Closing):
    """Reads what view keys own and spend. A context manager, which ends its processes.

    `keys`: sorted by address. `recorded` is called after some blocks, and after each response before the
    first record. Raises IncompleteError for an export that lacks tables.
    """

    def __init__(
        self,
        keys: Sequence[ViewKey],
        service: Service,
        workers: int,
        *,
        warn: Callable[[str], None] = lambda _: None,
        progress: Progress = UNSEEN,
        recorded: Callable[[], None] = lambda: None,
    ) -> None:
        service.need("ownership", "full-blocks")
        self._service, self._warn, self._progress, self._recorded = service, warn, progress, recorded
        self._scanner = Scanner([key.text for key in keys], workers, progress)
        self._examiner = Examiner(keys, service, warn)

    def close(self) -> None:
        """End the processes."""
        self._scanner.close()

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
        self._progress.begin(max(0, stop - book.next))
        behind = self._read_to(book, max(book.next, stop))
        if behind is not None:
            error = unlisted(behind, f"; the balance ends at block {behind - 1}")
            if behind < tip.height - SETTLE:
                raise error
            self._warn(Shortfall(error.message))  # it may be indexing

    def _read_to(self, book: Book, stop: int) -> int | None:
        """Read all heights below `stop`; return the height of the first block with missing ownership rows, if any."""
        keeper, done = Keeper(book, self._examiner), book.next
        try:
            batches = self._service.fetch_range(Query(_OWNERSHIP), HeightRange(done, stop))
            check, report = self._service.connection.check_open, self._examiner.report
            for scanned in self._scanner.scan(batches, check=check, report=report):
                self._progress.wrote(0, len(scanned.batch.rows))
                part = scanned.batch.heights or HeightRange(done, stop)
                if not (book.entries or scanned.hits):  # nothing can be spent yet
                    book.next = max(part.start, min(part.end, stop - NEAR))
                    self._progress.wrote(book.next - part.start, 0)
                behind = self._read(book, keeper, HeightRange(book.next, part.end), scanned)
                if behind is not None:
                    return behind
                done = part.end
        except BehindError:  # the full block of that height shows which rows are missing
            return self._read(book, keeper, HeightRange(done, stop), Scanned(Batch([]), []))
        return None

    def check(self) -> None:
        """Raise IncompleteError if the book is not exact."""
        self._examiner.check(", which the balance leaves out")

    def _read(self, book: Book, keeper: Keeper, heights: HeightRange, scanned: Scanned) -> int | None:
        """Read full blocks; return the height of the first one with missing ownership rows, if any."""
        before = book.next
        for seen in walk(self._service, self._examiner, heights, scanned.batch.rows, scanned.owned):
            if not seen.listed:
                return book.next
            keeper.enter(seen.block, seen.records)
            self._progress.wrote(1, 0)
            if seen.last and book.next >= before + RECORDED:
                self._recorded()
                before = book.next
        self._recorded()
        return None
