"""Compares decrypted records with the outputs of their transactions: who sent them, and whether they are genuine.

Each output is read from its full block, of a service with those around it. The name of a record, which its commitment
needs, is declared in the source text of its program. Rows of transitions without record inputs contain that text.
"""

from collections.abc import Callable, Sequence

import msgspec
from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.catalog.owned import RECORD_NAME, SENDER
from chainq.errors import ChainqError, IncompleteError
from chainq.fetching.service import Service
from chainq.heights.range import HeightRange
from chainq.query import Query
from chainq.rows import fields
from chainq.rows.block import RecordOutput, read_block
from chainq.rows.transaction import CREDITS, program_of
from chainq.text.humanize import counted
from chainq.text.sanitize import excerpt
from chainq.wallet import genuine
from chainq.wallet.genuine import Opened
from chainq.wallet.records import NAMED, Key, in_words, key_of, shown

AROUND = 50  # full blocks, which one request returns
NEWEST = 100  # blocks to search for a program's source text if its record's block does not have it

_FULL_BLOCKS, _TRANSITIONS = BY_COMMAND["full-blocks"], BY_COMMAND["transitions"]
_RECORD = fields.Picker(["transaction_id", "program_id", "height", "record_ciphertext"])
_SOURCE = fields.Picker(["program"])


class Names:
    """The names of the records of programs, which their source texts declare.

    `unnamed`: programs without an available source text, whose records cannot be compared; `warn` is called with each.
    """

    def __init__(self, service: Service, warn: Callable[[str], None]) -> None:
        self._service, self._warn = service, warn
        self._known: dict[str, list[str]] = {}
        self.unnamed: dict[str, None] = {}  # as a set that keeps their order

    def of(self, program: str, height: int | None) -> list[str]:
        """Return the names of the records of a program; none if no source text of it is found.

        `height`: of one of its records, None if unknown.
        """
        if program not in self._known:
            source = genuine.native_source() if program == CREDITS else self._source(program, height)
            self._known[program] = genuine.record_names(source)
            if not self._known[program]:
                self.unnamed[program] = None
                self._warn(
                    f"the records of {excerpt(program, 80)} were not compared with their commitments: "
                    "the service shows no source text of that program"
                )
        return self._known[program]

    def _source(self, program: str, height: int | None) -> str:
        """Return the source text of a program; empty if the service does not return one."""
        tip = self._service.blocks.tip_height()
        newest = HeightRange(max(0, tip - NEWEST + 1), tip + 1)
        for heights in (newest,) if height is None else (HeightRange(height, height + 1), newest):
            try:
                for batch in self._service.fetch_range(Query(_TRANSITIONS), heights):
                    for row in batch.rows:
                        source = fields.text_of(_SOURCE(row)[0])
                        if program_of(source) == program:
                            return source
            except ChainqError:  # without the method there is no comparison; the user is warned
                continue
        return ""


class Examiner:
    """Examines the records of a run. `warn` is called with each finding, up to `NAMED`.

    `findings`: what is wrong, by record, in the order found.
    """

    def __init__(self, service: Service, warn: Callable[[str], None]) -> None:
        self._service, self._warn = service, warn
        self.names = Names(service, warn)
        self.findings: dict[Key, str] = {}

    def examine(self, records: Sequence[Raw], opened: Sequence[Opened], heights: HeightRange) -> list[dict[str, Raw]]:
        """Return for each record row of these heights the sender and the name from its output, null if unknown.

        Raises ChainqError if the service fails.
        """
        outputs = self._outputs(records, heights)
        return [
            self._examine(record, one, outputs.get(key_of(record))) for record, one in zip(records, opened, strict=True)
        ]

    def check(self) -> None:
        """Raise IncompleteError if a record contradicts its transaction."""
        if self.findings:
            raise IncompleteError(
                f"records/all: {counted(len(self.findings), 'record')} not genuine: {in_words(self.findings)}",
                "do not rely on these rows, and report them to the operator of the server",
            )

    def _outputs(self, records: Sequence[Raw], heights: HeightRange) -> dict[Key, RecordOutput]:
        """Return the record outputs of the full blocks of these records, by transition and index.

        Up to `AROUND` blocks are requested together, so that the service does not learn which of them has the record.
        """
        found: dict[Key, RecordOutput] = {}
        numbers = (fields.integer_of(_RECORD(record)[2]) for record in records)
        for start in sorted({number // AROUND * AROUND for number in numbers if number is not None}):
            some = HeightRange(max(start, heights.start), min(start + AROUND, heights.end))
            for batch in self._service.fetch_range(Query(_FULL_BLOCKS), some):
                for block in map(read_block, batch.rows):
                    found |= {(output.transition, output.place): output for output in block.outputs}
        return found

    def _examine(self, record: Raw, opened: Opened, output: RecordOutput | None) -> dict[str, Raw]:
        name = sender = None
        picked = _RECORD(record)
        transaction, program, _, ciphertext = map(fields.text_of, picked)
        try:
            if output is None or output.transaction != transaction:
                raise ValueError(f"is not an output of its transaction {excerpt(transaction, 80)}")
            if (output.program, output.ciphertext) != (program, ciphertext):
                raise ValueError("has another program or ciphertext in its transaction")
            names = self.names.of(program, fields.integer_of(picked[2]))
            if names:
                name = genuine.name_of(opened, output, names)
                if name is None:
                    raise ValueError("has a plaintext that its commitment, the id of its output, does not match")
            sender = genuine.sender_of(opened, output)
        except ValueError as error:
            self._report(key_of(record), str(error))
        return {
            RECORD_NAME.path: Raw(msgspec.json.encode(name)),
            SENDER.path: Raw(msgspec.json.encode(sender)),
        }

    def _report(self, key: Key, problem: str) -> None:
        if key not in self.findings:  # --follow reads the newest rows again
            self.findings[key] = problem
            if len(self.findings) <= NAMED:
                self._warn(f"records/all: {shown(key)} {problem}")
