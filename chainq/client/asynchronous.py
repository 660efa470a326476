"""`AsyncClient`: the methods of `Client` for asyncio, over a thread that waits in place of the event loop."""

import asyncio
import inspect
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from functools import partial, wraps
from itertools import chain, islice
from queue import Empty
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, Unpack, overload

from chainq.client.arguments import (
    ClientOptions,
    Height,
    Location,
    RangeOptions,
    Texts,
    WhereOptions,
    check_names,
    integer,
    of_one_block,
)
from chainq.client.boundary import CLOSED
from chainq.client.client import Client
from chainq.client.rows import ProvedRows, Rows
from chainq.client.signatures import show_keywords
from chainq.errors import ChainqError, UsageError
from chainq.heights.bounds import HIGHEST
from chainq.process.threads import Pool
from chainq.transport.base import ABANDONED

if TYPE_CHECKING:
    from msgspec import Raw

    from chainq.client.row_types import TransactionsRow

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class AsyncRows(AsyncIterator[R], Generic[R]):
    """The rows of one method, for `async for`. Raises ChainqError as it is read, after every row that was complete; and
    UsageError if it is read anew after its end. `to_arrow`, `to_pandas` and `to_polars` take all that is left, as those
    of `Rows`.

        >>> import asyncio
        >>> async def highest():
        ...     async with AsyncClient("demo:") as client:
        ...         return (await client.blocks(0, 5).to_pandas()).height.max()
        >>> int(asyncio.run(highest()))
        4
    """

    def __init__(self, client: "AsyncClient", rows: Callable[[], Rows[R]]) -> None:
        self._client, self._open = client, rows
        self._rows: Rows[R] | None = None
        self._part: Iterator[Raw] = iter(())
        self._fetched: deque[list[Raw] | None] = deque()  # the part after it, also of a task that was cancelled

    def __repr__(self) -> str:
        try:
            rows = self._rows or self._open()  # which requests nothing
        except (ChainqError, TypeError) as error:  # what reading them raises
            return f"<AsyncRows: {error}>"
        return f"<Async{repr(rows)[1:-1]}; read them with async for>"

    def __aiter__(self) -> Self:
        if self._rows is not None:
            iter(self._rows)
        return self

    async def __anext__(self) -> R:
        raw = await self._next()
        if raw is None:
            raise StopAsyncIteration
        assert self._rows is not None  # noqa: S101  # what a type checker cannot see
        return self._rows.decode(raw)

    async def _next(self) -> "Raw | None":
        """Return the next row, None at the end. Several tasks may wait here, and each row is given to one of them."""
        while (raw := next(self._part, None)) is None:
            if self._fetched:
                part = self._fetched.popleft()
                if part is None:
                    break
                self._part = iter(part)
            else:
                await self._client.run(self._fetch, cancels=False)  # what it requested is there for the next reader
        return raw

    async def chunks(self, rows: int) -> AsyncIterator[Rows[R]]:
        """Yield the rows that are left in parts of `rows`, as `Rows.chunks` does: each part is in memory, for `for`."""
        count = integer("number of rows", rows, 1, HIGHEST)
        self.__aiter__()
        raw: Raw | None = None
        more = True
        while more:
            part: list[Raw] = []
            try:
                while more and len(part) < count:
                    if more := (raw := await self._next()) is not None:
                        part += [raw, *islice(self._part, count - len(part) - 1)]
            except BaseException:  # such as the end of a task: the rows can still be read
                self._part = chain(part, self._part)
                raise
            if part and self._rows is not None:
                yield self._rows._chunk(part)

    if not TYPE_CHECKING:  # which says so itself

        def __iter__(self):
            raise TypeError("use async for: async for row in client.blocks(...)")

        def __await__(self):
            raise TypeError("rows are not awaited: use async for, or await rows.to_pandas()")

    async def to_arrow(self) -> Any:
        """Return the rows that are left as a `pyarrow.Table`, as `Rows.to_arrow` does."""
        return await self._client.run(lambda: self._left().to_arrow())

    async def to_pandas(self) -> Any:
        """Return the rows that are left as a `pandas.DataFrame`, as `Rows.to_pandas` does."""
        return await self._client.run(lambda: self._left().to_pandas())

    async def to_polars(self) -> Any:
        """Return the rows that are left as a `polars.DataFrame`, as `Rows.to_polars` does."""
        return await self._client.run(lambda: self._left().to_polars())

    def _left(self) -> Rows[R]:
        """Return the rows that were not read yet, with those of a part that was read in part."""
        rows = self._rows = self._rows or self._open()
        while self._fetched:
            rows._put_back(self._fetched.popleft() or [])
        rows._put_back(list(self._part))
        return rows

    def _fetch(self) -> None:
        """Have a part in `_fetched`: in the client's thread, so that it is there if nobody waits for it any more."""
        self._rows = self._rows or self._open()
        if not self._fetched:
            self._fetched.append(self._rows._part())


def _rows(method: Callable[Concatenate[Client, P], Rows[R]]) -> Callable[Concatenate["AsyncClient", P], AsyncRows[R]]:
    @wraps(method)
    def called(self: "AsyncClient", /, *args: P.args, **kwargs: P.kwargs) -> AsyncRows[R]:
        return AsyncRows(self, partial(method, self.client, *args, **kwargs))

    signature = inspect.signature(method)
    returned = signature.return_annotation
    own = f"Async{returned if isinstance(returned, str) else 'Rows[Row]'}"
    called.__signature__ = signature.replace(return_annotation=own)  # type: ignore[attr-defined]  # help shows it
    return _described(called)


def _described(called: T) -> T:
    """Take the example out of the text, which is one of `Client`."""
    called.__doc__ = (called.__doc__ or "").partition(">>>")[0].rstrip()
    return called


def _one(
    method: Callable[Concatenate[Client, P], T],
) -> Callable[Concatenate["AsyncClient", P], Coroutine[Any, Any, T]]:
    @wraps(method)
    async def called(self: "AsyncClient", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.run(partial(method, self.client, *args, **kwargs))

    return _described(called)


def _settle(future: "Future[T]", call: Callable[[], T], abandoned: threading.Event) -> None:
    """Make a call, unless nobody waits for it any more, and give its outcome to a future."""
    ABANDONED.set(abandoned)
    if future.set_running_or_notify_cancel():
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)


class AsyncClient:
    """A service at a URL, for asyncio: what `Client` takes and has, as coroutines and asynchronous iterators.

    One thread makes the calls of a client, one after the other; the requests of each are still sent in parallel. For
    several ranges at a time, take as many clients. If a task is cancelled, as by `asyncio.wait_for`, its call ends with
    the next response; one for a row of `async for` is finished, so that no row is lost. The next call waits for that;
    the end of the program does not.

        >>> import asyncio
        >>> async def heights():
        ...     async with AsyncClient("demo:") as client:
        ...         return [row["height"] async for row in client.blocks(7, 10)]
        >>> asyncio.run(heights())
        ['7', '8', '9']
    """

    def __init__(self, url: Location | None = None, **options: Unpack[ClientOptions]) -> None:
        check_names("AsyncClient", options, [*ClientOptions.__annotations__])
        self.client = Client(url, **options)
        self._thread: Pool[None] = Pool(1)
        self._closed, self._closing = False, threading.Lock()

    def __repr__(self) -> str:
        return f"<Async{repr(self.client)[1:]}"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    if not TYPE_CHECKING:  # which says so itself

        def __enter__(self):
            raise TypeError("use async with: async with AsyncClient(...) as client")

        __exit__ = __enter__  # `with` looks for both

    async def close(self) -> None:
        """Cancel the requests under way and close the connections. Whatever is called later raises UsageError."""
        self.client.close()
        if not self._closed:
            self._closed = True
            self._thread.finish()
        await asyncio.to_thread(self._join)

    async def run(self, call: Callable[[], T], *, cancels: bool = True) -> T:
        """Return what a call returns that this client's thread makes. Raises what it raises.

        `cancels`: a task that is cancelled ends the call, with the next response at the latest.
        """
        if self._closed:
            raise UsageError(CLOSED)
        self._forget(0)
        future: Future[T] = Future()
        abandoned = threading.Event()
        self._thread.submit(None, partial(copy_context().run, _settle, future, call, abandoned))
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            if cancels:
                abandoned.set()
            raise

    def _join(self) -> None:
        """Wait for the end of all calls."""
        with self._closing:  # several tasks may close it
            self._forget(None)

    def _forget(self, seconds: float | None) -> None:
        """Forget the calls that end within so many seconds; with None, all of them."""
        with suppress(Empty, RuntimeError):  # there are no more
            while True:
                self._thread.wait(seconds)

    tip_height = _one(Client.tip_height)
    block = _one(Client.block)
    latest = _one(Client.latest)
    transaction = _one(Client.transaction)
    call = _one(Client.call)
    blocks = _rows(Client.blocks)
    full_blocks = _rows(Client.full_blocks)
    program_transactions = _rows(Client.program_transactions)
    records = _rows(Client.records)
    ownership = _rows(Client.ownership)
    owned = _rows(Client.owned)
    balance = _one(Client.balance)
    transitions = _rows(Client.transitions)
    address_transactions = _rows(Client.address_transactions)

    @overload
    def transactions(
        self, height: Height, *, where: Texts | None = None
    ) -> Coroutine[Any, Any, "list[TransactionsRow]"]: ...

    @overload
    def transactions(
        self, start: Height | None, end: Height | None, **options: Unpack[WhereOptions]
    ) -> "AsyncRows[TransactionsRow]": ...

    @overload
    def transactions(
        self, *, start: Height | None = None, end: Height | None = None, **options: Unpack[WhereOptions]
    ) -> "AsyncRows[TransactionsRow]": ...

    @_described
    @wraps(Client.transactions)
    def transactions(self, *heights: Any, **options: Any) -> Any:
        call: Callable[[], Any] = partial(self.client.transactions, *heights, **options)
        return self.run(call) if of_one_block(heights, options) else AsyncRows(self, call)

    async def batches(
        self, command: str, start: Height | None = None, end: Height | None = None, **options: Unpack[RangeOptions]
    ) -> AsyncIterator[ProvedRows]:
        """Yield the rows of a range command in batches, as `Client.batches` does.

        >>> import asyncio
        >>> async def first():
        ...     async with AsyncClient("demo:") as client:
        ...         async for batch in client.batches("records", 0, 500):
        ...             return len(batch.rows), batch.heights, batch.proof.grade.value
        >>> asyncio.run(first())
        (2867, (0, 500), 'order')
        """
        batches = await self.run(partial(self.client.batches, command, start, end, **options))
        while (batch := await self.run(partial(next, batches, None))) is not None:
            yield batch


show_keywords(
    vars(AsyncClient).values(),
    {"reverse": False, **{name: one.default for name, one in inspect.signature(Client).parameters.items()}},
)
AsyncClient.transactions.__signature__ = inspect.signature(Client.transactions).replace(  # type: ignore[attr-defined]
    return_annotation="Coroutine[Any, Any, list[TransactionsRow]] | AsyncRows[TransactionsRow]"
)
