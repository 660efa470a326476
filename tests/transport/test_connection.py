"""Calls over a transport: what is sent, how many at a time, what is reported, and what stays secret."""

import sys
import threading

import pytest

from chainq.errors import (
    ChainqError,
)
from chainq.transport.base import (
    ExchangeError,
    Report,
    Request,
    Response,
    ServiceOptions,
    Stopped,
)
from chainq.transport.connection import Connection
from harness.calls import URL, Connect, FakeClock, FakeTransport, Outcome, call, envelope, ok, page
from harness.program import LONGEST


def test_ids_are_numbers_and_never_the_same_twice(connect: Connect) -> None:
    """Every request carries an id of its own."""
    transport = FakeTransport()
    connection = connect(transport)
    for _ in range(3):
        assert call(connection) == []
    ids = [request["id"] for request in transport.requests]
    assert len(set(ids)) == 3
    assert all(type(id_) is int for id_ in ids)


def test_a_retry_has_an_id_of_its_own(connect: Connect) -> None:
    """A late response to the first attempt can never pass for one to the second."""
    transport = FakeTransport(page(500))
    call(connect(transport))
    assert transport.requests[0]["id"] != transport.requests[1]["id"]


def test_the_deadline_is_the_timeout_from_when_the_request_is_sent(connect: Connect, clock: FakeClock) -> None:
    """Waiting for the next attempt does not use it up."""
    deadlines: list[float] = []

    def note(request: Request) -> Response:
        deadlines.append(request.deadline - clock.now)
        return page(500) if len(deadlines) == 1 else ok(request)

    call(connect(FakeTransport(note, note), timeout=12))
    assert deadlines == [pytest.approx(12)] * 2


def test_no_more_requests_at_a_time_than_allowed(connect: Connect) -> None:
    """However many threads call, only so many requests are under way; a slot is free before the body is decoded."""
    under_way, most, lock = 0, 0, threading.Lock()
    together = threading.Barrier(2, timeout=LONGEST)

    def answer(request: Request) -> Response:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        together.wait()  # two at a time there are, or this breaks
        with lock:
            under_way -= 1
        return ok(request)

    connection = connect(FakeTransport(*[answer] * 8), concurrency=2)
    decoding = threading.Barrier(8, timeout=LONGEST)

    def decode(_: bytes, __: int) -> None:
        decoding.wait()  # all eight bodies are decoded side by side: none of them holds a slot

    threads = [threading.Thread(target=connection.call, args=("m", None, decode)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONGEST)
    assert not any(thread.is_alive() for thread in threads)
    assert most == 2


def test_every_attempt_is_reported(clock: FakeClock) -> None:
    """With the failure and the wait before the next, or with `ok` and the number of rows."""
    reports: list[Report] = []
    transport = FakeTransport(page(500))
    with Connection(ServiceOptions(URL), reports.append, transport=transport, clock=clock) as connection:
        call(connection, where="heights 5-9")
    first, second = reports
    assert (first.attempt, first.rows) == (1, None)
    assert first.wait == pytest.approx(0.6)
    assert "HTTP 500" in first.outcome
    expected = Report("m", "heights 5-9", len(envelope("[]")), 0.0, 2, "ok", 0, None, call=2)
    assert second == expected._replace(request_id=second.request_id)
    assert len({first.request_id, second.request_id, ""}) == 3


def test_secrets_stay_out_of_messages(clock: FakeClock) -> None:
    """User names, passwords, query values and header values never stand in an error."""
    url = "http://someone:hunter2@127.0.0.1/?key=hunter3"
    outcomes: list[Outcome] = [ExchangeError("lost", "refused"), ExchangeError("late"), page(404), page(500)]
    for outcome in outcomes:
        options, transport = ServiceOptions(url, retries=0, headers={"X": "hunter4"}), FakeTransport(outcome)
        with Connection(options, transport=transport, clock=clock) as connection, pytest.raises(ChainqError) as caught:
            call(connection)
        assert "hunter" not in str(caught.value)
        assert "someone" not in str(caught.value)


def test_closing_ends_a_call_that_waits(connect: Connect) -> None:
    """A call that waits for its next attempt ends at once when the connection is closed."""

    def close_and_refuse(_: Request) -> Response:
        connection.close()
        return page(429, "100")

    connection = connect(FakeTransport(close_and_refuse), retries=5)
    with pytest.raises(Stopped):
        call(connection)


def test_after_closing_nothing_is_sent(connect: Connect) -> None:
    """A call that waited for a slot, or begins only then, ends as one that waited."""
    transport = FakeTransport()
    connection = connect(transport)
    connection.close()
    with pytest.raises(Stopped):
        call(connection)
    assert transport.requests == []


def test_a_call_that_begins_while_the_connection_is_closed_sends_nothing() -> None:
    """Closing may come between the last look at whether a call may go on, and the request."""
    transport = FakeTransport()

    class Closing(FakeClock):
        def monotonic(self) -> float:
            if sys._getframe(1).f_code.co_name == "begin":
                connection.close()
            return super().monotonic()

    connection = Connection(ServiceOptions(URL), transport=transport, clock=Closing())
    with pytest.raises(Stopped):
        call(connection)
    assert transport.requests == []


def test_an_exchange_that_closing_ends_is_no_failure(connect: Connect) -> None:
    """The call ends as one that waited, also where it is not tried again."""

    def close_and_break(_: Request) -> Response:
        connection.close()
        raise ExchangeError("lost", "gone")

    connection = connect(FakeTransport(close_and_break), retries=0)
    with pytest.raises(Stopped):
        call(connection)
