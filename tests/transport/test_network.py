"""One deadline for a whole exchange, whatever the server sends in between. The clock is the test's own."""

import socket
from collections.abc import Callable

import httpcore
import pytest

from chainq.transport import network
from chainq.transport.base import BrokenResponseError, DeadlineError, Endpoint, NoConnectionError
from chainq.transport.http import HttpTransport
from chainq.transport.network import LATE_BYTES, NO_TIME, READ_BYTES, Network, Stream
from harness.calls import request
from harness.sockets import answering, server


class Wire(httpcore.NetworkStream):
    """A socket on which each read takes `seconds` and brings what `send` returns."""

    def __init__(self, send: Callable[[], bytes], seconds: float) -> None:
        self._send, self._seconds = send, seconds
        self.now = 100.0
        self.timeouts: list[float] = []
        self.largest = 0

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        assert timeout is not None
        self.timeouts.append(timeout)
        self.largest = max_bytes
        self.now += min(self._seconds, timeout)
        if timeout < self._seconds:
            raise httpcore.ReadTimeout
        return self._send()

    def start_tls(self, *_: object) -> httpcore.NetworkStream:
        return self


def test_a_byte_now_and_then_does_not_keep_a_call_alive() -> None:
    """Each read waits for what is left of the call's time, and no longer."""
    wire = Wire(lambda: b"x", seconds=0.5)
    stream = Stream(wire, lambda: wire.now, 0.0)
    with pytest.raises(httpcore.ReadTimeout):
        for _ in range(1000):
            stream.read(65536, 110.0)
    assert wire.now == pytest.approx(110.0, abs=0.01)
    assert wire.timeouts == sorted(wire.timeouts, reverse=True)


def test_what_has_arrived_is_read_after_the_deadline_too() -> None:
    """A complete response is not thrown away because this process was suspended while it came."""
    wire = Wire(lambda: b"x" * READ_BYTES, seconds=0.0)
    stream = Stream(wire, lambda: wire.now, 0.0)
    assert stream.read(65536, 99.0) == b"x" * READ_BYTES
    assert wire.timeouts == [NO_TIME]


def test_a_flood_ends_after_the_deadline() -> None:
    """What arrives faster than it is read ends too."""
    sent = 0

    def send() -> bytes:
        nonlocal sent
        sent += READ_BYTES
        return b"x" * READ_BYTES

    wire = Wire(send, seconds=0.0)
    stream = Stream(wire, lambda: wire.now, 0.0)
    with pytest.raises(httpcore.ReadTimeout):
        for _ in range(1000):
            stream.read(65536, 99.0)
    assert sent <= LATE_BYTES + READ_BYTES


def test_the_next_call_has_a_deadline_of_its_own() -> None:
    """On the same connection; and what was read late for the call before does not count against it."""
    wire = Wire(lambda: b"x" * READ_BYTES, seconds=0.0)
    stream = Stream(wire, lambda: wire.now, 0.0)
    for deadline in (99.0, 98.0, 97.0):
        for _ in range(LATE_BYTES // READ_BYTES):
            stream.read(65536, deadline)


def test_where_httpcore_gives_no_timeout_the_deadline_holds() -> None:
    """As in its handshake with a SOCKS proxy; also on the encrypted connection."""
    wire = Wire(lambda: b"x", seconds=0.0)
    stream = Stream(wire, lambda: wire.now, 130.0)
    stream.read(4096)
    stream.start_tls(None, None, 120.0).read(4096)  # type: ignore[arg-type]
    assert wire.timeouts == [pytest.approx(30), pytest.approx(20)]


def test_much_is_read_at_a_time() -> None:
    """A read takes up to READ_BYTES, however little httpcore asks for."""
    wire = Wire(lambda: b"", seconds=0.0)
    Stream(wire, lambda: wire.now, 200.0).read(65536)
    assert wire.largest == READ_BYTES


def test_every_address_of_a_host_has_its_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first address that does not answer leaves time for the second."""
    tried: list[tuple[str, float]] = []

    class Unanswered(httpcore.SyncBackend):
        def connect_tcp(self, host: str, _: int, timeout: float | None = None, *__: object) -> httpcore.NetworkStream:
            assert timeout is not None
            tried.append((host, timeout))
            raise httpcore.ConnectTimeout

    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (f"192.0.2.{host}", 80)) for host in (1, 2)]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    backend = Network(lambda: 100.0)
    backend._inner = Unanswered()
    with pytest.raises(httpcore.ConnectTimeout):
        backend.connect_tcp("example.invalid", 80, 110.0)
    assert [host for host, _ in tried] == ["192.0.2.1", "192.0.2.2"]
    assert [seconds for _, seconds in tried] == [pytest.approx(5), pytest.approx(10)]


@pytest.mark.parametrize("host", ["a..b", "." * 5, "a" * 64, "chainq.invalid"])
def test_what_is_no_host_is_no_connection(host: str) -> None:
    """Names that cannot be looked up, and those that nobody has."""
    with pytest.raises(httpcore.ConnectError):
        Network(lambda: 100.0).connect_tcp(host, 80, 110.0)


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
        transport = HttpTransport(Endpoint(url), now=lambda: float(next(seconds)))
        with pytest.raises((DeadlineError, BrokenResponseError)):  # the HTTP library bounds the size of headers itself
            transport.call(request(b"{}", 5.0))
        transport.close()


def test_a_server_that_says_nothing_is_given_up() -> None:
    """The time of the call is what counts, on the loopback too."""
    seconds = iter(range(10**9))
    with server(lambda *_: None) as (url, _):
        transport = HttpTransport(Endpoint(url), now=lambda: next(seconds) * 0.001)
        with pytest.raises(DeadlineError):
            transport.call(request(b"{}", 0.02))
        transport.close()


def test_a_connection_that_is_not_made_in_time_is_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """To ask for less would not help, as it may where a response does not come."""

    def connect(*_: object) -> httpcore.NetworkStream:
        raise httpcore.ConnectTimeout

    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", connect)
    transport = HttpTransport(Endpoint("http://127.0.0.1:1/"))
    with pytest.raises(NoConnectionError, match="timed out while connecting"):
        transport.call(request(b"{}", 99.0))
    transport.close()


def test_a_deadline_that_has_passed_connects_to_nothing(nowhere: str) -> None:
    """No time is left to connect."""
    transport = HttpTransport(Endpoint(nowhere), now=lambda: 100.0)
    with pytest.raises(NoConnectionError):
        transport.call(request(b"{}", 99.0))
    transport.close()


def test_deadlines_are_of_no_account_where_there_is_time() -> None:
    """A response that comes in time is returned."""
    with server(answering(b"{}")) as (url, _):
        transport = HttpTransport(Endpoint(url), now=lambda: 100.0)
        assert transport.call(request(b"{}", 110.0)).body == b"{}"
        transport.close()
