"""Reads the rows of a service for one command in order of height, or several in step, even if the service is faulty.

Rows are read as for the command itself: proved complete, in few requests. If the proof fails, a binary search finds the
height, and the rows of one response for that height are used unproved, so that they can be compared and the fault
named. Reading then continues from one height on, and twice as many each time: rows that a response reads ahead may be
at fault as well.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND, Role
from chainq.catalog.tables import SOURCE, TABLES
from chainq.errors import IncompleteError
from chainq.fetching.calls import Asked
from chainq.fetching.lookups import with_height
from chainq.fetching.service import Service
from chainq.heights.range import HeightRange
from chainq.process.progress import UNSEEN, Progress
from chainq.process.threads import in_order
from chainq.query import Query
from chainq.rows.fields import Picker, integer_of, object_of, text_of
from chainq.rows.full_block import IDENTITY, BlockFacts, read_block
from chainq.rows.tables import table_rows
from chainq.transport.jsonrpc import decode_listed

if TYPE_CHECKING:
    from chainq.verify.block_hashes import BlockHashes

BLOCKS = ("blocks", "full-blocks")
COMMANDS = (*BLOCKS, *IDENTITY)
"""The commands that can be verified."""
WINDOW = 64  # heights of the first request of a search for a fault
FEW = 2  # concurrent requests, except for full blocks, by far the slowest; more would only fill the memory
LARGEST = 100_000  # row limit of a request for a single height


class Part(NamedTuple):
    """The rows of `heights`, each with its height, None if the row does not contain it.

    `doubt`: why rows may be missing, empty if all are there.
    """

    heights: HeightRange
    rows: list[tuple[int | None, Raw]]
    doubt: str = ""


class CommandRows:
    """The rows of a command with a height range, or with `derived` of a table that full blocks contain.

    `notes`: warn about missing and doubled blocks, for callers that do not look for them. Raises
    ChainqError if the service fails.
    """

    def __init__(self, service: Service, command: str, *, derived: bool = False, notes: bool = True) -> None:
        self._service, self._method = service, SOURCE if derived else BY_COMMAND[command]
        self._table = command if derived else None
        height = TABLES[command].height if derived else self._method.height
        self._height = Picker([height]) if height else None
        self._asked = Asked(None if self._method is SOURCE else FEW, notes=notes)

    def parts(self, heights: HeightRange) -> Iterator[Part]:
        """Yield the rows of some heights, in order, as parts that adjoin and cover all of the heights."""
        at, width = heights.start, len(heights)
        while at < heights.end:
            part = HeightRange(at, min(at + width, heights.end))
            try:
                for found in self._proved(part):
                    yield found
                    at = found.heights.end
                if at < part.end:
                    yield Part(HeightRange(at, part.end), [])  # the chain ends here for this command
                at, width = part.end, width * 2
            except IncompleteError as error:
                if not error.again:  # an export lacks the rows: no single height is wrong
                    raise
                if len(part) > 1:
                    width = min(WINDOW, max(1, (part.end - at) // 2))
                    continue
                yield self.single(at, error.message)
                at, width = at + 1, 1

    def rows(self, heights: HeightRange) -> list[Raw]:
        """Return all rows of some heights."""
        return [row for part in self.parts(heights) for _, row in part.rows]

    def single(self, height: int, doubt: str = "") -> Part:
        """Return the rows of one height from one response, in doubt only if a page follows.

        That is enough here: a comparison with the full block shows missing rows.
        """
        heights = HeightRange(height, height + 1)
        rows = self._page(heights, 0, LARGEST)
        more = self._method.page_size is not None and rows and self._page(heights, 1, len(rows))
        return Part(heights, [(height, row) for row in rows], doubt if more else "")

    def _page(self, heights: HeightRange, page: int, size: int) -> list[Raw]:
        query = Query(self._method, page=page, page_size=size)
        return self._read(row for batch in self._service.fetch_one_page(query, heights) for row in batch.rows)

    def _proved(self, part: HeightRange) -> Iterator[Part]:
        query = Query(self._method, verify=False)
        for batch in self._service.fetch_range(query, part, self._asked):
            if batch.heights is not None:
                rows = self._read(batch.rows)
                heights = (integer_of(self._height(row)[0]) if self._height else None for row in rows)
                yield Part(batch.heights, list(zip(heights, rows, strict=True)))

    def _read(self, rows: Iterable[Raw]) -> list[Raw]:
        """Return rows unchanged, or the rows of the table that they contain."""
        table = self._table
        return list(rows) if table is None else [one for row in rows for one in table_rows(row)[table]]


class ListedRows(NamedTuple):
    """The transaction lists of blocks, one request per block. `row_ids`: of the blocks; if the dialect needs one, a
    block without one has no list. `listed`: the heights to request. Rejected: `Service.fetch_lookups`, which stops at
    the first wrong list."""

    service: Service
    row_ids: Mapping[int, int]
    listed: Container[int]

    def parts(self, heights: HeightRange) -> Iterator[Part]:
        """Yield the rows of some heights whose row ids are known."""
        threads = self.service.options.concurrency
        found = (partial(self._list, height) for height in range(*heights.edges) if height in self.listed)
        rows = in_order(threads, found, threads + 2)
        yield Part(heights, [row for listed in rows for row in listed])

    def _list(self, height: int) -> list[tuple[int | None, Raw]]:
        call = self.service.calls.of(BY_COMMAND["transactions"])
        sent = self.row_ids.get(height) if call.dialect.transactions_by_row_id else height
        rows = [] if sent is None else call({Role.HEIGHT: sent}, decode_listed, f"height {height}")
        return [(height, row) for row in rows]


class LookedUpRows(NamedTuple):
    """The transactions of blocks, proved to be all of them, with the height of the block as a field if `placed`."""

    service: Service
    placed: bool

    def parts(self, heights: HeightRange) -> Iterator[Part]:
        """Yield the rows of some heights. Raises ChainqError if a list cannot be proved."""
        for batch in self.service.fetch_lookups(BY_COMMAND["transactions"], [heights]):
            if batch.heights is not None:
                rows = (with_height(batch) if self.placed else batch).rows
                yield Part(batch.heights, [(batch.heights.start, row) for row in rows])


class ServiceRows:
    """The rows of several commands of a service, their heights in step.

    For a full block, only its facts and the SHA-256 of its row are kept, because these rows are by far the largest.
    `rows`: rows not yet taken, by command and height. `facts`: of their blocks; a witness gets the facts of another
    service. `row_ids`: of the blocks. `listed`: the heights whose transaction lists
    are read. `hashes` checks the full blocks. Rejected: one command after the other, which would fetch the full blocks
    once per command.
    """

    def __init__(
        self,
        service: Service,
        heights: HeightRange,
        commands: Iterable[str],
        listed: Container[int],
        facts: dict[int, BlockFacts] | None = None,
        *,
        progress: Progress = UNSEEN,
        hashes: "BlockHashes | None" = None,
    ) -> None:
        self._progress, self._hashes = progress, hashes
        self._heights, self._commands, self._learns = heights, tuple(commands), facts is None
        self.facts = {} if facts is None else facts
        self.row_ids: dict[int, int] = {}
        ranged = [name for name in COMMANDS if BY_COMMAND[name].ranged]
        self._ranged = {name: CommandRows(service, name, notes=name not in BLOCKS) for name in ranged}
        self._parts = {name: self._ranged[name].parts(heights) for name in self._ranged if name in self._commands}
        self._explained: dict[str, CommandRows | ListedRows] = {
            "transactions": ListedRows(service, self.row_ids, listed),
            "ownership": self._ranged["ownership"],
        }
        self._read = dict.fromkeys(self._commands, heights.start)  # where each command continues
        self.rows: dict[str, dict[int, list[Raw]]] = {name: {} for name in self._commands}
        self._doubts: dict[tuple[str, int], str] = {}

    def windows(self) -> Iterator[HeightRange]:
        """Yield heights that all commands have reached, as they are read.

        Ownership rows, which have no height, set the pace: they need the full blocks of all their heights.
        """
        pace, at = "ownership" if "ownership" in self._commands else "full-blocks", self._heights.start
        for part in self._parts[pace]:
            self.read(part.heights.end, besides=pace)
            self._take(pace, part)
            yield HeightRange(at, part.heights.end)
            at = part.heights.end

    def read(self, end: int, *, besides: str = "") -> None:
        """Read all commands but one at least up to a height, after their blocks. Lists need row ids and ownership rows
        need facts, so these two are read exactly to that height."""
        for command in (name for name in self._commands if name != besides):
            while self._read[command] < end:
                if command in self._explained:
                    for part in self._explained[command].parts(HeightRange(self._read[command], end)):
                        self._take(command, part)
                else:
                    self._take(command, next(self._parts[command]))

    def take(self, command: str, height: int) -> tuple[list[Raw], str]:
        """Remove and return the rows of a height, and why some may be missing ("" if none are)."""
        return self.rows[command].pop(height, []), self._doubts.pop((command, height), "")

    def forget(self, height: int) -> None:
        """Discard the block of a height."""
        self.facts.pop(height, None)
        self.row_ids.pop(height, None)

    def single(self, command: str, height: int) -> list[Raw] | None:
        """Return the rows of a height from one response, None if it was truncated."""
        part = self._ranged[command].single(height, "truncated")
        return None if part.doubt else [row for _, row in part.rows]

    def learn(self, height: int, row: Raw) -> BlockFacts:
        """Return the facts of a full block, and keep them."""
        if self._hashes is not None:
            self._hashes.learn(height, row)
        return self.facts.setdefault(height, read_block(row, height))

    def _take(self, command: str, part: Part) -> None:
        self._read[command] = part.heights.end
        self._progress.wrote(len(part.heights), len(part.rows))
        if part.doubt:
            self._doubts[command, part.heights.start] = part.doubt
        for height, row in self._placed(part):
            if command == "full-blocks" and self._learns and height not in self.facts:
                self.learn(height, row)
            if command == "blocks" and (row_id := integer_of(object_of(row).get("id"))) is not None:
                self.row_ids[height] = row_id
            kept = Raw(b'"%s"' % sha256(row).hexdigest().encode()) if command == "full-blocks" else row.copy()
            self.rows[command].setdefault(height, []).append(kept)

    def _placed(self, part: Part) -> Iterator[tuple[int, Raw]]:
        """Yield rows with their heights; ownership rows get them from the transitions of the full blocks."""
        if all(height is not None for height, _ in part.rows):
            yield from ((height or 0, row) for height, row in part.rows)
            return
        known = (facts for at in range(*part.heights.edges) if (facts := self.facts.get(at)))
        heights = {key[0]: facts.height for facts in known for key in facts.due["ownership"]}
        found = [(heights.get(text_of(object_of(row).get("transition_id"))), row) for _, row in part.rows]
        located = dict(self._located({bytes(row) for height, row in found if height is None}, part.heights))
        for height, row in found:
            yield (located.get(bytes(row), part.heights.start) if height is None else height), row

    def _located(self, strays: set[bytes], heights: HeightRange) -> Iterator[tuple[bytes, int]]:
        """Yield the heights of rows that no full block contains, by requesting ever narrower ranges."""
        if not strays or len(heights) == 1:
            yield from ((row, heights.start) for row in strays)
            return
        lower, upper = heights.halves()
        there = set(map(bytes, self._ranged["ownership"].rows(lower))) & strays
        yield from self._located(there, lower)
        yield from self._located(strays - there, upper)
