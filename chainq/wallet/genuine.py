"""Reads the sender of a record from its output, and checks that the output matches the decrypted record.

The network accepted the commitment of a record, which is the `id` of its output, but not the plaintext, which a server
could have altered. Formulas: docs/protocol.md, "Records and their outputs".
"""

import re
from typing import Any, NamedTuple

from chainq.hashes.sdk import load
from chainq.rows.block import RecordOutput
from chainq.wallet.ownership import DOMAIN

SENDER_HASH = "AleoPoseidon4"
_RECORD = re.compile(r"^\s*record\s+([A-Za-z][A-Za-z0-9_]*)\s*:", re.MULTILINE)


class Opened(NamedTuple):
    """A decrypted record: its plaintext and its record view key, both of the SDK."""

    plaintext: Any
    record_view_key: Any


def record_names(source: str) -> list[str]:
    """Return the names of the records that a program declares, in the order of its source text."""
    return _RECORD.findall(source)


def native_source() -> str:
    """Return the source text of credits.aleo, which is part of the network: no transaction deployed it."""
    return str(load().Program.credits().source)


def sender_of(opened: Opened, output: RecordOutput) -> str | None:
    """Return the address that made a record; None for an output without sender. Raises ValueError for an invalid one.

    sender.x = sender_ciphertext - Poseidon4([domain, record view key, 1])
    """
    if not output.sender_ciphertext:
        return None
    sdk = load()
    mask = sdk.Poseidon4.setup(SENDER_HASH).hash(
        [sdk.Field.domain_separator(DOMAIN), opened.record_view_key, sdk.Field.one()]
    )
    try:
        return str(sdk.Group.from_field(sdk.Field.from_string(output.sender_ciphertext) - mask).to_address())
    except RuntimeError:
        raise ValueError("its sender_ciphertext does not decrypt to an address") from None


def name_of(opened: Opened, output: RecordOutput, names: list[str]) -> str | None:
    """Return the one of these names with which a record's commitment equals its output ID; None if none fits.

    A record of version 0 is committed to by a hash, one of version 1 by a hiding commitment, which the record view key
    opens (`console/program/src/data/record/to_commitment.rs` of ProvableHQ/snarkVM).
    """
    sdk = load()
    try:
        program = sdk.ProgramID.from_string(output.program)
        for name in names:
            found = opened.plaintext.commitment(program, sdk.Identifier.from_string(name), opened.record_view_key)
            if str(found) == output.id:
                return name
    except RuntimeError:  # an invalid program ID
        return None
    return None
