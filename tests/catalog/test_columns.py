"""Columns by name: those of the catalogue, and members of the items of arrays."""

import pytest

from chainq.catalog.columns import instead, known_column
from chainq.catalog.methods import BY_COMMAND

COLUMNS = BY_COMMAND["full-blocks"].columns
CALLS = "transactions[].transaction.execution.transitions"


@pytest.mark.parametrize(
    "name",
    [
        "transactions[]",
        "transactions[].transaction",
        "transactions[].transaction.id",
        f"{CALLS}[].program",
        f"{CALLS}[].inputs[].tag",
        f"{CALLS}[].outputs[]",
        "transactions[].transaction.owner.address",
        "transactions[].rejected.transitions[].id",
        "transactions[].finalize[].key_id",
        "ratifications[].committee.members",
        "aborted_transaction_ids[]",
    ],
)
def test_members_of_items_are_known(name: str) -> None:
    """Objects and arrays inside too, and all below an object whose members differ."""
    assert known_column(name, COLUMNS) is not None


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("transactions[].nope", "; transactions[] has status, type, index, transaction.type, transaction.id, "),
        ("transactions[]x", "; transactions[] has status, type, index, transaction.type, transaction.id, "),
        ("transactions.status", "; transactions[] has status, type, index, transaction.type, transaction.id, "),
        ("header.metadata", "; header.metadata has header.metadata.network, "),
        ("heigth", "; the columns are block_hash, previous_hash, "),
    ],
)
def test_other_members_are_not(name: str, hint: str) -> None:
    """The error names what the object has, else all columns."""
    assert known_column(name, COLUMNS) is None
    assert instead(name, COLUMNS).startswith(hint)
