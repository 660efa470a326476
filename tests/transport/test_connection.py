"""Calls over a transport: what is sent, how many at a time, what is reported, and what stays secret."""

import threading

import pytest

from chainq.transport.attempts import Attempts
from chainq.transport.base import ExchangeError, Report, Request, Response, Stopped
from harness.running.program import LONGEST
from harness.servers.calls import Connect, FakeClock, FakeTransport, Outcome, call, connected, envelope, ok, page


def test_ids_are_numbers_and_never_the_same_twice(connect: Connect) -> None:
    """Also of retries: a late response to the first attempt can never pass for one to the second."""
    transport = FakeTransport(page(500))
    connection = connect(transport)
    for _ in range(2):
        assert call(connection) == []
    ids = [request["id"] for request in transport.requests]
    assert len(set(ids)) == 3
    assert all(type(id_) is int for id_ in ids)


def test_the_deadline_is_the_timeout_from_when_the_request_is_sent(connect: Connect, clock: FakeClock) -> None:
    """Waiting for the next attempt does not use it up."""
    deadlines: list[float] = []

    def note(request: Request) -> Response:
        deadlines.append(request.deadline - clock.now)
        return page(500) if len(deadlines) == 1 else ok(request)

    call(connect(FakeTransport(note, note), timeout=12))
    assert deadlines == [pytest.approx(12)] * 2


def test_no_more_requests_at_a_time_than_allowed(connect: Connect) -> None:
    """However many threads call, only so many requests are under way."""
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
    threads = [threading.Thread(target=call, args=(connection,)) for _ in range(8)]
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
    with connected(transport, clock, reports.append) as connection:
        call(connection, where="heights 5-9")
    first, second = reports
    assert (first.attempt, first.rows) == (1, None)
    assert first.wait == pytest.approx(0.6)
    assert "HTTP 500" in first.outcome
    assert second == Report("m", "heights 5-9", len(envelope("[]")), 0.0, 2, "ok", 0, None, call=2)


@pytest.mark.parametrize(("outcome", "retries"), [(page(429, "100"), 5), (ExchangeError("ReadError", "gone"), 0)])
def test_closing_ends_calls(outcome: Outcome, retries: int, connect: Connect) -> None:
    """One that waits for its next attempt, or whose exchange it breaks, at once; afterwards nothing is sent."""

    def close(request: Request) -> Response:
        connection.close()
        return FakeTransport(outcome).call(request)

    transport = FakeTransport(close)
    connection = connect(transport, retries=retries)
    for _ in range(2):
        with pytest.raises(Stopped):
            call(connection)
    assert len(transport.requests) == 1


def test_a_call_that_begins_while_the_connection_is_closed_sends_nothing(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closing may come between the last look at whether a call may go on, and the request."""
    transport, begin = FakeTransport(), Attempts.begin

    def closing(attempts: Attempts) -> float:
        connection.close()
        return begin(attempts)

    monkeypatch.setattr(Attempts, "begin", closing)
    connection = connect(transport)
    with pytest.raises(Stopped):
        call(connection)
    assert transport.requests == []
