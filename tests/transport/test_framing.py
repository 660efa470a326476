"""Framing: where a response ends, and which responses cannot be trusted to be complete."""

import socket
from contextlib import closing
from types import SimpleNamespace

import pytest

from chainq.options import ServiceOptions
from chainq.transport import http
from chainq.transport.base import Response
from chainq.transport.http import HttpTransport
from harness.servers.calls import exchange, fails, request
from harness.servers.sockets import server

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


def received(data: bytes, times: int = 1, *, closed: bool = True, seconds: float = 60) -> Response:
    """The last response of a server that sends these bytes to each request, and perhaps hangs up then."""

    def serve(peer: socket.socket, _: bytes) -> None:
        peer.sendall(data)
        if closed:
            peer.shutdown(socket.SHUT_WR)

    with server(serve) as (url, _):
        return exchange(url, times, seconds)


@pytest.mark.parametrize(
    "data",
    [
        OK + b"Content-Length: 2\r\n\r\n{}",
        CHUNKED + b"1\r\n{\r\n001;name=value\r\n}\r\n0\r\n\r\n",
        CHUNKED + b"2\r\n{}\r\n0\r\nTrailer: value\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
        + OK
        + b"Content-Length: 2\r\n\r\n{}",
    ],
    ids=["length", "chunks", "trailer", "interim"],
)
def test_a_response_whose_end_is_known_leaves_the_connection_open(data: bytes) -> None:
    """Its body is complete without the connection's end, so that the next request can follow."""
    assert received(data, times=3, closed=False).body == b"{}"


@pytest.mark.parametrize("head", [OK, b"HTTP/1.0 200 OK\r\n", OK + b"Connection: close\r\n"])
def test_a_response_may_last_until_the_connection_is_closed(head: bytes) -> None:
    """As servers of HTTP/1.0 and some proxies do."""
    assert received(head + b"\r\n{}", times=2).body == b"{}"


CHUNKS = CHUNKED + b"2\r\n{}\r\n0\r\n\r\n"
LENGTH = OK + b"Connection: close\r\nContent-Length: 9\r\n\r\n{}"


CUT = [*(LENGTH[:at] for at in range(len(LENGTH) + 1)), *(CHUNKS[:at] for at in range(len(CHUNKED), len(CHUNKS)))]


@pytest.mark.parametrize("data", CUT)
def test_a_response_that_is_cut_is_broken(data: bytes) -> None:
    """Wherever the connection was closed."""
    with fails("RemoteProtocolError"):
        received(data)


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        OK + b"Content-Length\r\n\r\n{}",
        OK + b"Content-Length: 2\r\nContent-Length: 1\r\n\r\n{}",
        *(OK + b"Content-Length: " + length + b"\r\n\r\n{}" for length in (b"2x", b"-2", b"+2", b"1_0", b"9" * 5000)),
        OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        OK + b"X: " + b"1" * 150_000 + b"\r\n\r\n{}",
        CHUNKED + b"-1\r\n{}\r\n0\r\n\r\n",
        CHUNKED + b"2\r\n{}\r\n-5\r\n\r\n",
        CHUNKED + b"two\r\n{}\r\n0\r\n\r\n",
    ],
)
def test_a_response_that_is_not_understood_is_broken(data: bytes) -> None:
    """What does not say clearly where it ends is read no further, and is not taken for complete."""
    with fails("RemoteProtocolError"):
        received(data, closed=False, seconds=0.5)


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (CHUNKED, b"1\r\n \r\n"),
        (OK + b"\r\n", b"1\r\n \r\n"),
        (OK, b"X: 1\r\n"),
        (CHUNKED + b"0\r\n", b"X: 1\r\n"),
        (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    ],
    ids=["chunks", "body", "head", "trailer", "interim"],
)
def test_a_response_without_end_ends_at_the_deadline(
    head: bytes, piece: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that arrives as fast as it is read: each read takes a second of this clock."""

    def serve(peer: socket.socket, _: bytes) -> None:
        peer.sendall(head)
        while True:
            peer.sendall(piece * 20_000)

    times = iter(range(10_000))
    monkeypatch.setattr(http, "time", SimpleNamespace(monotonic=lambda: float(next(times))))
    with server(serve) as (url, _), closing(HttpTransport(ServiceOptions(url))) as transport:
        with fails("ReadTimeout", "RemoteProtocolError"):  # h11 bounds the size of a head itself
            transport.call(request(b"{}", 5.0))
        assert next(times) < 15


def test_a_response_that_stops_is_waited_for_until_the_deadline() -> None:
    """Whether it would have gone on cannot be known."""
    for data in (b"", OK, OK + b"Content-Length: 9\r\n\r\n{}", CHUNKED + b"5\r\n{}"):
        with fails("ReadTimeout"):
            received(data, closed=False, seconds=0.05)
