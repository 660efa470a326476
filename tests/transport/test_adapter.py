"""Connections: kept between requests for as long as they can be used, and ended when they cannot."""

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import httpx
import pytest

from chainq.errors import ResponseError, TooHeavyError
from chainq.transport.base import BrokenResponseError, DeadlineError, ExchangeError, ServiceOptions
from chainq.transport.http import HttpTransport
from chainq.tuning import KEEP_ALIVE
from harness.calls import request
from harness.program import LONGEST
from harness.sockets import Serve, answering, server

FAR = 1e6  # a deadline that never comes


class Counted:
    """Serves as `serve` does, and counts the connections."""

    def __init__(self, serve: Serve) -> None:
        self._serve = serve
        self.peers: set[int] = set()

    def __call__(self, peer: socket.socket, sent: bytes) -> None:
        self.peers.add(peer.getpeername()[1])
        self._serve(peer, sent)


def test_connections_are_kept() -> None:
    """One carries several exchanges, one after the other."""
    serve = Counted(answering(b"{}"))
    with server(serve) as (url, seen):
        transport = HttpTransport(ServiceOptions(url), now=lambda: 100.0)
        for _ in range(3):
            transport.call(request(b"{}", FAR))
        transport.close()
    assert (len(seen), len(serve.peers)) == (3, 1)


def test_a_connection_that_was_idle_for_long_is_not_used_again() -> None:
    """The server is about to close it, if it has not yet."""
    now, serve = 100.0, Counted(answering(b"{}"))
    with server(serve) as (url, _):
        transport = HttpTransport(ServiceOptions(url), now=lambda: now)
        for seconds in (0, KEEP_ALIVE - 1, KEEP_ALIVE - 1, KEEP_ALIVE + 1):
            now += seconds
            transport.call(request(b"{}", FAR))
        transport.close()
    assert len(serve.peers) == 2


def test_a_connection_that_the_server_has_closed_is_replaced() -> None:
    """Without a failed attempt: whether that is seen before the next request is sent, or only after it."""

    def serve(peer: socket.socket, _: bytes) -> None:
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        peer.shutdown(socket.SHUT_RDWR)

    counted = Counted(serve)
    with server(counted) as (url, _):
        transport = HttpTransport(ServiceOptions(url), now=lambda: 100.0)
        for _ in range(20):
            assert transport.call(request(b"{}", FAR)).body == b"{}"
        transport.close()
    assert len(counted.peers) == 20


def test_a_kept_connection_that_is_closed_on_the_next_request_is_replaced() -> None:
    """The request is sent once more, on a new connection; and no more often than that."""
    served: set[int] = set()

    def serve(peer: socket.socket, sent: bytes) -> None:
        port = peer.getpeername()[1]
        if port in served or b"fail" in sent:
            peer.shutdown(socket.SHUT_RDWR)
        else:
            served.add(port)
            answering(b"{}")(peer, sent)

    with server(serve) as (url, seen):
        transport = HttpTransport(ServiceOptions(url), now=lambda: 100.0)
        for _ in range(2):
            assert transport.call(request(b"{}", FAR)).body == b"{}"
        assert len(seen) == 3
        with pytest.raises(BrokenResponseError):
            transport.call(request(b"fail", FAR))
        assert len(seen) == 5
        transport.close()


def test_a_connection_with_a_rest_of_a_response_is_not_used_again() -> None:
    """A body that was given up would be read as the next response."""
    serve = Counted(answering(b"x" * 3_000_000))
    with server(serve) as (url, _):
        transport = HttpTransport(ServiceOptions(url), now=lambda: 100.0)
        for _ in range(2):
            with pytest.raises(TooHeavyError):
                transport.call(request(b"{}", FAR, 2**20))
        transport.close()
    assert len(serve.peers) == 2


@pytest.mark.parametrize(
    "head",
    [b"Content-Length: 9\r\nContent-Encoding: br", b"Content-Length: 2\r\nConnection: close"],
    ids=["refused", "last"],
)
def test_a_connection_whose_next_response_would_be_in_doubt_is_not_used_again(head: bytes) -> None:
    """One whose body is still to come, or on which the server does not expect another request."""
    body = b"" if b"br" in head else b"{}"
    serve = Counted(lambda peer, _: peer.sendall(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n" + body))
    with server(serve) as (url, _):
        transport = HttpTransport(ServiceOptions(url), now=lambda: 100.0)
        for _ in range(2):
            with suppress(ResponseError):
                assert transport.call(request(b"{}", 100.5)).body == b"{}"
        transport.close()
    assert len(serve.peers) == 2


def test_what_a_server_says_while_nobody_asks_is_not_the_next_response() -> None:
    """As proxies do that send 408 (Request Timeout) before they close an idle connection."""
    said = threading.Event()

    def serve(peer: socket.socket, _: bytes) -> None:
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
        peer.sendall(b"{}")
        read.wait(LONGEST)
        peer.sendall(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
        said.set()

    with server(serve) as (url, _):
        transport = HttpTransport(ServiceOptions(url), now=lambda: 100.0)
        for _ in range(3):
            read = threading.Event()
            assert transport.call(request(b"{}", FAR)).status == 200
            read.set()
            assert said.wait(LONGEST)
            said.clear()
        transport.close()


def test_each_exchange_has_its_own_deadline() -> None:
    """On a kept connection too."""
    seconds = iter(range(10**9))
    answers = iter([b"{}"])

    def serve(peer: socket.socket, sent: bytes) -> None:
        for content in answers:
            answering(content)(peer, sent)

    with server(serve) as (url, _):
        transport = HttpTransport(ServiceOptions(url), now=lambda: next(seconds) * 0.001)
        transport.call(request(b"{}", FAR))
        with pytest.raises(DeadlineError):
            transport.call(request(b"{}", 0.05))
        transport.close()


def test_a_body_of_known_length_is_not_copied() -> None:
    """It comes in one piece: joining pieces takes as long as a third of receiving them."""
    content = b"x" * 3_000_000
    with server(answering(content)) as (url, _):
        transport = HttpTransport(ServiceOptions(url), now=lambda: 100.0)
        response = transport._adapter.handle_request(httpx.Request("POST", url, extensions={"deadline": FAR}))
        assert list(response.iter_raw()) == [content]
        transport.close()


def test_threads_have_connections_of_their_own() -> None:
    """As many as there are requests at a time."""
    together = threading.Barrier(4, timeout=20)

    def serve(peer: socket.socket, sent: bytes) -> None:
        together.wait()
        answering(b"{}")(peer, sent)

    counted = Counted(serve)
    with server(counted) as (url, _), ThreadPoolExecutor(4) as pool:
        transport = HttpTransport(ServiceOptions(url), now=lambda: 100.0)
        for _ in range(2):
            bodies = pool.map(lambda _: transport.call(request(b"{}", FAR)).body, range(4))
            assert list(bodies) == [b"{}"] * 4
        transport.close()
    assert len(counted.peers) == 4


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"], ids=["head", "body"])
def test_closing_ends_exchanges_under_way(sent: bytes) -> None:
    """Of all threads, at once, whatever they wait for."""
    waiting = threading.Event()

    def serve(peer: socket.socket, _: bytes) -> None:
        peer.sendall(sent)
        waiting.set()

    with server(serve) as (url, _), ThreadPoolExecutor(1) as pool:
        transport = HttpTransport(ServiceOptions(url), now=lambda: 100.0)
        call = pool.submit(transport.call, request(b"{}", FAR))
        assert waiting.wait(LONGEST)
        transport.close()
        with pytest.raises(ExchangeError):
            call.result(20)


def test_closing_closes_what_was_kept() -> None:
    """The server need not wait for anything more; and the transport keeps nothing that comes back later."""
    ended = threading.Event()

    def serve(peer: socket.socket, sent: bytes) -> None:
        answering(b"{}")(peer, sent)
        if not peer.recv(1):
            ended.set()

    with server(serve) as (url, _):
        transport = HttpTransport(ServiceOptions(url), now=lambda: 100.0)
        transport.call(request(b"{}", FAR))
        transport.close()
        assert ended.wait(LONGEST)
        with pytest.raises(ExchangeError):
            transport.call(request(b"{}", FAR))
        assert (transport._adapter._idle, transport._adapter._busy) == ([], set())


def test_a_connection_that_is_made_while_the_transport_is_closed_sends_nothing() -> None:
    """Closing ends no connection that is only being made: its exchange must not begin."""

    looks: list[float] = []

    def now() -> float:
        if not looks:  # how long it may take to connect
            transport.close()
        looks.append(100.0)
        return 100.0

    with server(answering(b"{}")) as (url, seen):
        transport = HttpTransport(ServiceOptions(url), now=now)
        with pytest.raises(ExchangeError):
            transport.call(request(b"{}", FAR))
        assert (len(looks), seen) == (1, [])
