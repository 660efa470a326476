"""One pass over a service: all commands side by side, their heights in step, each row held against its full block.

What is kept is what the commands differ in: the rows of heights that not all of them have reached. Rejected: to audit
one command after the other, which would fetch the full blocks, by far the largest rows, once for each.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.fetching.service import Service
from chainq.heights.range import HeightRange
from chainq.rows.fields import integer_of, object_of
from chainq.verify.blocks import IDENTITY, Facts, Key, identity, read_block, text, texts
from chainq.verify.chain import ChainCheck
from chainq.verify.compare import Contradiction, check_block, compare_rows, compare_summary
from chainq.verify.feeds import ListFeed, Part, RangeFeed
from chainq.verify.findings import Finding, by_height, label
from chainq.verify.repair import Repair
from chainq.verify.unlisted import Missing, Unlisted
from chainq.verify.witness import WINDOW, Witness, row_hash

BLOCKS = ("blocks", "full-blocks")
COMMANDS = (*BLOCKS, *IDENTITY)
"""The commands that can be verified."""
LISTS = 128  # transaction lists that are looked up in one go


MOST_MISSED = 100_000  # rows of a command that are remembered as missing


class Step(NamedTuple):
    """What a pass found in `heights`, in order of height.

    `rows`: how many it read, by command. `hashes`: of the rows of a command and height (`witness.row_hash`), where a
    witness is to be compared. `last_hash`: of the last block, empty where it is not known. `unlisted`: how many
    transitions of the pass so far the server does not list, by their kind.
    """

    heights: HeightRange
    findings: list[Finding]
    rows: dict[str, int]
    hashes: dict[tuple[str, int], int]
    last_hash: str = ""
    unlisted: Mapping[str, int] = MappingProxyType({})


def audit(
    service: Service, heights: HeightRange, commands: Iterable[str], repair: Repair, *, witness: Service | None = None
) -> Iterator[Step]:
    """Yield step by step what is wrong with a service's rows of a height range, up to its tip at most.

    `commands`: those to verify beside the blocks. `witness`: a service to compare with, up to its own tip. Raises
    ChainqError where one of them fails.
    """
    chosen = [command for command in COMMANDS if command in commands]
    steps = _Audit(service, heights, chosen, repair, hashed=witness is not None).steps()
    if witness is None:
        yield from steps
        return
    second = Witness(service, witness, chosen, repair)
    end = min(heights.end, witness.tip_for(heights.end) + 1)
    held = Step(HeightRange(heights.start, heights.start), [], {}, {})
    for step in steps:
        held = _joined(held, step)
        if len(held.heights) >= WINDOW or step.heights.end == heights.end:
            compared = HeightRange(held.heights.start, max(held.heights.start, min(held.heights.end, end)))
            if len(compared):
                held.findings.extend(second.compare(compared, held.hashes))
                held.findings.sort(key=by_height)
            yield held
            held = Step(HeightRange(held.heights.end, held.heights.end), [], {}, {})


def _joined(first: Step, second: Step) -> Step:
    rows = {command: first.rows.get(command, 0) + second.rows.get(command, 0) for command in first.rows | second.rows}
    heights = HeightRange(first.heights.start, second.heights.end)
    return Step(
        heights, first.findings + second.findings, rows, first.hashes | second.hashes, second.last_hash, second.unlisted
    )


class _Audit:
    def __init__(
        self, service: Service, heights: HeightRange, commands: list[str], repair: Repair, *, hashed: bool
    ) -> None:
        self._heights, self._repair, self._hashed = heights, repair, hashed
        self._hashes: dict[tuple[str, int], int] = {}
        self._commands = [command for command in commands if command not in BLOCKS]
        ranged = [*reversed(BLOCKS), *(command for command in self._commands if BY_COMMAND[command].ranged)]
        # Full blocks first: of feeds that are equally far, the first is pulled, and the others need its facts.
        self._feeds = {command: RangeFeed(service, command, heights) for command in ranged}
        self._lists = ListFeed(service) if "transactions" in self._commands else None
        every = [*ranged, *(["transactions"] if self._lists else [])]
        self._reached = dict.fromkeys(every, heights.start)  # where each feed continues
        self._rows: dict[str, dict[int, list[Raw]]] = {command: {} for command in every}
        self._doubts: dict[tuple[str, int], str] = {}  # why rows may be missing, by command and height
        self._invalid: dict[tuple[str, int], int] = {}  # rows without a height, by the first height of their part
        self._facts: dict[int, Facts] = {}
        self._row_ids: dict[int, int] = {}
        self._ownership: Part | None = None  # rows without heights, until the blocks tell them
        self._chains = {command: ChainCheck() for command in BLOCKS}
        # Identities of rows that were missing, with their heights: they may come elsewhere.
        self._missed: dict[str, dict[Key, int]] = {command: {} for command in self._commands}
        self._unlisted = Unlisted()
        self._lost: list[Missing] = []  # transitions of earlier heights, of kinds that are listed as is known now

    def steps(self) -> Iterator[Step]:
        done = self._heights.start
        while done < self._heights.end:
            counts = self._pull(min(self._waiting(), key=self._reached.__getitem__))
            self._settle_ownership()
            upto = min(self._reached.values())
            heights = HeightRange(done, upto)
            findings = list(chain.from_iterable(map(self._height, range(done, upto))))
            done = upto
            last_hash = self._chains["full-blocks"].last_hash
            yield Step(heights, findings, counts, self._taken_hashes(heights), last_hash, self._unlisted.counts)

    def _waiting(self) -> list[str]:
        return [command for command in self._reached if command != "ownership" or self._ownership is None]

    def _taken_hashes(self, heights: HeightRange) -> dict[tuple[str, int], int]:
        done = [key for key in self._hashes if key[1] < heights.end]
        return {key: self._hashes.pop(key) for key in done}

    # --- reading

    def _pull(self, command: str) -> dict[str, int]:
        """Take in the next part of a command; return the number of its rows."""
        at = self._reached[command]
        if command == "transactions" and self._lists is not None:
            end = min(at + LISTS, self._reached["blocks"], self._heights.end)
            part: Part | None = self._lists.pull(HeightRange(at, end), self._row_ids)
        else:
            part = self._feeds[command].pull()
        if part is None:  # the chain ends here, as far as this command shows it
            part = Part(HeightRange(at, self._heights.end), [])
        if command == "ownership":
            self._ownership = part
        else:
            self._take(command, part)
        return {command: len(part.rows)}

    def _take(self, command: str, part: Part) -> None:
        rows = self._rows[command]
        for height, row in part.rows:
            if self._hashed and height is not None:
                self._hashes[command, height] = self._hashes.get((command, height), 0) + row_hash(command, row)
            if height is None:
                self._invalid[command, part.heights.start] = self._invalid.get((command, part.heights.start), 0) + 1
            elif command == "full-blocks" and height not in self._facts:
                self._facts[height] = read_block(row, height)
                rows.setdefault(height, []).append(Raw(b"{}"))
            else:
                rows.setdefault(height, []).append(row.copy())  # not its whole response
                if command == "blocks" and (row_id := integer_of(object_of(row).get("id"))) is not None:
                    self._row_ids[height] = row_id
        if part.doubt:
            self._doubts[command, part.heights.start] = part.doubt
        self._reached[command] = part.heights.end

    def _settle_ownership(self) -> None:
        """Give ownership rows their heights, by the transitions of the full blocks, once these are read."""
        part = self._ownership
        if part is None or self._reached["full-blocks"] < part.heights.end:
            return
        self._ownership = None
        heights = {
            key[0]: facts.height
            for facts in self._facts.values()
            if part.heights.start <= facts.height < part.heights.end
            for key in facts.due["ownership"]
        }
        rows: list[tuple[int | None, Raw]] = []
        for known, row in part.rows:
            transition_id = text(object_of(row).get("transition_id")) or ""
            rows.append((heights.get(transition_id, known), row))
        strays = {bytes(row) for height, row in rows if height is None}
        found = dict(self._located(strays, part.heights)) if strays else {}
        rows = [(found.get(bytes(row), part.heights.start) if height is None else height, row) for height, row in rows]
        self._take("ownership", part._replace(rows=rows))

    def _located(self, strays: set[bytes], heights: HeightRange) -> Iterator[tuple[bytes, int]]:
        """Yield the heights of rows that no full block explains, by asking for ever fewer heights."""
        if not strays:
            return
        if len(heights) == 1:
            yield from ((row, heights.start) for row in strays)
            return
        lower, upper = heights.halves()
        there = {bytes(row) for part in self._feeds["ownership"].fetch(lower) for _, row in part.rows} & strays
        yield from self._located(there, lower)
        yield from self._located(strays - there, upper)

    # --- comparing

    def _height(self, height: int) -> Iterator[Finding]:
        """Yield what is wrong at one height, which all commands have reached; forget the height."""
        facts = self._facts.get(height)
        summaries = self._rows["blocks"].pop(height, [])
        yield from self._found("full-blocks", height, self._full_block(height, facts))
        yield from self._found("blocks", height, self._summary(height, summaries, facts))
        for command in self._commands:
            rows = self._rows[command].pop(height, [])
            yield from self._found(command, height, self._compared(command, rows, facts))
        for lost in self._lost:
            found = Contradiction("missing", label("transitions", lost.key), None)
            yield from self._found("transitions", lost.height, [found])
        self._lost.clear()
        self._facts.pop(height, None)
        self._row_ids.pop(height, None)

    def _found(self, command: str, height: int, found: Iterable[Contradiction]) -> Iterator[Finding]:
        doubt = self._doubts.pop((command, height), "")
        contradictions = [Contradiction("unproved", None, doubt)] if doubt else list(found)
        if count := self._invalid.pop((command, height), 0):
            contradictions.append(Contradiction("invalid", "a height", f"{count} rows without a valid height"))
        for check, expected, seen in contradictions:
            yield Finding(height, command, check, expected, seen, self._repair(command, height))

    def _full_block(self, height: int, facts: Facts | None) -> Iterator[Contradiction]:
        rows = self._rows["full-blocks"].pop(height, [])
        if facts is None:
            part = self._feeds["full-blocks"].single(height)  # a response that was cut short is no missing block
            if not part.rows:
                yield Contradiction("missing", f"full block {height}", None)
                return
            facts = self._facts[height] = read_block(part.rows[0][1], height)
        yield from _counted("full block", height, rows, facts.summary.get("height"))
        yield from check_block(facts)
        yield from self._chains["full-blocks"].follow(height, facts.summary)

    def _summary(self, height: int, rows: list[Raw], facts: Facts | None) -> Iterator[Contradiction]:
        if not rows:
            rows = [row for _, row in self._feeds["blocks"].single(height).rows]
        if not rows:
            yield Contradiction("missing", f"block {height}", None)
            return
        summary = texts(rows[0])
        yield from _counted("block", height, rows, summary.get("height"))
        if facts is not None:
            yield from compare_summary(facts, summary)
        yield from self._chains["blocks"].follow(height, summary)

    def _compared(self, command: str, rows: list[Raw], facts: Facts | None) -> Iterator[Contradiction]:
        if facts is None or (command == "transactions" and facts.height not in self._row_ids and not rows):
            return  # without its block nothing is known of the height, or its list could not be looked up
        due = facts.due[command]
        row_id = self._row_ids.get(facts.height)
        if command in ("records", "transactions") and row_id is not None:
            block_id = f"{facts.height} or {row_id}"
            due = {key: {**fields, "block_id": block_id} for key, fields in due.items()}
        seen = list(map(texts, rows))
        optional: Mapping[Key, object] = facts.optional if command == "transitions" else {}
        missed = self._missed[command]

        def elsewhere(key: Key) -> int | None:
            """Return where else a row that is due here was seen, or where one that was seen here is due."""
            if key in due:
                return next((at for at, others in self._rows[command].items() if key in _keys(command, others)), None)
            if key in missed:
                return missed[key]
            return next((at for at, other in self._facts.items() if key in other.due[command]), None)

        there = {identity(command, row) for row in seen}
        absent = due.keys() - there
        if command == "transitions":
            for key in facts.kinds.keys() & there:
                self._lost += self._unlisted.listed(facts.kinds[key])
            due = {
                key: fields
                for key, fields in due.items()
                if key in there or self._unlisted.is_lost(Missing(facts.height, key), facts.kinds[key])
            }
        yield from compare_rows(command, due, seen, optional=optional, elsewhere=elsewhere)
        if len(missed) < MOST_MISSED:
            missed.update(dict.fromkeys(absent, facts.height))


def _keys(command: str, rows: Iterable[Raw]) -> set[Key]:
    return {identity(command, texts(row)) for row in rows}


def _counted(what: str, height: int, rows: list[Raw], own: str | None) -> Iterator[Contradiction]:
    if len(rows) > 1:
        yield Contradiction("doubled", f"{what} {height} once", f"{len(rows)} times")
    if own != str(height):
        yield Contradiction("misplaced", f"{what} {height}", f"{what} {own}")
