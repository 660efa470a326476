"""Memory: what responses take up is bounded for a run, and given back with the last row."""

import gc
import json
import threading

import pytest

from chainq.config.values import memory
from chainq.errors import TooHeavyError, UsageError
from chainq.transport.base import Request, Response
from chainq.transport.connection import Connection, Decode
from chainq.transport.jsonrpc import decode_array, decode_result
from chainq.transport.memory import COUNTED_BYTES, ROW_BYTES, MemoryBudget, Reservation
from harness.calls import Connect, FakeClock, FakeTransport, Outcome, call, envelope


def taken(connection: Connection) -> int:
    """The bytes that a connection's responses take up."""
    gc.collect()
    return connection._memory.used


def of_size(size: int) -> Outcome:
    """A response of one row, and so many bytes in it."""

    def answer(request: Request) -> Response:
        body = envelope(f'[{{"x":"{"x" * size}"}}]', id_=str(json.loads(request.body)["id"]))
        request.memory.grow(len(body))
        return Response(200, body)

    return answer


def test_a_body_takes_memory_until_its_last_row_is_gone(connect: Connect) -> None:
    """However the rows are kept: each of them refers to the whole body."""
    connection = connect(FakeTransport(of_size(10_000)))
    rows = call(connection)
    assert 10_000 < taken(connection) < 10_300
    kept = rows[0]
    del rows
    assert taken(connection) > 10_000
    assert len(bytes(kept)) > 10_000
    del kept
    assert taken(connection) == 0


@pytest.mark.parametrize("decode", [decode_array, decode_result])
def test_a_result_takes_memory_however_it_was_decoded(decode: Decode[object], connect: Connect) -> None:
    """Also where the fast way does not apply, since a member stands in another place or is unknown."""
    body = b'{"more":1,"error":null,"result":[{"a":1},{"a":2}],"jsonrpc":"2.0","id":1}'
    for sent in (body, body.replace(b":", b" : ")):

        def answer(request: Request, sent: bytes = sent) -> Response:
            request.memory.grow(len(sent))
            return Response(200, sent)

        connection = connect(FakeTransport(answer))
        found = connection.call("m", None, decode)
        assert taken(connection) >= len(body)
        del found
        assert taken(connection) == 0


def test_calls_share_the_memory(connect: Connect) -> None:
    """What one has taken, another cannot have; where all is given back, it can."""
    connection = connect(FakeTransport(of_size(600_000), of_size(600_000), of_size(600_000)), max_memory=2**20)
    rows = call(connection)
    with pytest.raises(TooHeavyError, match=r"1 MiB of max_memory, of which 586 KiB are in use; raise"):
        call(connection)
    assert taken(connection) < 700_000
    del rows
    connection._transport.script = [of_size(600_000)]  # type: ignore[union-attr]
    assert len(call(connection)) == 1


@pytest.mark.parametrize("outcome", [Response(200, b"{"), Response(500, b""), Response(200, b"[]"), Response(404, b"")])
def test_a_response_that_is_none_gives_all_back(outcome: Response, connect: Connect) -> None:
    """Whatever was wrong with it, and also while its error is kept."""

    def answer(request: Request) -> Response:
        request.memory.grow(1000)
        return outcome

    connection = connect(FakeTransport(answer), retries=0)
    with pytest.raises(Exception) as caught:
        call(connection)
    assert caught.value is not None
    assert taken(connection) == 0
    del caught
    assert taken(connection) == 0


def test_very_short_rows_are_counted_before_they_are_made() -> None:
    """A row of two bytes takes up forty times as much: a body of many of them is refused as a whole."""
    reservation = Reservation(MemoryBudget(2**30))
    reservation.view(b"[" + b"{}," * 1000 + b"{}]")
    with pytest.raises(TooHeavyError):
        reservation.view(b"[" + b"{}," * COUNTED_BYTES + b"{}]")


def test_what_does_not_fit_is_not_asked_for_again(
    connect: Connect, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other than a query that is too heavy for the service, it cannot fit later."""
    monkeypatch.setattr("chainq.transport.memory.COUNTED_BYTES", 1000)
    body = envelope(f"[{','.join(['{}'] * 20_000)}]")
    connection = connect(FakeTransport(Response(200, body)), max_memory=2**20)
    with pytest.raises(TooHeavyError, match="max_memory"):
        call(connection, divisible=False)
    assert clock.waits == []


def test_rows_take_memory_beside_their_text(connect: Connect) -> None:
    """Many rows are not free."""
    body = envelope(f"[{','.join(['{}'] * 1000)}]")
    connection = connect(FakeTransport(Response(200, body)))
    rows = call(connection)
    assert taken(connection) == ROW_BYTES * len(rows)


def test_memory_may_be_given_back_by_any_thread_at_any_time() -> None:
    """Also while another has the lock: what is counted in the end is right."""
    budget = MemoryBudget(10**9)

    def work() -> None:
        for _ in range(2000):
            reservation = Reservation(budget)
            reservation.grow(1000)
            reservation.view(b"[]")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert budget.used == 0


@pytest.mark.parametrize(
    ("text", "size"),
    [("1M", 2**20), ("512m", 2**29), ("2G", 2**31), ("2GiB", 2**31), ("2 GB", 0), ("1T", 2**40), (str(2**20), 2**20)],
)
def test_sizes(text: str, size: int) -> None:
    """Units are powers of 1,024."""
    if size:
        assert memory(text) == size
    else:
        with pytest.raises(UsageError):
            memory(text)


@pytest.mark.parametrize("text", ["", "0", "1K", "1.5G", "-1G", "G", "lots", "\u0661G", "1" * 5000])
def test_what_is_no_size(text: str) -> None:
    """Zero, too little, or no size at all."""
    with pytest.raises(UsageError, match="max_memory"):
        memory(text)


def test_where_the_system_has_no_memory_less_is_asked_for(connect: Connect) -> None:
    """As where the run has none: the caller may divide."""

    def answer(_: Request) -> Response:
        raise MemoryError

    with pytest.raises(TooHeavyError, match="not enough memory"):
        call(connect(FakeTransport(answer)))
