"""Columns by name: those of the catalogue, and members of the items of arrays."""

import pytest

from chainq.catalog.columns import known_column, meant
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
        ("transactions[].nope", "; transactions[] has status, type, index, transaction, finalize[], rejected"),
        ("transactions[].stauts", " (did you mean transactions[].status?)"),
        (
            "transactions[].program",
            f" (did you mean {CALLS}[].program or transactions[].transaction.fee.transition.program?)",
        ),
        (f"{CALLS}[].inputs[].zzz", f"; {CALLS}[].inputs[] has type, id, value, tag, dynamic_id"),
        ("transactions[]x", "; transactions[] has status, type, index, transaction, finalize[], rejected"),
        ("transactions[].status.x", "; transactions[] has status, type, index, transaction, finalize[], rejected"),
        ("aborted_transaction_ids[].x", " (did you mean aborted_transaction_ids?)"),
        ("authority.subdag.subdag[]", " (did you mean authority.subdag.subdag?)"),
        ("transctions[].status", " (did you mean transactions[].status?)"),
        ("blockHash", " (did you mean block_hash?)"),
        ("coinbaseTarget", " (did you mean header.metadata.coinbase_target?)"),
        ("Header.Metadata.last-coinbase-target", " (did you mean header.metadata.last_coinbase_target?)"),
    ],
)
def test_other_members_are_not(name: str, hint: str) -> None:
    """The error names what is near, else what the object has."""
    assert known_column(name, COLUMNS) is None
    assert meant(name, COLUMNS).startswith(hint)
