"""chainq for Python: `AsyncClient` gives what `Client` does, to an event loop that goes on meanwhile."""

import asyncio
import inspect
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from chainq import AsyncClient, ChainqError, Client, NotFoundError, UsageError
from chainq.catalog.methods import METHODS
from chainq.client.arguments import ClientOptions
from chainq.client.rows import ProvedRows
from chainq.demo.faults import Faults
from harness.program import LONGEST
from harness.services import Moving, held, serving, witnessed
from harness.sockets import server


def public(kind: type) -> set[str]:
    """The names of the methods that users call."""
    return {name for name in vars(kind) if not name.startswith("_")}


def test_the_same_methods() -> None:
    """What `Client` has, `AsyncClient` has under the same name and with the same text."""
    assert public(AsyncClient) - {"run"} == public(Client)
    for method in METHODS:
        name = method.command.replace("-", "_")
        text = getattr(AsyncClient, name).__doc__
        assert text
        assert text == getattr(Client, name).__doc__.partition(">>>")[0].rstrip()  # whose examples are of Client


def test_what_help_shows() -> None:
    """Methods return asynchronous rows, and the constructor takes the keywords of `Client`."""
    assert inspect.signature(AsyncClient.blocks).return_annotation == "AsyncRows[BlocksRow]"
    assert inspect.signature(AsyncClient.owned).return_annotation.startswith("AsyncRows[")
    assert inspect.iscoroutinefunction(AsyncClient.block)
    either = inspect.signature(AsyncClient.transactions)
    assert either.parameters == inspect.signature(Client.transactions).parameters
    assert either.return_annotation.endswith(" | AsyncRows[TransactionsRow]")
    own = dict(inspect.signature(Client).parameters)
    del own["url"]
    assert own.keys() == ClientOptions.__annotations__.keys()
    assert {name: one.annotation for name, one in own.items()} == ClientOptions.__annotations__
    with pytest.raises(TypeError, match=r"^AsyncClient\(\) got an unexpected keyword argument 'typd'"):
        AsyncClient("demo:", typd=True)  # type: ignore[call-arg]


def test_batches_are_read_asynchronously() -> None:
    """What its help shows: the parameters of `Client.batches`, and an asynchronous iterator."""
    own, other = inspect.signature(AsyncClient.batches), inspect.signature(Client.batches)
    assert own.parameters == other.parameters
    assert own.return_annotation == AsyncIterator[ProvedRows]
    assert "async for" in (AsyncClient.batches.__doc__ or "")


def test_the_same_rows() -> None:
    """Rows, one row, a list of rows, a value, batches: as `Client` gives them."""

    async def asked() -> list[Any]:
        async with AsyncClient("demo:") as client:
            return [
                [row async for row in client.records(0, 500, reverse=True)],
                await client.block(5),
                await client.transactions(672),
                [row async for row in client.transactions(672, 674)],
                await client.tip_height(),
                await client.call("block", {"block": 5}),
                [batch async for batch in client.batches("blocks", 0, 3000)],
            ]

    with Client("demo:") as client:
        due = [
            list(client.records(0, 500, reverse=True)),
            client.block(5),
            client.transactions(672),
            list(client.transactions(672, 674)),
            client.tip_height(),
            client.call("block", {"block": 5}),
            list(client.batches("blocks", 0, 3000)),
        ]
    assert asyncio.run(asked()) == due


def test_with_names_async_with() -> None:
    """The plain form has no effect but an error that has the other one."""
    client: Any = AsyncClient("demo:")
    with pytest.raises(TypeError, match="use async with"), client:
        pass
    asyncio.run(client.close())


def test_rows_are_read_once() -> None:
    """Rows that were read to their end are refused when they are read anew."""

    async def read_twice() -> None:
        async with AsyncClient("demo:") as client:
            rows = client.blocks(0, 5)
            async for _ in rows:
                break
            assert len([row async for row in rows]) == 4
            with pytest.raises(UsageError, match="have been read"):
                [row async for row in rows]

    asyncio.run(read_twice())


def test_rows_before_an_error_are_given() -> None:
    """An error comes after every row that was complete, and is the one that `Client` raises."""

    async def asked(url: str) -> tuple[list[int], str]:
        heights: list[int] = []
        async with AsyncClient(url, concurrency=1) as client:
            try:
                async for row in client.blocks(0, 3000):
                    heights += [int(row["height"])]
            except ChainqError as error:
                return heights, type(error).__name__
        return heights, ""

    with witnessed(4000, Faults(missing_height=2500)) as (url, _):
        heights, error = asyncio.run(asked(url))
    assert error == "IncompleteError"
    assert heights == list(range(len(heights)))
    assert heights


def test_the_loop_goes_on_while_a_request_is_under_way() -> None:
    """Another task is served between request and response; closing ends the call with an error that says so."""

    async def asked(url: str, sent: threading.Event) -> str:
        client = AsyncClient(url)
        waiting = asyncio.create_task(client.block(5))
        await asyncio.to_thread(sent.wait, 20)
        await client.close()
        with pytest.raises(UsageError, match="the client is closed"):
            await waiting
        with pytest.raises(UsageError, match="the client is closed"):
            await client.block(6)
        return "closed"

    sent = threading.Event()

    def hang(peer: socket.socket, _: bytes) -> None:
        sent.set()
        peer.recv(1)  # until the client closes

    with server(hang) as (url, _):
        assert asyncio.run(asked(url, sent)) == "closed"


def test_errors_are_raised_where_they_are_awaited() -> None:
    """A block that is not there, an argument that is wrong, a URL that is wrong."""

    async def asked() -> None:
        async with AsyncClient("demo:") as client:
            with pytest.raises(NotFoundError):
                await client.block(9_000_000)
            with pytest.raises(UsageError):
                await anext(client.records(5, 2))

    asyncio.run(asked())
    with pytest.raises(UsageError):
        AsyncClient("nonsense")


def test_what_is_left_as_a_data_frame() -> None:
    """`to_pandas` takes the rows that `async for` left, also those of a response that it has read in part."""
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")

    async def asked() -> list[int]:
        async with AsyncClient("demo:") as client:
            rows = client.blocks(0, 10)
            async for _ in rows:
                break
            frame = await rows.to_pandas()
            with pytest.raises(UsageError, match="have been read"):
                await rows.to_arrow()
            return [*frame.height]

    assert asyncio.run(asked()) == list(range(1, 10))


def test_rows_come_in_chunks() -> None:
    """Each part is in memory, and read with `for`; what was read before is in none."""

    async def asked() -> list[list[str]]:
        async with AsyncClient("demo:") as client:
            rows = client.blocks(0, 25)
            await anext(rows)
            return [[row["height"] for row in part] async for part in rows.chunks(10)]

    parts = asyncio.run(asked())
    assert [len(part) for part in parts] == [10, 10, 4]
    assert [height for part in parts for height in part] == [str(height) for height in range(1, 25)]


def test_tasks_share_rows() -> None:
    """Each row is given to one of the tasks that read them; after an error none of them ends as if all was read."""

    async def asked(url: str, command: str, *heights: int) -> tuple[list[Any], list[Any]]:
        read: list[Any] = []
        async with AsyncClient(url) as client:
            rows = getattr(client, command)(*heights)

            async def work() -> None:
                async for row in rows:
                    read.append(row)
                    await asyncio.sleep(0)

            ends = await asyncio.gather(*(work() for _ in range(4)), return_exceptions=True)
        return read, ends

    read, ends = asyncio.run(asked("demo:", "records", 12000, 12200))
    with Client("demo:") as client:
        assert sorted(row["id"] for row in read) == sorted(row["id"] for row in client.records(12000, 12200))
    assert ends == [None] * 4
    with witnessed(300, Faults(missing_height=250)) as (url, _):
        _, ends = asyncio.run(asked(url, "blocks", 0, 300))
    assert all(isinstance(end, ChainqError) for end in ends), ends


def test_rows_that_are_read_without_async_say_how() -> None:
    """With `for`, and with `await`."""

    async def asked() -> None:
        async with AsyncClient("demo:") as client:
            rows: Any = client.blocks(0, 5)
            with pytest.raises(TypeError, match="use async for"):
                list(rows)
            with pytest.raises(TypeError, match="rows are not awaited"):
                await rows

    asyncio.run(asked())


@pytest.mark.parametrize("rest", ["for", "to_arrow"])
def test_a_cancelled_read_loses_no_row(rest: str) -> None:
    """What came after the cancellation is read by whoever goes on."""
    service = Moving(5_000)
    begun, go = held(service, lambda method: method == "getBlocks")

    async def read() -> list[int]:
        with serving(service) as url:
            async with AsyncClient(url, dialect="chain") as client:
                rows = client.blocks(0, 3_000)
                task = asyncio.create_task(anext(rows))
                await asyncio.to_thread(begun.wait)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                go.set()
                if rest == "to_arrow":
                    return list((await rows.to_arrow()).column("height").to_pylist())
                return [int(row["height"]) async for row in rows]

    assert asyncio.run(read()) == list(range(3_000))


def test_a_cancelled_call_ends() -> None:
    """Its next response is its last, the client can be used, and rows that were read in part say what ended them."""
    service = Moving(5_000)
    begun, go = held(service, lambda method: method == "getBlocks")

    async def read() -> int:
        with serving(service) as url:
            async with AsyncClient(url, dialect="chain", concurrency=1) as client:
                rows = client.blocks(0, 5_000)
                task = asyncio.create_task(rows.to_arrow())
                await asyncio.to_thread(begun.wait)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                go.set()
                with pytest.raises(UsageError, match="the call was cancelled"):
                    await rows.to_arrow()
                return int((await client.block(7))["height"])

    pytest.importorskip("pyarrow")
    assert asyncio.run(read()) == 7


def test_a_call_that_nobody_waits_for_does_not_delay_the_end_of_a_program() -> None:
    """The server never responds, and the client is not closed."""
    program = """
import asyncio, sys
from chainq import AsyncClient

async def main():
    try:
        await asyncio.wait_for(AsyncClient(sys.argv[1]).block(5), 0.01)
    except TimeoutError:
        print("ended")

asyncio.run(main())
"""
    over = threading.Event()

    def hang(_: socket.socket, __: bytes) -> None:
        over.wait(LONGEST)

    with server(hang) as (url, _):
        try:
            done = subprocess.run([sys.executable, "-c", program, url], capture_output=True, timeout=60)
        finally:
            over.set()
    assert (done.stdout, done.stderr, done.returncode) == (b"ended\n", b"", 0)
