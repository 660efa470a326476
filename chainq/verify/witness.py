"""Compares the rows of a service with those of a second one that is expected to have the same, height by height."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Raw

from chainq.fetching.service import Service
from chainq.heights.range import HeightRange
from chainq.rows.fields import array_of, object_of, text_of
from chainq.verify.blocks import IDENTITY, Key, Texts
from chainq.verify.compare import compare_rows, equal
from chainq.verify.findings import Contradiction
from chainq.verify.service_rows import HeightRows, ServiceRows

OWN = ("id", "block_id")
"""Columns that hold row ids, which are each database's own."""


class Witness:
    """A second service, compared as far as its chain goes. `source`: the rows of the first one."""

    def __init__(self, source: ServiceRows, service: Service, heights: HeightRange, commands: Iterable[str]) -> None:
        end = max(heights.start, min(heights.end, service.tip_for(heights.end) + 1))
        self._source, self._commands, self._end = source, tuple(commands), end
        self._rows = ServiceRows(service, HeightRange(heights.start, end), self._commands, source.facts)

    def read(self, end: int) -> None:
        """Read its rows up to a height, of which the full blocks of the first service are known."""
        self._rows.read(min(end, self._end))

    def differences(self, height: int, rows: Mapping[str, HeightRows]) -> Iterator[tuple[str, Contradiction]]:
        """Yield where its rows of a height differ from `rows`, by command; rows in doubt are not compared."""
        for command in self._commands if height < self._end else ():
            theirs = self._rows.take(command, height)
            if rows[command].doubt or theirs.doubt:
                continue
            one, other = rows[command].rows, theirs.rows
            if command == "full-blocks" and list(map(bytes, one)) != list(map(bytes, other)):
                one, other = (side.single(command, height) for side in (self._source, self._rows))
            for found in differences(command, height, other, one):
                yield command, found
        self._rows.forget(height)


def differences(command: str, height: int, due: Iterable[Raw], rows: Iterable[Raw]) -> Iterator[Contradiction]:
    """Yield where rows of a height differ from those of the witness, in any field of theirs but row ids."""
    sides = _numbered(command, height, due), _numbered(command, height, rows)
    for key in sorted(sides[0].keys() & sides[1].keys()):
        for name in sides[0][key].keys() ^ sides[1][key].keys():
            for side in sides:
                side[key].setdefault(name, None)
    for _, expected, found in compare_rows(
        command, sides[0], {key: [row] for key, row in sides[1].items()}, same=equal
    ):
        yield Contradiction("differs", expected, found)


def _numbered(command: str, height: int, rows: Iterable[Raw]) -> dict[Key, Texts]:
    """Return rows by what identifies them; of rows that come more than once, the later ones have a number too."""
    found: dict[Key, Texts] = {}
    times: Counter[Key] = Counter()
    for fields in sorted((dict(_leaves(row, "", OWN)) for row in rows), key=str):
        key = tuple(fields.get(name) or "" for name in IDENTITY.get(command, ())) or (str(height),)
        times[key] += 1
        found[key if times[key] == 1 else (*key, f"number {times[key]}")] = fields
    return found


def _leaves(value: Raw, path: str, without: Iterable[str] = ()) -> Iterator[tuple[str, str | None]]:
    """Yield what is in a value, by paths: values that mean the same have the same, a number and its digits too."""
    opening = bytes(value)[:1]
    if opening == b"{":
        for name, inner in object_of(value).items():
            if name not in without:
                yield from _leaves(inner, f"{path}.{name}" if path else name)
    elif opening == b"[":
        yield f"{path}[]", str(len(array_of(value)))
        for number, inner in enumerate(array_of(value)):
            yield from _leaves(inner, f"{path}[{number}]")
    else:
        yield path, None if bytes(value) == b"null" else text_of(value)
