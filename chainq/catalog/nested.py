"""What is inside the nested columns, and the columns that a name means: members of arrays, too.

A shape is a leaf, a list of one shape, or a dict of the members of an object. Typed files follow it
(docs/protocol.md, "Values"); what the published interface does not type is a leaf, too, whatever is in it.
"""

from collections.abc import Collection, Iterator
from typing import Any, Final

from chainq.catalog.methods import Column, Kind

TEXT: Final = "text"
INTEGER: Final = "integer"  # of 64 bits
AMOUNT: Final = "amount"  # a whole number that may need more
UNTYPED: Final = "untyped"  # what services send and the published interface lacks, with any members
OTHER: Final = "other"
"""The member of each typed object that holds, as JSON text, its untyped members and those that its shape lacks."""

Shape = Any  # a recursive type: str | list[Shape] | dict[str, Shape]


def _fields(names: str, untyped: str = "", **shapes: Shape) -> Shape:
    """Return an object with these members, in this order: texts, unless `shapes` says what else, then untyped ones."""
    return dict.fromkeys(names.split(), TEXT) | shapes | dict.fromkeys(untyped.split(), UNTYPED)


_INPUT = _fields("type id value tag", "dynamic_id")
_OUTPUT = _fields("type id checksum value", "sender_ciphertext dynamic_id")
_TRANSITION = _fields(
    "id program function inputs outputs tpk tcm", "scm proof finalize", inputs=[_INPUT], outputs=[_OUTPUT]
)
_TRANSACTION = _fields(
    "type id execution fee",
    "owner deployment",
    execution=_fields("transitions global_state_root proof", transitions=[_TRANSITION]),
    fee=_fields("transition global_state_root proof", "inclusion", transition=_TRANSITION),
)
SHAPES: dict[str, Shape] = {
    "ratifications": [_fields("type amount", "address committee public_balances", amount=AMOUNT)],
    "transactions": [
        _fields("status type index transaction", "finalize rejected", index=INTEGER, transaction=_TRANSACTION)
    ],
    "aborted_transaction_ids": [TEXT],
    "authority.subdag.election_certificate_ids": [TEXT],
    "transaction.execution.transitions": [_TRANSITION],
    "transaction.fee.transition.inputs": [_INPUT],
    "transaction.fee.transition.outputs": [_OUTPUT],
    "finalize": [_fields("type mapping_id index key_id value_id", index=INTEGER)],
}
"""The shapes of nested columns by their paths. Of others, such as certificates by round number, the keys are data."""


def known_column(name: str, columns: Collection[Column]) -> Column | None:
    """Return the column of that name, None if there is none; `a[].b` is `b` of each item of the array `a`."""
    known = {column.path: column for column in columns}
    array, brackets, _ = name.partition("[]")
    if brackets and array in known and "array" in known[array].type:
        for path, shape in _leaves(SHAPES.get(array, [UNTYPED]), array):
            inside = shape == UNTYPED and name.startswith((f"{path}.", f"{path}["))  # whose members are not known
            if inside or f"{path}.".startswith((f"{name}.", f"{name}[")):
                return Column(name, "unknown")
        return None
    return known.get(name)


def selectable_column(name: str, columns: Collection[Column]) -> Column | None:
    """Return the same as `known_column`; also for an object that contains columns, as a whole."""
    inside = any(column.path.startswith(f"{name}.") for column in columns)
    return known_column(name, columns) or (Column(name, "object", kind=Kind.DATA) if inside else None)


def column_by_end(name: str, columns: Collection[Column]) -> Column | None:
    """Return the one column, or member of an array, whose path ends in that name; None if none does, or several do."""
    paths = [path for column in columns for path in (column.path, *members(column.path))]
    ends = [path for path in paths if path.endswith(f".{name}")]
    return known_column(ends[0], columns) if len(ends) == 1 else None


def members(path: str) -> Iterator[str]:
    """Yield the paths of the members of the items of a column, and of the items of arrays in them."""
    return (leaf for leaf, _ in _leaves(SHAPES[path], path)) if path in SHAPES else iter(())


def _leaves(shape: Shape, path: str) -> Iterator[tuple[str, Shape]]:
    if isinstance(shape, dict):
        for name, inner in shape.items():
            yield from _leaves(inner, f"{path}.{name}")
    elif isinstance(shape, list):
        yield from _leaves(shape[0], f"{path}[]")
    else:
        yield path, shape
