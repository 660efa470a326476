"""One pass over a service: the rows of each height are compared with its full block, and with those of a witness."""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain

from msgspec import Raw

from chainq.fetching.service import Service
from chainq.heights.range import HeightRange
from chainq.verify.blocks import Facts, Key, Texts, texts
from chainq.verify.compare import ChainCheck, by_identity, check_block, compare_rows, compare_summary
from chainq.verify.findings import Contradiction, Finding, Repair, Step, label
from chainq.verify.service_rows import BLOCKS, COMMANDS, ServiceRows
from chainq.verify.unlisted import Missing, Unlisted
from chainq.verify.witness import Witness

MOST_MISSED = 100_000  # rows of a command that are remembered as missing


def audit(
    service: Service, heights: HeightRange, commands: Iterable[str], repair: Repair, *, witness: Service | None = None
) -> Iterator[Step]:
    """Yield step by step what is wrong with a service's rows of a height range, up to its tip at most, by height.

    `commands`: those to verify beside the blocks. `witness`: a service to compare with, up to its own tip. Raises
    ChainqError where one of them fails.
    """
    yield from _Audit(service, heights, [*BLOCKS, *commands], repair, witness).steps()


class _Audit:
    def __init__(
        self, service: Service, heights: HeightRange, commands: list[str], repair: Repair, witness: Service | None
    ) -> None:
        self._commands = [command for command in COMMANDS if command in commands]
        self._source = ServiceRows(service, heights, self._commands)
        self._witness = Witness(self._source, witness, heights, self._commands) if witness else None
        self._repair = repair
        self._chains = {command: ChainCheck() for command in BLOCKS}
        # Identities of rows that were missing, with their heights: they may come elsewhere.
        self._missed: dict[str, dict[Key, int]] = {command: {} for command in self._commands}
        self._unlisted = Unlisted()
        self._lost: list[Missing] = []  # transitions of earlier heights, of kinds that are listed as is known now

    def steps(self) -> Iterator[Step]:
        """Yield what is wrong."""
        for heights in self._source.windows():
            if self._witness:
                self._witness.read(heights.end)
            findings = list(chain.from_iterable(map(self._height, range(*heights.edges))))
            counts = dict(self._source.counts)
            self._source.counts.clear()
            yield Step(heights, findings, counts, self._chains["full-blocks"].last_hash, self._unlisted.counts)

    def _height(self, height: int) -> Iterator[Finding]:
        """Yield what is wrong at one height; forget the height."""
        rows = {command: self._source.take(command, height) for command in self._commands}
        compared = {"full-blocks": self._full_block, "blocks": self._summary}
        for command in (*compared, *(name for name in self._commands if name not in compared)):
            here, doubt = rows[command]
            found = list(compared.get(command, partial(self._compared, command))(height, here))
            for one in [Contradiction("unproved", None, doubt)] if doubt else found:
                yield self._repair.finding(height, command, one)
        for lost in self._lost:
            missing = Contradiction("missing", label("transitions", lost.key), None)
            yield self._repair.finding(lost.height, "transitions", missing)
        self._lost.clear()
        for command, one in self._witness.differences(height, rows) if self._witness else ():
            yield self._repair.finding(height, command, one)
        self._source.forget(height)

    def _full_block(self, height: int, rows: list[Raw]) -> Iterator[Contradiction]:
        facts = self._source.facts.get(height)
        if facts is None:
            found = self._source.single("full-blocks", height)  # a response that was cut short is no missing block
            if not found:
                yield Contradiction("missing", f"full block {height}", None)
                return
            facts = self._source.learn(height, found[0])
        yield from _counted("full block", height, rows, facts.summary)
        yield from check_block(facts)
        yield from self._chains["full-blocks"].follow(height, facts.summary)

    def _summary(self, height: int, rows: list[Raw]) -> Iterator[Contradiction]:
        rows = rows or self._source.single("blocks", height)
        if not rows:
            yield Contradiction("missing", f"block {height}", None)
            return
        summary, facts = texts(rows[0]), self._source.facts.get(height)
        yield from _counted("block", height, rows, summary)
        if facts is not None:
            yield from compare_summary(facts, summary)
        yield from self._chains["blocks"].follow(height, summary)

    def _compared(self, command: str, height: int, rows: list[Raw]) -> Iterator[Contradiction]:
        facts, row_id = self._source.facts.get(height), self._source.row_ids.get(height)
        if facts is None or (command == "transactions" and row_id is None and not rows):
            return  # without its block nothing is known of the height, or its list could not be looked up
        due, found = facts.due[command], by_identity(command, list(map(texts, rows)))
        missed = self._missed[command]

        def elsewhere(key: Key) -> int | None:
            """Return where else a row that is due here was seen, or where one that was seen here is due."""
            if key in due:
                ahead = self._source.ahead(command).items()
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

    def _expected(self, facts: Facts, there: Iterable[Key]) -> dict[Key, Texts]:
        """Return the transitions of a block that are there, or that the server lost."""
        there = set(there)
        for key in facts.kinds.keys() & there:
            self._lost += self._unlisted.listed(facts.kinds[key])
        return {
            key: fields
            for key, fields in facts.due["transitions"].items()
            if key in there or self._unlisted.is_lost(Missing(facts.height, key, facts.kinds[key]))
        }


def _counted(what: str, height: int, rows: list[Raw], fields: Texts) -> Iterator[Contradiction]:
    if len(rows) > 1:
        yield Contradiction("doubled", f"{what} {height} once", f"{len(rows)} times")
    if fields.get("height") != str(height):
        yield Contradiction("misplaced", f"{what} {height}", f"{what} {fields.get('height')}")
