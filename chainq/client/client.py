"""`Client`: one service for Python code; `chainq.client` describes what its methods share."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack, overload

from chainq.catalog import identifiers
from chainq.catalog.methods import BY_COMMAND, Role
from chainq.client import arguments
from chainq.client.arguments import CallOptions, Height, RangeOptions, Texts, WhereOptions
from chainq.client.notes import complete, uncalled
from chainq.client.opened import Opened, range_of
from chainq.client.rows import ProvedRows, Row, Rows, decode, decoder, proved, to_datetime, while_open
from chainq.errors import UsageError
from chainq.heights.bounds import HIGHEST
from chainq.query import Batch, Query, limited

if TYPE_CHECKING:
    from chainq.client.balances import Balance
    from chainq.client.row_types import (
        AddressTransactionsRow,
        BlockRow,
        BlocksRow,
        FullBlocksRow,
        LatestRow,
        OwnershipRow,
        ProgramTransactionsRow,
        RecordsRow,
        TransactionRow,
        TransactionsRow,
        TransitionsRow,
    )


class Client(Opened):
    """A service at a URL; `demo:` is the built-in sample chain. A context manager; not to be shared between threads.

    Without `url` and `profile`, CHAINQ_URL, CHAINQ_PROFILE or the default profile of `config.toml` name the service, as
    they do for the commands; what else is None comes from the profile too, or is the default of the commands.

    `dialect`: `chain`, `aleo`, or `auto` to detect it. `timeout`: seconds per request. `retries`: for transient
    failures; HTTP 429 is retried for two minutes, or not at all if this is 0. `rate`: maximum requests per second.
    `headers`: HTTP headers of every request. `cert`: a client certificate, `FILE` or `FILE:KEY`. `lake`: the folder or
    URL of an export; rows that it proves are read from there (docs/export.md, "In front of a service"). `concurrency`:
    parallel requests, up to 64. `max_memory`: bytes for responses, of which each may have its share. `strict`:
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
    ) -> "Rows[BlocksRow]":
        """Yield the block summaries of a height range, highest first with `reverse`.

        With `verify` every height must be present once, and every block linked to the one before. With `hashes` block
        hashes are recomputed, in a process for each core: IncompleteError before the first wrong row. That needs
        aleo-sdk (the extra `hashes`, docs/install.md).

            >>> with Client("demo:") as client:
            ...     [row["height"] for row in client.blocks(7, 10, reverse=True)]
            ['9', '8', '7']
        """
        return self._range("blocks", start, end, options, verify=verify, hashes=hashes)

    def block(self, height: Height) -> "BlockRow":
        """Return the summary of one block, of the tip for "latest", which is requested anew. Raises NotFoundError.

        >>> with Client("demo:") as client:
        ...     client.block(12345)["height"]
        '12345'
        """
        rows: Rows[BlockRow] = self._lookup("block", self._height(height))
        return next(rows)

    def latest(self) -> "LatestRow":
        """Return the summary of the tip, requested anew each time. Raises NotFoundError for a chain without blocks.

        >>> with Client("demo:") as client:
        ...     client.latest()["height"]
        '3000000'
        """
        rows: Rows[LatestRow] = Rows(BY_COMMAND["latest"], self._service.blocks.fetch_latest(), typed=self._typed)
        return next(rows)

    def full_blocks(
        self,
        start: Height | None = None,
        end: Height | None = None,
        *,
        verify: bool = True,
        hashes: bool = False,
        **options: Unpack[CallOptions],
    ) -> "Rows[FullBlocksRow]":
        """Yield the full blocks of a height range; `reverse`, `verify` and `hashes` as in `blocks`.

        >>> with Client("demo:") as client:
        ...     [len(block["transactions"]) for block in client.full_blocks(670, 673)]
        [7, 4, 4]
        """
        return self._range("full-blocks", start, end, options, verify=verify, hashes=hashes)

    @overload
    def transactions(self, height: Height, *, where: Texts | None = None) -> "list[TransactionsRow]": ...

    @overload
    def transactions(
        self, start: Height | None, end: Height | None, **options: Unpack[WhereOptions]
    ) -> "Rows[TransactionsRow]": ...

    @overload
    def transactions(
        self, *, start: Height | None = None, end: Height | None = None, **options: Unpack[WhereOptions]
    ) -> "Rows[TransactionsRow]": ...

    def transactions(self, *heights: Any, **options: Any) -> "list[TransactionsRow] | Rows[TransactionsRow]":
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
        if arguments.of_one_block(heights, options):
            return self._transactions_of(*heights, **options)
        return self._range_of_transactions(*heights, **options)

    def transaction(self, transaction_id: str) -> "TransactionRow":
        """Return one transaction with all its details. Raises NotFoundError, and UsageError for a wrong checksum.

        >>> with Client("demo:") as client:
        ...     summary = client.transactions(672)[0]
        ...     client.transaction(summary["transaction_id"])["transaction"]["type"]
        'execute'
        """
        checked = identifiers.transaction_id(arguments.text("transaction_id", transaction_id))
        rows: Rows[TransactionRow] = self._lookup("transaction", checked)
        return next(rows)

    def program_transactions(
        self, program: str, function: str, *, limit: int | None = None, newest: bool = False
    ) -> "Rows[ProgramTransactionsRow]":
        """Yield the transactions that call a function of a program, one for each transition that does.

        `newest`: the last `limit` of them, the newest first. `limit` works as for a range.

        >>> with Client("demo:") as client:
        ...     rows = client.program_transactions("hello_hello.aleo", "hello")
        ...     next(rows)["status"]
        'accepted'
        """
        method = BY_COMMAND["program-transactions"]
        sent: dict[Role, int | str] = {
            Role.PROGRAM: identifiers.program(arguments.text("program ID", program)),
            Role.FUNCTION: identifiers.function(arguments.text("function name", function)),
        }
        most = None if limit is None else arguments.integer("limit", limit, 0, HIGHEST)
        if arguments.flag("newest", newest) and limit is None:
            raise UsageError("newest needs limit", "a list is read from its end only as far as limit rows")
        found = uncalled(self._service.fetch_pages(Query(method, sent, newest=newest, limit=most)), program, function)
        cut = ("" if most is None else f" limit={most}") + " newest=True" * newest
        return Rows(method, complete(found, method, most), typed=self._typed, of=self._of(f"{program} {function}{cut}"))

    def records(
        self, start: Height | None = None, end: Height | None = None, **options: Unpack[CallOptions]
    ) -> "Rows[RecordsRow]":
        """Yield the records of a height range, by height and row id; the highest heights first with `reverse`.

        >>> with Client("demo:") as client:
        ...     sum(1 for record in client.records(0, 500))
        2867
        """
        return self._range("records", start, end, options)

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
        query = arguments.range_query("batches", command, start, end, options)
        return (proved(batch, decode_row) for batch in self._batches(query))

    def ownership(
        self, start: Height | None = None, end: Height | None = None, **options: Unpack[WhereOptions]
    ) -> "Rows[OwnershipRow]":
        """Yield the ownership rows of a height range; they have no height of their own.

        >>> with Client("demo:") as client:
        ...     sorted(next(client.ownership(0, 500)))
        ['nonce_x', 'nonce_y', 'output_index', 'owner_x', 'transition_id']
        """
        return self._range("ownership", start, end, options)

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
    ) -> Rows[Row]:
        """Yield the ownership rows of a height range that a view key owns, or one of several; `owner` is its address.

        The rows have no `height`: `records` adds the members of the record row, which has one, and `decrypt` its
        `plaintext`, `plaintext_json`, `record_name`, `sender`, `amount` and `token_id` too. `amount` is an int, in the
        smallest unit, or None. `spent` and `unspent` yield only records that are, as of the block `as_of`, by default
        the tip, with `spent_height` and `spent_transaction`; a range without an end ends there, too. Both read every
        full block from the first owned record to there before the first row, which can take hours.
        `workers`: processes that compare rows; by default one for each core. Needs aleo-sdk (the extra
        `wallet`, docs/install.md); the keys stay in these processes. Raises UsageError for an invalid key, and
        IncompleteError after the last row if rows are malformed or records are not genuine.

        >>> key = "AViewKey1ccEt8A2Ryva5rxnKcAbn7wgTaTsb79tzkKHFpeKsm9NX"  # published, for tests
        >>> with Client("demo:") as client:
        ...     [(row["height"], row["amount"]) for row in client.owned(key, 100, 130, decrypt=True)]
        [(116, 2000000)]
        """
        from chainq.catalog.owned import owned_method
        from chainq.wallet.owned import Wallet, Wanted, block_of
        from chainq.wallet.shown import Style

        found, count = arguments.view_keys(view_key), arguments.processes(workers)
        query = arguments.range_query("owned", "ownership", start, end, options)
        height = None if as_of is None else arguments.counted_height("as_of", as_of)
        given = {"records": records, "decrypt": decrypt, "spent": spent, "unspent": unspent}
        records, decrypt, spent, unspent = (arguments.flag(name, value) for name, value in given.items())
        block = block_of(height, spends=spent or unspent)
        wanted = Wanted(records or decrypt, decrypt, spent, unspent, block, Style.PYTHON)
        query = query._replace(bounds=query.bounds and wanted.bounded(query.bounds))
        with while_open():
            self._service.need(*wanted.commands)
        # The limit is one of owned rows, and not of those that are compared.
        compared, heights = self._found(query._replace(limit=None))
        with while_open():
            wanted.check(heights, self._service)

        def batches() -> Iterator[Batch]:
            with Wallet(found, wanted, count, self._progress.now) as wallet:
                owned = wallet.owned(complete(compared, query.method), self._service, self._progress.warn)
                yield from limited(owned, query.limit)
                if unowned := wallet.none_owned:
                    self._warn_unowned(unowned, wallet.unowned)
                wallet.check()

        method = owned_method(records=wanted.records, plaintext=decrypt, spends=wanted.spends)
        rows = self._progress.follow(batches(), len(heights))
        return Rows(method, rows, typed=self._typed, of=self._of(range_of(query)))

    def balance(
        self, view_key: str | Sequence[str], start: Height = 0, end: Height | None = None, *, workers: int | None = None
    ) -> "Balance":
        """Return what view keys own and have not spent, by program and token, as of the tip or the block before `end`.

        `start`: a height before the first record. Reads all full blocks from the first record to there. Other arguments
        and errors as in `owned`. Public balances are out of reach of the service.

            >>> key = "AViewKey1ccEt8A2Ryva5rxnKcAbn7wgTaTsb79tzkKHFpeKsm9NX"  # published, for tests
            >>> with Client("demo:") as client:
            ...     balance = client.balance(key, 100, 150)
            >>> balance.height, [(one.program_id, one.records, one.unspent) for one in balance.totals]
            (149, [('credits.aleo', 1, 0)])
        """
        from chainq.client.balances import find_balance
        from chainq.wallet.balance import check_heights
        from chainq.wallet.records import MISTYPED

        found, count = arguments.view_keys(view_key), arguments.processes(workers)
        first, last = arguments.height("start", start), None if end is None else arguments.height("end", end)
        check_heights(first, last)
        with while_open():
            balance = find_balance(self._service, found, first, last, count, self._progress)
        for address in sorted({key.address for key in found} - {total.owner for total in balance.totals}):
            hint = "" if balance.totals else f"; {MISTYPED}"
            self._warn_unowned(f"no records of {address}{hint}", [address])
        return balance._replace(timestamp=to_datetime(balance.timestamp)) if self._typed else balance

    def transitions(
        self, start: Height | None = None, end: Height | None = None, **options: Unpack[CallOptions]
    ) -> "Rows[TransitionsRow]":
        """Yield the transitions without record inputs of a height range, by height and ID.

        >>> with Client("demo:") as client:
        ...     sum(1 for transition in client.transitions(0, 3))
        15
        """
        return self._range("transitions", start, end, options)

    def address_transactions(
        self, address: str, start: Height | None = None, end: Height | None = None, **options: Unpack[RangeOptions]
    ) -> "Rows[AddressTransactionsRow]":
        """Yield the IDs of the public transactions of an address in a height range, as often as the service has them.

        >>> address = "aleo1lfv4jy6y9ahjtc257lugevza7xn0460c94zxdyr3n2fqqmdpm7aq7mntrd"
        >>> with Client("demo:") as client:
        ...     sorted(next(client.address_transactions(address, 0, 50_000)))
        ['transaction_id']
        """
        sent: dict[Role, int | str] = {Role.ADDRESS: identifiers.address(arguments.text("address", address))}
        return self._range("address-transactions", start, end, options, sent)

    def call(self, method: str, params: Mapping[str, Any] | Sequence[Any] | None = None) -> Any:
        """Return the decoded `result` of any method of the service, under the server's own names; nothing is verified.

        >>> with Client("demo:") as client:
        ...     client.call("block", {"block": 12345})[0]["height"]
        '12345'
        """
        with while_open():
            return decode(self._service.call(arguments.text("method", method), arguments.encoded(params)))
