"""serve: the sample service behind HTTP/1.1 on a socket of this machine. Nothing here knows the methods.

It uses only the standard library and is meant for examples, tests and measurements, not for the open network.
"""

import gzip
import socket
import sys
import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from typing import Any

from chainq.demo.exchange import Reply, page
from chainq.demo.service import NOT_FOUND, Service

Log = Callable[[int, bytes], None]
_MOST_READ = 16 << 20  # bytes read of a refused body; if it is longer, the connection is closed


class DemoServer(ThreadingMixIn, TCPServer):
    """A server that listens on `port`, with a thread per connection.

    `serve_forever()`, `shutdown()` and `server_close()` come from the standard library.
    """

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, make: Callable[[], Service], host: str, port: int, log: Log | None = None) -> None:
        """Takes a function that makes the service, a host name or address of this machine, and a port (0: a free one).
        `log` is called with the HTTP status and the body of each answered POST. Raises OSError if the port is taken.

        It listens before it makes the service, which may take a minute: early callers wait and are not refused.
        """
        if ":" in host:
            self.address_family = socket.AF_INET6
        self.log = log
        super().__init__((host, port), _Handler)
        self.port: int = self.server_address[1]
        try:
            self.service = make()
        except BaseException:
            self.server_close()
            raise

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a caller that hangs up; show any other error as the standard library does."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: DemoServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        service = self.server.service
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            self._send(page(411, "Length Required"), close=True)
        elif int(length) > _MOST_READ:
            self._send(page(413, "PayloadTooLargeError: request entity too large"), close=True)
        else:
            body = self.rfile.read(int(length))
            with service.under_way():
                response = service.respond(body)
                time.sleep(response.latency)
            if response.gzip and "gzip" in self.headers.get("Accept-Encoding", "").lower():
                packed = gzip.compress(response.body, 1)
                response = response._replace(body=packed, headers={**response.headers, "Content-Encoding": "gzip"})
            if self.server.log:
                self.server.log(response.status, body)
            self._send(response, close=response.cut)

    def do_GET(self) -> None:
        self._send(NOT_FOUND, close=True)  # closed, because an unread body may follow

    def __getattr__(self, name: str) -> Callable[[], None]:
        if name.startswith("do_"):  # any other HTTP method
            return self.do_GET
        raise AttributeError(name)

    def do_HEAD(self) -> None:
        self._send(NOT_FOUND, close=True, bodiless=True)

    def _send(self, response: Reply, *, close: bool, bodiless: bool = False) -> None:
        status = response.status
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", f"Date: {self.date_time_string()}"]
        if status != HTTPStatus.NO_CONTENT:
            lines += [f"Content-Type: {response.content_type}", f"Content-Length: {len(response.body)}"]
        lines += [f"{name}: {value}" for name, value in response.headers.items()]
        if close:
            lines.append("Connection: close")
            self.close_connection = True
        head = "\r\n".join([*lines, "", ""]).encode()
        for part in dripped(head if bodiless else head + response.sent, response.drip):
            self.wfile.write(part)

    def log_message(self, *_args: Any, **_kwargs: Any) -> None:
        """Write nothing: stderr belongs to the program that runs the server."""


def dripped(data: bytes, seconds: float) -> Iterator[bytes]:
    """Yield the data byte by byte with that many seconds before each, or all at once for 0."""
    if not seconds:
        yield data
        return
    for at in range(len(data)):
        time.sleep(seconds)
        yield data[at : at + 1]


def serve(
    make: Callable[[], Service],
    host: str,
    port: int,
    *,
    ready: Callable[[int], None] | None = None,
    log: Log | None = None,
) -> None:
    """Serve what `make` returns until SIGINT (KeyboardInterrupt), then close and return quietly.

    The caller handles other signals. `port` 0 takes a free one; `ready` is called once with the port, when the server
    accepts requests; `log` as in DemoServer. Raises OSError if the address is unavailable. Methods other than POST get
    HTTP 404 and HTML.
    """
    with DemoServer(make, host, port, log) as server:
        try:
            if ready:
                ready(server.port)
            server.serve_forever(poll_interval=0.1)
        except KeyboardInterrupt:
            return
