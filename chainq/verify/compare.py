"""The one comparison: rows, by what identifies them, with those that are due. Pure.

What is due comes from a full block, from another service, or from the service whose rows a file should have.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from chainq.catalog import bech32
from chainq.text.sanitize import excerpt
from chainq.verify.blocks import IDENTITY, Facts, Key, Texts
from chainq.verify.findings import Contradiction, label

_BECH32 = re.compile(r"[a-z]+1[a-z0-9]+")
_SHOWN = 500  # characters of a value
_FIELDS = 50  # of a row


def explained(name: str, due: str | None, found: str | None) -> bool:
    """Return whether a full block explains the value of a field."""
    if name == "type":  # `execute` in a full block is `Execute` in a list
        return (found or "").lower() in (due or "").split(" or ")
    if name == "block_id":  # the height, or the row id of the block (docs/protocol.md, "Results")
        return found is None or found in (due or "").split(" or ")
    if name == "program":  # the source of the program, which begins with its imports
        return not found or found == due or f"program {due};" in found
    return due == found


def equal(_: str, due: str | None, found: str | None) -> bool:
    """Return whether two values of a field are the same."""
    return due == found


def compare_rows(
    command: str,
    due: Mapping[Key, Texts],
    found: Mapping[Key, Sequence[Texts]],
    *,
    optional: Collection[Key] = (),
    elsewhere: Callable[[Key], int | None] = lambda _: None,
    same: Callable[[str, str | None, str | None], bool] = explained,
) -> Iterator[Contradiction]:
    """Yield what is missing, doubled, altered, misplaced or unexpected among rows.

    `due`: the rows that must be there, with the fields that are known; `found`: those that are; `optional`: others that
    may be. `elsewhere` returns the height where a row belongs that is not due here, None where that is not known.
    `same` compares the values of a field.
    """
    for key, fields in due.items():
        rows = found.get(key, ())
        if not rows:
            at = elsewhere(key)
            yield Contradiction("missing", label(command, key), None if at is None else f"at height {at}")
        for row in rows:
            yield from _altered(label(command, key), fields, row, same)
    for key, rows in found.items():
        if len(rows) > 1:
            yield Contradiction("doubled", f"{label(command, key)} once", f"{len(rows)} times")
        if key not in due and key not in optional:
            at = elsewhere(key)
            if at is None:
                yield Contradiction("unexpected", None, label(command, key))
            else:
                yield Contradiction("misplaced", f"{label(command, key)} at height {at}", "here")


def by_identity(command: str, rows: Sequence[Texts]) -> dict[Key, list[Texts]]:
    """Return rows by what identifies them."""
    found: dict[Key, list[Texts]] = {}
    for row in rows:
        found.setdefault(tuple(row.get(name) or "" for name in IDENTITY[command]), []).append(row)
    return found


def compare_summary(facts: Facts, summary: Texts) -> Iterator[Contradiction]:
    """Yield the fields of a block summary that the full block has with another value; row ids are the server's own."""
    known = {name: value for name, value in facts.summary.items() if name != "id"}
    yield from _altered("", known, summary, equal)


def _altered(
    name: str, fields: Texts, row: Texts, same: Callable[[str, str | None, str | None], bool]
) -> Iterator[Contradiction]:
    wrong = [part for part in row if part in fields and not same(part, fields[part], row[part])]
    if wrong:
        due, found = (", ".join(f"{part}={_shown(side[part])}" for part in wrong[:_FIELDS]) for side in (fields, row))
        yield Contradiction("altered", f"{name}: {due}" if name else due, found)


def _shown(text: str | None) -> str:
    return "null" if text is None else excerpt(text, _SHOWN)


def check_block(facts: Facts) -> Iterator[Contradiction]:
    """Yield what is wrong with a full block by itself: checksums of IDs, and the numbers of its transactions."""
    seen: set[str] = set()
    for name, value in facts.ids:
        if value not in seen and _BECH32.fullmatch(value) and (fault := bech32.fault(value)):
            yield Contradiction("checksum", None, f"{name}={value}: {fault}")
        seen.add(value)
    if sorted(facts.indexes, key=lambda index: -1 if index is None else index) != list(range(len(facts.indexes))):
        numbered = ", ".join("null" if index is None else str(index) for index in facts.indexes)
        yield Contradiction("count", f"{len(facts.indexes)} transactions, numbered from 0", f"numbered {numbered}")


class ChainCheck:
    """Takes blocks in order of height; one for each command that returns blocks."""

    def __init__(self) -> None:
        self._height, self._last = -1, Texts()

    @property
    def last_hash(self) -> str:
        """The hash of the last block, empty where it is not known."""
        return self._last.get("block_hash") or ""

    def follow(self, height: int, fields: Texts) -> Iterator[Contradiction]:
        """Yield what does not follow from the block before: a previous hash, an earlier time, a lower round.

        `fields` of a block, by the names of its summary. Only neighbours are compared by hash.
        """
        before, last = self._height, self._last
        self._height, self._last = height, fields
        if before < 0:
            return
        due, found = last.get("block_hash"), fields.get("previous_hash")
        if before == height - 1 and due != found:
            yield Contradiction("link", f"previous_hash={due}", f"previous_hash={found}")
        for check, name in (("time", "timestamp"), ("round", "round")):
            least, now = _number(last.get(name)), _number(fields.get(name))
            if least is not None and now is not None and now < least:
                yield Contradiction(check, f"{name}={least} or more", f"{name}={now}")


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdecimal() and len(text) < 100 else None
