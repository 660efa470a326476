"""Decrypts records, and compares them with the outputs of full blocks: whether they are genuine, and their tags.

The name of a record, which its commitment needs, is declared in the source text of its program. Rows of transitions
without record inputs contain that text. The tag of a record is the Poseidon2 hash of `sk_tag`, derived from the view
key, and the record's commitment, which is its output ID. The input that spends the record contains that tag. The
network accepted that commitment, but not the plaintext, which a server could have altered (docs/protocol.md, "Records
and their outputs").
"""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

from chainq.catalog.methods import BY_COMMAND
from chainq.errors import ChainqError, IncompleteError
from chainq.fetching.service import Service
from chainq.hashes.sdk import load
from chainq.heights.range import HeightRange
from chainq.query import Query
from chainq.rows import fields
from chainq.rows.block import RecordOutput
from chainq.rows.transaction import CREDITS, program_of
from chainq.text.humanize import counted
from chainq.text.sanitize import excerpt
from chainq.wallet.keys import ViewKey
from chainq.wallet.ownership import DOMAIN
from chainq.wallet.records import NAMED, Key, place_of, shown

SENDER_HASH = "AleoPoseidon4"
_RECORD = re.compile(r"^\s*record\s+([A-Za-z][A-Za-z0-9_]*)\s*:", re.MULTILINE)
NEWEST = 100  # blocks to search for a program's source text if its record's block does not have it

_TRANSITIONS = BY_COMMAND["transitions"]
_SOURCE = fields.Picker(["program"])


class Opened(NamedTuple):
    """A decrypted record: its plaintext and its record view key, both of the SDK."""

    plaintext: Any
    record_view_key: Any


class Record(NamedTuple):
    """An owned record in a full block. `owner`: the number of its key. `name`: None if it was not compared, or if it is
    not `genuine`."""

    output: RecordOutput
    owner: int
    opened: Opened
    name: str | None
    genuine: bool


class Examiner:
    """Examines the records of view keys. `warn` is called with each finding, up to `NAMED`.

    `findings`: what is wrong, by record, in the order found.
    """

    def __init__(self, keys: Sequence[ViewKey], service: Service, warn: Callable[[str], None]) -> None:
        self._sdk, self._service, self._warn = load(), service, warn
        self._view_keys = [self._sdk.ViewKey.from_string(key.text) for key in keys]
        self._graph_keys = [self._sdk.GraphKey.from_view_key(key) for key in self._view_keys]
        self._names: dict[str, list[str]] = {}
        self.findings: dict[Key, str] = {}

    def report(self, key: Key, problem: str) -> None:
        """Note what is wrong with a record."""
        if key not in self.findings:  # --follow reads the newest rows again
            self.findings[key] = problem
            if len(self.findings) <= NAMED:
                self._warn(f"{shown(key)} {problem}")

    def check(self, effect: str = "") -> None:
        """Raise IncompleteError if something is wrong with a record. `effect`: of that, for the message."""
        if self.findings:
            named = [f"{shown(key)} {problem}" for key, problem in islice(self.findings.items(), NAMED)]
            if more := len(self.findings) - len(named):
                named.append(f"and {more:,} more")
            message = f"{counted(len(self.findings), 'faulty record')}{effect}: {'; '.join(named)}"
            raise IncompleteError(message, "report it to the operator of the server")

    def open(self, key: Key, owner: int, ciphertext: str) -> Opened | None:
        """Return a decrypted record; None for one that the key does not decrypt, which is a finding."""
        view_key = self._view_keys[owner]
        try:
            parsed: Any = self._sdk.RecordCiphertext.from_string(ciphertext)
            return Opened(parsed.decrypt(view_key), parsed.record_view_key(view_key))
        except (RuntimeError, ValueError):
            self.report(key, f"is owned by {view_key.address}, but its ciphertext cannot be decrypted by that key")
            return None

    def examine(self, output: RecordOutput, owner: int, height: int | None) -> Record | None:
        """Return an owned record of a block; None for one that the key does not decrypt, which is a finding, too."""
        opened = self.open(place_of(output), owner, output.ciphertext)
        if opened is None:
            return None
        names = self._names_of(output.program, height)
        name = name_of(opened, output, names)
        if names and name is None:
            self.report(place_of(output), "has a plaintext that its commitment, the id of its output, does not match")
        return Record(output, owner, opened, name, genuine=name is not None or not names)

    def sender_of(self, record: Record) -> str | None:
        """Return the address that made a record; None for one without; an invalid one is a finding.

        sender.x = sender_ciphertext - Poseidon4([domain, record view key, 1])
        """
        sdk, sent = self._sdk, record.output.sender_ciphertext
        if not sent:
            return None
        parts = [sdk.Field.domain_separator(DOMAIN), record.opened.record_view_key, sdk.Field.one()]
        try:
            found = sdk.Field.from_string(sent) - sdk.Poseidon4.setup(SENDER_HASH).hash(parts)
            return str(sdk.Group.from_field(found).to_address())
        except RuntimeError:
            self.report(place_of(record.output), "has a sender_ciphertext that does not decrypt to an address")
            return None

    def tag_of(self, record: Record) -> str:
        """Return the digits of the tag of a record. Raises IncompleteError for an output without an ID."""
        output = record.output
        try:
            field = self._sdk.Field.from_string(output.id)
            return str(self._sdk.RecordCiphertext.tag(self._graph_keys[record.owner], field)).removesuffix("field")
        except RuntimeError:
            raise IncompleteError(
                f"full blocks: {shown(place_of(output))} has no valid id: {excerpt(output.id, 80)}",
                "report it to the operator of the server",
            ) from None

    def _names_of(self, program: str, height: int | None) -> list[str]:
        """Return the names of the records of a program; none, and a warning, if no source text of it is found."""
        if program not in self._names:
            # credits.aleo is part of the network: no transaction deployed it.
            native = self._sdk.Program.credits().source if program == CREDITS else None
            self._names[program] = _RECORD.findall(str(native) if native else self._source(program, height))
            if not self._names[program]:
                self._warn(
                    f"the records of {excerpt(program, 80)} were not compared with their commitments: "
                    "the service shows no source text of that program"
                )
        return self._names[program]

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


def name_of(opened: Opened, output: RecordOutput, names: list[str]) -> str | None:
    """Return the one of these names with which a record's commitment equals its output ID; None if none fits.

    A record of version 0 is committed to by a hash, one of version 1 by a hiding commitment, which the record view key
    opens (`console/program/src/data/record/to_commitment.rs` of ProvableHQ/snarkVM).
    """
    sdk = load()
    with suppress(RuntimeError):  # an invalid program ID
        program = sdk.ProgramID.from_string(output.program)
        for name in names:
            found = opened.plaintext.commitment(program, sdk.Identifier.from_string(name), opened.record_view_key)
            if str(found) == output.id:
                return name
    return None
