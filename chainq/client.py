"""chainq for Python: the eleven methods of the service as iterators of decoded rows, as complete as the commands.

    >>> from chainq import Client
    >>> with Client("demo:") as client:
    ...     heights = [int(row["height"]) for row in client.blocks(12000, 12005)]
    >>> heights
    [12000, 12001, 12002, 12003, 12004]

Heights are ints. A range includes `start` and excludes `end`; an `end` of None means through the tip. Rows arrive in
height order, each exactly once, while later requests are under way. A row is a dict with every field that the service
sent: integers as int (of up to 4,300 digits), numbers with a fraction or an exponent as Decimal, so no digit is lost.

Every error is a `chainq.ChainqError`: UsageError for an invalid argument, IncompleteError where completeness cannot be
proved. Nothing outside of the client changes: no settings of the process, no output, no signal handlers.
"""

import json
import operator
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, NamedTuple, Self

import msgspec
from msgspec import Raw

from chainq.catalog import identifiers
from chainq.catalog.dialects import AUTO
from chainq.catalog.methods import BY_COMMAND, Role
from chainq.config import values
from chainq.errors import IncompleteError, ResponseError, UsageError
from chainq.fetching.service import Service
from chainq.heights.bounds import HIGHEST, Bounds
from chainq.planning.query import Batch, Query
from chainq.planning.steps import Proof
from chainq.text.sanitize import excerpt
from chainq.transport.base import MAX_MEMORY, TIMEOUT, Stopped

Row = dict[str, Any]


class ProvedRows(NamedTuple):
    """Rows of `heights` (start included, end excluded), complete, and how that was proved (docs/completeness.md)."""

    rows: list[Row]
    heights: tuple[int, int]
    proof: Proof


MOST_REQUESTS = 64  # at a time
_DECODER = msgspec.json.Decoder(float_hook=Decimal)


class Client:
    """A service at a URL; `demo:` is the built-in sample chain. A context manager; not to be shared between threads.

    `dialect`: `chain`, `aleo`, or `auto` to detect it where it makes a difference. `timeout`: seconds per request.
    `retries`: for transient failures. `rate`: maximum requests per second, None for no limit. `headers`: of every HTTP
    request. `concurrency`: parallel requests, up to 64. `max_memory`: bytes that responses may take up, all of them
    together. Raises UsageError for an invalid argument.

        >>> client = Client("demo:", concurrency=2)
        >>> client.block(5)["height"]
        '5'
        >>> client.close()
    """

    def __init__(
        self,
        url: str,
        *,
        dialect: str = AUTO,
        timeout: float = TIMEOUT,
        retries: int = 5,
        rate: float | None = None,
        headers: Mapping[str, str] | None = None,
        concurrency: int = 8,
        max_memory: int = MAX_MEMORY,
    ) -> None:
        self._service = Service(
            identifiers.url(_text("URL", url)),
            dialect=_text("dialect", dialect),
            timeout=_number("timeout", timeout),
            retries=_integer("retries", retries, 0, HIGHEST),
            rate=None if rate is None else _number("rate", rate),
            headers=_headers(headers),
            concurrency=_integer("concurrency", concurrency, 1, MOST_REQUESTS),
            max_memory=_integer("max_memory", max_memory, values.LEAST_MEMORY, HIGHEST),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Cancel the requests under way and close the connections. Whatever is called later raises UsageError."""
        self._service.close()

    def tip_height(self) -> int:
        """Return the height of the tip, -1 for a chain without blocks.

        It is requested once and then kept, so that all ranges of a client end at the same block.

            >>> with Client("demo:") as client:
            ...     client.tip_height()
            3000000
        """
        with _open():
            return self._service.tip_height()

    def blocks(
        self, start: int = 0, end: int | None = None, *, reverse: bool = False, verify: bool = True
    ) -> Iterator[Row]:
        """Yield the block summaries of a height range, highest first with `reverse`.

        With `verify` every height must be present once, and every block linked to the one before.

            >>> with Client("demo:") as client:
            ...     [row["height"] for row in client.blocks(7, 10, reverse=True)]
            ['9', '8', '7']
        """
        return _rows(self._fetch("blocks", start, end, reverse=reverse, verify=verify))

    def block(self, height: int) -> Row:
        """Return the summary of one block. Raises NotFoundError.

        >>> with Client("demo:") as client:
        ...     client.block(12345)["height"]
        '12345'
        """
        return self._row("block", _height("height", height))

    def latest(self) -> Row:
        """Return the summary of the tip, requested anew each time. Raises NotFoundError for a chain without blocks.

        >>> with Client("demo:") as client:
        ...     client.latest()["height"]
        '3000000'
        """
        return next(_rows(self._service.fetch_latest()))

    def full_blocks(
        self, start: int = 0, end: int | None = None, *, reverse: bool = False, verify: bool = True
    ) -> Iterator[Row]:
        """Yield the full blocks of a height range; `reverse` and `verify` as in `blocks`.

        >>> with Client("demo:") as client:
        ...     [len(block["transactions"]) for block in client.full_blocks(670, 673)]
        [7, 4, 4]
        """
        return _rows(self._fetch("full-blocks", start, end, reverse=reverse, verify=verify))

    def transactions(self, height: int) -> list[Row]:
        """Return the transaction summaries of one block, by index. Raises NotFoundError.

        >>> with Client("demo:") as client:
        ...     [row["index"] for row in client.transactions(672)]
        [0, 1, 2, 3]
        """
        return list(_rows(self._service.fetch_lookups(BY_COMMAND["transactions"], [_height("height", height)])))

    def transaction(self, transaction_id: str) -> Row:
        """Return one transaction with all its details. Raises NotFoundError, and UsageError for a wrong checksum.

        >>> with Client("demo:") as client:
        ...     summary = client.transactions(672)[0]
        ...     client.transaction(summary["transaction_id"])["transaction"]["type"]
        'execute'
        """
        return self._row("transaction", identifiers.transaction_id(_text("transaction ID", transaction_id)))

    def program_transactions(self, program: str, function: str) -> Iterator[Row]:
        """Yield the transactions that call a function of a program, one for each transition that does.

        >>> with Client("demo:") as client:
        ...     rows = client.program_transactions("hello_hello.aleo", "hello")
        ...     next(rows)["status"]
        'accepted'
        """
        arguments: dict[Role, int | str] = {
            Role.PROGRAM: identifiers.program(_text("program ID", program)),
            Role.FUNCTION: identifiers.function(_text("function name", function)),
        }
        return _rows(self._service.fetch_pages(Query(BY_COMMAND["program-transactions"], arguments)))

    def records(self, start: int = 0, end: int | None = None, *, reverse: bool = False) -> Iterator[Row]:
        """Yield the records of a height range, by height and row id; the highest heights first with `reverse`.

        >>> with Client("demo:") as client:
        ...     sum(1 for record in client.records(0, 500))
        2867
        """
        return _rows(self._fetch("records", start, end, reverse=reverse))

    def batches(
        self, command: str, start: int = 0, end: int | None = None, *, reverse: bool = False
    ) -> Iterator[ProvedRows]:
        """Yield the rows of a range command in batches: the rows, their heights, and how they were proved complete.

        Raises UsageError for a command without a height range, and for `address-transactions`.

        >>> with Client("demo:") as client:
        ...     batch = next(client.batches("records", 0, 500))
        ...     len(batch.rows), batch.heights, batch.proof.kind.value
        (2867, (0, 500), 'overlap')
        """
        if command not in ("blocks", "full-blocks", "records", "ownership", "transitions"):
            raise UsageError(f"no batches of {command!r}: expected a command with a height range, such as 'records'")
        return map(_proved, self._fetch(command, start, end, reverse=reverse))

    def ownership(self, start: int = 0, end: int | None = None, *, reverse: bool = False) -> Iterator[Row]:
        """Yield the ownership rows of a height range; they have no height of their own.

        >>> with Client("demo:") as client:
        ...     sorted(next(client.ownership(0, 500)))
        ['nonce_x', 'nonce_y', 'output_index', 'owner_x', 'transition_id']
        """
        return _rows(self._fetch("ownership", start, end, reverse=reverse))

    def transitions(self, start: int = 0, end: int | None = None, *, reverse: bool = False) -> Iterator[Row]:
        """Yield the transitions without record inputs of a height range, by height and ID.

        >>> with Client("demo:") as client:
        ...     sum(1 for transition in client.transitions(0, 3))
        15
        """
        return _rows(self._fetch("transitions", start, end, reverse=reverse))

    def address_transactions(
        self, address: str, start: int = 0, end: int | None = None, *, reverse: bool = False
    ) -> Iterator[Row]:
        """Yield the IDs of the public transactions of an address in a height range, as often as the service has them.

        >>> address = "aleo1lfv4jy6y9ahjtc257lugevza7xn0460c94zxdyr3n2fqqmdpm7aq7mntrd"
        >>> with Client("demo:") as client:
        ...     sorted(next(client.address_transactions(address, 0, 50_000)))
        ['transaction_id']
        """
        arguments: dict[Role, int | str] = {Role.ADDRESS: identifiers.address(_text("address", address))}
        return _rows(self._fetch("address-transactions", start, end, arguments, reverse=reverse))

    def _fetch(
        self,
        command: str,
        start: int,
        end: int | None,
        arguments: dict[Role, int | str] | None = None,
        *,
        reverse: bool = False,
        verify: bool = True,
    ) -> Iterator[Batch]:
        bounds = Bounds(start=_height("start", start), end=None if end is None else _height("end", end))
        if bounds.end is not None and start > bounds.end:
            raise UsageError(f"start {start} is greater than end {end}")
        query = Query(BY_COMMAND[command], arguments or {}, bounds=bounds, reverse=reverse, verify=verify)
        with _open():
            heights = self._service.height_range(bounds, to_tip=reverse)
        return self._service.fetch_range(query, heights)

    def _row(self, command: str, lookup: int | str) -> Row:
        return next(_rows(self._service.fetch_lookups(BY_COMMAND[command], [lookup])))


@contextmanager
def _open() -> Iterator[None]:
    """Turn the end of a call on a closed client into a UsageError."""
    try:
        yield
    except Stopped:
        raise UsageError("the client is closed") from None


def _proved(batch: Batch) -> ProvedRows:
    if batch.heights is None or batch.proof is None:
        raise IncompleteError("a batch came without a proof", "this is a bug in chainq")
    return ProvedRows(list(map(_decode, batch.rows)), batch.heights.edges, batch.proof)


def _rows(batches: Iterator[Batch]) -> Iterator[Row]:
    with _open():
        for batch in batches:
            yield from map(_decode, batch.rows)


def _decode(row: Raw) -> Row:
    """Raises ResponseError for a number that Python refuses: over 4,300 digits, or an exponent beyond Decimal's."""
    try:
        try:
            decoded: Row = _DECODER.decode(row)
        except msgspec.DecodeError:  # lone surrogates
            decoded = json.loads(bytes(row), parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise ResponseError(f"cannot decode a row: {excerpt(str(error) or type(error).__name__)}") from None
    return decoded


def _height(name: str, value: int) -> int:
    return _integer(name, value, 0, HIGHEST)


def _integer(name: str, value: int, low: int, high: int) -> int:
    """Return `value` as an int, of whatever integer type it is. Raises UsageError."""
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if not low <= number <= high:
        raise UsageError(f"invalid {name} {_shown(value)}: expected an int from {low} to {high}")
    return number


def _number(name: str, value: float) -> float:
    """Check a timeout or a rate. Raises UsageError."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not values.fits(value):
        raise UsageError(f"invalid {name} {_shown(value)}: expected a number from 0.000001 to 1000000")
    return float(value)


def _text(name: str, value: str) -> str:
    if not isinstance(value, str):
        raise UsageError(f"invalid {name} {_shown(value)}: expected a str")
    return value


def _headers(headers: Mapping[str, str] | None) -> dict[str, str]:
    """Check HTTP headers. Raises UsageError, which never repeats a value: it may be a secret."""
    if not isinstance(headers, Mapping | None):
        raise UsageError("invalid headers: expected a mapping of names to values")
    checked: dict[str, str] = {}
    for name, value in (headers or {}).items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise UsageError("invalid headers: expected names and values of type str")
        checked |= [values.checked_header(name, value.strip())]
    return checked


def _shown(value: object) -> str:
    """Return a value for an error message; of an int with more digits than Python prints only the type."""
    try:
        return excerpt(repr(value), 60)
    except ValueError:
        return f"of type {type(value).__name__}"
