"""One deadline for a whole exchange, whatever the server sends in between. The clock is the test's own."""

import socket
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from chainq.transport import network
from chainq.transport.base import BrokenResponseError, DeadlineError, NoConnectionError, ServiceOptions
from chainq.transport.http import HttpTransport
from chainq.transport.network import LATE_BYTES, READ_BYTES, Tcp, connect
from harness.calls import request
from harness.certificate import certified
from harness.sockets import answering, server

PIECE = memoryview(bytearray(READ_BYTES))


class Wire(socket.socket):
    """A socket on which each read is waited for `seconds` and brings as many bytes as `send` returns, and nothing can
    be sent for so long. It is its own `poll`."""

    def __init__(self, send: Callable[[], int], seconds: float) -> None:
        super().__init__()
        self._send, self._seconds = send, seconds
        self.now = 100.0
        self.waits: list[float] = []
        self._ready = seconds == 0

    def poll(self, milliseconds: float) -> bool:
        self.waits.append(milliseconds / 1000)
        self.now += min(self._seconds, self.waits[-1])
        self._ready = self._seconds <= self.waits[-1]
        return self._ready

    def recv_into(self, *_: object) -> int:
        if not self._ready:
            raise BlockingIOError
        self._ready = self._seconds == 0
        return self._send()

    send = recv_into  # bytes one way or the other


def over(wire: Wire, deadline: float) -> Tcp:
    """A connection with that deadline, by the wire's own time."""
    tcp = Tcp(wire, lambda: wire.now, deadline)
    tcp._readable = tcp._writable = wire  # type: ignore[assignment]  # all of a `poll` that it makes use of
    return tcp


def test_a_byte_now_and_then_does_not_keep_a_call_alive() -> None:
    """Each read waits for what is left of the call's time, and no longer."""
    with Wire(lambda: 1, seconds=0.5) as wire:
        tcp = over(wire, 110.0)
        with pytest.raises(TimeoutError):
            for _ in range(1000):
                tcp.receive(PIECE)
        assert wire.now == pytest.approx(110.0, abs=0.01)
        assert wire.waits == sorted(wire.waits, reverse=True)


def test_what_has_arrived_is_read_after_the_deadline_too() -> None:
    """A complete response is not thrown away because this process was suspended while it came."""
    with Wire(lambda: READ_BYTES, seconds=0.0) as wire:
        assert over(wire, 99.0).receive(PIECE) == READ_BYTES
        assert wire.waits == []


def test_a_flood_ends_after_the_deadline() -> None:
    """What arrives faster than it is read ends too."""
    sent = 0

    def send() -> int:
        nonlocal sent
        sent += READ_BYTES
        return READ_BYTES

    with Wire(send, seconds=0.0) as wire:
        tcp = over(wire, 99.0)
        with pytest.raises(TimeoutError):
            for _ in range(1000):
                tcp.receive(PIECE)
    assert sent <= LATE_BYTES + READ_BYTES


def test_the_next_call_has_a_deadline_of_its_own() -> None:
    """On the same connection; and what was read late for the call before does not count against it."""
    with Wire(lambda: READ_BYTES, seconds=0.0) as wire:
        tcp = over(wire, 99.0)
        for deadline in (99.0, 98.0, 97.0):
            tcp.start(deadline)
            for _ in range(LATE_BYTES // READ_BYTES):
                tcp.receive(PIECE)


def test_a_server_that_reads_nothing_is_given_up() -> None:
    """Sending has what is left of the call's time."""
    with Wire(lambda: 1, seconds=31) as wire:
        with pytest.raises(TimeoutError):
            over(wire, 130.0).send(b"x")
        over(wire, 161.0).send(b"x")
        assert wire.waits == [pytest.approx(30), pytest.approx(31)]


def test_nothing_is_waited_for_after_the_deadline() -> None:
    """What has not arrived by then is too late."""
    with Wire(lambda: 1, seconds=0.5) as wire:
        with pytest.raises(TimeoutError):
            over(wire, 99.0).receive(PIECE)
        assert wire.waits == [0]


def test_every_address_of_a_host_has_its_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first address that does not answer leaves time for the second."""
    tried: list[tuple[str, float]] = []

    def open_socket(_: int, address: tuple[str, int], seconds: float) -> socket.socket:
        tried.append((address[0], seconds))
        raise TimeoutError

    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (f"192.0.2.{host}", 80)) for host in (1, 2)]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    monkeypatch.setattr(network, "open_socket", open_socket)
    with pytest.raises(TimeoutError):
        connect("example.invalid", 80, lambda: 100.0, 110.0)
    assert [host for host, _ in tried] == ["192.0.2.1", "192.0.2.2"]
    assert [seconds for _, seconds in tried] == [pytest.approx(5), pytest.approx(10)]


def test_the_next_address_is_tried_where_one_refuses(monkeypatch: pytest.MonkeyPatch, nowhere: str) -> None:
    """As where `localhost` is ::1 first, and the server listens on 127.0.0.1 only."""
    with server(answering(b"{}")) as (url, _):
        ports = [int(place.rstrip("/").rpartition(":")[2]) for place in (nowhere, url)]
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)) for port in ports]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        connect("example.invalid", 80, lambda: 100.0, 110.0).close()


@pytest.mark.parametrize("host", ["a..b", "." * 5, "a" * 64, "chainq.invalid"])
def test_what_is_no_host_is_no_connection(host: str) -> None:
    """Names that cannot be looked up, and those that nobody has."""
    with pytest.raises(OSError, match=r"."):
        connect(host, 80, lambda: 100.0, 110.0)


@pytest.mark.parametrize("head", [b"HTTP/1.1 103 Early Hints\r\n\r\n", b"X-Header: 1\r\n"])
def test_a_head_that_never_ends_is_given_up(head: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interim responses or headers without end: each look at the clock is a second later."""
    monkeypatch.setattr(network, "LATE_BYTES", 2**20)
    seconds = iter(range(10**9))

    def serve(peer: socket.socket, _: bytes) -> None:
        if not head.startswith(b"HTTP"):
            peer.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            peer.sendall(head * 100)

    with server(serve) as (url, _):
        transport = HttpTransport(ServiceOptions(url), now=lambda: float(next(seconds)))
        with pytest.raises((DeadlineError, BrokenResponseError)):  # the HTTP library bounds the size of headers itself
            transport.call(request(b"{}", 5.0))
        transport.close()


def test_a_server_that_says_nothing_is_given_up() -> None:
    """The time of the call is what counts, on the loopback too."""
    seconds = iter(range(10**9))
    with server(lambda *_: None) as (url, _):
        transport = HttpTransport(ServiceOptions(url), now=lambda: next(seconds) * 0.001)
        with pytest.raises(DeadlineError):
            transport.call(request(b"{}", 0.02))
        transport.close()


def test_a_connection_that_is_not_made_in_time_is_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """To ask for less would not help, as it may where a response does not come."""

    def open_socket(*_: object) -> socket.socket:
        raise TimeoutError

    monkeypatch.setattr(network, "open_socket", open_socket)
    transport = HttpTransport(ServiceOptions("http://127.0.0.1:1/"))
    with pytest.raises(NoConnectionError, match="timed out while connecting"):
        transport.call(request(b"{}", 99.0))
    transport.close()


def test_a_deadline_that_has_passed_connects_to_nothing(nowhere: str) -> None:
    """No time is left to connect."""
    transport = HttpTransport(ServiceOptions(nowhere), now=lambda: 100.0)
    with pytest.raises(NoConnectionError):
        transport.call(request(b"{}", 99.0))
    transport.close()


def test_deadlines_are_of_no_account_where_there_is_time() -> None:
    """A response that comes in time is returned."""
    with server(answering(b"{}")) as (url, _):
        transport = HttpTransport(ServiceOptions(url), now=lambda: 100.0)
        assert transport.call(request(b"{}", 110.0)).body == b"{}"
        transport.close()


# --- TLS


def test_a_handshake_has_until_the_deadline() -> None:
    """A server that accepts the connection and then says nothing is no connection."""
    seconds = iter(range(10**9))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://127.0.0.1:{silent.getsockname()[1]}/"
        transport = HttpTransport(ServiceOptions(url), now=lambda: next(seconds) * 0.001)
        with pytest.raises(NoConnectionError, match="timed out while connecting"):
            transport.call(request(b"{}", 0.02))
        transport.close()


def test_large_responses_come_whole_over_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of hundreds of records, one exchange after the other on the same connection."""
    context, authority = certified(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    content = bytes(range(256)) * 20_000
    with server(answering(content), tls=context) as (url, _):
        transport = HttpTransport(ServiceOptions(url), now=lambda: 100.0)
        for sent in (b"{}", b" " * 3_000_000):  # records in both directions
            response = transport.call(request(sent, 110.0))
            assert response.body == content
            assert response.tls.startswith("TLSv1.")
        transport.close()


def test_a_server_of_several_protocols_learns_which_one_is_spoken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HTTP/1.1 (ALPN: RFC 7301)."""
    context, authority = certified(tmp_path)
    context.set_alpn_protocols(["h2", "http/1.1"])
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    chosen: list[str | None] = []

    def serve(peer: socket.socket, sent: bytes) -> None:
        assert isinstance(peer, ssl.SSLSocket)
        chosen.append(peer.selected_alpn_protocol())
        answering(b"{}")(peer, sent)

    with server(serve, tls=context) as (url, _):
        transport = HttpTransport(ServiceOptions(url), now=lambda: 100.0)
        transport.call(request(b"{}", 110.0))
        transport.close()
    assert chosen == ["http/1.1"]


@pytest.mark.parametrize("ending", ["closed", "by TLS"])
def test_a_connection_may_be_closed_with_or_without_a_word_of_tls(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many servers send none; where a length says that more should come, the response is broken all the same."""
    context, authority = certified(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))

    def serve(peer: socket.socket, _: bytes) -> None:
        peer.sendall(head + b"\r\n\r\n{}")
        if ending == "by TLS":
            assert isinstance(peer, ssl.SSLSocket)
            peer.unwrap()
        peer.close()

    with server(serve, tls=context) as (url, _):
        transport = HttpTransport(ServiceOptions(url), now=lambda: 100.0)
        head = b"HTTP/1.1 200 OK"
        assert transport.call(request(b"{}", 110.0)).body == b"{}"
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 3"
        with pytest.raises(BrokenResponseError):
            transport.call(request(b"{}", 110.0))
        transport.close()


def test_a_server_learns_why_its_certificate_is_refused(tmp_path: Path) -> None:
    """By an alert (RFC 8446, section 6.2), which its operator finds in the log."""
    context, _ = certified(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as pool:
        accepted = pool.submit(lambda: context.wrap_socket(listening.accept()[0], server_side=True).recv(1))
        transport = HttpTransport(ServiceOptions(f"https://127.0.0.1:{listening.getsockname()[1]}/"), now=lambda: 100.0)
        with pytest.raises(NoConnectionError, match="CERTIFICATE_VERIFY_FAILED"):
            transport.call(request(b"{}", 110.0))
        with pytest.raises(ssl.SSLError, match="UNKNOWN_CA"):
            accepted.result()
