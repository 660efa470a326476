"""429 and --rate: which calls are held back, and for how long."""

from collections.abc import Callable
from email.utils import formatdate

import httpx
import pytest
from pytest_httpx import HTTPXMock

from chainq.errors import (
    UnreachableError,
)
from chainq.transport import http
from chainq.transport.jsonrpc import decode_rows
from harness.calls import Clock, Connect, ok, refuse


def test_429_does_not_use_up_retries(httpx_mock: HTTPXMock, connect: Connect, clock: Clock) -> None:
    """Without Retry-After the waits are about 1, 2, 4 … seconds, and none counts as a retry."""
    refuse(httpx_mock, 429, 5)
    httpx_mock.add_callback(ok)
    assert connect(retries=0).call("m", None, decode_rows) == []
    assert clock.slept == [pytest.approx(wait) for wait in (1, 2, 4, 8, 16)]


def test_429_ends_after_two_minutes_of_waiting(httpx_mock: HTTPXMock, connect: Connect, clock: Clock) -> None:
    """When the waits would add up to more than two minutes, the service counts as unreachable."""
    httpx_mock.add_response(status_code=429, text="Too many requests", is_reusable=True)
    with pytest.raises(UnreachableError, match="429"):
        connect(retries=0).call("m", None, decode_rows)
    assert 60 < sum(clock.slept) <= 120


def test_retry_after_in_seconds_and_as_a_date(httpx_mock: HTTPXMock, connect: Connect, clock: Clock) -> None:
    """Retry-After is honoured in both forms, with 429 and with 503; a date that is past means at once."""
    for value, wait in (("7", 7.0), (formatdate(clock.now + 7 + 9, usegmt=True), 9.0)):
        refuse(httpx_mock, 429, retry_after=value)
        httpx_mock.add_callback(ok)
        assert connect(retries=0).call("m", None, decode_rows) == []
        assert clock.slept[-1] == pytest.approx(wait)
    refuse(httpx_mock, 503, retry_after="11")
    httpx_mock.add_callback(ok)
    assert connect(retries=1).call("m", None, decode_rows) == []
    assert clock.slept[-1] == pytest.approx(11)
    refuse(httpx_mock, 429, retry_after=formatdate(0, usegmt=True))
    httpx_mock.add_callback(ok)
    assert connect(retries=0).call("m", None, decode_rows) == []
    assert clock.slept[3:] in ([], [0.0])


@pytest.mark.parametrize("value", ["soon", "", "-5", "1.5", "\u0663", "\u00b2", "Mon, 01 Jan 0001 00:00:00 +2359"])
def test_a_retry_after_that_says_nothing_is_as_none(
    value: str, httpx_mock: HTTPXMock, connect: Connect, clock: Clock
) -> None:
    """Nonsense in Retry-After neither fails nor waits long."""
    httpx_mock.add_response(status_code=429, headers=[(b"Retry-After", value.encode())])
    httpx_mock.add_callback(ok)
    assert connect(retries=0).call("m", None, decode_rows) == []
    assert sum(clock.slept) <= 1


def test_a_far_retry_after_is_not_waited_for_without_end(httpx_mock: HTTPXMock, connect: Connect, clock: Clock) -> None:
    """A date in another millennium is no reason to sleep until then: an hour at most, as with seconds."""
    refuse(httpx_mock, 503, retry_after="Fri, 01 Jan 9999 00:00:00 GMT")
    httpx_mock.add_callback(ok, is_optional=True)
    try:
        assert connect(retries=1).call("m", None, decode_rows) == []
    except UnreachableError:
        assert clock.slept == []
    assert sum(clock.slept) <= 3600


def test_429_holds_back_all_calls_of_that_method_and_no_other(
    httpx_mock: HTTPXMock, connect: Connect, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one call waits after a 429, another of the same method waits too, and one of another method does not."""
    refuse(httpx_mock, 429, retry_after="20")
    httpx_mock.add_callback(ok, is_reusable=True)
    connection = connect()
    log: list[str] = []

    def sleep(_: http.Connection, seconds: float) -> None:
        clock.slept.append(seconds)
        if len(clock.slept) == 1:
            connection.call("other", None, decode_rows)
            log.append(f"other after {len(clock.slept)} waits")
            connection.call("m", None, decode_rows)
            log.append(f"m after {len(clock.slept)} waits")
        clock.now += seconds

    monkeypatch.setattr(http.Connection, "_sleep", sleep)
    connection.call("m", None, decode_rows)
    assert log == ["other after 1 waits", "m after 2 waits"]
    assert clock.slept[1] == pytest.approx(20)


def test_rate_spaces_requests(httpx_mock: HTTPXMock, connect: Connect, clock: Clock) -> None:
    """--rate 4 lets a request go every quarter of a second, whatever their methods."""
    httpx_mock.add_callback(ok, is_reusable=True)
    connection = connect(rate=4)
    for method in ("a", "b", "a"):
        connection.call(method, None, decode_rows)
    assert clock.slept == [pytest.approx(0.25)] * 2


class Slots:
    """Stands in for the semaphore: does something at the first acquire or release."""

    def __init__(self, **hooks: Callable[[], object]) -> None:
        self._hooks = hooks

    def acquire(self) -> None:
        self._hooks.pop("acquire", list)()

    def release(self) -> None:
        self._hooks.pop("release", list)()


def test_a_429_is_known_before_another_call_gets_the_slot(
    httpx_mock: HTTPXMock, connect: Connect, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waited for the slot of a refused call waits on."""
    refuse(httpx_mock, 429, retry_after="20")
    httpx_mock.add_callback(ok, is_reusable=True)
    connection = connect(concurrency=1)
    dues: list[float] = []
    monkeypatch.setattr(connection, "_slots", Slots(release=lambda: dues.append(connection._due("m"))))
    connection.call("m", None, decode_rows)
    assert clock.slept == dues
    assert dues == [pytest.approx(20)]


def test_rate_counts_from_when_a_request_is_sent(
    httpx_mock: HTTPXMock, connect: Connect, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls that have waited for a slot do not go all at once when there is one."""
    sent: list[float] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(clock.now)
        return ok(request)

    httpx_mock.add_callback(answer, is_reusable=True)
    connection = connect(rate=4)
    overtaking = Slots(acquire=lambda: connection.call("m", None, decode_rows))
    monkeypatch.setattr(connection, "_slots", overtaking)
    connection.call("m", None, decode_rows)
    assert len(sent) == 2
    assert sent[1] - sent[0] == pytest.approx(0.25)
