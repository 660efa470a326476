"""DemoTransport: the sample service behind httpx, in process. Nothing here knows the methods or their answers."""

import time
from collections.abc import Iterator

import httpx

from chainq.demo.service import NOT_FOUND, Reply, Service


class _Body(httpx.SyncByteStream):
    # A stream and not `content`, so that callers may read it raw as they read a socket.
    def __init__(self, reply: Reply, request: httpx.Request) -> None:
        self._reply, self._request = reply, request

    def __iter__(self) -> Iterator[bytes]:
        body = self._reply.body
        if not self._reply.cut:
            yield body
            return
        yield body[: len(body) // 2]
        raise httpx.RemoteProtocolError(
            "peer closed connection without sending complete message body", request=self._request
        )


class DemoTransport(httpx.BaseTransport):
    """Sends httpx requests to a Service; threads may share it.

    `latency` is slept, a cut body raises `httpx.RemoteProtocolError` while it is read, and gzip happens as on a socket.
    """

    def __init__(self, service: Service) -> None:
        """Takes the service that answers."""
        self._service = service

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answers one request: POST to any URL with the service's reply, everything else with HTTP 404."""
        if self._service.faults.latency:
            time.sleep(self._service.faults.latency)
        reply = self._service.answer(request.read()) if request.method == "POST" else NOT_FOUND
        reply = self._service.packed(reply, request.headers.get("Accept-Encoding", ""))
        headers = {"Content-Type": reply.content_type, "Content-Length": str(len(reply.body)), **reply.headers}
        return httpx.Response(reply.status, headers=headers, stream=_Body(reply, request), request=request)
