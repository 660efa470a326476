"""chainq for Python: the eleven methods, with the same completeness as the commands, as iterators of decoded rows.

    from chainq import Client

    with Client("http://127.0.0.1:8545/") as client:
        for row in client.records(0, 500):
            print(row["height"], row["transaction_id"])

Heights are whole numbers, a range holds its start and not its end, and an end of None means up to and with the newest
block. Rows come in height order, each exactly once, while calls go on side by side; they are dictionaries with every
field that the service sent: integers (of up to 4,300 digits) as int, numbers with a fraction or exponent as Decimal,
so that no digit is lost. Every method may raise the errors of `chainq.errors`, IncompleteError where completeness
cannot be proved.
"""

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Self

import msgspec
from msgspec import Raw

from chainq.catalog import identifiers
from chainq.catalog.methods import BY_COMMAND, Role
from chainq.errors import ResponseError
from chainq.fetching.service import Service
from chainq.heights.bounds import Bounds
from chainq.planning.query import Batch, Query
from chainq.text.sanitize import excerpt
from chainq.transport.base import TIMEOUT

Row = dict[str, Any]
_DECODER = msgspec.json.Decoder(float_hook=Decimal)


def _decode(row: Raw) -> Row:
    """Raises ResponseError for a number that Python refuses: over 4,300 digits, or an exponent beyond Decimal's."""
    try:
        try:
            decoded: Row = _DECODER.decode(row)
        except msgspec.DecodeError:  # lone surrogates
            decoded = json.loads(bytes(row), parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise ResponseError(f"a row cannot be decoded: {excerpt(str(error) or type(error).__name__)}") from None
    return decoded


class Client:
    """A service at a URL (`demo:` is the sample chain). A context; not to be shared between threads.

    `dialect`: how the server speaks. `timeout`: seconds a call. `retries`: of a call that fails in passing. `rate`:
    requests a second, None for no bound. `headers`: sent with every call. `concurrency`: calls at a time.
    Raises UsageError for a URL that is none.
    """

    def __init__(
        self,
        url: str,
        *,
        dialect: str = "chain",
        timeout: float = TIMEOUT,
        retries: int = 5,
        rate: float | None = None,
        headers: Mapping[str, str] | None = None,
        concurrency: int = 8,
    ) -> None:
        self._service = Service(
            identifiers.url(url),
            dialect=dialect,
            timeout=timeout,
            retries=retries,
            rate=rate,
            headers=headers,
            concurrency=concurrency,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End calls under way and give the sockets back."""
        self._service.close()

    def tip_height(self) -> int:
        """The newest block's height, -1 for a chain without blocks; asked for once and then kept, for whole answers."""
        return self._service.tip_height()

    def blocks(
        self, start: int = 0, end: int | None = None, *, reverse: bool = False, verify: bool = True
    ) -> Iterator[Row]:
        """Block summaries. `verify`: every height must be there once, and each block name the one before."""
        return self._range("blocks", start, end, reverse=reverse, verify=verify)

    def block(self, height: int) -> Row:
        """One block's summary. Raises NotFoundError."""
        return next(_rows(self._service.fetch_lookups(BY_COMMAND["block"], [height])))

    def latest(self) -> Row:
        """The newest block's summary, asked for anew each time. Raises NotFoundError for a chain without blocks."""
        return next(_rows(self._service.fetch_latest()))

    def full_blocks(
        self, start: int = 0, end: int | None = None, *, reverse: bool = False, verify: bool = True
    ) -> Iterator[Row]:
        """Full blocks; `verify` as for `blocks`."""
        return self._range("full-blocks", start, end, reverse=reverse, verify=verify)

    def transactions(self, height: int) -> list[Row]:
        """The transaction summaries of one block, by index. Raises NotFoundError where there is no such block."""
        return list(_rows(self._service.fetch_lookups(BY_COMMAND["transactions"], [height])))

    def transaction(self, transaction_id: str) -> Row:
        """One transaction, whole. Raises UsageError for an ID whose checksum is wrong, NotFoundError."""
        name = identifiers.transaction_id(transaction_id)
        return next(_rows(self._service.fetch_lookups(BY_COMMAND["transaction"], [name])))

    def program_transactions(self, program: str, function: str) -> Iterator[Row]:
        """The transactions that call a function; one comes as often as transitions of it match."""
        arguments: dict[Role, int | str] = {
            Role.PROGRAM: identifiers.program(program),
            Role.FUNCTION: identifiers.function(function),
        }
        return _rows(self._service.fetch_pages(Query(BY_COMMAND["program-transactions"], arguments)))

    def records(self, start: int = 0, end: int | None = None, *, reverse: bool = False) -> Iterator[Row]:
        """Records, by height and row id."""
        return self._range("records", start, end, reverse=reverse)

    def ownership(self, start: int = 0, end: int | None = None, *, reverse: bool = False) -> Iterator[Row]:
        """Ownership rows; they carry no height."""
        return self._range("ownership", start, end, reverse=reverse)

    def transitions(self, start: int = 0, end: int | None = None, *, reverse: bool = False) -> Iterator[Row]:
        """Transitions without record inputs, by height and ID."""
        return self._range("transitions", start, end, reverse=reverse)

    def address_transactions(
        self, address: str, start: int = 0, end: int | None = None, *, reverse: bool = False
    ) -> Iterator[Row]:
        """References to an address' public transactions; repeated ones are kept."""
        arguments: dict[Role, int | str] = {Role.ADDRESS: identifiers.address(address)}
        return self._range("address-transactions", start, end, arguments, reverse=reverse)

    def _range(
        self,
        command: str,
        start: int,
        end: int | None,
        arguments: dict[Role, int | str] | None = None,
        *,
        reverse: bool = False,
        verify: bool = True,
    ) -> Iterator[Row]:
        bounds = Bounds(start=start, end=end)
        query = Query(BY_COMMAND[command], arguments or {}, bounds=bounds, reverse=reverse, verify=verify)
        return _rows(self._service.fetch_range(query, self._service.height_range(bounds, reverse=reverse)))


def _rows(batches: Iterator[Batch]) -> Iterator[Row]:
    for batch in batches:
        yield from map(_decode, batch.rows)
