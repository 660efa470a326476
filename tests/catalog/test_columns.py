"""Columns by name: those of the catalogue, and members of the items of arrays."""

import pytest

from chainq.catalog.methods import BY_COMMAND
from chainq.catalog.nested import known_column

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
    "name", ["transactions[].nope", "transactions[]x", "transactions.status", "header.metadata", "heigth"]
)
def test_other_members_are_not(name: str) -> None:
    """Nor objects, nor what is misspelt."""
    assert known_column(name, COLUMNS) is None
