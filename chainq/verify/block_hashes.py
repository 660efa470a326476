"""Recomputes block hashes from rows, of a service and of files: `chainq verify --hashes`."""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from chainq.errors import UsageError
from chainq.fetching.service import Service
from chainq.hashes.chain import Anchor, Walk
from chainq.hashes.check import Checked, check_summary
from chainq.hashes.processes import BlockChecks
from chainq.heights.height_set import of_tables
from chainq.heights.range import HeightRange
from chainq.process import Closing
from chainq.process.progress import Progress
from chainq.rows.full_block import Texts, texts
from chainq.text.humanize import counts
from chainq.verify.compare import ChainCheck, number
from chainq.verify.file_rows import nothing
from chainq.verify.findings import ANCHOR, Contradiction, Finding, Repair, Step
from chainq.verify.plain import nested
from chainq.verify.service_rows import BLOCKS, CommandRows
from chainq.verify.text_rows import JsonlRows
from chainq.verify.through_blocks import TABLES, ThroughBlocks

if TYPE_CHECKING:
    from chainq.verify.file_rows import FileRows

_AT_ONCE = 64  # rows of a file converted to Python values together; full blocks are large
_NOT_HASHED = (
    *("id", "coinbase_reward", "aborted_transaction_ids"),
    *("authority.signature", "authority.subdag.election_certificate_ids"),
)


class BlockHashes(Closing):
    """Checks the hashes of blocks in order of height, and that they reach the anchor, if there is one.

    `workers` processes check full blocks; leaving the context ends them. Raises UsageError without aleo-sdk.
    """

    def __init__(self, anchor: Anchor | None, workers: int = 1) -> None:
        self.anchor = anchor
        self.skipped: Counter[str] = Counter()
        self._checks = BlockChecks(workers)
        self._walk = Walk(anchor)
        self._wrong = False
        self._highest = -1  # of the blocks that were checked
        self._begun: set[int] = set()
        self._through: set[str] = set()  # commands whose rows were compared with full blocks
        self._unbound: dict[str, list[HeightRange]] = {}

    def close(self) -> None:
        """End the processes."""
        self._checks.close()

    def begin(self, start: int) -> None:
        """Start at the block at `start`. Raises UsageError if the anchor is below it and so proves nothing."""
        if self.anchor is not None and self.anchor.height < start:
            raise UsageError(
                f"--anchor {self.anchor.height} proves no block from height {start} on",
                "pass the height and hash of a block in the range or above it",
            )

    def learn(self, height: int, row: Raw) -> None:
        """Start checking a full block; `full` returns the findings."""
        self._begun.add(height)
        self._checks.begin(height, [bytes(row)], full=True)

    def full(self, height: int, fields: Texts) -> Iterator[Contradiction]:
        """Yield what is wrong with a full block passed to `learn`; `fields`: of its summary."""
        if height in self._begun:
            self._begun.remove(height)
            (checked,) = self._checks.result(height)
            yield from self._told(checked)
            yield from self._follow(height, fields, checked.proved)

    def summary(self, _height: int, fields: Texts) -> Iterator[Contradiction]:
        """Yield what is wrong with the hash of a summary; its full block already counted what is not checked."""
        yield from self._told(check_summary(fields)._replace(skipped=Counter()))

    def above(self, service: Service, start: int, repair: Repair, progress: Progress) -> Iterator[Step]:
        """Yield what is wrong with the summaries from `start` up to the anchor; `progress` counts them."""
        if self.anchor is None or self.anchor.height < start:
            return
        links, last = ChainCheck(), HeightRange(start, self.anchor.height + 1)
        progress.begin(len(last), "heights up to the anchor")
        for part in CommandRows(service, "blocks").parts(last):
            progress.wrote(len(part.heights), len(part.rows))
            found = []
            for height, row in sorted(part.rows, key=lambda one: one[0] or 0):
                fields, at = texts(row), height or 0
                checked = check_summary(fields)
                wrong = [*self._told(checked), *links.follow(at, fields), *self._follow(at, fields, checked.proved)]
                found += [repair.finding(at, "blocks", one) for one in wrong]
            yield Step(part.heights, found, {"summaries up to the anchor": len(part.rows)})
        yield from self._ended(lambda height, one: repair.finding(height, "blocks", one))

    def of_files(self, parts: Iterable["FileRows"], progress: Progress, *, damaged: bool) -> Iterator[Step]:
        """Yield what is wrong with the blocks and full blocks of files, in order of command and height, and with the
        rows of other commands that full blocks of the same heights contain.

        `progress` counts the blocks. `damaged`: the files have findings, so blocks may be missing. Raises UsageError if
        blocks are missing although `damaged` is false.
        """
        command, finding, proved, parts = "", None, True, list(parts)
        progress.begin(sum(len(part.heights) for part in parts if part.method.command in BLOCKS), "block hashes")
        others = {(part.method.command, part.heights.start): part for part in parts if part.method.command in TABLES}
        for part in parts:
            if part.method.command not in BLOCKS:
                continue
            if finding is not None and part.method.command != command:
                yield from self._ended(finding)
                proved = proved and self._walk.anchored
                self._walk = Walk(self.anchor)
            command, finding = part.method.command, part.finding
            explained = [others.pop((name, part.heights.start), None) for name in TABLES] if _full(part) else []
            yield from self._of_file(part, [other for other in explained if other is not None], progress)
        for (name, _), part in sorted(others.items()):
            self._unbound.setdefault(name, []).append(part.heights)
        if finding is None:
            if not damaged:
                raise UsageError("--hashes needs the rows of blocks or of full-blocks")
            self._wrong = True  # no rows, so nothing agrees
            return
        yield from self._ended(finding)
        self._walk.anchored = self._walk.anchored and proved

    def _of_file(self, part: "FileRows", others: list["FileRows"], progress: Progress) -> Iterator[Step]:
        """Yield what is wrong with the blocks of a file, and with the rows of `others` that they contain."""
        full, through = _full(part), ThroughBlocks(others)
        for rows in _rows(part):
            blocks = list(map(nested, rows))
            for block, checked in zip(blocks, self._checks.check(blocks, full=full), strict=True):
                metadata = block["header"]["metadata"] if full else block
                height = number(str(metadata["height"]), 19) or 0
                fields = {**block, **block["header"]} if full else block
                if others:
                    through.learn(block, height)
                wrong = [*self._told(checked), *self._follow(height, fields, checked.proved)]
                progress.wrote(1, 0)
                yield Step(HeightRange(height, height + 1), [part.finding(height, one) for one in wrong], {})
        for other in others:
            self._through.add(other.method.command)
            yield Step(other.heights, list(through.compare(other, part.heights.end)), {})

    def _ended(self, finding: Callable[[int | None, Contradiction], Finding]) -> Iterator[Step]:
        """Yield a finding if the anchor was not reached."""
        if self.anchor is not None and (self._walk.next or 0) <= self.anchor.height:
            at = self.anchor.height
            missing = Contradiction(ANCHOR, f"block_hash={self.anchor.hash}", None)
            yield Step(HeightRange(at, at + 1), [finding(at, missing)], {})

    @property
    def ended(self) -> int | None:
        """The height of the last block if it is below the anchor, else None."""
        end = self._walk.next
        return None if self.anchor is None or end is None or end > self.anchor.height else end - 1

    def verdict(self, naming: str, commands: Container[str], *, faulty: bool) -> str:
        """Return what the hashes prove, as the end of a sentence. `naming`: who names the hashes. `commands`: whose
        rows were read. `faulty`: there are findings."""
        if self.anchor is None:
            agree = "" if self._wrong else f": these rows agree with the block hashes that {naming} names"
            words = f"; not anchored{agree}"
        elif self._walk.anchored:
            words = f"; anchored: block {self.anchor.height} is {self.anchor.hash}"
            if self._highest > self.anchor.height:
                words += f", which proves no block above it ({HeightRange(self.anchor.height + 1, self._highest + 1)})"
            words += "; the rows with findings are not proved" * faulty
        else:
            words = f"; not anchored at block {self.anchor.height}"
            if self.ended is not None:
                words += f": the blocks end at height {self.ended}"
        if self._through:
            words += f"; compared with full blocks: {', '.join(sorted(self._through))}"
        if self._unbound:
            lacking = {name: some if name in self._through else () for name, some in self._unbound.items()}
            words += f"; not compared with full blocks, which are missing: {of_tables(lacking)}"
        if self.skipped:
            words += f"; not checked: {counts(self.skipped.most_common())}"
        unbound = "status, index and signatures" if "full-blocks" in commands else "id and coinbase_reward"
        return f"{words}; no hash binds some fields, such as {unbound} (docs/hashes.md)"

    def _told(self, checked: Checked) -> Iterator[Contradiction]:
        self.skipped += checked.skipped
        self._wrong = self._wrong or bool(checked.wrong)
        yield from (Contradiction(*wrong) for wrong in checked.wrong)

    def _follow(self, height: int, fields: Mapping[str, Any], proved: bool) -> Iterator[Contradiction]:
        self._highest = max(self._highest, height)
        wrong = self._walk.take(height, fields.get("block_hash"), fields.get("previous_hash"), proved)
        if wrong is not None and self.anchor is not None:
            yield Contradiction(ANCHOR, f"block_hash={self.anchor.hash}", wrong)


def _full(part: "FileRows") -> bool:
    return part.method.command == "full-blocks"


def _rows(part: "FileRows") -> Iterator[list[dict[str, Any]]]:
    """Yield batches of a file's rows as values by path, in the form of `json.loads`."""
    names = [column.path for column in part.method.columns if column.path not in _NOT_HASHED]
    # JSON rows keep all their fields, although the file takes its names from the first row, which may lack some.
    due = (
        {part.method.height, "block_hash", "previous_hash", "transactions"}
        if isinstance(part.file, JsonlRows)
        else names
    )
    if lacking := [name for name in names if name in due and name not in part.file.names]:
        raise UsageError(f"block hashes need all columns of {part.method.command}; {lacking[0]} is missing")
    for table in part.file.tables(names, nothing):
        for batch in table.to_batches(_AT_ONCE):
            yield batch.to_pylist()
