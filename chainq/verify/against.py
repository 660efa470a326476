"""Files against a service: the rows of some heights, drawn at random, or all of them.

Of a row of the file is kept what identifies it and a hash of all its fields but row ids, which are each database's own.
Rows of which the hashes differ are read once more, so that the fields are named. Neither side is right by itself:
`expected` is what the service has.
"""

from collections.abc import Container, Iterable, Iterator
from itertools import chain

from chainq.errors import UsageError
from chainq.fetching.service import Service
from chainq.heights.range import HeightRange
from chainq.process.progress import Progress
from chainq.rows.full_block import IDENTITY, Key, Texts
from chainq.verify.compare import compare_rows, equal, number
from chainq.verify.file_rows import FileRows
from chainq.verify.findings import Contradiction, Finding, label
from chainq.verify.service_rows import CommandRows


def odds(chosen: int, heights: int, lost: int) -> float:
    """Return how likely it is that at least one of `lost` heights is among those `chosen` at random of all `heights`.

    >>> round(odds(200, 40_000, 100), 3)
    0.395
    """
    unseen = 1.0
    for seen in range(min(lost, heights)):
        unseen *= max(0, heights - chosen - seen) / (heights - seen)
    return 1 - unseen


def compare(
    rows: FileRows, service: Service, chosen: Container[int], places: Iterable[HeightRange], progress: Progress
) -> list[Finding]:
    """Return where the rows of a file differ from those of a service.

    `chosen`: the heights to compare; `places`: the same as ranges; `progress` counts them. Raises ChainqError where
    the service fails, UsageError where the file has no column that identifies rows.
    """
    method, command, places = rows.method, rows.method.command, list(places)
    source = CommandRows(service, command, derived=rows.derived)
    names = IDENTITY.get(command) or method.identity or (method.height or "",)
    if not {column.path for column in rows.columns}.issuperset(names):
        raise UsageError(f"comparing {command} needs the columns {', '.join(names)}")

    def keyed(found: Iterator[Texts]) -> Iterator[tuple[Key, Texts]]:
        return ((tuple(row.get(name) or "" for name in names), row) for row in found)

    findings: list[Finding] = []
    own = {
        key: (number(row.get(method.height or ""), 19), hash(tuple(row.values()))) for key, row in keyed(rows.rows())
    }
    there: set[Key] = set()
    other: dict[Key, tuple[int, Texts]] = {}  # rows of the service that the file lacks or has otherwise
    for part in chain.from_iterable(source.parts(place) for place in places):
        if part.doubt:
            findings.append(rows.finding(part.heights.start, Contradiction("unproved", None, part.doubt)))
        progress.wrote(len(part.heights), len(part.rows))
        sent = keyed(rows.as_rows([row for _, row in part.rows]))
        for (height, _), (key, row) in zip(part.rows, sent, strict=True):
            there.add(key)
            if key not in own or own[key][1] != hash(tuple(row.values())):
                other[key] = (part.heights.start if height is None else height), row
    whole = sum(map(len, places)) == len(rows.heights)  # else rows without a height may be of others
    strange = ((key, own[key][0]) for key in own.keys() - there)
    strange = ((key, height) for key, height in strange if (whole if height is None else height in chosen))
    findings += [rows.finding(at, Contradiction("unexpected", None, label(command, key))) for key, at in strange]
    found = {key: [row] for key, row in keyed(rows.rows()) if key in other} if other else {}
    for key, (at, due) in other.items():
        if key in found or not method.linked:  # that a block is missing was a finding of the file by itself
            different = compare_rows(command, {key: due}, {key: found[key]} if key in found else {}, same=equal)
            findings += [rows.finding(at, one) for one in different]
    return findings
