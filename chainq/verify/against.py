"""Compares the rows of a file with a service, at random heights or at all of them.

For each row of the file, this keeps its identity and a hash of all its fields except row ids, which differ between
databases. JSON values are compared as sent; null equals a missing field. If hashes differ, the rows are read again to
name the fields. Neither side is presumed right: `expected` is the service's value.
"""

from collections.abc import Container, Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from msgspec import Raw

from chainq.errors import UsageError
from chainq.fetching.service import Service
from chainq.heights.range import HeightRange
from chainq.process.progress import Progress
from chainq.rows.fields import Picker, text_of
from chainq.verify.compare import altered
from chainq.verify.file_rows import FileRows
from chainq.verify.findings import Contradiction, Finding, label
from chainq.verify.service_rows import CommandRows, LookedUpRows

if TYPE_CHECKING:
    from chainq.rows.full_block import Key, Texts

_MANY = 10  # rows on both sides from which on none in common shows another chain, and not altered IDs


def compare(
    rows: FileRows, service: Service, chosen: Container[int], places: Iterable[HeightRange], progress: Progress
) -> tuple[list[Finding], list[str], int]:
    """Return the differences between the rows of a file and of a service, the columns that only the service has, and
    how many rows are the same. Many rows without any that both have are one difference.

    `chosen`: the heights to compare; `places`: the same as ranges; `progress` counts them. Raises ChainqError if
    the service fails, UsageError if the file has no column that identifies rows.
    """
    method, command, places = rows.method, rows.method.command, list(places)
    source = (
        LookedUpRows(service, "height" in rows.file.names)
        if method.listed and not rows.derived
        else CommandRows(service, command, derived=rows.derived)
    )
    if not set(rows.file.names).issuperset(rows.identity):
        raise UsageError(f"comparing {command} needs the columns {', '.join(rows.identity)}")
    findings: list[Finding] = []
    named = len(rows.identity)
    key_of = rows.by_text()
    own = {key_of(row): (row.height, row.digest) for row in rows.rows()}
    absent, lacking = rows.absent, set[str]()
    there: set[Key] = set()
    other: dict[Key, tuple[int, Texts]] = {}  # service rows that the file lacks or has with other fields
    for part in chain.from_iterable(source.parts(place) for place in places):
        if part.doubt:
            findings.append(rows.finding(part.heights.start, Contradiction("unproved", None, part.doubt)))
        progress.wrote(len(part.heights), len(part.rows))
        sent = rows.as_rows([row for _, row in part.rows])
        lacking |= _had(absent, part.rows)
        for (height, _), row in zip(part.rows, sent, strict=True):
            there.add(key := key_of(row))
            if key not in own or own[key][1] != row.digest:
                other[key] = (part.heights.start if height is None else height), row.fields
    whole = sum(map(len, places)) == len(rows.heights)  # else rows without a height may belong to other heights
    strange = [
        (key, at) for key, (at, _) in own.items() if key not in there and (whole if at is None else at in chosen)
    ]
    lacks = [name for name in absent if name in lacking]
    if min(len(there), len(strange)) >= _MANY and there.isdisjoint(own):
        one = Contradiction("unexpected", f"{len(there):,} rows of the service", f"{len(strange):,} other rows")
        return [*findings, rows.finding(None, one)], lacks, 0
    findings += [
        rows.finding(at, Contradiction("unexpected", None, label(command, key[:named]))) for key, at in strange
    ]
    found = {key: row.fields for row in rows.rows() if (key := key_of(row)) in other} if other else {}
    for key, (at, due) in other.items():
        if key in found:
            findings += [rows.finding(at, one) for one in altered(label(command, key[:named]), due, found[key])]
        elif not method.linked:  # the file check already reported missing blocks
            findings.append(rows.finding(at, Contradiction("missing", label(command, key[:named]), None)))
    return findings, lacks, len((own.keys() & there) - other.keys())


def _had(names: Sequence[str], rows: Iterable[tuple[int | None, Raw]]) -> set[str]:
    """Return the columns that have a value in any of these rows of a service."""
    pick = Picker(names)
    return {name for _, row in rows for name, value in zip(names, pick(row), strict=True) if text_of(value)}
