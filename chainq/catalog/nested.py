"""What is inside the nested columns, as the published interface types it (docs/protocol.md, "Values").

Only typed files need it. A shape is a leaf (`TEXT`, `INTEGER`, `AMOUNT`), a list of one shape, or a dict of the members
of an object. Columns that are not here, such as the certificates by round number, have keys that are data.
"""

from typing import Any, Final

TEXT: Final = "text"
INTEGER: Final = "integer"  # of 64 bits
AMOUNT: Final = "amount"  # a whole number that may need more

Shape = Any  # a recursive type: str | list[Shape] | dict[str, Shape]

_INPUT: Shape = {"type": TEXT, "id": TEXT, "value": TEXT, "tag": TEXT}
_OUTPUT: Shape = {"type": TEXT, "id": TEXT, "checksum": TEXT, "value": TEXT}
_TRANSITION: Shape = {
    "id": TEXT,
    "program": TEXT,
    "function": TEXT,
    "inputs": [_INPUT],
    "outputs": [_OUTPUT],
    "tpk": TEXT,
    "tcm": TEXT,
}
_TRANSACTION: Shape = {
    "type": TEXT,
    "id": TEXT,
    "execution": {"transitions": [_TRANSITION], "global_state_root": TEXT, "proof": TEXT},
    "fee": {"transition": _TRANSITION, "global_state_root": TEXT, "proof": TEXT},
}

SHAPES: dict[str, Shape] = {
    "ratifications": [{"type": TEXT, "amount": AMOUNT}],
    "transactions": [{"status": TEXT, "type": TEXT, "index": INTEGER, "transaction": _TRANSACTION}],
    "aborted_transaction_ids": [TEXT],
    "authority.subdag.election_certificate_ids": [TEXT],
    "transaction.execution.transitions": [_TRANSITION],
    "transaction.fee.transition.inputs": [_INPUT],
    "transaction.fee.transition.outputs": [_OUTPUT],
    "finalize": [{"type": TEXT, "mapping_id": TEXT, "index": INTEGER, "key_id": TEXT, "value_id": TEXT}],
}
"""The shapes of nested columns by their paths."""
OTHER: Final = "other"
"""The member of each object that holds, as JSON text, the members that its shape does not name."""
