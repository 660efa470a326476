"""Servers that accept requests and answer none: the run asks for less once, and ends."""

import json
import socket

import pytest

from chainq.demo.chain import Chain
from chainq.demo.service import SampleService
from harness.running.program import Program
from harness.servers.sockets import server as raw_server


def hang(peer: socket.socket, _: bytes) -> None:
    """Answer nothing until the client is gone."""
    peer.recv(1)


@pytest.mark.parametrize("command", ["records", "blocks", "full-blocks"])
def test_a_server_that_never_answers(command: str, chainq: Program) -> None:
    """Two attempts of what is on its way, two of a request for a single height, and exit 4: none for each half."""
    with raw_server(hang) as (url, requests):
        ran = chainq(command, "0:5000", "--timeout", "0.3", "-j", "1", url=url)
    assert ran.code == 4
    assert "no complete response within 0.3 s" in ran.err
    assert "(after 2 attempts)" in ran.err
    asked = [json.loads(request.partition(b"\r\n\r\n")[2])["params"] for request in requests]
    widths = [params["end"] - params["start"] for params in asked]
    assert len(widths) <= 8
    assert len(set(widths)) == 2
    assert widths.count(1) == 2


def test_a_server_that_stops_answering(chainq: Program) -> None:
    """What came before is printed; then a few requests, not dozens."""
    service = SampleService(Chain(tip=5000))
    hung: list[bytes] = []

    def serve(peer: socket.socket, request: bytes) -> None:
        asked = request.partition(b"\r\n\r\n")[2]
        if json.loads(asked)["params"]["end"] > 3000:
            hung.append(asked)
            hang(peer, asked)
            return
        body = service.respond(asked).body
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

    with raw_server(serve) as (url, _):
        ran = chainq("blocks", "0:4900", "--jsonl", "--timeout", "1", url=url)
    assert ran.code == 4
    heights = [int(json.loads(row)["height"]) for row in ran.rows]
    assert heights == list(range(3000)), hung
    assert len(hung) <= 16
    assert "resume with" in ran.err
