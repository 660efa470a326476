"""Compares rows of one height with those that are due. Pure; every function yields findings without a repair."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from chainq.catalog import bech32
from chainq.verify.blocks import Facts, Key, Texts, identity
from chainq.verify.findings import label

_BECH32 = re.compile(r"[a-z]+1[a-z0-9]+")
_OWN = frozenset({"id"})  # row ids are the server's own


class Contradiction(NamedTuple):
    """A finding before it is known where it is: which rule is broken, what should be there, and what is."""

    check: str
    expected: str | None
    found: str | None


def compare_rows(
    command: str,
    due: Mapping[Key, Texts],
    rows: Sequence[Texts],
    *,
    optional: Collection[Key] = (),
    elsewhere: Callable[[Key], int | None] = lambda _: None,
) -> Iterator[Contradiction]:
    """Yield what is missing, doubled, altered, misplaced or unexpected among the rows of one height.

    `due`: the rows that must be there, with the fields that are known; `optional`: others that may be. `elsewhere`
    returns the height where a row belongs that is not due here, None where that is not known.
    """
    found: dict[Key, list[Texts]] = {}
    for row in rows:
        found.setdefault(identity(command, row), []).append(row)
    for key, fields in due.items():
        same = found.get(key, [])
        if not same:
            at = elsewhere(key)
            yield Contradiction("missing", label(command, key), None if at is None else f"at height {at}")
        yield from _altered(command, key, fields, same[:1])
    for key, same in found.items():
        if len(same) > 1:
            yield Contradiction("doubled", f"{label(command, key)} once", f"{len(same)} times")
            if key in due:
                yield from _altered(command, key, due[key], same[1:])
        if key not in due and key not in optional:
            at = elsewhere(key)
            if at is None:
                yield Contradiction("unexpected", None, label(command, key))
            else:
                yield Contradiction("misplaced", f"{label(command, key)} at height {at}", "here")


def _altered(command: str, key: Key, fields: Texts, rows: Sequence[Texts]) -> Iterator[Contradiction]:
    for row in rows:
        wrong = [name for name, value in fields.items() if name in row and not _same(name, value, row[name])]
        if wrong:
            expected = ", ".join(f"{name}={_shown(fields[name])}" for name in wrong)
            seen = ", ".join(f"{name}={_shown(row[name])}" for name in wrong)
            yield Contradiction("altered", f"{label(command, key)}: {expected}", seen)


def _same(name: str, due: str | None, found: str | None) -> bool:
    if name == "type":  # `execute` in a full block is `Execute` in a list
        return (found or "").lower() in (due or "").split(" or ")
    if name == "block_id":  # the height, or the row id of the block (docs/protocol.md, "Results")
        return found is None or found in (due or "").split(" or ")
    if name == "program":  # the source of the program, which begins with its imports
        return not found or found == due or f"program {due};" in found
    return due == found


def compare_summary(facts: Facts, summary: Texts) -> Iterator[Contradiction]:
    """Yield the fields of a block summary that the full block has with another value."""
    both = [name for name in summary if name in facts.summary and name not in _OWN]
    wrong = [name for name in both if summary[name] != facts.summary[name]]
    if wrong:
        expected = ", ".join(f"{name}={_shown(facts.summary[name])}" for name in wrong)
        yield Contradiction("altered", expected, ", ".join(f"{name}={_shown(summary[name])}" for name in wrong))


def check_block(facts: Facts) -> Iterator[Contradiction]:
    """Yield what is wrong with a full block by itself: checksums of IDs, and the numbers of its transactions."""
    seen: set[str] = set()
    for name, value in facts.ids:
        if value not in seen and _BECH32.fullmatch(value) and (fault := bech32.fault(value)):
            yield Contradiction("checksum", None, f"{name}={value}: {fault}")
        seen.add(value)
    if sorted(facts.indexes, key=lambda index: -1 if index is None else index) != list(range(len(facts.indexes))):
        shown = ", ".join("null" if index is None else str(index) for index in facts.indexes)
        yield Contradiction("count", f"{len(facts.indexes)} transactions, numbered from 0", f"numbered {shown}")


def _shown(value: str | None) -> str:
    return "null" if value is None else value
