"""The connections of `chainq serve --lake`."""

import asyncio
from typing import Any

import pytest

uvicorn = pytest.importorskip("uvicorn")
from chainq.lake import service  # noqa: E402  # after the package that may be missing


async def _app(_: Any, receive: Any, send: Any) -> None:
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"POST / HTTP/1.1\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n[",
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET",
    ],
    ids=str,
)
def test_a_request_has_a_time(monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    """A connection that has not sent one by then ends, also in the middle of its next one."""
    monkeypatch.setattr(service, "SECONDS", 0.05)

    async def talk() -> bytes:
        config = uvicorn.Config(_app, http=service._protocol(), ws="none", lifespan="off", timeout_keep_alive=1000)
        config.load()
        state = uvicorn.server.ServerState()
        listening = await asyncio.get_running_loop().create_server(
            lambda: config.http_protocol_class(config, state, {}), "127.0.0.1", 0
        )
        async with listening:
            reader, writer = await asyncio.open_connection(*listening.sockets[0].getsockname())
            writer.write(sent)
            try:
                return await asyncio.wait_for(reader.read(), 60)
            except ConnectionResetError:
                return b""
            finally:
                writer.close()

    assert asyncio.run(talk()).startswith(b"HTTP/1.1 204" if sent.endswith(b"GET") else b"")
