"""Reads the rows of a file that chainq wrote with `-o`, in any format, for verification.

Tables have the requested columns, with the types of a Parquet file, otherwise as texts. Unreadable parts are skipped
and passed to `damaged`, so that the rest is still verified.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import Any, NamedTuple

from msgspec import Raw

from chainq.catalog.methods import Column, Method, height_of
from chainq.catalog.tables import DERIVED
from chainq.formats.arrow_rows import EXTRA
from chainq.heights.range import HeightRange
from chainq.lake.files import Receipt
from chainq.rows.full_block import IDENTITY, Key, Texts
from chainq.rows.raw_json import members
from chainq.verify.compare import OWN
from chainq.verify.compare import number as whole_number
from chainq.verify.findings import Contradiction, Finding

BATCH = 4096  # rows per read
Damaged = Callable[[str], None]
"""Called with the position and the reason of an unreadable part."""


class RowsFile(ABC):
    """A file of rows. `names`: its columns by their dotted paths.

    `heights`: the height range that it declares complete, None if it declares none. `receipt`: of a partition.
    """

    names: list[str]
    heights: HeightRange | None = None
    receipt: Receipt | None = None
    typed = False  # whether columns have types of their own
    unreadable = False  # whether `tables` met damage after which no row can be read

    @property
    def present(self) -> Collection[str]:
        """The columns, or fields, that a row may have; of JSON, after all rows were read."""
        return self.names

    @property
    def derived(self) -> bool:
        """Whether its receipt says that its rows were extracted from full blocks."""
        return self.receipt is not None and (self.receipt.command in DERIVED or self.receipt.source != "")

    @abstractmethod
    def length(self) -> int:
        """Return about how many rows there are."""

    @abstractmethod
    def tables(self, names: Sequence[str], damaged: Damaged) -> Iterator[Any]:
        """Yield the rows as Arrow tables of these columns. May be called again."""

    @abstractmethod
    def table(self, columns: Sequence[Column], sent: Sequence[Raw]) -> Any:
        """Return service rows in the form in which `tables` yields the file's rows."""

    def fields(self, columns: Sequence[Column], keys: Sequence[str]) -> Iterator[tuple[Key, Texts]]:
        """Yield the values of `keys` in each readable row, and its fields that are not null."""
        for table in self.tables([column.path for column in columns], nothing):
            yield from _texts(table, keys)

    def as_fields(
        self, columns: Sequence[Column], keys: Sequence[str], sent: Sequence[Raw]
    ) -> Iterator[tuple[Key, Texts]]:
        """Yield service rows in the form in which `fields` yields the file's rows."""
        return _texts(self.table(columns, sent), keys)


class Row(NamedTuple):
    """A row to compare: its identity, its height (None if unknown), and its fields."""

    key: Key
    height: int | None
    fields: Texts

    @property
    def digest(self) -> int:
        """A hash of the fields that does not depend on their order."""
        return hash(frozenset(self.fields.items()))


class FileRows(NamedTuple):
    """The rows of one command in a file, and their `heights`. `finding` makes a finding from a height (None if unknown)
    and a contradiction. `derived`: the rows were extracted from full blocks."""

    file: RowsFile
    method: Method
    heights: HeightRange
    finding: Callable[[int | None, Contradiction], Finding]
    derived: bool = False

    @property
    def identity(self) -> Sequence[str]:
        """The columns that identify a row."""
        return IDENTITY.get(self.method.command) or self.method.identity or (self.method.height or "",)

    @property
    def columns(self) -> list[Column]:
        """The columns that are compared with a service, in the order of the file."""
        known = {column.path: column for column in self.method.columns}
        return [known.get(name, Column(name, "string")) for name in self.file.names if name not in self.uncompared]

    @property
    def uncompared(self) -> list[str]:
        """The columns not compared with a service: row ids, and columns of Parquet files that the catalog lacks."""
        own, known = () if self.derived else OWN, {EXTRA, *(column.path for column in self.method.columns)}
        return [name for name in self.file.names if name in own or (self.file.typed and name not in known)]

    @property
    def absent(self) -> list[str]:
        """The columns of the command that no row of the file has; known after `rows`."""
        there = set(self.file.present)
        due = (one.path for one in self.method.columns if one.path not in OWN and not one.computed)
        return [path for path in due if not there & {*accumulate(path.split("."), "{}.{}".format)}]

    def rows(self) -> Iterator[Row]:
        """Yield the readable rows; unreadable ones are already findings. May be called again."""
        return self._keyed(self.file.fields(self.columns, self._keys))

    def as_rows(self, sent: Sequence[Raw]) -> Iterator[Row]:
        """Yield service rows in the form they would have in the file. Call it after `rows`."""
        lacking = {column.path for column in self.method.columns if self.file.typed} - {*self.file.names}
        for row in self._keyed(self.file.as_fields(self.columns, self._keys, sent)):
            for name in lacking & row.fields.keys():  # the file stores it in EXTRA
                del row.fields[name]
            yield row

    def by_text(self) -> Callable[[Row], Key]:
        """Return a function that returns the identity of a row, with its program's text if the file has several."""
        column = self.method.text
        times = Counter(row.key for row in self.rows()) if column in self.file.names else Counter[Key]()
        return lambda row: (*row.key, row.fields.get(column) or "") if times[row.key] > 1 else row.key

    @property
    def _keys(self) -> list[str]:
        return [height_of(self.method) or "", *self.identity]

    def _keyed(self, rows: Iterable[tuple[Key, Texts]]) -> Iterator[Row]:
        return (Row(tuple(key), whole_number(height, 19), fields) for (height, *key), fields in rows)


def nothing(_: str) -> None:
    """Ignore an unreadable part: it is already a finding."""


def _texts(table: Any, keys: Sequence[str]) -> Iterator[tuple[Key, Texts]]:
    """Yield the values of `keys` in each row, and its fields as texts; those in EXTRA as fields of their own."""
    for row in table.to_pylist():
        fields: Texts = {name: str(value) for name, value in row.items() if value is not None}
        with suppress(ValueError):
            fields |= json_texts(members((fields.get(EXTRA) or "{}").encode()))
            fields.pop(EXTRA, None)
        yield tuple(fields.get(name) or "" for name in keys), fields


def json_texts(fields: Mapping[str, Raw | None]) -> Texts:
    """Return fields as JSON, without row ids and nulls."""
    sent = ((name, bytes(value)) for name, value in fields.items() if value is not None and name not in OWN)
    return {name: value.decode() for name, value in sent if value != b"null"}
