"""One pass over a service compares the rows of each height with its full block, and with a witness."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING

from msgspec import Raw

from chainq.errors import ChainqError
from chainq.fetching.service import Service
from chainq.heights.range import HeightRange
from chainq.process.progress import Progress, heights_of
from chainq.rows.fields import object_of
from chainq.rows.full_block import BlockFacts, Key, Texts, texts
from chainq.verify.compare import (
    ChainCheck,
    by_identity,
    check_block,
    compare_rows,
    compare_summary,
    contradicts,
    differences,
)
from chainq.verify.findings import Contradiction, Finding, Repair, Step, by_height, label
from chainq.verify.service_rows import BLOCKS, COMMANDS, ServiceRows
from chainq.verify.unlisted import Missing, Unlisted

if TYPE_CHECKING:
    from chainq.verify.block_hashes import BlockHashes

MOST_MISSED = 100_000  # rows of a command that are remembered as missing
_LAST = 250  # blocks whose hashes are remembered, to tell where a reorg began; one request lists that many


class Audit:
    """One pass over a height range of a service, up to its tip at most.

    `commands`: what to verify besides blocks. `listed`: the heights whose transaction lists are compared (one request
    each), None for all. `witness`: a service that is expected to have the same rows, up to its own tip. `hashes`
    recomputes block hashes, up to its anchor. `progress` counts the heights read per command. Raises UsageError for an
    anchor below the range. `linked`: the range is linked to the block before it, which an earlier pass has verified.
    `singles`: how many blocks only a request for one height returned, by command. `witnessed`: the heights compared
    with the witness.
    `replaced`: the lowest block that a reorg replaced before a finding, which ends the pass; None for none.
    """

    def __init__(
        self,
        service: Service,
        heights: HeightRange,
        commands: Iterable[str],
        repair: Repair,
        *,
        listed: Container[int] | None,
        witness: Service | None,
        progress: Progress,
        hashes: "BlockHashes | None",
        linked: bool = False,
    ) -> None:
        self._first = heights.start
        if linked:
            heights = HeightRange(heights.start - 1, heights.end)
        if hashes is not None:
            hashes.begin(heights.start)
        wanted = {*BLOCKS, *commands}
        known = [command for command in COMMANDS if command in wanted]
        self._service, self._heights, self._repair, self._hashes = service, heights, repair, hashes
        self._commands, self._listed = known, range(*heights.edges) if listed is None else listed
        self._progress = progress
        progress.begin(len(heights) * len(known), heights_of(len(known)))
        self._source = ServiceRows(service, heights, known, self._listed, progress=progress, hashes=hashes)
        end = heights.start if witness is None else witness.blocks.tip_for(heights.end) + 1
        self.witnessed = HeightRange(heights.start, max(heights.start, min(heights.end, end)))
        self._witness = None
        if witness is not None:
            self._witness = ServiceRows(witness, self.witnessed, known, self._listed, self._source.facts)
        self._chains = {command: ChainCheck() for command in BLOCKS}
        # Identities of missing rows, with their heights: they may appear at another height.
        self._missed: dict[str, dict[Key, int]] = {command: {} for command in known}
        self._unlisted = Unlisted()
        self._begun: dict[int, str] = {}  # hashes of the last blocks before any row was read
        self.replaced: int | None = None
        self.singles: Counter[str] = Counter()
        self._of_witness = Counter[int]()  # findings that are the witness's fault, by height
        self._lost: list[Missing] = []  # earlier transitions of kinds that turned out to be listed

    def steps(self) -> Iterator[Step]:
        """Yield findings step by step, by height. Raises ChainqError if one of the services fails.

        Ends at the lowest block that was replaced while rows were read: what is above it are rows of two chains. The
        findings and the rows of earlier steps stay, also if they are above it.
        """
        self._begun = self._hashes_now(_LAST)
        for heights in self._source.windows():
            if self._witness:
                self._witness.read(min(heights.end, self.witnessed.end))
            counts = {height: Counter[str]() for height in range(*heights.edges)}
            found = chain.from_iterable(self._height(height, counts[height]) for height in counts)
            findings = [one for one in found if one.height is None or one.height >= self._first]
            if findings and self.replaced is None:
                self.replaced = self.replaced_from()
            above, last_hash = heights.end, self._chains["full-blocks"].last_hash
            if self.replaced is not None and self.replaced < above:
                above = max(heights.start, self.replaced)
                last_hash = self._begun.get(above - 1, "")  # still the service's, or `replaced` would be lower
                findings = [one for one in findings if by_height(one) < above]
                self.witnessed = HeightRange(self._first, max(self._first, min(self.replaced, self.witnessed.end)))
            rows = sum((counts[height] for height in range(heights.start, above)), Counter[str]())
            faults = sum(self._of_witness.pop(at, 0) for at in range(max(heights.start, self._first), above))
            yield Step(HeightRange(heights.start, above), findings, rows, last_hash, self._unlisted.counts, faults)
            if above < heights.end:
                return
        if self._hashes is not None:
            yield from self._hashes.above(self._service, self._heights.end, self._repair, self._progress)

    def replaced_from(self) -> int | None:
        """Return the lowest of the last blocks that the service has replaced since the pass began, None for none.

        A reorg replaces the last block, too, so mostly one short request shows that there was none.
        """
        if self._begun.items() >= self._hashes_now(1).items():
            return None
        now = self._hashes_now(_LAST)
        return min((at for at, found in self._begun.items() if now.get(at, found) != found), default=None)

    def _hashes_now(self, most: int) -> dict[int, str]:
        """Return the hashes of the last blocks to verify, as the service has them now. An error of the service is no
        answer, because the findings stand."""
        first, end = self._heights.edges
        with suppress(ChainqError):
            return self._service.blocks.block_hashes(HeightRange(max(first, end - most), end)) if first < end else {}
        return {}

    def _height(self, height: int, counts: Counter[str]) -> Iterator[Finding]:
        """Yield what is wrong at one height, count its rows, and discard them."""
        rows = {command: self._source.take(command, height) for command in self._commands}
        for command in BLOCKS:
            here, doubt = rows[command]
            if not here and (single := self._source.single(command, height)):  # a truncated response, no missing block
                rows[command] = single, doubt
                self.singles[command] += height >= self._first
        for command in sorted(self._commands, key="full-blocks".__ne__):  # first: it explains the others
            if command == "ownership":
                rows[command] = self._placed(height, *rows[command])
            here, doubt = rows[command]
            found = list((self._block if command in BLOCKS else self._explained)(command, height, here))
            for one in [Contradiction("unproved", None, doubt)] if doubt else found:
                yield self._repair.finding(height, command, one)
        if height >= self._first:
            counts.update({command: len(here) for command, (here, _) in rows.items()})
        for lost in self._lost:
            missing = Contradiction("missing", label("transitions", lost.key), None)
            yield self._repair.finding(lost.height, "transitions", missing)
        self._lost.clear()
        if self._witness and height < self.witnessed.end:
            yield from self._differences(self._witness, height, rows)
            self._witness.forget(height)
        self._source.forget(height)

    def _placed(self, height: int, rows: list[Raw], doubt: str) -> tuple[list[Raw], str]:
        """Return ownership rows as a request for their height alone lists them, unless they are those of its full
        block: in responses for several heights, other methods tell where one ends, and these may have a wrong row."""
        facts = self._source.facts.get(height)
        if facts and by_identity("ownership", list(map(texts, rows))).keys() != facts.due["ownership"].keys():
            single = self._source.single("ownership", height)
            return (rows, doubt) if single is None else (single, "")
        return rows, doubt

    def _differences(
        self, witness: ServiceRows, height: int, rows: dict[str, tuple[list[Raw], str]]
    ) -> Iterator[Finding]:
        """Yield differences between rows of a height and the witness's rows; unproved rows are not compared.

        There is no repair if both have the same full block, and only the witness's row contradicts it. Two blocks with
        different hashes are one difference, because all their rows differ.
        """
        facts, forked = None, False
        for command in sorted(rows, key="full-blocks".__ne__):
            here, doubt = rows[command]
            theirs, other_doubt = witness.take(command, height)
            if doubt or other_doubt or forked:
                continue
            # Full blocks are known by their hashes; ownership rows may have been placed at another height.
            if command in ("full-blocks", "ownership") and sorted(map(bytes, here)) != sorted(map(bytes, theirs)):
                sides = [side.single(command, height) for side in (self._source, witness)]
                here, theirs = (rows if one is None else one for rows, one in zip((here, theirs), sides, strict=True))
            found = list(differences(command, height, theirs, here))
            if command == "full-blocks":
                facts = None if found else self._source.facts.get(height)
                if found and len(theirs) == len(here) == 1:
                    other = list(differences(command, height, map(_hash_of, theirs), map(_hash_of, here)))
                    found, forked = other or found, bool(other)
            by_key = [by_identity(command, list(map(texts, some))) for some in (theirs, here) if found and facts]
            for key, one in found:
                finding = self._repair.finding(height, command, one)
                if facts and [contradicts(command, facts, key, side) for side in by_key] == [True, False]:
                    finding = finding._replace(repair=None)
                    self._of_witness[height] += 1
                yield finding

    def _block(self, command: str, height: int, rows: list[Raw]) -> Iterator[Contradiction]:
        """Yield what is wrong with the full block of a height, or with its summary."""
        name, facts = command.removesuffix("s").replace("-", " "), self._source.facts.get(height)
        if not rows:
            yield Contradiction("missing", f"{name} {height}", None)
            return
        if len(rows) > 1:
            yield Contradiction("doubled", f"{name} {height} once", f"{len(rows)} times")
        if command == "full-blocks":
            facts = facts or self._source.learn(height, rows[0])
        fields = facts.summary if facts and command == "full-blocks" else texts(rows[0])
        if fields.get("height") != str(height):
            yield Contradiction("misplaced", f"{name} {height}", f"{name} {fields.get('height')}")
        if facts is not None:
            yield from check_block(facts) if command == "full-blocks" else compare_summary(facts, fields)
        yield from self._chains[command].follow(height, fields)
        if self._hashes is not None:
            yield from (self._hashes.full if command == "full-blocks" else self._hashes.summary)(height, fields)

    def _explained(self, command: str, height: int, rows: list[Raw]) -> Iterator[Contradiction]:
        """Yield differences between the rows of a height and its full block."""
        facts, row_id = self._source.facts.get(height), self._source.row_ids.get(height)
        if command == "transactions" and height not in self._listed:
            return
        if facts is None or (command == "transactions" and row_id is None and not rows):
            return  # the block is missing, so nothing is known, or its list could not be requested
        due, found = facts.due[command], by_identity(command, list(map(texts, rows)))
        missed = self._missed[command]

        def elsewhere(key: Key) -> int | None:
            """Return the other height at which a row expected here was seen, or a row seen here is expected."""
            if key in due:
                ahead = self._source.rows[command].items()
                return next((at for at, others in ahead if key in by_identity(command, list(map(texts, others)))), None)
            if key in missed:
                return missed[key]
            return next((at for at, other in self._source.facts.items() if key in other.due[command]), None)

        if len(missed) < MOST_MISSED:
            missed.update(dict.fromkeys(due.keys() - found.keys(), height))
        if command in ("records", "transactions") and row_id is not None:
            due = {key: {**fields, "block_id": f"{height} or {row_id}"} for key, fields in due.items()}
        if command == "transitions":
            due = self._expected(facts, found.keys())
        optional = facts.optional if command == "transitions" else ()
        yield from compare_rows(command, due, found, optional=optional, elsewhere=elsewhere)

    def _expected(self, facts: BlockFacts, there: Iterable[Key]) -> dict[Key, Texts]:
        """Return the transitions of a block that the server returned, or that it lost."""
        there = set(there)
        counted = facts.height >= self._first
        for key in facts.kinds.keys() & there:
            self._lost += self._unlisted.listed(facts.kinds[key])
        return {
            key: fields
            for key, fields in facts.due["transitions"].items()
            if key in there or (counted and self._unlisted.is_lost(Missing(facts.height, key, facts.kinds[key])))
        }


def _hash_of(row: Raw) -> Raw:
    """Return a full block without all but its hash."""
    return Raw(b'{"block_hash":%s}' % bytes(object_of(row).get("block_hash", b"null")))
