"""Holds the rows that a program printed against the rows that a server has."""

import json
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

Row = dict[str, Any]


class Difference(NamedTuple):
    """What is wrong with printed rows. `lost`: rows that are due and never came. `doubled`: copies beyond the first.
    `changed`: rows with another value or another digit anywhere, or that no row due has the key of."""

    rows: int
    lost: int
    doubled: int
    changed: int


def exact(line: str | bytes) -> Any:
    """Return parsed JSON with every digit of its numbers: 1.0 equals 1, and 2^64 differs from 2^64 + 1."""
    return json.loads(line, parse_float=Decimal)


def printed_rows(lines: Iterable[bytes], path: Sequence[str] = ()) -> list[Row]:
    """Return the rows of printed lines: each line itself, or what it holds at `path` if its type is RECORD (Singer and
    Airbyte print other messages beside rows). Raises ValueError for a line that is not JSON."""
    rows = []
    for line in lines:
        row = exact(line)
        if path:
            if row["type"] != "RECORD":
                continue
            for name in path:
                row = row[name]
        rows.append(row)
    return rows


def compare(due: Iterable[Row], printed: Iterable[Row], key: str) -> Difference:
    """Return how printed rows differ from those due, in any order. `key`: a field by which rows differ."""
    right = {row[key]: row for row in due}
    seen: set[object] = set()
    rows = doubled = changed = 0
    for row in printed:
        rows += 1
        found = row.get(key)
        doubled += found in seen
        seen.add(found)
        changed += right.get(found) != row
    return Difference(rows, len(right.keys() - seen), doubled, changed)
