"""Compares rows with the expected rows, by identity. Pure.

Expected rows come from a full block, from another service, or from the service whose rows a file should have.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Raw

from chainq.catalog import bech32
from chainq.catalog.methods import BY_COMMAND
from chainq.rows.fields import array_of, object_of, text_of
from chainq.rows.full_block import IDENTITY, BlockFacts, Key, Texts, text
from chainq.text.sanitize import excerpt
from chainq.verify.findings import Contradiction, label

OWN = ("id", "block_id")
"""Columns that hold row ids, which are each database's own."""
_BECH32 = re.compile(r"[a-z]+1[a-z0-9]+")
_SHOWN = 500  # characters of a value
_FIELDS = 50  # of a row


def explained(name: str, due: str | None, found: str | None) -> bool:
    """Return whether a full block contains the value of a field."""
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
    """Yield rows that are missing, duplicate, altered, misplaced or unexpected.

    `due`: the expected rows, with their known fields; `found`: the actual rows; `optional`: further rows that are
    allowed. `elsewhere` returns the height at which a row that is not expected here belongs, None if unknown. `same`
    compares the values of a field.
    """
    for key, fields in due.items():
        rows = found.get(key, ())
        if not rows:
            at = elsewhere(key)
            yield Contradiction("missing", label(command, key), None if at is None else f"at height {at}")
        for row in rows:
            yield from _altered(label(command, key), fields, row, same)
    for key, rows in found.items():
        text_at = BY_COMMAND[command].text if command in BY_COMMAND else ""  # a program deployed again has several
        if max(Counter(row.get(text_at) for row in rows).values(), default=0) > 1:
            yield Contradiction("doubled", f"{label(command, key)} once", _times(rows))
        if key not in due and key not in optional:
            at = elsewhere(key)
            if at is None:
                yield Contradiction("unexpected", None, label(command, key))
            else:
                yield Contradiction("misplaced", f"{label(command, key)} at height {at}", "at this height")


def by_identity(command: str, rows: Sequence[Texts]) -> dict[Key, list[Texts]]:
    """Return rows by their identity."""
    found: dict[Key, list[Texts]] = {}
    for row in rows:
        found.setdefault(tuple(row.get(name) or "" for name in IDENTITY.get(command, ())), []).append(row)
    return found


def compare_summary(facts: BlockFacts, summary: Texts) -> Iterator[Contradiction]:
    """Yield the fields of a block summary that differ from the full block; row ids are the server's own."""
    known = {name: value for name, value in facts.summary.items() if name != "id"}
    yield from _altered("", known, summary, equal)


def differences(
    command: str, height: int, theirs: Iterable[Raw], here: Iterable[Raw]
) -> Iterator[tuple[Key, Contradiction]]:
    """Yield differences between a second service's rows of a height and those here, in all fields except row ids.

    Each is with the identity of its row, and names the side of each value, because either may be right.
    """
    sides = [by_identity(command, _read(some)) for some in (theirs, here)]
    for key in sides[0] | sides[1]:
        due, found = (side.get(key, []) for side in sides)
        name = label(command, key or (str(height),))
        wrong: list[tuple[str | None, str | None]] = []
        if due and found:
            for one, other in _unlike(due, found):
                names: Texts = dict.fromkeys((*other, *one))
                wrong += ((pair.expected, pair.found) for pair in _altered(name, names | one, names | other, equal))
        if len(due) != len(found):
            both = due and found
            wrong.append(
                (f"{name} {_times(due)}", _times(found)) if both else (name if due else None, name if found else None)
            )
        for expected, actual in wrong:
            sided = (f"witness: {expected}" if expected else None, f"here: {actual}" if actual else None)
            yield key, Contradiction("differs", *sided)


def _unlike(due: Sequence[Texts], found: Sequence[Texts]) -> Iterator[tuple[Texts, Texts]]:
    """Yield rows of the same identity in pairs, except those that both sides have."""
    known = {frozenset(row.items()): row for row in (*due, *found)}
    left, right = (Counter(frozenset(row.items()) for row in side) for side in (due, found))
    for one, other in zip((left - right).elements(), (right - left).elements(), strict=False):
        yield known[one], known[other]


def contradicts(command: str, facts: BlockFacts, key: Key, rows: Mapping[Key, Sequence[Texts]]) -> bool:
    """Return whether the row of that identity is wrong among `rows`, by identity, according to the full block."""
    if command not in facts.due:
        return any(any(compare_summary(facts, row)) for row in rows.get(key, ()))
    due = {key: facts.due[command][key]} if key in facts.due[command] else {}
    return any(compare_rows(command, due, {key: rows[key]} if key in rows else {}, optional=facts.optional))


def _times(rows: Sequence[Texts]) -> str:
    return "once" if len(rows) == 1 else f"{len(rows)} times"


def _read(rows: Iterable[Raw]) -> list[Texts]:
    """Return rows without row ids and nulls, in one order whatever theirs is."""
    read: list[Texts] = [{part: value for part, value in _leaves(row, "", OWN) if value is not None} for row in rows]
    return sorted(read, key=lambda row: sorted(row.items()))


def altered(name: str, due: Texts, found: Texts) -> Iterator[Contradiction]:
    """Yield the fields of a row that differ, exactly: a number differs from a text with its digits."""
    sides = [dict(one for part, value in side.items() for one in _exact(part, value)) for side in (due, found)]
    wrong = {part: pair for part in sorted(sides[0].keys() | sides[1].keys()) if (pair := _differing(part, *sides))}
    fields, row = ({part: pair[side] for part, pair in wrong.items()} for side in (0, 1))
    yield from _altered(name, fields, row, equal)


def _exact(path: str, value: str | None) -> list[tuple[str, str | None]]:
    """Return the content of a JSON field by path, or a plain text field unchanged."""
    try:
        whole = bool(value) and json.loads(value or "") is not None and (value or "")[0] in '{["'
        return list(_leaves(Raw((value or "").encode()), path, read=_as_json)) if whole else [(path, value)]
    except (ValueError, RecursionError):
        return [(path, value)]


def _as_json(value: Raw) -> str | None:
    """Return a value as JSON in one canonical form per text; None for null."""
    sent = bytes(value).decode()
    return json.dumps(text_of(value), ensure_ascii=False) if sent[:1] == '"' else None if sent == "null" else sent


def _differing(part: str, due: Texts, found: Texts) -> tuple[str | None, str | None] | None:
    """Return both values of a field if they differ, without quotation marks unless only the quotes differ."""
    first, second = due.get(part), found.get(part)
    plain = first and first.strip('"'), second and second.strip('"')
    return None if first == second else plain if plain[0] != plain[1] else (first, second)


def _leaves(
    value: Raw, path: str, without: Iterable[str] = (), read: Callable[[Raw], str | None] = text
) -> Iterator[tuple[str, str | None]]:
    """Yield the leaves of a value by path; equivalent values, such as a number and its digits, have the same leaves."""
    opening = bytes(value)[:1]
    if opening == b"{":
        for name, inner in object_of(value).items():
            if name not in without:
                yield from _leaves(inner, f"{path}.{name}" if path else name, (), read)
    elif opening == b"[":
        yield f"{path}[]", str(len(array_of(value)))
        for number, inner in enumerate(array_of(value)):
            yield from _leaves(inner, f"{path}[{number}]", (), read)
    else:
        yield path, read(value)


def _altered(
    name: str, fields: Texts, row: Texts, same: Callable[[str, str | None, str | None], bool]
) -> Iterator[Contradiction]:
    wrong = [part for part in row if part in fields and not same(part, fields[part], row[part])]
    if wrong:
        due, found = (", ".join(f"{part}={_shown(side[part])}" for part in wrong[:_FIELDS]) for side in (fields, row))
        yield Contradiction("altered", f"{name}: {due}" if name else due, found)


def _shown(text: str | None) -> str:
    return "null" if text is None else excerpt(text, _SHOWN)


def check_block(facts: BlockFacts) -> Iterator[Contradiction]:
    """Yield what is wrong with a full block by itself: checksums of IDs, and the numbers of its transactions."""
    seen: set[str] = set()
    for name, value in facts.ids:
        if value not in seen and _BECH32.fullmatch(value) and (fault := bech32.fault(value)):
            yield Contradiction("checksum", None, f"{name}={value}: {fault}")
        seen.add(value)
    yield from check_numbers(facts.indexes)


def check_numbers(indexes: Sequence[int | None]) -> Iterator[Contradiction]:
    """Yield that the transactions of a block, by their `index`, are not numbered from 0, if so."""
    if sorted(indexes, key=lambda index: -1 if index is None else index) != list(range(len(indexes))):
        numbered = ", ".join("null" if index is None else str(index) for index in indexes)
        yield Contradiction("count", f"{len(indexes)} transactions, numbered from 0", f"numbered {numbered}")


class ChainCheck:
    """Checks the links between blocks, in order of height; one instance per command that returns blocks."""

    def __init__(self) -> None:
        self._height, self._last = -1, Texts()

    @property
    def last_hash(self) -> str:
        """The hash of the last block, empty if it is not known."""
        return self._last.get("block_hash") or ""

    def follow(self, height: int, fields: Texts) -> Iterator[Contradiction]:
        """Yield contradictions to the previous block: another previous hash, an earlier time, a lower round.

        `fields` of a block, by the names of its summary. Hashes are compared only between neighbors.
        """
        before, last = self._height, self._last
        self._height, self._last = height, fields
        if before < 0:
            return
        due, found = last.get("block_hash"), fields.get("previous_hash")
        if before == height - 1 and due != found:
            yield Contradiction("link", f"previous_hash={due}", f"previous_hash={found}")
        for check, name in (("time", "timestamp"), ("round", "round")):
            least, now = number(last.get(name)), number(fields.get(name))
            if least is not None and now is not None and now < least:
                yield fallen(check, least, now)


def fallen(check: str, before: int, value: int) -> Contradiction:
    """Return what is wrong with a block whose time or round is lower than that of the block before."""
    name = {"time": "timestamp"}.get(check, check)
    return Contradiction(check, f"{name}={before} or more", f"{name}={value}")


def number(text: str | None, digits: int = 99) -> int | None:
    """Return the whole number that a text represents, None for any other text or for too many digits."""
    return int(text) if text is not None and text.isascii() and text.isdecimal() and len(text) <= digits else None
