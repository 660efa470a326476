"""Finds the column that a name means, and lists those that there are."""

from collections.abc import Iterable, Iterator

from chainq.catalog.methods import Column, Kind

_TRANSITION = ("id", "program", "function", "inputs[]", "outputs[]", "tpk", "tcm", "scm", "proof", "finalize")
_ITEMS = {
    "transactions": (
        *("status", "type", "index", "transaction.type", "transaction.id"),
        *("transaction.execution.transitions[]", "transaction.execution.global_state_root"),
        *("transaction.execution.proof", *(f"transaction.fee.transition.{name}" for name in _TRANSITION)),
        *("transaction.fee.global_state_root", "transaction.fee.proof", "transaction.fee.inclusion"),
        *("transaction.owner", "transaction.deployment", "finalize[]", "rejected"),
    ),
    "transitions": _TRANSITION,
    "inputs": ("type", "id", "value", "tag", "dynamic_id"),
    "outputs": ("type", "id", "value", "checksum", "sender_ciphertext", "dynamic_id"),
    "finalize": ("type", "mapping_id", "index", "key_id", "value_id"),
    "ratifications": ("type", "amount", "address", "committee", "public_balances"),
    "aborted_transaction_ids": (),
    "election_certificate_ids": (),
}
"""The members of the items of arrays, by the last part of the array's path, as services send them."""
_OPEN = ("owner", "deployment", "rejected", "committee", "public_balances")
"""Members that are objects whose own members differ."""


def known_column(name: str, columns: Iterable[Column]) -> Column | None:
    """Return the column of that name, None if there is none; `a[].b` is `b` of each item of the array `a`."""
    known = {column.path: column for column in columns}
    if name in known:
        return known[name]
    array, brackets, _ = name.partition("[]")
    inside = brackets and array in known and known[array].kind is Kind.DATA and "array" in known[array].type
    return Column(name, "unknown") if inside and _is_member(name, array) else None


def selectable_column(name: str, columns: Iterable[Column]) -> Column | None:
    """Return the same as `known_column`; also for an object that contains columns, as a whole."""
    known = list(columns)
    if column := known_column(name, known):
        return column
    inside = any(column.path.startswith(f"{name}.") for column in known)
    return Column(name, "object", kind=Kind.DATA) if inside else None


def column_by_end(name: str, columns: Iterable[Column]) -> Column | None:
    """Return the one column, or member of an array, whose path ends in that name; None if none does, or several do."""
    known = list(columns)
    paths = [path for column in known for path in (column.path, *members(column.path))]
    ends = [path for path in paths if path.endswith(f".{name}")]
    return known_column(ends[0], known) if len(ends) == 1 else None


def _is_member(name: str, array: str) -> bool:
    """Return whether items of an array may have that member, which is so if nothing is known of them."""
    if array.rpartition(".")[2] not in _ITEMS or name.removesuffix("[]") == array:
        return True
    return any(
        f"{path}.".startswith((f"{name}.", f"{name}[]"))
        or (path.rpartition(".")[2] in _OPEN and name.startswith(f"{path}."))
        for path in members(array)
    )


def members(array: str) -> Iterator[str]:
    """Yield the paths of the members of an array's items, and of the items of arrays in them."""
    for name in _ITEMS.get(array.rpartition(".")[2], ()):
        path = f"{array}[].{name}"
        if name.endswith("[]"):
            yield from members(path.removesuffix("[]"))
        else:
            yield path
