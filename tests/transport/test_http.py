"""Calls: when one is made again, how long it waits, what its errors say. No test waits: the clock is its own."""

import json
import threading
from collections.abc import Callable, Iterator
from email.utils import formatdate
from typing import Any

import httpcore
import httpx
import pytest
import pytest_httpx
from pytest_httpx import HTTPXMock

from chainq.errors import (
    AnswerError,
    BrokenBodyError,
    ChainqError,
    GatewayError,
    ServiceError,
    TooHeavyError,
    UnreachableError,
)
from chainq.transport import base, http
from chainq.transport.jsonrpc import decode_rows

URL = "http://127.0.0.1:8545/"


def envelope(result: str, id_: str = "7", version: str = '"2.0"') -> bytes:
    return f'{{"jsonrpc":{version},"id":{id_},"result":{result}}}'.encode()


def failure(code: str, message: str = "no") -> bytes:
    return f'{{"jsonrpc":"2.0","id":7,"error":{{"code":{code},"message":{json.dumps(message)}}}}}'.encode()


# --- when a call is made again


class Clock:
    """Stands in for `time`, and for waiting: sleeping moves it on."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now

    def sleep(self, _: http.Connection, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock of the test's own; jitter draws its upper bound."""
    clock = Clock()
    monkeypatch.setattr(http, "time", clock)
    monkeypatch.setattr("chainq.transport.failures.time", clock)
    monkeypatch.setattr(http.Connection, "_sleep", lambda self, seconds: clock.sleep(self, seconds))
    monkeypatch.setattr("chainq.transport.retry.random.uniform", lambda _, high: high)
    return clock


@pytest.fixture
def connect() -> Iterator[Callable[..., http.Connection]]:
    """Opens connections that are closed at the end."""
    opened: list[http.Connection] = []

    def connect(**options: Any) -> http.Connection:
        opened.append(http.Connection(base.Endpoint(URL, **options)))
        return opened[-1]

    yield connect
    for connection in opened:
        connection.close()


Connect = Callable[..., http.Connection]


def ok(request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, content=envelope("[]", id_=str(json.loads(request.content)["id"])))


def refuse(mock: HTTPXMock, status: int, times: int = 1, retry_after: str | None = None) -> None:
    """Answer so many requests with an HTML page, and those after them well."""
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    for _ in range(times):
        mock.add_response(status_code=status, html="<h1>Too many</h1>", headers=headers)


def test_ids_are_numbers_and_never_the_same_twice(httpx_mock: HTTPXMock, connect: Connect) -> None:
    """Every request carries an id of its own, and the headers that the service wants."""
    httpx_mock.add_callback(ok, is_reusable=True)
    connection = connect(headers={"X-Key": "secret"})
    for _ in range(3):
        assert connection.call("records/all", {}, decode_rows) == []
    requests = httpx_mock.get_requests()
    ids = [json.loads(request.content)["id"] for request in requests]
    assert len(set(ids)) == 3
    assert all(type(id_) is int for id_ in ids)
    assert {(r.method, r.headers["Content-Type"], r.headers["X-Key"]) for r in requests} == {
        ("POST", "application/json", "secret")
    }


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504])
def test_passing_failures_are_tried_again_with_growing_waits(
    status: int, httpx_mock: HTTPXMock, connect: Connect, clock: Clock
) -> None:
    """5xx and 408 are tried again, each wait drawn below a bound that doubles."""
    refuse(httpx_mock, status, 3)
    httpx_mock.add_callback(ok)
    assert connect(retries=3).call("m", None, decode_rows) == []
    assert clock.slept == [pytest.approx(clock.slept[0] * 2**k) for k in range(3)]
    assert 0 < clock.slept[0] <= 2


@pytest.mark.parametrize(
    ("status", "kind"),
    [(503, GatewayError), (502, GatewayError), (504, GatewayError), (500, UnreachableError), (408, UnreachableError)],
)
def test_retries_end(
    status: int, kind: type[ChainqError], httpx_mock: HTTPXMock, connect: Connect, clock: Clock
) -> None:
    """After 1 + retries attempts the failure stands, with method, heights, status and number of attempts."""
    refuse(httpx_mock, status, 3)
    with pytest.raises(kind, match=rf"m heights 5-9: {URL}: HTTP {status}.*after 3 attempts"):
        connect(retries=2).call("m", None, decode_rows, "heights 5-9")
    assert len(clock.slept) == 2


def test_a_body_that_breaks_off_is_asked_for_again(httpx_mock: HTTPXMock, connect: Connect, clock: Clock) -> None:
    """Broken JSON and closed connections are passing failures; in the end they are no valid answer (exit 5)."""
    httpx_mock.add_response(content=envelope("[]", id_="1")[:-3])
    httpx_mock.add_exception(httpx.RemoteProtocolError("peer closed connection"))
    httpx_mock.add_callback(ok)
    connection = connect(retries=2)
    assert connection.call("m", None, decode_rows) == []
    assert len(clock.slept) == 2
    httpx_mock.add_response(content=b"")
    with pytest.raises(BrokenBodyError):
        connect(retries=0).call("m", None, decode_rows)


def test_connection_errors_and_timeouts_are_tried_again(httpx_mock: HTTPXMock, connect: Connect, clock: Clock) -> None:
    """No connection and no answer in time are passing failures; in the end the service is unreachable (exit 4)."""
    httpx_mock.add_exception(httpx.ConnectError("refused"))
    httpx_mock.add_exception(httpx.ReadTimeout("slow"))
    httpx_mock.add_callback(ok)
    assert connect(retries=2).call("m", None, decode_rows) == []
    assert len(clock.slept) == 2
    httpx_mock.add_exception(httpx.ReadTimeout("slow"))
    with pytest.raises(UnreachableError, match=r"within 12 s"):
        connect(retries=0, timeout=12).call("m", None, decode_rows)


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (httpx.Response(404, html="<h1>No</h1>"), ServiceError),
        (httpx.Response(401, html="<h1>No</h1>"), ServiceError),
        (httpx.Response(413, html="<h1>No</h1>"), TooHeavyError),
        (httpx.Response(302, headers={"Location": "http://elsewhere.invalid/"}), AnswerError),
        (httpx.Response(200, content=envelope("[]", id_="99")), AnswerError),
        (httpx.Response(200, content=failure("-32602").replace(b'"id":7', b'"id":1')), ServiceError),
        (httpx.Response(400, content=failure("-32600").replace(b'"id":7', b'"id":1')), ServiceError),
        (httpx.Response(500, content=failure("0").replace(b'"id":7', b'"id":1')), ServiceError),
    ],
    ids=["404", "401", "413", "redirect", "wrong id", "error", "error with 400", "error with 500"],
)
def test_what_another_attempt_cannot_mend_is_told_at_once(
    reply: httpx.Response, kind: type[ChainqError], httpx_mock: HTTPXMock, connect: Connect, clock: Clock
) -> None:
    """Errors of the service, wrong ids, 4xx and redirects are final at the first attempt, and none is followed."""
    httpx_mock.add_callback(lambda _: reply)
    with pytest.raises(kind) as caught:
        connect().call("m", None, decode_rows)
    assert type(caught.value) is kind
    assert clock.slept == []
    assert len(httpx_mock.get_requests()) == 1


@pytest.mark.parametrize(
    ("status", "kind"),
    [(206, AnswerError), (401, ServiceError), (404, ServiceError), (500, UnreachableError), (503, GatewayError)],
)
@pytest.mark.parametrize("answer", ["[]", "null"])
def test_a_result_beside_a_failure_is_no_answer(
    answer: str, status: int, kind: type[ChainqError], httpx_mock: HTTPXMock, connect: Connect
) -> None:
    """An empty result under an HTTP status that tells of a failure is that failure, and never "no rows"."""
    httpx_mock.add_response(status_code=status, content=envelope(answer, id_="1"))
    with pytest.raises(kind, match=str(status)):
        connect(retries=0).call("m", None, decode_rows)


def test_an_error_beside_503_is_in_passing(httpx_mock: HTTPXMock, connect: Connect, clock: Clock) -> None:
    """A JSON-RPC error says no more than the 503 that it comes with: the call is made again."""
    httpx_mock.add_response(status_code=503, content=failure("-32000", "busy").replace(b'"id":7', b'"id":1'))
    httpx_mock.add_callback(ok)
    assert connect(retries=1).call("m", None, decode_rows) == []
    assert len(clock.slept) == 1


def test_an_answer_that_drips_is_given_up(httpx_mock: HTTPXMock, connect: Connect, clock: Clock) -> None:
    """The timeout bounds a call as a whole, not each of its reads; a narrower range may take less time."""

    def drip() -> Iterator[bytes]:
        while True:
            clock.now += 5
            yield b" "

    httpx_mock.add_response(stream=pytest_httpx.IteratorStream(drip()))
    with pytest.raises(GatewayError, match=r"within 12 s, with 3 bytes.*--timeout"):
        connect(retries=0, timeout=12).call("m", None, decode_rows)


def test_an_answer_has_a_bound(httpx_mock: HTTPXMock, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer beyond the bound is given up while it is read, and a narrower range may be asked for."""
    monkeypatch.setattr(http, "MOST_BYTES", 1 << 20)
    httpx_mock.add_response(content=b" " * (1 << 20) + envelope("[]", id_="1"))
    with pytest.raises(TooHeavyError, match="1 MiB"):
        connect().call("m", None, decode_rows)


# --- too many requests


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


def test_much_is_read_at_a_time(connect: Connect) -> None:
    """The number of bytes is set where httpcore still reads it."""
    connect()._client()
    assert "READ_NUM_BYTES" in httpcore.HTTP11Connection._receive_event.__code__.co_names
    assert httpcore.HTTP11Connection.READ_NUM_BYTES == http.READ_BYTES


@pytest.mark.parametrize(
    ("url", "headers", "accepted"),
    [
        ("http://127.0.0.1:8545/", {}, "identity"),
        ("http://localhost/", {}, "identity"),
        ("http://[::1]:8545/", {}, "identity"),
        ("https://example.invalid/", {}, "gzip"),
        ("http://127.0.0.1:8545/", {"accept-encoding": "gzip"}, "gzip"),
    ],
)
def test_compression_is_asked_for_where_it_pays(
    url: str, headers: dict[str, str], accepted: str, httpx_mock: HTTPXMock
) -> None:
    """Answers from another machine shall come compressed, those from this one not, unless a header says so."""
    httpx_mock.add_callback(ok)
    with http.Connection(base.Endpoint(url, headers=headers)) as connection:
        connection.call("m", None, decode_rows)
    (request,) = httpx_mock.get_requests()
    assert accepted in request.headers["Accept-Encoding"]
    assert request.headers["Accept-Encoding"].count("identity") == (accepted == "identity")


def test_no_more_requests_at_a_time_than_allowed(httpx_mock: HTTPXMock, connect: Connect) -> None:
    """However many threads call, only so many requests are under way; a slot is free before the answer is read."""
    under_way, most, lock = 0, 0, threading.Lock()
    together = threading.Barrier(2, timeout=10)

    def answer(request: httpx.Request) -> httpx.Response:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        together.wait()  # two at a time there are, or this breaks
        with lock:
            under_way -= 1
        return ok(request)

    httpx_mock.add_callback(answer, is_reusable=True)
    connection, decoding = connect(concurrency=2), threading.Barrier(8, timeout=10)

    def decode(_: bytes, __: int) -> None:
        decoding.wait()  # all eight answers are read side by side: none of them holds a slot

    threads = [threading.Thread(target=connection.call, args=("m", None, decode)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads)
    assert most == 2


def test_secrets_stay_out_of_messages(httpx_mock: HTTPXMock, clock: Clock) -> None:
    """User names, passwords, query values and header values never stand in an error."""
    httpx_mock.add_exception(httpx.ConnectError("refused"), is_reusable=True)
    endpoint = base.Endpoint("http://someone:hunter2@127.0.0.1/?key=hunter3", retries=0, headers={"X": "hunter4"})
    with http.Connection(endpoint) as connection, pytest.raises(UnreachableError) as caught:
        connection.call("m", None, decode_rows)
    assert "hunter" not in str(caught.value)
    assert "someone" not in str(caught.value)
    assert clock.slept == []


def test_closing_ends_a_call_that_waits(httpx_mock: HTTPXMock, connect: Connect) -> None:
    """A call that waits for its next attempt ends at once when the connection is closed."""
    connection = connect(retries=5)

    def close_and_refuse(_: httpx.Request) -> httpx.Response:
        connection.close()
        return httpx.Response(429, headers={"Retry-After": "100"})

    httpx_mock.add_callback(close_and_refuse)
    with pytest.raises(base.Stopped):
        connection.call("m", None, decode_rows)
