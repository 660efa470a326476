"""Tables of a service or an export for Spark 4: `spark.read.format("chainq").option("url", ...).load("records")`.

Spark plans a read in a Python process beside its driver, which divides the height range (`partitions`), and reads each
part in a process of a worker (`read`). Each part is proved complete as on the command line, and has an equal share of
the rate, the requests and the memory.

Rejected: `pushFilters`. Spark 4.1 to 4.3 refuse a source that has it unless `spark.sql.python.filterPushdown.enabled`
is set; `start` and `end` do the same. A module `pyspark_chainq`, which Spark would find without `register`: where it
cannot be imported, Spark says that there is no such source, and not why.
"""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from chainq.catalog.dialects import is_shared
from chainq.catalog.identifiers import is_data_set
from chainq.catalog.tables import DERIVED, SOURCE, TABLES
from chainq.client import arguments
from chainq.client.boundary import boundary
from chainq.client.client import Client
from chainq.client.rows import Rows
from chainq.errors import IncompleteError, UsageError, needed
from chainq.fetching.blocks import hash_text
from chainq.heights.bounds import HIGHEST, Bounds
from chainq.heights.range import HeightRange
from chainq.lake.job import Access
from chainq.lake.table import arrow_schema
from chainq.query import Batch, Query
from chainq.rows.fields import Picker
from chainq.rows.tables import table_rows
from chainq.stored.open import absolute
from chainq.text.sanitize import excerpt

with needed("chainq.client.spark needs the pyspark package", "spark"):
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

if TYPE_CHECKING:
    from chainq.client.arguments import RangeOptions

LEAST_HEIGHTS = 1000  # of a part, where the option `partitions` is not given
_TEXTS = ("url", "profile", "dialect", "cert", "lake")
_CLIENT = (*_TEXTS, "timeout", "retries", "rate", "headers", "concurrency", "max_memory", "strict")
_RANGE = ("start", "end", "last", "since", "until")
_OPTIONS = ("table", "partitions", *_RANGE, *_CLIENT)


class SparkSource(DataSource):
    """A table (docs/tables.md) of a height range; register it once: `spark.dataSource.register(SparkSource)`.

    The options are those of `Client` and of its ranges; `headers` is a JSON object. `table`, or what `load` is given:
    the name of the table. `partitions`: tasks, at most; by default one for each of `concurrency`.
    """

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "chainq"

    def schema(self) -> Any:
        """Return the columns that exported files have. Raises UsageError for invalid options."""
        from pyspark.sql.pandas.types import from_arrow_schema

        return from_arrow_schema(arrow_schema(TABLES[_Request(self.options).table]))

    def reader(self, schema: Any) -> "SparkReader":
        """Return what reads the columns of `schema`. Raises UsageError for invalid options."""
        return SparkReader(_Request(self.options), schema)


class _Request:
    """The options of a read as the Python API takes them: `client` of a Client, `range` of a range."""

    def __init__(self, options: Mapping[str, str]) -> None:
        given = {name.lower(): _value(name.lower(), text) for name, text in options.items()}
        table = given.pop("path", given.pop("table", ""))
        self.table = table.replace("_", "-")
        if self.table not in TABLES:
            raise UsageError(f"unknown table {table!r}" if table else "no table", f"the tables are {', '.join(TABLES)}")
        for name in given:
            if name not in _OPTIONS:
                raise UsageError(f"unknown option {name!r}", f"the options are {', '.join(_OPTIONS)}")
        wanted = given.get("partitions")
        self.partitions = None if wanted is None else arguments.integer("partitions", wanted, 1, HIGHEST)
        if not isinstance(given.get("strict", False), bool):
            raise UsageError("invalid strict: expected true or false")
        self.client = {name: given[name] for name in _CLIENT if name in given}
        self.range = {name: given[name] for name in _RANGE if name in given}

    def query(self, url: str) -> Query:
        """Return the query: of full blocks if they fill the table, but an export is asked for the table itself."""
        method = TABLES[self.table] if self.table not in DERIVED or is_data_set(url) else SOURCE
        command = SOURCE.command if self.table in DERIVED else self.table
        options = dict(self.range)
        bounds = options.pop("start", None), options.pop("end", None)
        return arguments.range_query("load", command, *bounds, cast("RangeOptions", options))._replace(method=method)


class Part(InputPartition):
    """The heights of one task. `before`, `last`: of linked blocks, the hash of the one below the part and of its last
    one, where another part ends or begins there; else empty."""

    def __init__(self, access: Access, heights: HeightRange, before: str, last: str) -> None:
        self.access, self.heights, self.before, self.last = access, heights, before, last


class SparkReader(DataSourceReader):
    """Plans and reads one table. Tasks are sent what it is before it plans."""

    def __init__(self, request: _Request, schema: Any) -> None:
        self._request, self._schema = request, schema

    def partitions(self) -> list[Part]:
        """Return the parts of the range, of about the same size. Raises ChainqError."""
        request = self._request
        with boundary(), Client(**request.client) as client:
            service = client._service
            query, options = request.query(service.url), service.options
            heights = service.height_range(query.bounds or Bounds(whole=True), to_tip=True)
            count = request.partitions or min(options.concurrency, -(-len(heights) // LEAST_HEIGHTS))
            size = -(-len(heights) // count) if len(heights) else 1
            parts = heights.split(range(heights.start, heights.end, size))
            edges = [part.end for part in parts[:-1]] if query.method.linked else []
            hashes = {edge: service.blocks.block_hash(edge - 1) or "" for edge in edges}
            shared = is_shared(query.method, service.dialect.names)
            sent = options._replace(
                url=absolute(options.url) if is_data_set(options.url) else options.url,
                lake=options.lake and absolute(options.lake),
                dialect=service.dialect.name if shared else service.dialect.of(query.method).name,
                headers=arguments.headers(request.client.get("headers")),
                names=None,
            )
            access = Access(sent, service.blocks.tip()).shared(len(parts))
        return [Part(access, one, hashes.get(one.start, ""), hashes.get(one.end, "")) for one in parts]

    def read(self, partition: Part) -> Iterator[Any]:
        """Yield the rows of a part as Arrow. Raises ChainqError, which ends the task."""
        from pyspark.sql.pandas.types import to_arrow_schema

        table = TABLES[self._request.table]
        schema = to_arrow_schema(self._schema, timezone="UTC")
        with boundary(), partition.access.open_service() as service:
            query = self._request.query(service.url)
            for batch in _linked(service.fetch_range(query, partition.heights), partition):
                if query.method is not table:
                    batch = Batch([row for block in batch.rows for row in table_rows(block)[table.command]])
                yield from Rows(table, [batch]).to_arrow().select(schema.names).cast(schema).to_batches()


def _value(name: str, text: str) -> Any:
    """Return the value of an option, which Spark passes as text. Text that is not JSON stays, for others to refuse."""
    if name in (*_TEXTS, *_RANGE, "table", "path"):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _linked(batches: Iterator[Batch], part: Part) -> Iterator[Batch]:
    """Yield the batches of a part. Raises IncompleteError if its blocks are not linked to those of the other parts."""
    pick, before, last = Picker(["block_hash", "previous_hash"]), "", ""
    for number, batch in enumerate(batches):
        if batch.rows and (part.before or part.last):
            before = before if number else hash_text(pick(batch.rows[0])[1])
            last = hash_text(pick(batch.rows[-1])[0])
        yield batch
    edges = (part.heights.start, part.before, before), (part.heights.end, part.last, last)
    for height, due, found in edges:
        if due and due != found:
            raise IncompleteError(
                f"block {height - 1} was {excerpt(due, 80)} when the read began, and is {excerpt(found, 80)} now",
                "the chain changed while it was read; read it again",
            )
