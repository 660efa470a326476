"""Servers that mean harm or are broken in odd ways: the run ends, soon, with the right exit code and one line."""

import gzip
import json
import socket
import struct
import subprocess
import threading
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from harness.program import Program, Ran, finish, one_line
from harness.services import Canned, canned
from harness.sockets import answering, server
from harness.truth import Truth

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


def restarting(times: int) -> Callable[[Any], Canned]:
    """A service whose database restarts under the first calls, and then answers with the sample chain's block 5."""
    left = iter(range(times))
    sql = 'select "Block"."id", "Block"."height" from "Block" where "Block"."height" = $1 limit $2 '

    def answer(request: Any) -> Canned:
        if next(left, None) is not None:
            message = f"{sql * 20}- terminating connection due to administrator command"
            error = {"code": "57P01", "message": message}
            return Canned(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}).encode())
        block = Truth().block(5).decode()
        return Canned(f'{{"jsonrpc":"2.0","id":{request["id"]},"result":[{block}]}}'.encode())

    return answer


def test_a_database_that_restarts_is_outlived(chainq: Program, truth: Truth) -> None:
    """Its error comes with HTTP 200, like an answer."""
    with canned(restarting(2)) as (url, seen):
        ran = chainq("block", "5", url=url)
    assert (ran.code, ran.rows, len(seen)) == (0, [truth.block(5)], 3)


def test_a_database_that_does_not_come_back_is_exit_4(chainq: Program) -> None:
    """With the reason, and not with the statement that it was given."""
    with canned(restarting(100)) as (url, seen):
        said = one_line(chainq("block", "5", "--retries", "1", url=url), 4)
    assert len(seen) == 2
    assert "57P01" in said
    assert "terminating connection due to administrator command" in said
    assert len(said) < 250


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


def test_very_many_retries_are_no_bug(chainq: Program, nowhere: str) -> None:
    """Their waits do not overflow; a signal still ends the run."""
    process = chainq.start("records", "--follow", "--retries", "100000", "-v", url=nowhere)
    assert process.stderr is not None
    assert b"attempt 1" in process.stderr.readline()
    process.terminate()
    assert "stopped by SIGTERM" in finish(process).err
