"""429 and --rate: which calls are held back, and for how long."""

import heapq
from email.utils import formatdate

import pytest

from chainq.errors import UnreachableError
from chainq.transport.attempts import RateLimiter
from chainq.transport.base import Response
from harness.servers.calls import Connect, FakeClock, FakeTransport, call, failure, ok, page

AHEAD = FakeClock().now + 7 * 3600
DATES = {"retry-after": formatdate(AHEAD + 2, usegmt=True), "date": formatdate(AHEAD, usegmt=True)}
LIMITED = {
    "429": page(429),
    "by its code": Response(200, failure("429", "limit")),
    "by the code of other services": Response(200, failure("-32005", "limit")),
    "by another code": Response(200, failure("-32029", "limit")),
    "by its message": Response(200, failure("0", "Too many requests, please try again later")),
}


@pytest.mark.parametrize("seen", LIMITED)
def test_refusals_do_not_use_up_retries(seen: str, connect: Connect, clock: FakeClock) -> None:
    """Without Retry-After the waits are 1, 2, 4 … seconds, ten at most, and two minutes (two windows) in all.

    Proxies that send HTTP 200 only say it by a JSON-RPC error.
    """
    assert call(connect(FakeTransport(*[LIMITED[seen]] * 6), retries=1)) == []
    assert clock.waits == [pytest.approx(wait) for wait in (1, 2, 4, 8, 10, 10)]
    clock.waits.clear()
    with pytest.raises(UnreachableError, match=r"(HTTP|error) .*after 16 attempts"):
        call(connect(FakeTransport(*[LIMITED[seen]] * 100), retries=1))
    assert sum(clock.waits) == pytest.approx(120)


NO_WAIT = ["0", "Mon, 01 Jan 2001 00:00:00 GMT", "soon", "", "-5", "1.5", "\u00b2"]


@pytest.mark.parametrize("retry_after", [*NO_WAIT, "Mon, 01 Jan 0001 00:00:00 +2359"])
def test_a_service_that_asks_for_no_wait_is_not_called_at_full_speed(
    retry_after: str, connect: Connect, clock: FakeClock
) -> None:
    """Retry-After of 0, a date that has passed, or nonsense: waits grow as without it, and end as without it."""
    transport = FakeTransport(*[Response(429, b"", {**DATES, "retry-after": retry_after})] * 10_000)
    with pytest.raises(UnreachableError, match="429"):
        call(connect(transport, retries=1))
    assert len(transport.requests) < 20
    assert sum(clock.waits) == pytest.approx(120)


def test_patience_is_the_methods_and_not_the_calls(connect: Connect, clock: FakeClock) -> None:
    """A second call does not begin from the start; a success does."""
    connection = connect(FakeTransport(*[page(429)] * 100), retries=1)
    for _ in range(2):
        with pytest.raises(UnreachableError, match="HTTP 429"):
            call(connection)
    assert sum(clock.waits) <= 121
    connection = connect(FakeTransport(*[page(429)] * 6, ok, *[page(429)] * 6), retries=1)
    clock.waits.clear()
    for _ in range(2):
        call(connection)
    assert clock.waits == [1, 2, 4, 8, 10, 10, 0.5, 1, 2, 4, 8, 10, 10]


def test_refusals_of_calls_under_way_count_once(clock: FakeClock) -> None:
    """Eight calls that are refused at one time are one refusal; a late one does not push the next call back."""
    limiter, began = RateLimiter(None), clock.now
    assert limiter.refused("m") == 1
    assert limiter.wait("other") == 0
    clock.now = began + 0.5
    assert [limiter.refused("m") for _ in range(7)] == [0.5] * 7
    clock.now = began + 1
    assert limiter.wait("m") == 0
    assert limiter.refused("m") == 2


def test_a_refusal_to_another_process_holds_a_method_back(clock: FakeClock) -> None:
    """No call until then; refusals of calls under way do not count; then calls are spaced, and patience is whole."""
    limiter, began = RateLimiter(None), clock.now
    limiter.hold_back("m", 3.0)
    assert limiter.wait("other") == 0
    clock.now = began + 1
    assert limiter.wait("m") == 2
    assert limiter.refused("m") == 2
    limiter.hold_back("m", 1.0)
    assert limiter.wait("m") == 2, "a shorter one takes nothing back"
    clock.now = began + 3
    assert limiter.wait("m") == 0
    limiter.succeeded("m")
    assert limiter.wait("m") == pytest.approx(0.5)
    clock.now = began + 14
    assert [limiter.wait("m") for _ in range(3)] == [0, 0, 0]


@pytest.mark.parametrize("latency", [0.01, 0.05, 0.4])
@pytest.mark.parametrize("offset", [0.0, 3.7, 9.9, 31.0])
@pytest.mark.parametrize("limit", [20, 200])
def test_two_runs_share_a_limit_and_both_end_well(limit: int, offset: float, latency: float, clock: FakeClock) -> None:
    """Neither takes all of each new window, so neither is refused for two minutes; little of a window stays unused."""
    calls = 5 * limit
    ended = simulate(clock, limit, offset, latency, calls)
    assert max(ended) <= 60 * 2 * calls / limit + 2 * 60


def simulate(clock: FakeClock, limit: int, offset: float, latency: float, calls: int) -> list[float]:
    """Two runs of eight threads, the second `offset` seconds later: when each has made its calls.

    The service allows `limit` calls in a window of a minute, which begins with a call and is not moved by refusals.
    """
    left, ended = [calls, calls], [0.0, 0.0]
    limiters = [RateLimiter(None) for _ in left]
    opened, used = float("-inf"), 0
    threads = [(run * offset, number, run, False) for number in range(16) for run in (number % 2,)]
    heapq.heapify(threads)
    while threads:
        now, number, run, sent = heapq.heappop(threads)
        clock.now = now
        if sent:
            if now - latency >= opened + 60:
                opened, used = now - latency, 0
            used += 1
            if used <= limit:
                limiters[run].succeeded("m")
                left[run] -= 1
                ended[run] = now
            elif limiters[run].refused("m") is None:
                pytest.fail(f"run {run} gave up after {now:.0f} s with {left[run]} calls to go")
        elif wait := limiters[run].wait("m"):
            heapq.heappush(threads, (now + wait, number, run, False))
            continue
        else:
            heapq.heappush(threads, (now + latency, number, run, True))
            continue
        if left[run] > 0:
            heapq.heappush(threads, (now, number, run, False))
    return ended


@pytest.mark.parametrize(
    ("response", "wait"),
    [
        (page(429, "7"), 7),
        (page(503, "11"), 11),
        (Response(429, failure("-32602", "slow down"), {"retry-after": "17"}), 17),
        (Response(503, failure("-32602", "slow down"), {"retry-after": "17"}), 17),
        (Response(429, b"later", DATES), 2),
    ],
    ids=["429", "503", "429 with an error", "503 with an error", "date"],
)
def test_retry_after(response: Response, wait: float, connect: Connect, clock: FakeClock) -> None:
    """In seconds, also with a JSON-RPC error, which says no more than the status; or as a date, measured by the clock
    of the server, which may be hours ahead of this machine's."""
    assert call(connect(FakeTransport(response), retries=1)) == []
    assert clock.waits == [pytest.approx(wait)]


def test_a_far_retry_after_is_not_waited_for_without_end(connect: Connect, clock: FakeClock) -> None:
    """A date in another millennium is no reason to sleep until then."""
    for status in (503, 429):
        response = Response(status, b"", {**DATES, "retry-after": "Fri, 01 Jan 9999 00:00:00 GMT"})
        with pytest.raises(UnreachableError, match=r"asks to wait 2.5.*e.11 s"):
            call(connect(FakeTransport(response), retries=1))
    assert clock.waits == []


def test_a_429_is_known_before_another_call_gets_the_slot(
    connect: Connect, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waited for the slot of a refused call waits on."""
    connection = connect(FakeTransport(page(429, "20")), concurrency=1)
    refused = connection.limiter.refused

    def noted(method: str, seconds: float) -> float | None:
        assert not connection._slots.acquire(blocking=False)
        return refused(method, seconds)

    monkeypatch.setattr(connection.limiter, "refused", noted)
    assert call(connection) == []
    assert clock.waits[0] == 20


def test_rate_spaces_requests(connect: Connect, clock: FakeClock) -> None:
    """--rate 4 lets a request go every quarter of a second, whatever their methods."""
    connection = connect(FakeTransport(), rate=4)
    for method in ("a", "b", "a"):
        call(connection, method)
    assert clock.waits == [pytest.approx(0.25)] * 2


def test_calls_are_sent_in_the_order_in_which_they_came(clock: FakeClock) -> None:
    """By --rate, one that comes at the moment when the next may be sent does not overtake those that wait."""
    limiter = RateLimiter(4)
    assert [limiter.turn() for _ in range(3)] == [0, 0.25, 0.5]
    clock.now += 0.25
    assert limiter.turn() == 0.5
    clock.now += 100
    assert limiter.turn() == 0
