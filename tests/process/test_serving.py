"""The connections of `chainq serve`."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest

from chainq.process import serving


@contextmanager
def connection() -> Iterator[socket.socket]:
    """A connection to a server that has no response to anything."""
    with serving.Server(lambda *_: (204, {}, b""), "127.0.0.1", 0) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            with socket.create_connection(("127.0.0.1", server.server_port), timeout=60) as peer:
                yield peer
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"POST / HTTP/1.1\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n[",
        b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\nGET",
    ],
    ids=str,
)
def test_a_request_has_a_time(monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    """A connection that has not sent one by then ends, also in the middle of its next one."""
    monkeypatch.setattr(serving, "SECONDS", 0.05)
    with connection() as peer:
        peer.sendall(sent)
        received = b"".join(iter(lambda: peer.recv(1000), b""))
    assert received.startswith(b"HTTP/1.1 204" if sent.endswith(b"GET") else b"")


def test_a_byte_now_and_then_gives_no_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is that of the whole request, not that between two of its bytes."""
    monkeypatch.setattr(serving, "SECONDS", 0.2)
    with connection() as peer, pytest.raises(ConnectionError):
        for _ in range(500):
            peer.sendall(b"P")
            time.sleep(0.02)
