"""The identity of a record, and how messages name records and the keys that own none."""

from collections.abc import Collection, Sequence

from msgspec import Raw

from chainq.rows import fields
from chainq.rows.block import RecordOutput
from chainq.text.sanitize import excerpt

Key = tuple[str, int | None]
NAMED = 5  # records with a finding, or addresses, that a message names

_PLACE = fields.Picker(["transition_id", "output_index"])


def key_of(row: Raw) -> Key:
    """Return the key of a record in both methods: its transition and its output index."""
    transition, index = _PLACE(row)
    return fields.text_of(transition), fields.integer_of(index)


def place_of(output: RecordOutput) -> Key:
    """Return the key of an output of a full block."""
    return output.transition, output.place


def shown(key: Key) -> str:
    """Return the key of a record for a message."""
    return f"output {key[1]} of transition {excerpt(key[0], 80) or '(none)'}"


def none_of(addresses: Sequence[str], owners: Collection[int]) -> str:
    """Return which addresses own nothing, for a message; empty if each owns a record. `owners`: numbers of those that
    do. If there are none, a key may be mistyped: that can be a valid one, and its address shows it."""
    without = [address for number, address in enumerate(addresses) if number not in owners]
    more = f" and {len(without) - NAMED:,} more" if len(without) > NAMED else ""
    hint = "" if owners else "; check that this is your address (a mistyped key has another one) and the right network"
    return f"no records of {', '.join(without[:NAMED])}{more}{hint}" if without else ""
