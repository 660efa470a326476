"""`Client`: one service for Python code; `chainq.client` describes what its methods share."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Unpack, overload

import msgspec
from msgspec import Raw

from chainq.catalog import identifiers
from chainq.catalog.methods import BY_COMMAND, Role
from chainq.client import arguments
from chainq.client.arguments import CallOptions, Height, Location, RangeOptions, Texts, WhereOptions
from chainq.client.progress import Shown, while_open
from chainq.client.rows import Balance, ProvedRows, Row, Rows, TokenBalance, decode, decoder, to_datetime
from chainq.config import values
from chainq.config.server import completed
from chainq.defaults import CONCURRENCY, MAX_MEMORY, RETRIES
from chainq.errors import IncompleteError, UsageError
from chainq.fetching.lookups import with_height
from chainq.fetching.reading import Reading
from chainq.fetching.service import Service
from chainq.heights.bounds import HIGHEST, LATEST, parse_height
from chainq.options import ServiceOptions
from chainq.process import Closing
from chainq.process.progress import Progress
from chainq.query import Batch, Query
from chainq.text.sanitize import mask_url

MOST_REQUESTS = 64  # at a time


class Client(Closing):
    """A service at a URL; `demo:` is the built-in sample chain. A context manager; not to be shared between threads.

    Without `url` and `profile`, CHAINQ_URL, CHAINQ_PROFILE or the default profile of `config.toml` name the service, as
    they do for the commands; what else is None comes from the profile too, or is the default of the commands.

    `dialect`: `chain`, `aleo`, or `auto` to detect it. `timeout`: seconds per request. `retries`: for transient
    failures; HTTP 429 is retried for two minutes, or not at all if this is 0. `rate`: maximum requests per second.
    `headers`: HTTP headers of every request; `env:NAME` is the value of a variable. `cert`: a client certificate,
    `FILE` or `FILE:KEY`. `lake`: the folder or URL of an export; rows that it proves are read from there
    (docs/export.md, "In front of a service"). `concurrency`: parallel requests, up to 64. `max_memory`: bytes for
    responses, of which each may have its share. `strict`:
    IncompleteError before rows whose completeness is not proved (docs/completeness.md, "Belief"). `typed`: rows hold
    heights and other numbers as int and times as datetime (UTC) if the service sends strings; a value that is not of
    its column's kind stays as sent. `progress`: draw a bar by rich for ranges that take long, in a notebook too.
    Raises UsageError for an invalid argument.

        >>> client = Client("demo:", typed=True)
        >>> block = client.block(5)
        >>> block["height"], block["timestamp"].isoformat()
        (5, '2023-06-01T00:00:57+00:00')
        >>> client.close()
    """

    def __init__(
        self,
        url: Location | None = None,
        *,
        profile: str | None = None,
        dialect: str | None = None,
        timeout: float | None = None,
        retries: int = RETRIES,
        rate: float | None = None,
        headers: Mapping[str, str] | None = None,
        cert: str | None = None,
        lake: Location | None = None,
        concurrency: int = CONCURRENCY,
        max_memory: int = MAX_MEMORY,
        strict: bool = False,
        typed: bool = False,
        progress: bool = False,
    ) -> None:
        options = ServiceOptions(
            url="" if url is None else os.fspath(url),
            profile=profile,
            dialect=dialect,
            rate=arguments.positive("rate", rate),
            timeout=arguments.positive("timeout", timeout),
            headers=dict(values.header(f"{name}: {value}") for name, value in (headers or {}).items()),
            cert=cert,
            retries=arguments.integer("retries", retries, 0, HIGHEST),
            concurrency=arguments.integer("concurrency", concurrency, 1, MOST_REQUESTS),
            max_memory=arguments.integer("max_memory", max_memory, values.LEAST_MEMORY, HIGHEST),
            strict=strict,
            lake="" if lake is None else os.fspath(lake),
        )
        complete = completed(options)
        if not complete.url:
            raise UsageError("no service URL", "pass url=, set CHAINQ_URL or a profile, or try Client('demo:')")
        self._told = {""}  # which addresses own nothing
        self._typed, self._shown = typed, Shown(drawn=progress)
        self._service = Service(complete, report=self._shown.called)
        if complete.cert:  # is read before the first request
            self._service.connection.opened()

    def __repr__(self) -> str:
        return f"<Client of {mask_url(self._service.url)}>"

    def _rows(self, query: Query) -> Rows:
        return Rows(query.method, self._batches(self._reading(query)), typed=self._typed)

    def _reading(self, query: Query) -> Reading:
        """Return the reading of a query, whose range is resolved. Raises ChainqError."""
        reading = Reading(query, self._service)
        with while_open():
            reading.resolve()
        return reading

    def _batches(self, reading: Reading, *, whole: bool = False) -> Iterator[Batch]:
        with self._shown.bar(len(reading.heights) if reading.query.bounds else None) as bar:
            yield from self._taken(reading, bar, whole=whole)

    def _taken(self, reading: Reading, bar: Progress, *, whole: bool = False) -> Iterator[Batch]:
        """Yield the batches of a reading; log what there is to say at their end."""
        of_heights = reading.query.by_height and reading.query.bounds is not None
        for batch in reading.batches(whole=whole):
            reading.took(batch)
            yield with_height(batch) if of_heights else batch
            bar.wrote(len(batch.heights or ()), batch.shown)
        for note in (*reading.notes(), *reading.doubts(reading.query.method.name)):
            self._shown.warn(note.text, warning=note.warning)

    def _blocks(self, query: Query, *, hashes: bool) -> Rows:
        if hashes:
            from chainq.hashes.sdk import check_installed
            from chainq.process.pool import cores

            check_installed("hashes", "hashes")
            query = query._replace(hash_workers=cores())
        return self._rows(query)

    def _height(self, given: Height) -> int:
        text = arguments.written(given).strip()
        with while_open():
            return self._service.blocks.latest_height(known=False) if text == LATEST else parse_height(text)

    def _warn_unowned(self, addresses: Sequence[str], owners: Collection[int]) -> None:
        """Log which addresses own nothing: once, as programs may read new blocks every minute."""
        from chainq.wallet.records import none_of

        if (text := none_of(addresses, owners)) not in self._told:
            self._told.add(text)
            self._shown.warn(text)

    def close(self) -> None:
        """Cancel the requests under way and close the connections. What needs a request later raises UsageError, as do
        rows after those that have arrived."""
        self._service.close()

    def tip_height(self) -> int:
        """Return the height of the tip, -1 for a chain without blocks.

        It is requested once and then kept, so that all ranges of a client end at the same block.

            >>> with Client("demo:") as client:
            ...     client.tip_height()
            3000000
        """
        with while_open():
            return self._service.blocks.tip_height()

    def blocks(
        self,
        start: Height | None = None,
        end: Height | None = None,
        *,
        verify: bool = True,
        hashes: bool = False,
        **options: Unpack[WhereOptions],
    ) -> Rows:
        """Yield the block summaries of a height range, highest first with `reverse`.

        With `verify` every height must be present once, and every block linked to the one before. With `hashes` block
        hashes are recomputed, in a process for each core: IncompleteError before the first wrong row. That needs
        aleo-sdk (the extra `hashes`, docs/install.md).

            >>> with Client("demo:") as client:
            ...     [row["height"] for row in client.blocks(7, 10, reverse=True)]
            ['9', '8', '7']
        """
        return self._blocks(arguments.range_query("blocks", start, end, options)._replace(verify=verify), hashes=hashes)

    def block(self, height: Height) -> Row:
        """Return the summary of one block, of the tip for "latest", which is requested anew. Raises NotFoundError.

        >>> with Client("demo:") as client:
        ...     client.block(12345)["height"]
        '12345'
        """
        return next(self._rows(Query(BY_COMMAND["block"], lookups=(self._height(height),))))

    def latest(self) -> Row:
        """Return the summary of the tip, requested anew each time. Raises NotFoundError for a chain without blocks.

        >>> with Client("demo:") as client:
        ...     client.latest()["height"]
        '3000000'
        """
        return next(Rows(BY_COMMAND["latest"], self._service.blocks.fetch_latest(), typed=self._typed))

    def full_blocks(
        self,
        start: Height | None = None,
        end: Height | None = None,
        *,
        verify: bool = True,
        hashes: bool = False,
        **options: Unpack[CallOptions],
    ) -> Rows:
        """Yield the full blocks of a height range; `reverse`, `verify` and `hashes` as in `blocks`.

        >>> with Client("demo:") as client:
        ...     [len(block["transactions"]) for block in client.full_blocks(670, 673)]
        [7, 4, 4]
        """
        query = arguments.range_query("full_blocks", start, end, options)._replace(verify=verify)
        return self._blocks(query, hashes=hashes)

    @overload
    def transactions(self, height: Height, *, where: Texts | None = None) -> list[Row]: ...

    @overload
    def transactions(
        self, start: Height | None = None, end: Height | None = None, **options: Unpack[WhereOptions]
    ) -> Rows: ...

    def transactions(self, *heights: Any, **options: Any) -> list[Row] | Rows:
        """Return the transaction summaries of one block as a list, by index, or yield those of a height range.

        One height alone is one block: `transactions(672)`, or "latest"; NotFoundError if it does not exist. Of a range
        each row has the `height` of its block, which servers do not send; it takes a request for each block, so
        `full_blocks` is faster, and `where` is the only filter.

        >>> with Client("demo:") as client:
        ...     [row["index"] for row in client.transactions(672)]
        ...     [(row["height"], row["index"]) for row in client.transactions(672, 674, where="index < 2")]
        [0, 1, 2, 3]
        [(672, 0), (672, 1), (673, 0), (673, 1)]
        """
        if len(heights) == 2 or not ("height" in options or heights) or {"start", "end"} & options.keys():
            return self._range_of_transactions(*heights, **options)
        arguments.check_names("transactions", options, ("height", "where"))
        return self._transactions_of(*heights, **options)

    def _transactions_of(self, height: Height, where: Texts | None = None) -> list[Row]:
        method = BY_COMMAND["transactions"]
        condition = arguments.condition(method, {} if where is None else {"where": where})
        return list(self._rows(Query(method, lookups=(self._height(height),), where=condition)))

    def _range_of_transactions(
        self, start: Height | None = None, end: Height | None = None, **options: Unpack[WhereOptions]
    ) -> Rows:
        return self._rows(arguments.range_query("transactions", start, end, options))

    def transaction(self, transaction_id: str) -> Row:
        """Return one transaction with all its details. Raises NotFoundError, and UsageError for a wrong checksum.

        >>> with Client("demo:") as client:
        ...     summary = client.transactions(672)[0]
        ...     client.transaction(summary["transaction_id"])["transaction"]["type"]
        'execute'
        """
        lookups = (identifiers.transaction_id(transaction_id),)
        return next(self._rows(Query(BY_COMMAND["transaction"], lookups=lookups)))

    def program_transactions(
        self, program: str, function: str, *, limit: int | None = None, newest: bool = False
    ) -> Rows:
        """Yield the transactions that call a function of a program, one for each transition that does.

        `newest`: the last `limit` of them, the newest first. `limit` works as for a range.

        >>> with Client("demo:") as client:
        ...     rows = client.program_transactions("hello_hello.aleo", "hello")
        ...     next(rows)["status"]
        'accepted'
        """
        method = BY_COMMAND["program-transactions"]
        sent = {Role.PROGRAM: identifiers.program(program), Role.FUNCTION: identifiers.function(function)}
        if newest and limit is None:
            raise UsageError("newest needs limit", "a list is read from its end only as far as limit rows")
        return self._rows(Query(method, sent, newest=newest, limit=arguments.most(limit)))

    def records(self, start: Height | None = None, end: Height | None = None, **options: Unpack[CallOptions]) -> Rows:
        """Yield the records of a height range, by height and row id; the highest heights first with `reverse`.

        >>> with Client("demo:") as client:
        ...     sum(1 for record in client.records(0, 500))
        2867
        """
        return self._rows(arguments.range_query("records", start, end, options))

    def batches(
        self, command: str, start: Height | None = None, end: Height | None = None, **options: Unpack[RangeOptions]
    ) -> Iterator[ProvedRows]:
        """Yield the rows of a range command in batches: the rows, their heights, and how they were proved complete.

        A batch is never cut by `limit`. Raises UsageError for a command without a height range, and for
        `address-transactions`.

        >>> with Client("demo:") as client:
        ...     batch = next(client.batches("records", 0, 500))
        ...     len(batch.rows), batch.heights, batch.proof.grade.value
        (2867, (0, 500), 'order')
        """
        from chainq.catalog.tables import COMMANDS

        command = command.replace("_", "-")  # the name of the method will do
        if command not in COMMANDS:
            raise UsageError(f"no batches of {command!r}: expected a command with a height range, such as 'records'")
        decode_row = decoder(BY_COMMAND[command], typed=self._typed)
        query = arguments.range_query("batches", start, end, options, command=command)
        return (
            ProvedRows(list(map(decode_row, batch.rows)), batch.heights.edges, batch.proof)
            for batch in self._batches(self._reading(query), whole=True)
            if batch.heights is not None and batch.proof is not None  # as each of a range has
        )

    def ownership(
        self, start: Height | None = None, end: Height | None = None, **options: Unpack[WhereOptions]
    ) -> Rows:
        """Yield the ownership rows of a height range; they have no height of their own.

        >>> with Client("demo:") as client:
        ...     sorted(next(client.ownership(0, 500)))
        ['nonce_x', 'nonce_y', 'output_index', 'owner_x', 'transition_id']
        """
        return self._rows(arguments.range_query("ownership", start, end, options))

    def owned(
        self,
        view_key: str | Sequence[str],
        start: Height | None = None,
        end: Height | None = None,
        *,
        records: bool = False,
        decrypt: bool = False,
        spent: bool = False,
        unspent: bool = False,
        as_of: Height | None = None,
        workers: int | None = None,
        **options: Unpack[RangeOptions],
    ) -> Rows:
        """Yield the ownership rows of a height range that a view key owns, or one of several; `owner` is its address.

        The rows have no `height`: `records` adds the members of the record row, which has one, and `decrypt` its
        `plaintext`, `plaintext_json`, `record_name`, `sender`, `amount` and `token_id` too. `amount` is an int, in the
        smallest unit, or None. `spent` and `unspent` yield only records that are, as of the block `as_of`, by default
        the tip, with `spent_height` and `spent_transaction`. Both read every full block from the first owned record to
        there before the first row, which can take hours.
        `workers`: processes that compare rows; by default one for each core. Needs aleo-sdk (the extra
        `wallet`, docs/install.md); the keys stay in these processes. Raises UsageError for an invalid key, and
        IncompleteError after the last row if rows are malformed or records are not genuine.

        >>> key = "AViewKey1ccEt8A2Ryva5rxnKcAbn7wgTaTsb79tzkKHFpeKsm9NX"  # published, for tests
        >>> with Client("demo:") as client:
        ...     [(row["height"], row["amount"]) for row in client.owned(key, 100, 130, decrypt=True)]
        [(116, 2000000)]
        """
        from chainq.catalog.owned import owned_schema
        from chainq.wallet.owned import Wallet, Wanted
        from chainq.wallet.shown import Style

        view_keys, count = arguments.keys_and_workers(view_key, workers)
        query = arguments.range_query("owned", start, end, options, command="ownership")
        block = arguments.parsed(parse_height, as_of)
        wanted = Wanted(records or decrypt, decrypt, spent, unspent, block, Style.PYTHON)
        self._service.need(*wanted.commands)
        reading = self._reading(query)

        def batches() -> Iterator[Batch]:
            with (
                self._shown.bar(len(reading.heights)) as bar,
                Wallet(view_keys, wanted, count, self._shown.warn, bar) as wallet,
            ):
                reading.query = query._replace(pick=wallet.owned)
                yield from self._taken(reading, bar)
                self._warn_unowned([key.address for key in view_keys], wallet.owners)
                wallet.check()

        schema = owned_schema(records=wanted.records, plaintext=decrypt, spends=wanted.spends)
        return Rows(schema, batches(), typed=self._typed)

    def balance(
        self, view_key: str | Sequence[str], start: Height = 0, end: Height | None = None, *, workers: int | None = None
    ) -> Balance:
        """Return what view keys own and have not spent, by program and token, as of the tip or the block before `end`.

        `start`: a height before the first record. Reads all full blocks from the first record to there. Other arguments
        and errors as in `owned`. Public balances are out of reach of the service.

            >>> key = "AViewKey1ccEt8A2Ryva5rxnKcAbn7wgTaTsb79tzkKHFpeKsm9NX"  # published, for tests
            >>> with Client("demo:") as client:
            ...     balance = client.balance(key, 100, 150)
            >>> balance.height, [(one.program_id, one.records, one.unspent) for one in balance.totals]
            (149, [('credits.aleo', 1, 0)])
        """
        from chainq.wallet.balance import Bookkeeper, check_heights
        from chainq.wallet.book import Book

        view_keys, count = arguments.keys_and_workers(view_key, workers)
        view_keys.sort(key=lambda key: key.address)
        first, last = arguments.parsed(parse_height, start) or 0, arguments.parsed(parse_height, end)
        check_heights(first, last)
        book, blocks, warn = Book(first), self._service.blocks, self._shown.warn
        with (
            while_open(),
            self._shown.bar(None) as bar,
            Bookkeeper(view_keys, self._service, count, warn=warn, progress=bar) as keeper,
        ):
            keeper.bring_up(book, blocks.tip(refresh=True), blocks.hash_of, last)
            keeper.check()
        mark = book.as_of
        if mark is None:
            raise IncompleteError(f"no block from height {first} on", "the balance is as of a block")
        totals = [
            TokenBalance(view_keys[one.owner].address, one.program, one.token or None, *one[3:])
            for one in book.totals()
        ]
        self._warn_unowned([key.address for key in view_keys], {one.owner for one in book.totals()})
        return Balance(mark.height, mark.hash, to_datetime(mark.time) if self._typed else mark.time, totals)

    def transitions(
        self, start: Height | None = None, end: Height | None = None, **options: Unpack[CallOptions]
    ) -> Rows:
        """Yield the transitions without record inputs of a height range, by height and ID.

        >>> with Client("demo:") as client:
        ...     sum(1 for transition in client.transitions(0, 3))
        15
        """
        return self._rows(arguments.range_query("transitions", start, end, options))

    def address_transactions(
        self, address: str, start: Height | None = None, end: Height | None = None, **options: Unpack[RangeOptions]
    ) -> Rows:
        """Yield the IDs of the public transactions of an address in a height range, as often as the service has them.

        >>> address = "aleo1lfv4jy6y9ahjtc257lugevza7xn0460c94zxdyr3n2fqqmdpm7aq7mntrd"
        >>> with Client("demo:") as client:
        ...     sorted(next(client.address_transactions(address, 0, 50_000)))
        ['transaction_id']
        """
        sent = {Role.ADDRESS: identifiers.address(address)}
        return self._rows(arguments.range_query("address_transactions", start, end, options, sent))

    def call(self, method: str, params: Mapping[str, Any] | Sequence[Any] | None = None) -> Any:
        """Return the decoded `result` of any method of the service, under the server's own names; nothing is verified.

        >>> with Client("demo:") as client:
        ...     client.call("block", {"block": 12345})[0]["height"]
        '12345'
        """
        with while_open():
            sent = None if params is None else Raw(msgspec.json.encode(params))
            return decode(self._service.call(method, sent))
