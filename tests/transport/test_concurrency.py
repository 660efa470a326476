"""How many requests are under way at a time: fewer while responses time out, more again when they do not."""

import threading

import pytest

from chainq.errors import GatewayError
from chainq.transport.base import DeadlineError, Request, Response
from chainq.transport.concurrency import ConcurrencyLimit
from harness.calls import Connect, FakeClock, FakeTransport, call, ok
from harness.program import LONGEST


def test_a_timeout_halves_the_limit_down_to_one() -> None:
    """Timeouts of requests that were sent before the limit was lowered count once."""
    limit = ConcurrencyLimit(8)
    limits = []
    for second in (0.0, 10.0, 20.0, 30.0):
        for _ in range(8):
            limit.timed_out(second, second + 5)
        limits.append(limit.limit)
    assert limits == [4, 2, 1, 1]


def test_successes_raise_it_again_by_one_a_round() -> None:
    """And never beyond what the user allows."""
    limit = ConcurrencyLimit(4)
    for second in (0.0, 10.0):
        limit.timed_out(second, second + 5)
    limits = []
    for _ in range(20):
        limit.succeeded()
        limits.append(limit.limit)
    assert limits[0] == 2
    assert limits == sorted(limits)
    assert limits[-1] == 4
    assert 3 <= limits.index(4) <= 10


def test_no_slot_is_given_beyond_the_limit() -> None:
    """Those that are taken when the limit is lowered stay taken; others wait."""
    limit = ConcurrencyLimit(2)
    limit.acquire()
    limit.acquire()
    limit.timed_out(0.0, 5.0)
    taken = threading.Event()

    def take() -> None:
        limit.acquire()
        taken.set()

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    limit.release()
    assert not taken.is_set()  # one is still out, and one is the limit
    limit.release()
    assert taken.wait(LONGEST)


def test_calls_that_time_out_lower_the_limit_of_their_connection(connect: Connect, clock: FakeClock) -> None:
    """And calls that succeed raise it."""

    def late(_: Request) -> Response:
        clock.now += 60
        raise DeadlineError

    connection = connect(FakeTransport(late, late), concurrency=8)
    with pytest.raises(GatewayError):
        call(connection)
    assert connection._slots.limit == 2
    for _ in range(100):
        call(connection)
    assert connection._slots.limit == 8


def test_a_failure_that_is_no_timeout_lowers_nothing(connect: Connect) -> None:
    """A service that refuses or breaks off is not slow."""
    connection = connect(FakeTransport(Response(500, b""), Response(200, b"{"), Response(429, b""), ok), concurrency=8)
    call(connection)
    assert connection._slots.limit == 8
