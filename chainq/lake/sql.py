"""SQL over a data set or over rows in memory, by DuckDB: one view for each command, and nothing else within reach.

Rows are handed to DuckDB as Arrow, so its own access to files and the network is off altogether, before the query is
read: it can neither read another file nor write one. Only a single SELECT (or EXPLAIN) is run.

Rejected: DuckDB's own reader with `allowed_directories`: it needs an extension from the network for object stores.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from queue import Empty
from typing import Any, NamedTuple, TypeVar, cast

import msgspec
from msgspec import Raw

from chainq.catalog.methods import Column, Kind
from chainq.catalog.tables import COMMANDS, TABLES
from chainq.errors import ChainqError, UsageError, missing_package
from chainq.formats.arrow_rows import ArrowRows
from chainq.heights.grid import PartitionSpec
from chainq.heights.range import HeightRange
from chainq.lake.scan import Files
from chainq.process.threads import Pool
from chainq.stored import data_set
from chainq.stored.inventory import Inventory
from chainq.stored.manifest import look
from chainq.stored.receipt import Entry, parse_entry
from chainq.stored.store import Store
from chainq.text.sanitize import excerpt, quoted

T = TypeVar("T")
BATCH = 1000  # rows that are Python objects at a time
_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
_CLOSED = (
    "SET enable_external_access = false",
    "SET python_enable_replacements = false",  # nor Python's variables
    "SET TimeZone = 'UTC'",
    "SET lock_configuration = true",
)


class Result(NamedTuple):
    """The columns of a result, and its rows in batches, as JSON objects; dotted names are nested objects."""

    columns: tuple[Column, ...]
    batches: Iterator[list[Raw]]


class Database:
    """An empty database; a context manager. Raises UsageError without duckdb or pyarrow."""

    def __init__(self) -> None:
        try:
            import duckdb
            import pyarrow
        except ImportError as error:
            raise missing_package(f"sql needs the package {error.name}", "sql") from None
        self._duckdb, self._arrow = duckdb, pyarrow
        self._connection = duckdb.connect(":memory:")
        self._held: tuple[str, ...] | None = None  # the commands of the data set
        self._files: list[Files] = []
        self._pool: Pool[None] = Pool(1)
        self._closed = False  # to all but queries over what it has
        self.gaps: dict[str, list[HeightRange]] = {}
        """The heights that no whole partition has, from the first partition of a command to its last one."""

    def __enter__(self) -> "Database":
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.close()
        self._connection.close()

    def add_data_set(self, store: Store, *, partial: bool = False) -> None:
        """Add a view for each command of a data set, of the partitions that have a receipt; with `partial`, only of
        those that a listing shows. Raises UsageError."""
        description = data_set.read(store)
        if description is None:
            raise UsageError(f"no data set in {store.label}: no {data_set.NAME}", "chainq export writes one")
        inventory = look(store, listed=partial).inventory
        entries: dict[str, list[Entry]] = {}
        for entry in inventory.valid.values():
            entries.setdefault(entry.spec.command, []).append(entry)
        damaged = list(_damaged(inventory, description.partition))
        for command, some in entries.items():
            self._files.append(Files(TABLES[command], some, store))
            self._connection.register(view_name(command), self._files[-1].table())
            whole = [entry.spec for entry in some]
            self.gaps[command] = list(_gaps(whole, [spec for spec in damaged if spec.command == command]))
        self._held = tuple(command for command in TABLES if command in entries)

    def tables(self, query: str) -> list[str]:
        """Return the commands whose views a query names. Raises UsageError for an invalid query and another table."""
        with self._empty() as empty:
            try:
                self._check(empty, query)
                named = self._named(empty, query)
            except self._duckdb.Error as error:
                raise _invalid(error) from None
        known = {view_name(command): command for command in self._commands}
        if unknown := sorted(named - known.keys()):
            where = "tables are" if self._held is None else "data set has"
            raise UsageError(f"no table {quoted(unknown[0])}", f"the {where} {', '.join(known)}")
        return [command for view, command in known.items() if view in named]

    def _named(self, empty: Any, query: str) -> set[str]:
        """Return the tables that a query names. DuckDB does not tell those of a join with USING: then all that its
        words can mean."""
        try:
            return {name.lower() for name in empty.get_table_names(query)}
        except self._duckdb.BinderException:
            empty.execute(query)  # raises unless the query is valid, with its tables
            return {word.lower() for word in re.findall(r"\w+", query)} & {*map(view_name, TABLES)}

    def schema(self) -> dict[str, list[tuple[str, str]]]:
        """Return the columns of each table, as (name, type in DuckDB)."""
        with self._empty() as empty:
            tables = {name: empty.table(name) for name in map(view_name, self._commands)}
            return {
                name: list(zip(table.columns, map(str, table.types), strict=True)) for name, table in tables.items()
            }

    @property
    def _commands(self) -> tuple[str, ...]:
        return COMMANDS if self._held is None else self._held

    @contextmanager
    def _empty(self) -> Iterator[Any]:
        """Yield a database with the tables of all commands, without rows."""
        with self._duckdb.connect(":memory:") as empty:
            for command in TABLES:  # tables and not views: of a view DuckDB names what is behind it
                columns = ArrowRows(TABLES[command].columns, self._arrow).schema.empty_table()
                empty.from_arrow(columns).create(view_name(command))
            for setting in _CLOSED:
                empty.execute(setting)
            yield empty

    def add_rows(self, command: str, batches: Iterator[list[Raw]]) -> int:
        """Add a view of rows in memory; return their number."""
        rows = ArrowRows(TABLES[command].columns, self._arrow)
        table = self._arrow.Table.from_batches([one for batch in batches for one in rows.batches(batch)], rows.schema)
        self._connection.register(view_name(command), table)
        return int(table.num_rows)

    def run(self, query: str) -> Result:
        """Run one SELECT. Raises UsageError for anything else, and where it fails. May be called again."""
        for setting in () if self._closed else _CLOSED:
            self._connection.execute(setting)
        self._closed = True
        try:
            self._check(self._connection, query)
            self._interruptible(lambda: self._connection.execute(query))
        except self._duckdb.Error as error:
            raise self._failed(error) from None
        names = _distinct([name for name, *_ in self._connection.description])
        columns = tuple(
            Column(name, *_kind(str(kind)), brief=place)
            for place, (name, (_, kind, *_rest)) in enumerate(zip(names, self._connection.description, strict=True), 1)
        )
        return Result(columns, self._rows(names))

    def _interruptible(self, work: Callable[[], T]) -> T:
        """Return what DuckDB does, in a thread, since signals wait until it returns; stop it if one comes meanwhile."""
        self._pool.submit(None, work)
        try:
            outcome = self._pool.wait()[1]
        except BaseException:
            while True:  # an interrupt before the query began has no effect
                self._connection.interrupt()
                with suppress(Empty):
                    self._pool.wait(0.05)
                    raise
        if isinstance(outcome, BaseException):
            raise outcome
        return cast("T", outcome)

    def _check(self, connection: Any, query: str) -> None:
        """Raise UsageError for what is not one SELECT."""
        try:
            query.encode()
        except UnicodeEncodeError:  # a byte of the command line, for which DuckDB raises TypeError
            raise UsageError("invalid query: expected UTF-8 text") from None
        kinds = [statement.type for statement in connection.extract_statements(query)]
        allowed = (self._duckdb.StatementType.SELECT, self._duckdb.StatementType.EXPLAIN)
        if len(kinds) != 1 or kinds[0] not in allowed:
            raise UsageError("invalid query: expected one SELECT")

    def _failed(self, error: Exception) -> ChainqError:
        """Return why a query failed: a file that cannot be read, else the query."""
        return next((one.failure for one in self._files if one.failure is not None), _invalid(error))

    def _rows(self, names: list[str]) -> Iterator[list[Raw]]:
        encode = msgspec.json.Encoder(decimal_format="number", enc_hook=str).encode
        while True:
            try:
                found = self._interruptible(lambda: self._connection.fetchmany(BATCH))
            except self._duckdb.Error as error:
                raise self._failed(error) from None
            if not found:
                return
            yield [Raw(encode(_nested(dict(zip(names, row, strict=True))))) for row in found]


def view_name(command: str) -> str:
    """Return the name of a command in SQL."""
    return command.replace("-", "_")


def _damaged(inventory: Inventory, grid: int) -> Iterator[PartitionSpec]:
    """Yield the partitions that have a file or a receipt and are not whole.

    They end where a receipt says; without one, after `grid` heights.
    """
    for key, names in inventory.damaged.items():
        ends = [entry.spec.end for name in names if (entry := parse_entry(name))]
        yield PartitionSpec(*key, max(ends, default=key[1] + grid))


def _gaps(whole: Iterable[PartitionSpec], damaged: Iterable[PartitionSpec]) -> Iterator[HeightRange]:
    """Yield the heights that no whole partition has, from the first partition to the last one."""
    specs = sorted([*whole, *damaged])
    at, end = specs[0].start, max(spec.end for spec in specs)
    for spec in sorted(whole):
        if at < spec.start:
            yield HeightRange(at, spec.start)
        at = max(at, spec.end)
    if at < end:
        yield HeightRange(at, end)


def _nested(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with dotted names as objects, as formats look for them."""
    made: dict[str, Any] = {}
    for name, value in row.items():
        *steps, last = name.split(".")
        inner = made
        for step in steps:
            inner = inner.setdefault(step, {})
        inner[last] = value
    return made


def _distinct(names: list[str]) -> list[str]:
    """Return names that are distinct; the second `a` is `a_1`, as in DuckDB."""
    made: list[str] = []
    for name in names:
        count, distinct = 0, name
        while distinct in made:
            count += 1
            distinct = f"{name}_{count}"
        made.append(distinct)
    return made


def _kind(duckdb_type: str) -> tuple[str, str, Kind]:
    """Return type, note and kind of a column, by its type in DuckDB."""
    if duckdb_type.startswith(_NUMBERS):
        return "number", "", Kind.HEIGHT
    if duckdb_type.startswith(("DECIMAL", "DOUBLE", "FLOAT")):
        return "string", "", Kind.HEIGHT
    if duckdb_type.startswith(("TIMESTAMP", "DATE")):
        return "time", "", Kind.PLAIN
    if duckdb_type.endswith("]") or duckdb_type.startswith(("STRUCT", "MAP", "UNION")):
        return "unknown", "", Kind.DATA
    return "string", "", Kind.PLAIN


def _invalid(error: Exception) -> UsageError:
    return UsageError(f"the query failed: {excerpt(' '.join(str(error).split()), 300)}")
