"""429 and --rate: which calls are held back, and for how long."""

import threading
from email.utils import formatdate

import pytest

from chainq.errors import (
    UnreachableError,
)
from chainq.transport.base import (
    Request,
    Response,
)
from harness.calls import Connect, FakeClock, FakeTransport, call, page


def test_429_does_not_use_up_retries(connect: Connect, clock: FakeClock) -> None:
    """Without Retry-After the waits are about 1, 2, 4 … seconds, and none counts as a retry."""
    assert call(connect(FakeTransport(*[page(429)] * 5), retries=0)) == []
    assert clock.waits == [pytest.approx(wait) for wait in (1, 2, 4, 8, 16)]


def test_429_ends_after_two_minutes_of_waiting(connect: Connect, clock: FakeClock) -> None:
    """When the waits would add up to more than two minutes, the service counts as unreachable."""
    with pytest.raises(UnreachableError, match="429"):
        call(connect(FakeTransport(*[page(429)] * 100), retries=0))
    assert 60 < sum(clock.waits) <= 120


def test_retry_after_in_seconds_and_as_a_date(connect: Connect, clock: FakeClock) -> None:
    """Retry-After is honoured in both forms, with 429 and with 503."""
    for response, retries, wait in (
        (page(429, "7"), 0, 7),
        (page(429, formatdate(clock.now + 7 + 9, usegmt=True)), 0, 9),
        (page(503, "11"), 1, 11),
    ):
        assert call(connect(FakeTransport(response), retries=retries)) == []
        assert clock.waits[-1] == pytest.approx(wait)


@pytest.mark.parametrize("value", ["soon", "", "-5", "1.5", "\u0663", "\u00b2", "Mon, 01 Jan 0001 00:00:00 +2359"])
def test_a_retry_after_that_says_nothing_is_as_none(value: str, connect: Connect, clock: FakeClock) -> None:
    """Nonsense in Retry-After neither fails nor waits long."""
    assert call(connect(FakeTransport(page(429, value)), retries=0)) == []
    assert sum(clock.waits) <= 1


def test_a_far_retry_after_is_not_waited_for_without_end(connect: Connect, clock: FakeClock) -> None:
    """A date in another millennium is no reason to sleep until then."""
    with pytest.raises(UnreachableError):
        call(connect(FakeTransport(page(503, "Fri, 01 Jan 9999 00:00:00 GMT")), retries=1))
    assert clock.waits == []


def test_429_holds_back_all_calls_of_that_method_and_no_other(connect: Connect, clock: FakeClock) -> None:
    """While one call waits after a 429, another of the same method waits too, and one of another method does not."""
    connection = connect(FakeTransport(page(429, "20")))
    log: list[str] = []
    wait = clock.wait

    def side_by_side(stop: threading.Event, seconds: float) -> bool:
        clock.wait = wait  # type: ignore[method-assign]  # what happens at the first wait only
        call(connection, "other")
        log.append(f"other after {len(clock.waits)} waits")
        call(connection, "m")
        log.append(f"m after {len(clock.waits)} waits")
        return wait(stop, seconds)

    clock.wait = side_by_side  # type: ignore[method-assign]  # as above
    call(connection, "m")
    assert log == ["other after 0 waits", "m after 1 waits"]
    assert clock.waits[0] == pytest.approx(20)


def test_a_429_is_known_before_another_call_gets_the_slot(connect: Connect, clock: FakeClock) -> None:
    """Whoever waited for the slot of a refused call waits on."""
    first_sent, second_waits = threading.Event(), threading.Event()

    def refuse(_: Request) -> Response:
        first_sent.set()
        assert second_waits.wait(10)
        return page(429, "20")

    transport = FakeTransport(refuse)
    connection = connect(transport, concurrency=1)
    slots = connection._slots

    class Watched:
        def acquire(self) -> None:
            if first_sent.is_set():
                second_waits.set()
            slots.acquire()

        def release(self) -> None:
            slots.release()

    connection._slots = Watched()  # type: ignore[assignment]
    threads = [threading.Thread(target=call, args=(connection,)) for _ in range(2)]
    threads[0].start()
    assert first_sent.wait(10)
    threads[1].start()
    for thread in threads:
        thread.join(10)
    assert len(transport.requests) == 3
    assert clock.waits[0] == pytest.approx(20)


def test_rate_spaces_requests(connect: Connect, clock: FakeClock) -> None:
    """--rate 4 lets a request go every quarter of a second, whatever their methods."""
    connection = connect(FakeTransport(), rate=4)
    for method in ("a", "b", "a"):
        call(connection, method)
    assert clock.waits == [pytest.approx(0.25)] * 2
