"""SQL over a data set or over rows in memory, with DuckDB: one view per table, and access to nothing else.

Rows are passed to DuckDB as Arrow. Its own access to files and the network is turned off before the query is parsed, so
it can neither read another file nor write one. Only a single SELECT (or EXPLAIN) is run.

Values become JSON exactly as DuckDB computed them, or there is an error. Python has no infinite dates, months or
nanoseconds, and JSON no infinite numbers. DuckDB therefore writes dates, times and intervals as text. It cannot do so
inside arrays and objects, where they cause an error. A number that is not finite becomes text, too.

Rejected: DuckDB's own reader with `allowed_directories`, because it downloads an extension for object stores; all
columns as text, because numbers would lose their type; DuckDB's `to_json`, which rounds large numbers.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from chainq.catalog.methods import Column, Kind
from chainq.catalog.tables import FETCHED, TABLES
from chainq.errors import ChainqError, IncompleteError, UsageError, needed
from chainq.formats.arrow_rows import MORE, ArrowRows
from chainq.formats.protocol import few
from chainq.lake.data_set import PARTITION_COLUMN, Contents, gaps, look, writing
from chainq.lake.scan import Files, lacks, missing, view_name
from chainq.lake.store import Store
from chainq.process.threads import in_order
from chainq.rows.fields import Key
from chainq.rows.transaction import NAMES_PROGRAM
from chainq.text.sanitize import excerpt, quoted

T = TypeVar("T")
BATCH = 1000  # rows converted to Python objects together
_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_TIMES = ("DATE", "TIME", "INTERVAL")  # how the types of dates and times begin, TIMESTAMP among them
_NESTED = ("STRUCT", "TUPLE", "MAP", "UNION")
_TIME = re.compile(r"([0-9]{4,}-[0-9]{2}-[0-9]{2}) ([0-9:.]+)(\+00)?")
_UTC = "SET TimeZone = 'UTC'"
_CLOSED = (
    "CREATE SCHEMA chainq",
    "SET enable_external_access = false",
    "SET python_enable_replacements = false",  # nor Python's variables
    "SET enable_progress_bar = false",  # it goes to stdout
    _UTC,
    "SET lock_configuration = true",
)
_RESULT = "chainq.result"  # the view of a query, in a schema that `show tables` does not list
_LONGEST = 300  # characters of an error of DuckDB; a longer one leaves out the functions that it lists


class Database:
    """An empty database. Raises UsageError without duckdb or pyarrow.

    Nothing closes it: the process ends with the run, and closing would wait for a query that a signal interrupted.
    """

    def __init__(self) -> None:
        with needed("sql needs the {} package", "sql"):
            import duckdb
            import pyarrow
        self._duckdb, self._arrow = duckdb, pyarrow
        self._connection = duckdb.connect(":memory:")
        for setting in _CLOSED:
            self._connection.execute(setting)
        self._contents: Contents | None = None
        self._files: list[Files] = []
        self._label = ""  # of the data set

    def add_data_set(self, store: Store, *, partial: bool = False) -> None:
        """Add a view of the partitions of each table.

        With `partial`, queries that need heights between them get the rest. Raises UsageError.
        """
        self._contents, self._label = look(store), store.label
        for table in TABLES:
            if table in self._contents.tables:
                files = Files(table, self._contents, store, partial=partial)
                self._files.append(files)
                self._add_view(table, files.view(), _columns(table))

    def tables(self, query: str) -> list[str]:
        """Return the commands whose tables a query names, which have no rows yet. Raises UsageError for an invalid
        query and another table."""
        named: list[str] = []
        while True:
            try:
                self._interruptible(lambda: self._connection.sql(self._checked(query)))
            except self._duckdb.Error as error:
                table = _unknown(error)
                if table not in FETCHED or table in named:
                    raise self._failed(error) from None
                named.append(table)
                self.add_rows(table, iter(()), lambda _: None)
            else:
                return [command for command in FETCHED if command in named]

    def add_rows(self, command: str, batches: Iterator[list[Raw]], warn: Callable[[str], None]) -> None:
        """Add a view of rows in memory. `warn` is called for paths whose values go to `extra`."""
        method, note = TABLES[command], few(warn, f"{command}: {MORE}")
        unlisted = [column.path for column in method.unlisted]
        rows = ArrowRows(method.columns, self._arrow, lambda text: note(f"{command}: {text}"), unlisted)
        table = self._arrow.Table.from_batches([one for batch in batches for one in rows.batches(batch)], rows.schema)
        self._add_view(command, table, f"*{_derived(command)}")

    def _add_view(self, table: str, rows: Any, columns: str) -> None:
        """Add a view of some columns of an Arrow table or data set."""
        self._interruptible(lambda: self._connection.from_arrow(rows).project(columns).create_view(view_name(table)))

    def run(self, query: str) -> tuple[tuple[Column, ...], Iterator[list[Raw]]]:
        """Run one SELECT; return its columns, and its rows in batches, as JSON objects whose keys are their names.

        Raises UsageError for anything else, IncompleteError and UsageError if it fails.
        """
        kinds = self._attempt(lambda: self._execute(query))
        columns = tuple(
            Column(Key(name) if re.search(r"[.\[]", name) else name, *_kind(kind), brief=place)
            for place, (name, kind) in enumerate(kinds.items(), 1)
        )
        return columns, self._rows(kinds)

    def _execute(self, query: str) -> dict[str, str]:
        """Begin one SELECT; return the types of its columns, by distinct names."""
        text = self._checked(query)
        try:
            self._connection.execute(f"create view {_RESULT} as {text}")
        except self._duckdb.Error:  # an EXPLAIN; or an error, which is to be about the query as it was typed
            self._connection.execute(text)
            return {name: str(kind) for name, kind, *_ in self._connection.description}
        kinds = {name: kind for name, kind, *_ in self._connection.execute(f"describe {_RESULT}").fetchall()}
        for name, kind in kinds.items():
            if _is_nested(kind) and re.search(r"\b(DATE|TIME|TIMESTAMP\w*|INTERVAL)\b", kind):
                what = (
                    f"the column {quoted(name)} of type {excerpt(kind, 80)} has times, which JSON does not hold exactly"
                )
                raise UsageError(what, "cast the dates, times or intervals in it to VARCHAR")
        chosen = (f"#{number}{'::varchar' * _is_time(kind)}" for number, kind in enumerate(kinds.values(), 1))
        self._connection.execute(f"from {_RESULT} select {', '.join(chosen)}")
        return kinds

    def _checked(self, query: str) -> str:
        """Return the statement in a query, alone. Raises UsageError unless it is one SELECT, and errors of DuckDB."""
        try:
            query.encode()
        except UnicodeEncodeError:  # a byte of the command line, for which DuckDB raises TypeError
            raise UsageError("invalid query: expected UTF-8 text") from None
        statements = self._connection.extract_statements(query)
        kinds = self._duckdb.StatementType
        if len(statements) != 1 or statements[0].type not in (kinds.SELECT, kinds.EXPLAIN):
            what = statements[0].type.name if len(statements) == 1 else f"{len(statements)} statements"
            what = what.replace("MULTI", "a PIVOT without values")
            raise UsageError(f"invalid query: {what}, expected one SELECT")
        return str(statements[0].query)

    def _attempt(self, work: Callable[[], T]) -> T:
        """Return the result of a DuckDB call. Raises ChainqError if it fails."""
        try:
            return self._interruptible(work)
        except self._duckdb.Error as error:
            raise self._failed(error) from None

    def _interruptible(self, work: Callable[[], T]) -> T:
        """Return the result of a DuckDB call, run in a thread so that a signal can end the process.

        In the main thread DuckDB itself ends on a signal, with a RuntimeError in place of KeyboardInterrupt.
        """
        return next(in_order(1, iter([work]), 1))

    def _failed(self, error: Exception) -> ChainqError:
        """Return why a query failed: heights that it needs, a file that cannot be read, a table, else the query."""
        for files in self._files:
            if files.failure is not None:
                return files.failure
        named = re.search('Table with name "?(.*?)"? does not exist', str(error))
        if named is None:
            return _invalid(error)
        if (table := _unknown(error)) and self._contents and table in self._contents.known:
            hint = writing([table], self._contents.heights, self._label)
            return IncompleteError(f"the data set has no partition of {view_name(table)}", hint)
        known = FETCHED if self._contents is None else [files.table for files in self._files]
        return UsageError(f"no table {quoted(named[1])}", f"the tables are {', '.join(map(view_name, known))}")

    def lacking(self) -> list[str]:
        """Return in words which heights the query needed that no whole partition has, or that are outside the data set,
        and which columns lack values."""
        read = [files for files in self._files if files.needed is not None]
        texts = [lacks(files.table, files.needed) for files in read if files.needed]
        beyond = (files for files in read if files.asks_beyond)
        texts += [f"{view_name(one.table)}: {one.heights} only; the query asks for others" for one in beyond]
        return texts + [f"{view_name(files.table)}: {text}" for files in read for text in files.unfit.values()]

    def _rows(self, kinds: Mapping[str, str]) -> Iterator[list[Raw]]:
        """Yield the rows of a query; `kinds`: the type of each column in DuckDB, by its name."""
        encode = msgspec.json.Encoder(decimal_format="number", enc_hook=str).encode
        while found := self._attempt(lambda: self._connection.fetchmany(BATCH)):
            columns = list(kinds.items())
            yield [
                Raw(encode({name: _value(value, kind) for (name, kind), value in zip(columns, row, strict=True)}))
                for row in found
            ]


def statements(store: Store, warn: Callable[[str], None], *, partial: bool) -> str:
    """Return the views of a data set as statements for DuckDB itself, each of all files of a table. `warn` is called
    with the heights that one lacks.

    Raises UsageError without a data set, and IncompleteError for heights that are lacking, unless `partial`: DuckDB
    would leave them out and say nothing.
    """
    made, contents = [f"{_UTC};"], look(store)
    for table in TABLES:
        if table not in contents.tables:
            continue
        entries, heights = contents.tables[table], contents.heights
        if lacked := gaps((one.spec for one in entries), heights):
            if not partial:
                raise missing(table, lacked, store.label, "--partial leaves them out")
            warn(lacks(table, lacked))
        files = ", ".join(_literal(store.address(entry.name)) for entry in entries)
        read = f"read_parquet([{files}], hive_partitioning = true, hive_types = {{'{PARTITION_COLUMN}': BIGINT}})"
        made.append(f"-- {heights}\nCREATE VIEW {view_name(table)} AS SELECT {_columns(table)} FROM {read};")  # noqa: S608  # all of it is quoted
    return "\n".join(made) + "\n"


def _literal(path: str) -> str:
    """Return a path as a string of SQL that matches the file alone: DuckDB reads it as a pattern."""
    quoted_path = re.sub(r"([*?\[])", r"[\1]", path).replace("'", "''")
    return f"'{quoted_path}'"


def _columns(table: str) -> str:
    """Return the columns of the view of a table, as SQL."""
    return f"* EXCLUDE ({PARTITION_COLUMN}){_derived(table)}, {PARTITION_COLUMN}"


def _derived(table: str) -> str:
    """Return the columns that chainq reads off others, as SQL that continues a list of columns."""
    method = TABLES[table]
    named = f"regexp_extract({method.program}, '{NAMES_PROGRAM}', 1)"  # empty if the text names none, as in program_id
    names = (column.path for column in method.derived if not column.computed)
    return "".join(f", coalesce(nullif({named}, ''), {method.program}) as {name}" for name in names)


def _unknown(error: Exception) -> str | None:
    """Return the table whose absence is what an error says; None for another error or name."""
    return next((table for table in TABLES if f"table with name {view_name(table)} " in str(error).lower()), None)


def _invalid(error: Exception) -> UsageError:
    """Return an error of DuckDB about a query on one line, without the caret below what is wrong."""
    shown = re.sub(r"(?m)^ *\^+ *$", "", str(error))
    if len(shown) > _LONGEST:
        shown = re.sub(r"\n\s*Candidate (functions|macros):(\n\t.*)*", "", shown)
    if "file system operations are disabled" in shown:
        return UsageError("the query reads a file: expected tables")
    return UsageError(f"the query failed: {excerpt(shown, _LONGEST)}")


def _is_nested(kind: str) -> bool:
    """Return whether values of a type of DuckDB are arrays or objects."""
    return kind.endswith("]") or kind.startswith(_NESTED)


def _is_time(kind: str) -> bool:
    """Return whether DuckDB writes the values of a type as text: dates, times and intervals."""
    return kind.startswith(_TIMES) and not _is_nested(kind)


def _kind(duckdb_type: str) -> tuple[str, str, Kind]:
    """Return type, note and kind of a column, by its type in DuckDB."""
    if _is_nested(duckdb_type):
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


def _value(value: Any, kind: str) -> Any:
    """Return a value of a type of DuckDB as msgspec encodes it without a change; a time as ISO 8601 writes it, one in
    UTC with a Z."""
    if isinstance(value, str):
        found = _TIME.fullmatch(value) if kind.startswith("TIMESTAMP") else None
        return f"{found[1]}T{found[2]}{'Z' if found[3] else ''}" if found else value
    if isinstance(value, dict):
        return {_value(key, ""): _value(one, "") for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_value(one, "") for one in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
