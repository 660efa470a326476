"""Finds the column that a name means, and the columns that a wrong name may have meant."""

import re
from collections.abc import Iterable, Iterator, Sequence

from chainq.catalog.methods import Column, Kind
from chainq.text.alike import alike

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
    paths = [column.path for column in known]
    ends = [path for path in (*paths, *_nested(paths)) if path.endswith(f".{name}")]
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


def _nested(paths: Iterable[str]) -> list[str]:
    """Return the paths of the members of all arrays among some columns."""
    return [path for array in paths for path in members(array)]


def meant(name: str, columns: Iterable[Column]) -> str:
    """Return up to three columns that a name may mean, ` (did you mean a or b?)`; else the columns that there are."""
    columns = tuple(columns)
    paths = [column.path for column in columns]
    for array in paths:
        inside = re.match(rf"{re.escape(array)}(\[[0-9]*\]\.?|\.)", name)
        if inside and (known := list(members(array))):
            rest = re.sub(r"\[[0-9]+\]", "[]", name[inside.end() :])
            return _meant_member(f"{array}[].{rest}".removesuffix("."), known)
    if group := [path for path in paths if path.startswith(f"{name}.")]:
        return f"; {name} has {', '.join(group)}"
    found = _near(name, columns)
    return f" (did you mean {' or '.join(found)}?)" if found else f"; the columns are {', '.join(paths)}"


def _meant_member(name: str, known: list[str]) -> str:
    """Return the same as `meant` for a member of an array's items; else what the object has that it is not in."""
    lasts: dict[str, list[str]] = {}
    if name in known:
        return f" (did you mean {name}?)"
    for path in known:
        lasts.setdefault(path.rpartition(".")[2], []).append(path)
    if near := alike(name.rpartition(".")[2], lasts):
        return f" (did you mean {' or '.join(lasts[near[0]][:3])}?)"
    while not any(path.startswith(f"{name}.") for path in known):
        name = name.rpartition(".")[0] or name.partition("[]")[0] + "[]"
    inside = (path[len(name) + 1 :].partition(".")[0] for path in known if path.startswith(f"{name}."))
    return f"; {name} has {', '.join(dict.fromkeys(inside))}"


def _near(name: str, columns: Sequence[Column]) -> list[str]:
    """Return paths that are near: by their last part, else by likeness; case, `_` and `-` do not matter first."""
    paths = [column.path for column in columns]
    folded, (array, brackets, rest) = _folded(name), name.partition("[]")
    for found in alike(array, paths) if brackets else ():
        if known_column(f"{found}[]{rest}", columns):
            return [f"{found}[]{rest}"]
    nested = _nested(paths)
    whole = [path for path in paths if _folded(path) == folded]
    if ends := whole or [path for path in (*paths, *nested) if _folded(path).endswith(f".{folded}")]:
        return ends[:3]
    lasts, inside = ({path.rpartition(".")[2]: path for path in reversed(some)} for some in (paths, nested))
    near = alike(name, paths, 3) or [lasts[found] for found in alike(name.rpartition(".")[2], lasts, 3)]
    return near or [inside[found] for found in alike(name, inside, 1)]


def _folded(name: str) -> str:
    """Return a name without case, `_` and `-`, which tell `transactionId` from `transaction_id`."""
    return re.sub("[-_]", "", name.lower())
