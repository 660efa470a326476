"""Server: a function behind HTTP/1.1 on a socket of this machine, with the standard library.

Clients may be hostile: the size of a request, its time and the number of connections have bounds.
"""

import math
import re
import resource
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from operator import itemgetter
from time import monotonic
from typing import Any

MOST_REQUEST = 150 * 1024
"""Bytes of a request; larger ones get HTTP 413, as from deployed servers (docs/protocol.md, "Envelope and errors")."""
SECONDS = 10
"""How long a connection may take to send a request, and stay open without one."""
MOST_CONNECTIONS, BACKLOG = 512, 128
"""Open connections (at most half of the files that the process may open), and connections accepted at once."""
TEXT = {"Content-Type": "text/plain; charset=utf-8"}
"""Headers of a response in words."""

Answer = tuple[int, Mapping[str, str], bytes]
"""An HTTP response: status, headers, body. The headers may replace those of the server."""
Handler = Callable[[str, Mapping[str, str], bytes], Answer]
"""Takes the method and the path of a request ("POST /"), its headers by lower-case name, and its body, in many threads.
"""


class Server(ThreadingHTTPServer):
    """A server with a thread for each connection.

    `serve_forever()`, `shutdown()` and `server_close()` come from the standard library. `open`: since when each
    connection waits for the end of a request, infinity for those that got one.
    """

    request_queue_size = BACKLOG

    def __init__(self, handler: Handler, host: str, port: int) -> None:
        """Takes what answers requests, a host name or address of this machine, and a port (0: a free one).

        Raises OSError if the address is unavailable."""
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.handler, self.open = handler, dict[Any, float]()
        self._most = min(MOST_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
        super().__init__((host, port), _Connection)

    def service_actions(self) -> None:
        """End connections that take too long to send a request and, if too many are open, those that wait longest: so
        clients that never finish their requests lock out nobody. `serve_forever` calls it all the time."""
        late, excess = monotonic() - SECONDS, len(self.open) - self._most
        for place, (connection, since) in enumerate(sorted(self.open.copy().items(), key=itemgetter(1))):
            if since < late or place < excess:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection that has ended."""
        self.open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a caller that hangs up; show any other error as the standard library does."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Connection(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def handle_one_request(self) -> None:
        self.server.open[self.connection] = monotonic()
        super().handle_one_request()

    def do_POST(self) -> None:
        status, headers, body = self._answer()
        self.send_response_only(status)
        self.send_header("Date", self.date_time_string())
        alive = "close" if self.close_connection else "keep-alive"
        for name, value in {"Content-Length": str(len(body)), "Connection": alive, **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST  # noqa: N815

    def _answer(self) -> Answer:
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers:  # RFC 9112, section 6.1
            return 400, TEXT | {"Connection": "close"}, b"Transfer-Encoding is not supported\n"
        if not re.fullmatch("[0-9]{1,9}", length) or int(length) > MOST_REQUEST:
            return 413, TEXT | {"Connection": "close"}, b"request entity too large\n"
        body = self.rfile.read(int(length))
        self.server.open[self.connection] = math.inf
        headers = {name.lower(): value for name, value in self.headers.items()}
        return self.server.handler(f"{self.command} {self.path}", headers, body)

    def log_message(self, *_args: Any, **_kwargs: Any) -> None:
        """Write nothing: stderr belongs to the program that runs the server."""
