"""The sample service without a socket and on one: the same responses, also broken ones."""

import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import httpx
import pytest

from chainq.demo.faults import Faults
from chainq.demo.service import SampleService, answer
from chainq.process.serving import Server
from harness.running.sample import CHAIN


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    service = SampleService(CHAIN, getattr(request, "param", Faults()))
    with Server(partial(answer, service), "127.0.0.1", 0) as listening:
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield listening
        listening.shutdown()
        thread.join()


def test_a_socket_serves_several_calls_on_one_connection(server: Server) -> None:
    url = f"http://127.0.0.1:{server.server_port}/"
    opened: list[str] = []

    def trace(name: str, _: Any) -> None:
        opened.append(name)

    with httpx.Client() as client:
        for number in range(3):
            call = {"jsonrpc": "2.0", "id": number, "method": "getBlocks", "params": {"start": 0, "end": 50}}
            response = client.post(url, json=call, extensions={"trace": trace})
            assert response.http_version == "HTTP/1.1"
            assert response.json()["id"] == number
            assert len(response.json()["result"]) == 50
        assert opened.count("connection.connect_tcp.complete") == 1
        assert client.post(url, content=b"{").status_code == 400


@pytest.mark.parametrize("server", [Faults("gzip")], indirect=True)
def test_a_socket_compresses_for_those_who_accept_it(server: Server) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "getBlocks", "params": {"start": 0, "end": 50}}
    for accepted, coding in (("gzip", "gzip"), ("identity", "")):
        response = httpx.post(
            f"http://127.0.0.1:{server.server_port}/", json=call, headers={"Accept-Encoding": accepted}
        )
        assert response.headers.get("Content-Encoding", "") == coding
        assert len(response.json()["result"]) == 50


@pytest.mark.parametrize("server", [Faults("truncate-rate:1", "gzip")], indirect=True)
def test_a_socket_can_break_off_in_the_middle_of_a_body(server: Server) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "getBlocks", "params": {"start": 0, "end": 500}}
    with pytest.raises(httpx.RemoteProtocolError, match="without sending complete"):
        httpx.post(f"http://127.0.0.1:{server.server_port}/", json=call)
