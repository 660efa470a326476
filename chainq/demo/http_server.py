"""DemoServer: the sample service behind HTTP/1.1 on a socket of this machine. Nothing here knows the methods.

It uses only the standard library and is meant for examples, tests and measurements, not for the open network.
"""

import gzip
import socket
import sys
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from typing import Any

from chainq.demo.service import Service

Log = Callable[[int, bytes], None]


class DemoServer(ThreadingMixIn, TCPServer):
    """A server that listens on `port`, with a thread per connection.

    `serve_forever()`, `shutdown()` and `server_close()` come from the standard library.
    """

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, service: Service, host: str, port: int, log: Log | None = None) -> None:
        """Takes the service, a host name or address of this machine, and a port (0: a free one). `log` is called with
        the HTTP status and the body of each answered POST. Raises OSError if the port is taken."""
        if ":" in host:
            self.address_family = socket.AF_INET6
        self.service, self.log = service, log
        super().__init__((host, port), _Handler)
        self.port: int = self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a caller that hangs up; show any other error as the standard library does."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: DemoServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        body = self.rfile.read(int(length) if length.isdecimal() else 0)
        reply = self.server.service.respond(body)
        time.sleep(reply.latency)
        if reply.gzip and "gzip" in self.headers.get("Accept-Encoding", "").lower():
            packed = gzip.compress(reply.body, 1)
            reply = reply._replace(body=packed, headers={**reply.headers, "Content-Encoding": "gzip"})
        if self.server.log:
            self.server.log(reply.status, body)
        self.close_connection = self.close_connection or reply.cut
        self.send_response_only(reply.status)
        headers = {"Content-Type": reply.content_type, "Content-Length": str(len(reply.body)), **reply.headers}
        headers |= {"Date": self.date_time_string(), "Connection": "close" if self.close_connection else "keep-alive"}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body[: len(reply.body) // 2] if reply.cut else reply.body)

    def log_message(self, *_args: Any, **_kwargs: Any) -> None:
        """Write nothing: stderr belongs to the program that runs the server."""
