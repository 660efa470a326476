"""Servers that mean harm or are broken in odd ways: the run ends, soon, with the right exit code and one line."""

import socket
import threading

import pytest

from harness.program import Program
from harness.sockets import server

END = threading.Event()  # never set: its `wait` is a pause between bytes


@pytest.mark.parametrize(
    ("first", "again"),
    [
        (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nX-Header: ", b"x"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b"x"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    ],
    ids=["interim responses", "header", "body", "chunks"],
)
def test_a_response_that_drips_for_ever_ends_with_the_timeout(first: bytes, again: bytes, chainq: Program) -> None:
    """A byte now and then, in the head or in the body, does not keep a call alive."""

    def drip(peer: socket.socket, _: bytes) -> None:
        peer.sendall(first)
        while True:
            peer.sendall(again)
            END.wait(0.1)

    with server(drip) as (url, _):
        ran = chainq("block", "5", "--timeout", "0.5", "--retries", "0", url=url)
    assert ran.code == 4, ran.err
    assert "within 0.5 s" in ran.err
    assert ran.err.count("\n") == 1
