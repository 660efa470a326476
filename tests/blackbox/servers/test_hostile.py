"""Servers that mean harm or are broken in odd ways: the run ends, soon, with the right exit code and one line."""

import gzip
import socket
import struct
import subprocess
import threading
import zlib
from functools import cache

import pytest

from harness.running.program import Program, Ran, finish, one_line
from harness.servers.sockets import answering, server

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


def with_memory(chainq: Program, size: int, *words: str) -> Ran:
    """Run the program to its end where it may take so many bytes, all in all."""
    limited = ["sh", "-c", f'ulimit -v {size >> 10}; exec "$@"', "sh", chainq.path, *words]
    return finish(subprocess.Popen(limited, env=chainq.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE))


@cache
def packed(count: int, times: int = 1) -> bytes:
    """So many mebibytes of white space, compressed so many times."""
    if times > 1:
        return gzip.compress(packed(count, times - 1))
    content, packer, checksum = b" " * 2**20, zlib.compressobj(9, wbits=-15), 0
    one = packer.compress(content) + packer.flush(zlib.Z_FULL_FLUSH)  # which may be repeated
    for _ in range(count):
        checksum = zlib.crc32(content, checksum)
    head, end = b"\x1f\x8b\x08\0\0\0\0\0\0\xff", b"\x03\0"
    return head + one * count + end + struct.pack("<II", checksum, count * len(content) & 0xFFFFFFFF)


@pytest.mark.parametrize(
    ("coding", "times", "code", "said"),
    [("gzip", 1, 3, "response is larger than 8 MiB"), ("gzip, gzip", 2, 5, "gzip, gzip")],
    ids=["once", "twice"],
)
def test_what_unpacks_to_gigabytes_does_not_take_them(
    coding: str, times: int, code: int, said: str, chainq: Program
) -> None:
    """A megabyte that unpacks to one gigabyte, and a kilobyte that does so by way of a megabyte."""
    with server(answering(packed(1024, times), f"Content-Encoding: {coding}")) as (url, _):
        ran = with_memory(chainq, 2**30, "rpc", "x", "--max-memory", "64M", "--retries", "0", "--url", url)
    assert ran.code == code, ran.err
    assert said in ran.err
    assert ran.err.count("\n") == 1


def test_a_body_without_end_is_given_up(chainq: Program) -> None:
    """It has no length that could be too much."""

    def flood(peer: socket.socket, _: bytes) -> None:
        peer.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        while True:
            peer.sendall(b" " * 2**20)

    with server(flood) as (url, _):
        ran = with_memory(chainq, 2**30, "rpc", "x", "--max-memory", "64M", "--retries", "0", "--url", url)
        assert ran.code == 3, ran.err
        assert "response is larger than 8 MiB" in ran.err


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://a..b/", 2),
        ("http://\uff11\uff12\uff17.0.0.1/", 2),
        ("http://256.256.256.256/", 2),
        ("http://[v1.a]/", 2),
        (f"http://127.0.0.1:1/{'x' * 70_000}", 2),
        ("http://xn--a.example/", 4),
        ("http://xn--.invalid/", 4),
        ("http://[fe80::1%25eth9]/", 4),
        ("http://u%ff:p@127.0.0.1:1/", 4),
    ],
)
def test_odd_urls_are_no_bug(url: str, code: int, chainq: Program) -> None:
    """Those that cannot be used are usage errors, those that lead nowhere are exit 4."""
    assert len(one_line(chainq("block", "5", "--retries", "0", url=url), code)) < 400
