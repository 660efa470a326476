"""SQL over a data set or over rows in memory, with DuckDB: one view per command, and access to nothing else.

Rows are passed to DuckDB as Arrow. Its own access to files and the network is turned off before the query is parsed, so
it can neither read another file nor write one. Only a single SELECT (or EXPLAIN) is run.

Rejected: DuckDB's own reader with `allowed_directories`, because it downloads an extension for object stores.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar, cast

import msgspec
from msgspec import Raw

from chainq.catalog.methods import Column, Kind
from chainq.catalog.tables import COMMANDS, TABLES
from chainq.errors import ChainqError, IncompleteError, UsageError, needed
from chainq.formats.arrow_rows import MORE, ArrowRows
from chainq.formats.protocol import few
from chainq.heights.range import HeightRange
from chainq.lake import exact
from chainq.lake.data_set import Contents, export_command, gaps, listed, look, shorter, span
from chainq.lake.names import PARTITION_COLUMN, Entry, PartitionSpec
from chainq.lake.scan import Files, MissingHeightsError
from chainq.lake.sql_errors import invalid
from chainq.lake.store import Store
from chainq.process import Closing, signals
from chainq.process.threads import Pool
from chainq.rows.fields import Key
from chainq.rows.transaction import NAMES_PROGRAM
from chainq.text.sanitize import quoted

T = TypeVar("T")
BATCH = 1000  # rows converted to Python objects together
_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_CLOSED = (
    "SET enable_external_access = false",
    "SET python_enable_replacements = false",  # nor Python's variables
    "SET TimeZone = 'UTC'",
    "SET lock_configuration = true",
)


class Result(NamedTuple):
    """The columns of a result, and its rows in batches, as JSON objects whose keys are the names of the columns."""

    columns: tuple[Column, ...]
    batches: Iterator[list[Raw]]


class Database(Closing):
    """An empty database; a context manager. Raises UsageError without duckdb or pyarrow."""

    def __init__(self) -> None:
        with needed("sql needs the {} package", "sql"):
            import duckdb
            import pyarrow
        self._duckdb, self._arrow = duckdb, pyarrow
        self._connection = duckdb.connect(":memory:")
        self._held: tuple[str, ...] | None = None  # the commands of the data set
        self._begun: set[str] = set()  # tables of the data set without a partition
        self._files: list[Files] = []
        self._spans: dict[str, HeightRange] = {}  # the heights of each table of the data set
        self._uneven = ""  # tables of the last query that end at different heights
        self._pool: Pool[None] = Pool(1)
        self._abandoned = False  # True if a query did not end when it was interrupted: closing would wait for it
        self._label = ""  # of the data set

    def close(self) -> None:
        """Stop the running query, and drop all tables."""
        self._pool.close()
        if not self._abandoned:
            self._connection.close()

    def add_data_set(self, store: Store, *, partial: bool = False) -> None:
        """Add a view of each command's partitions that have a receipt.

        With `partial`, queries that need heights between them get the rest. Raises UsageError.
        """
        contents = look(store)
        self._label = store.label
        for command, some, heights, lacked in _tables(contents):
            self._spans[command] = heights
            partition = contents.data_set.partition
            files = Files(TABLES[command], some, store, lacked, partial=partial, partition=partition)
            self._files.append(files)
            self._add_view(command, files.table(), _columns(command))
        self._held, self._begun = tuple(self._spans), contents.known - self._spans.keys()

    def tables(self, query: str) -> list[str]:
        """Return the commands whose views a query names, and prepare to run it.

        Raises UsageError for an invalid query and another table, IncompleteError for one without a whole partition.
        """
        try:
            named = self._interruptible(lambda: self._named(query))
        except self._duckdb.Error as error:
            raise invalid(error) from None
        known = {view_name(command): command for command in self._commands}
        if unknown := sorted(named - known.keys()):
            where, more = "tables are" if self._held is None else "data set has", ""
            if table := next((table for table in TABLES if view_name(table) == unknown[0]), None):
                writes = export_command([table], self._whole, self._label or "DEST")
                if table in self._begun:
                    raise IncompleteError(f"the data set has no partition of {unknown[0]}", f"{writes} writes them")
                more = f"; {writes} writes {table}" + " (recipes: docs/tables.md)" * (self._held is None)
            raise UsageError(f"no table {quoted(unknown[0])}", f"the {where} {', '.join(known)}{more}")
        commands = [command for view, command in known.items() if view in named]
        spans = {command: self._spans[command] for command in commands if command in self._spans}
        whole = HeightRange(
            min((heights.start for heights in spans.values()), default=0),
            max((heights.end for heights in spans.values()), default=0),
        )
        words = shorter({view_name(command): heights for command, heights in spans.items()}, whole)
        self._uneven = f"{'; '.join(words)}; the tables of the query span {whole}" if words else ""
        return commands

    @property
    def _whole(self) -> HeightRange | None:
        """The heights of the data set, None without one."""
        return span(PartitionSpec("", *heights.edges) for heights in self._spans.values())

    def _named(self, query: str) -> set[str]:
        """Return the tables that a query names.

        DuckDB resolves them against tables without columns and therefore refuses a query that needs columns (joins with
        USING, COLUMNS). For such a query, return the tables without which it is not valid.
        """
        with self._empty() as empty:
            query = self._checked(empty, query).query
            try:
                return {name.lower() for name in empty.get_table_names(query)}
            except (self._duckdb.BinderException, self._duckdb.CatalogException):  # which have no line here
                self._bind(empty, query)
                words = {word.lower() for word in re.findall(r"\w+", query)} & {*map(view_name, TABLES)}
                return {word for word in words if not self._is_valid_without(empty, query, word)}

    def _is_valid_without(self, empty: Any, query: str, table: str) -> bool:
        empty.begin()
        try:
            empty.execute(f"drop table {table}")
            self._bind(empty, query)
        except self._duckdb.Error:
            return False
        finally:
            empty.rollback()
        return True

    def _bind(self, connection: Any, query: str) -> list[tuple[str, str]]:
        """Return the columns of a query, as (name, DuckDB type), without running it; none if they cannot be determined.

        Raises duckdb.Error for an invalid query.
        """
        try:
            found = connection.execute(f"describe {query}").fetchall()
        except self._duckdb.Error:  # of the query, or because DuckDB does not describe EXPLAIN and the like
            connection.execute(query)
            return []
        return [(name, kind) for name, kind, *_ in found]

    def _add_view(self, command: str, table: Any, columns: str) -> None:
        """Add a view of some columns of an Arrow table or data set."""
        self._interruptible(lambda: self._connection.from_arrow(table).project(columns).create_view(view_name(command)))

    @property
    def _commands(self) -> tuple[str, ...]:
        return COMMANDS if self._held is None else self._held

    @contextmanager
    def _empty(self) -> Iterator[Any]:
        """Yield a database with the tables of all commands, without rows."""
        with self._duckdb.connect(":memory:") as empty:
            for command in TABLES:  # tables, not views: for a view DuckDB names the underlying table
                columns = ArrowRows(TABLES[command].columns, self._arrow).schema.empty_table()
                start = "" if self._held is None else f", 0::bigint as {PARTITION_COLUMN}"
                empty.from_arrow(columns).project(f"*{_derived(command)}{start}").create(view_name(command))
            for setting in _CLOSED:
                empty.execute(setting)
            yield empty

    def add_rows(self, command: str, batches: Iterator[list[Raw]], warn: Callable[[str], None]) -> None:
        """Add a view of rows in memory. `warn` is called for paths whose values go to `extra`."""
        method, note = TABLES[command], few(warn, f"{command}: {MORE}")
        unlisted = [column.path for column in method.unlisted]
        rows = ArrowRows(method.columns, self._arrow, lambda text: note(f"{command}: {text}"), unlisted)
        table = self._arrow.Table.from_batches([one for batch in batches for one in rows.batches(batch)], rows.schema)
        self._add_view(command, table, f"*{_derived(command)}")

    def run(self, query: str) -> Result:
        """Run one SELECT. Raises UsageError for anything else, and if it fails. Called once."""
        for setting in _CLOSED:
            self._connection.execute(setting)
        try:
            described = self._interruptible(lambda: self._execute(query))
        except self._duckdb.Error as error:
            raise self._failed(error, query) from None
        kinds = dict(zip(_distinct([name for name, _ in described]), (kind for _, kind in described), strict=True))
        columns = tuple(
            Column(Key(name) if re.search(r"[.\[]", name) else name, *_kind(kind), brief=place)
            for place, (name, kind) in enumerate(kinds.items(), 1)
        )
        return Result(columns, self._rows(query, kinds))

    def _execute(self, query: str) -> list[tuple[str, str]]:
        """Begin one SELECT; return the names and types of its columns. Raises UsageError, and errors of DuckDB."""
        statement = self._checked(self._connection, query)
        query, explains = statement.query, statement.type == self._duckdb.StatementType.EXPLAIN
        described = [] if explains else self._bind(self._connection, query)  # EXPLAIN ANALYZE would run twice
        chosen = exact.selection([kind for _, kind in described])
        self._connection.execute(f"from ({query[: self._end(query)]}\n) select {chosen}" if chosen else query)
        return described or [(name, str(kind)) for name, kind, *_ in self._connection.description]

    def _end(self, query: str) -> int | None:
        """Return the position of the first semicolon that ends a query; None if there is none."""
        kinds, sent = self._duckdb.token_type, query.encode()
        end = None
        for at, kind in self._duckdb.tokenize(query):  # by bytes
            if kind == kinds.operator and sent[at : at + 1] == b";":
                end = at if end is None else end
            elif kind != kinds.comment:
                end = None
        return None if end is None else len(sent[:end].decode())

    def _interruptible(self, work: Callable[[], T]) -> T:
        """Return the result of a DuckDB call, run in a thread so that a signal can interrupt it.

        In the main thread DuckDB itself ends on a signal, with a RuntimeError in place of KeyboardInterrupt.
        """
        ended: list[bool] = []

        def run() -> T:
            try:
                return work()
            finally:
                ended.append(True)

        self._pool.submit(None, run)
        try:
            outcome = self._pool.wait()[1]
        except BaseException:  # perhaps after its result was taken
            until = time.monotonic() + signals.GRACE  # DuckDB may not look at interrupts for long: while it parses
            while not ended and time.monotonic() < until:
                self._connection.interrupt()  # has no effect before the query began
                time.sleep(0.01)
            self._abandoned |= not ended
            self._pool.close()
            self._pool = Pool(1)
            raise
        if isinstance(outcome, BaseException):
            raise outcome
        return cast("T", outcome)

    def _checked(self, connection: Any, query: str) -> Any:
        """Return the statement in a query, without what precedes it. Raises UsageError unless it is one SELECT."""
        try:
            query.encode()
        except UnicodeEncodeError:  # a byte of the command line, for which DuckDB raises TypeError
            raise UsageError("invalid query: expected UTF-8 text") from None
        statements = connection.extract_statements(query)
        allowed = (self._duckdb.StatementType.SELECT, self._duckdb.StatementType.EXPLAIN)
        if len(statements) != 1:
            raise UsageError(f"invalid query: {len(statements)} statements, expected one SELECT")
        if statements[0].type not in allowed:
            kind = statements[0].type.name
            if kind == "MULTI":
                raise UsageError(
                    "invalid query: a PIVOT without values: expected pivot TABLE on COLUMN in ('a', 'b') using count(*)"
                )
            raise UsageError(f"invalid query: {kind}, expected a SELECT")
        return statements[0]

    def _failed(self, error: Exception, query: str) -> ChainqError:
        """Return why a query failed: heights that it needs, a file that cannot be read, else the query."""
        failure = next((files.failure for files in self._files if files.failure is not None), None)
        if isinstance(failure, MissingHeightsError):
            named = self.tables(query)
            lacking = {
                files.command: files.gaps if files.needed is None else files.needed  # it may be scanned later
                for files in self._files
                if files.command in named and files.gaps and files.needed != []
            }
            return _incomplete(lacking, self._label, "--partial, or a filter on height, leaves them out")
        return failure or invalid(error)

    def lacking(self) -> list[str]:
        """Return in words which heights a query with `partial` needed that no partition has, which of its tables cover
        fewer heights than others, and which columns lack values."""
        gaps = _lacking({files.command: files.needed for files in self._files if files.needed})
        unfit = [f"{view_name(files.command)}: {text}" for files in self._files for text in files.unfit.values()]
        return [text for text in (gaps, self._uneven) if text] + unfit

    def _rows(self, query: str, kinds: Mapping[str, str]) -> Iterator[list[Raw]]:
        """Yield the rows of a query; `kinds`: the type of each column in DuckDB, by its name."""
        encode = msgspec.json.Encoder(decimal_format="number", enc_hook=str).encode
        while True:
            try:
                found = self._interruptible(lambda: self._connection.fetchmany(BATCH))
            except self._duckdb.Error as error:
                raise self._failed(error, query) from None
            if not found:
                return
            yield [
                Raw(
                    encode(
                        {
                            name: exact.value_of(value, name, kind)
                            for (name, kind), value in zip(kinds.items(), row, strict=True)
                        }
                    )
                )
                for row in found
            ]


def statements(store: Store, *, partial: bool) -> tuple[str, str]:
    """Return the views of a data set as statements for DuckDB itself, each of all files that have a receipt, and a
    warning of heights that they lack.

    Raises UsageError without a data set, and IncompleteError for heights that are lacking, unless `partial`: DuckDB
    would leave them out and say nothing.
    """
    made, lacking = ["SET TimeZone = 'UTC';"], {}
    for command, entries, heights, lacked in _tables(look(store)):
        if lacked:
            lacking[command] = lacked
        files = ", ".join(_literal(store.address(entry.name)) for entry in entries)
        read = f"read_parquet([{files}], hive_partitioning = true, hive_types = {{'{PARTITION_COLUMN}': BIGINT}})"
        made.append(f"-- {heights}\nCREATE VIEW {view_name(command)} AS SELECT {_columns(command)} FROM {read};")  # noqa: S608  # all of it is quoted
    if lacking and not partial:
        raise _incomplete(lacking, store.label, "--partial leaves them out")
    return "\n".join(made) + "\n", _lacking(lacking)


def _literal(path: str) -> str:
    """Return a path as a string of SQL that matches the file alone: DuckDB reads it as a pattern."""
    quoted_path = re.sub(r"([*?\[])", r"[\1]", path).replace("'", "''")
    return f"'{quoted_path}'"


def _tables(contents: Contents) -> Iterator[tuple[str, list[Entry], HeightRange, list[HeightRange]]]:
    """Yield each table with its partitions, its heights, and those that it lacks."""
    for command in TABLES:
        if entries := contents.tables.get(command):
            heights = contents.heights(command)
            yield command, entries, heights, gaps((one.spec for one in entries), heights)


def _incomplete(lacking: Mapping[str, Sequence[HeightRange]], label: str, otherwise: str) -> IncompleteError:
    """Return the error of heights that tables lack; `otherwise`: what else than writing them helps."""
    every = [gap for some in lacking.values() for gap in some]
    heights = HeightRange(min(gap.start for gap in every), max(gap.end for gap in every))
    writes = export_command(lacking, heights, label)
    return IncompleteError(_lacking(lacking), f"{writes} writes them; {otherwise}")


def _lacking(gaps: Mapping[str, Sequence[HeightRange]]) -> str:
    heights = (f"{view_name(command)} lacks {listed(some)}" for command, some in gaps.items())
    return f"{'; '.join(heights)}: the data set has no whole partition of them" if gaps else ""


def _columns(command: str) -> str:
    """Return the columns of the view of a table, as SQL."""
    return f"* EXCLUDE ({PARTITION_COLUMN}){_derived(command)}, {PARTITION_COLUMN}"


def _derived(command: str) -> str:
    """Return the columns that chainq reads off others, as SQL that continues a list of columns."""
    method = TABLES[command]
    named = f"regexp_extract({method.program}, '{NAMES_PROGRAM}', 1)"  # empty if the text names none, as in program_id
    names = (column.path for column in method.derived if not column.computed)
    return "".join(f", coalesce(nullif({named}, ''), {method.program}) as {name}" for name in names)


def view_name(command: str) -> str:
    """Return the name of a command in SQL."""
    return command.replace("-", "_")


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
    if exact.is_nested(duckdb_type):
        return "unknown", "", Kind.DATA
    if duckdb_type in ("HUGEINT", "UHUGEINT", "UBIGINT"):  # more than 64 bits with a sign: every sum of integers
        return "decimal(38,0)", "", Kind.HEIGHT
    if duckdb_type.startswith(_NUMBERS):
        return "number", "", Kind.HEIGHT
    if duckdb_type.startswith(("DECIMAL", "DOUBLE", "FLOAT")):
        return (duckdb_type.lower() if duckdb_type.startswith("DECIMAL") else "double"), "", Kind.HEIGHT
    if duckdb_type.startswith(("TIMESTAMP", "DATE")):
        return "time", duckdb_type, Kind.PLAIN
    if duckdb_type == "BOOLEAN":
        return "boolean", "", Kind.PLAIN
    return "string", "", Kind.PLAIN
