"""HTTP calls: what is sent, how many at a time, how much is read, and what stays secret."""

import json
import threading
from collections.abc import Iterator

import httpcore
import httpx
import pytest
import pytest_httpx
from pytest_httpx import HTTPXMock

from chainq.errors import (
    GatewayError,
    TooHeavyError,
    UnreachableError,
)
from chainq.transport import base, http
from chainq.transport.jsonrpc import decode_rows
from harness.calls import Clock, Connect, envelope, ok


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
