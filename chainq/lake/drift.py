"""Detects fields that a service no longer sends, and new members of nested objects.

The columns of lost fields become null, and new members go to the text `other` of their object, so neither would be
noticed. Other fields that are new or of another type are in `extra`; the writer of a partition warns about them
(`formats/arrow_rows.py`), unless the previous partition already has them there (`in_extra`).

Many fields are not in every row, and a short partition may have none of them. A field therefore counts as lost or new
only if its share of rows in the other partition makes it unlikely that no row has it by chance.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

from chainq.catalog.nested import OTHER
from chainq.errors import IncompleteError
from chainq.formats.arrow_rows import EXTRA
from chainq.heights.grid import PartitionSpec
from chainq.rows.raw_json import members
from chainq.stored.opened import opened, read_group
from chainq.stored.receipt import Entry
from chainq.stored.store import Store
from chainq.text.sanitize import printable

UNLIKELY = 1e-6
_OF_BEACONS = "authority.signature"  # only the first blocks of a chain have it: it is not lost


class _Field(NamedTuple):
    """A column, or a member of the objects in one. `parent`: of the object, empty for a column; `unknown`: whether the
    schema does not name it."""

    parent: str
    name: str
    unknown: bool = False

    def __str__(self) -> str:
        return printable(f"{self.parent}.{self.name}" if self.parent else self.name)


class _Counts(NamedTuple):
    """How many values the fields of a partition have, and at most those of each parent."""

    values: Counter[_Field]
    most: Counter[str]

    def lacks(self, field: _Field, other: "_Counts") -> bool:
        """Return whether a field has no values although another partition makes some likely."""
        if self.values[field] or not self.most[field.parent] or not other.values[field]:
            return False
        share = other.values[field] / other.most[field.parent]
        return bool((1 - share) ** self.most[field.parent] < UNLIKELY)


def changes(store: Store, entries: Sequence[Entry], written: Sequence[Entry]) -> Iterator[str]:
    """Yield warnings for fields of a table that were lost or new between the partition before the written ones and the
    last of these, unless the partition after these has them as before. They name the first height of the first such
    partition. Raises IncompleteError for a damaged file.
    """
    new, own = {entry.spec for entry in written}, sorted(entry for entry in entries if entry.rows)
    places = [at for at, entry in enumerate(own) if entry.spec in new]
    span = own[max(0, places[0] - 1) : places[-1] + 1] if places else []
    if len(span) < 2:
        return
    following = own[places[-1] + 1 : places[-1] + 2]  # if a partition in the middle was written again
    counts = cache(lambda at: _counts(store, [*span, *following][at]))
    before, after = counts(0), counts(len(span) - 1)

    def since(field: _Field, *, sent: bool) -> int:
        at = range(len(span))
        first = bisect_left(at, True, lo=1, hi=len(span) - 1, key=lambda one: (counts(one).values[field] > 0) is sent)
        return span[first].spec.start

    said: dict[str, list[str]] = {}
    for field in sorted(before.values | after.values):
        if after.lacks(field, before) and str(field) != _OF_BEACONS:
            if following and counts(len(span)).values[field]:
                continue
            text = (
                f"no values of {{}} from the partition at height {since(field, sent=False)} on: the service sends none"
            )
            said.setdefault(text, []).append(str(field))
        elif field.unknown and before.lacks(field, after):
            since_then = f"from the partition at height {since(field, sent=True)} on"
            text = f"unknown fields {{}} {since_then} go to {OTHER!r} of their objects: nothing is lost"
            said.setdefault(text, []).append(str(field))
    for text, names in said.items():
        yield f"{span[0].spec.command}: {text.format(', '.join(names))}"


def in_extra(store: Store, entries: Iterable[Entry], specs: Iterable[PartitionSpec]) -> dict[str, list[str]]:
    """Return, by table, the paths in `extra` of older partitions: the old version of the first of `specs` to write, and
    the partition before it. A damaged file contributes nothing."""
    first: dict[str, int] = {}
    for spec in specs:
        first[spec.command] = min(spec.start, first.get(spec.command, spec.start))
    before: dict[str, list[Entry]] = {}
    for entry in sorted(one for one in entries if one.spec.start <= first.get(one.spec.command, -1)):
        before.setdefault(entry.spec.command, []).append(entry)
    return {table: sorted({path for one in some[-2:] for path in _extra(store, one)}) for table, some in before.items()}


def _extra(store: Store, entry: Entry) -> Iterator[str]:
    with suppress(IncompleteError), opened(store, entry) as (file, _):
        for group in range(file.num_row_groups):
            for text in read_group(store, entry, file, group, [EXTRA]).column(0).drop_null().to_pylist():
                yield from members(text.encode())


def _counts(store: Store, entry: Entry) -> _Counts:
    """Count the fields of a partition from the null counts in its footer, and unknown fields from the rows."""
    values: Counter[_Field] = Counter()
    with opened(store, entry) as (file, _):
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group)
            for number in range(rows.num_columns):
                column, nested = rows.column(number), file.schema.column(number).max_repetition_level > 0
                stored = column.path_in_schema
                parent, _, name = stored.replace(".list.element", "").rpartition(".")
                if nested and name == OTHER:
                    for text in _leaves(read_group(store, entry, file, group, [stored]).column(0)):
                        values.update(_Field(parent, member, unknown=True) for member in members(text.encode()))
                elif stored != EXTRA:
                    nulls = (column.statistics and column.statistics.null_count) or 0
                    field = _Field(parent, name) if nested else _Field("", stored)  # columns have dots in their names
                    values[field] += column.num_values - nulls
    most: Counter[str] = Counter()
    for field, count in values.items():
        most[field.parent] = max(most[field.parent], count)
    return _Counts(values, most)


def _leaves(column: Any) -> Iterator[str]:
    """Yield the texts in a nested column of one leaf."""
    from pyarrow import types

    for array in column.chunks:
        while not types.is_string(array.type):
            array = array.flatten() if types.is_list(array.type) else array.flatten()[0]
        yield from array.drop_null().to_pylist()
