"""Sockets for httpcore: as its own, but with one deadline for each exchange, and read in larger pieces.

httpcore hands its caller's timeouts on to every single read, write and connection attempt, so that a byte now and then
keeps a call alive for ever. `http` therefore passes not seconds but the deadline of the call (a point of
`time.monotonic`) as each of these timeouts, and what is left until then is computed here.
"""

import socket
import ssl
import time
from collections.abc import Callable, Iterable
from typing import Any

import httpcore
from httpcore import SOCKET_OPTION

READ_BYTES = 256 * 2**10
# What has arrived when the deadline passes is still read, but never waited for: a complete response is not thrown away
# because this process was suspended. No kernel buffers more than this; a server that sends for ever ends here.
LATE_BYTES = 16 * 2**20
NO_TIME = 0.001  # seconds: enough to fetch what is there

Now = Callable[[], float]


class Stream(httpcore.NetworkStream):
    """A connection, plain or encrypted. Each `timeout` is a deadline; where httpcore gives none, the last one holds.

    A read takes up to READ_BYTES: httpcore asks for 64 KiB, but takes what it is given. Four times as much saves a
    fifth of the time that a large response takes, and most switches between threads.
    """

    def __init__(self, inner: httpcore.NetworkStream, now: Now, deadline: float) -> None:
        self._inner, self._now, self._deadline = inner, now, deadline
        self._late = 0  # bytes read after the deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return what has arrived, empty at the end. Raises httpcore.ReadTimeout or ReadError."""
        left = self._left(timeout)
        data = self._inner.read(max(max_bytes, READ_BYTES), max(left, NO_TIME))
        if left <= 0:
            self._late += len(data)
            if self._late > LATE_BYTES:
                raise httpcore.ReadTimeout("the response does not end")
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all of it. Raises httpcore.WriteTimeout or WriteError."""
        self._inner.write(buffer, max(self._left(timeout), NO_TIME))

    def close(self) -> None:
        """Close the socket."""
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """Return the same connection encrypted. Raises httpcore.ConnectTimeout or ConnectError."""
        seconds = max(self._left(timeout), NO_TIME)
        return Stream(self._inner.start_tls(ssl_context, server_hostname, seconds), self._now, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        """Return what httpcore and `http` ask about a connection: `ssl_object`, `is_readable` and others."""
        return self._inner.get_extra_info(info)

    def _left(self, deadline: float | None) -> float:
        """Return the seconds to the deadline."""
        if deadline is not None and deadline != self._deadline:
            self._deadline, self._late = deadline, 0
        return self._deadline - self._now()


class Network(httpcore.NetworkBackend):
    """Opens TCP connections as `Stream`. `now` returns the time by which deadlines count."""

    def __init__(self, now: Now = time.monotonic) -> None:
        self._inner = httpcore.SyncBackend()
        self._now = now

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address of the host that answers. Raises httpcore.ConnectTimeout or ConnectError.

        `timeout` is the deadline, and each address has its share of what is left. Looking the host up cannot be
        interrupted: its time is bounded by the system's resolver.
        """
        deadline = self._now() if timeout is None else timeout
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:  # UnicodeError: no host name at all
            raise httpcore.ConnectError(error) from None
        addresses = [str(address[0]) for *_, address in found]
        for number, address in enumerate(addresses, 1):
            left = (deadline - self._now()) / (len(addresses) + 1 - number)
            try:
                stream = self._inner.connect_tcp(address, port, max(left, NO_TIME), local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if number == len(addresses):
                    raise
            else:
                return Stream(stream, self._now, deadline)
        raise httpcore.ConnectError("the host name has no address")
