"""Connections on which every wait ends at the deadline of the exchange: TCP, and TLS over it.

The timeout of a socket holds for a single read, write or attempt to connect, so that a byte now and then would keep a
call alive for ever. Here each of these gets what is left until the deadline, a point of `time.monotonic`.
"""

import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from select import POLLIN, POLLOUT, poll
from typing import Any, Protocol, TypeVar

READ_BYTES = 256 * 2**10
# What has arrived when the deadline passes is still read, but never waited for: a complete response is not thrown away
# because this process was suspended. No kernel buffers more than this; a server that sends for ever ends here, also one
# that sends what takes long to read, such as chunks of one byte.
LATE_BYTES = 16 * 2**20
LATE_SECONDS = 1.0  # from the first read after the deadline
LEAST_SECONDS = 0.001  # to connect in: a socket with none would not wait at all

Now = Callable[[], float]
T = TypeVar("T")


class Channel(Protocol):
    """Bytes to and from a peer. Both methods raise OSError, and TimeoutError if the deadline passed."""

    def receive(self, buffer: memoryview) -> int:
        """Wait for bytes, put what has arrived into the buffer, and return its size: 0 at the end."""

    def send(self, data: bytes | memoryview) -> None:
        """Send all of it."""


class Tcp:
    """A TCP connection. `now` returns the time by which the deadline counts."""

    def __init__(self, connected: socket.socket, now: Now, deadline: float) -> None:
        self._socket, self._now = connected, now
        # Not `settimeout`, which makes two system calls more of each read. In each call another thread may begin to
        # compute, and this one then waits for its turn.
        connected.setblocking(False)
        self._readable, self._writable = poll(), poll()
        self._readable.register(connected, POLLIN)
        self._writable.register(connected, POLLOUT)
        self.start(deadline)

    def start(self, deadline: float) -> None:
        """Begin an exchange that has until the deadline."""
        self._deadline = deadline
        self._late = 0  # bytes read after the deadline
        self._last: float | None = None  # the time to read until; None before the deadline

    def receive(self, buffer: memoryview) -> int:
        """Put what has arrived into the buffer, as `Channel`."""
        now = self._now()
        left = self._deadline - now
        count = self._within(left, self._readable, self._socket.recv_into, buffer)
        if left <= 0:
            self._late += count
            self._last = now + LATE_SECONDS if self._last is None else self._last
            if self._late > LATE_BYTES or now > self._last:
                raise TimeoutError("the response does not end")
        return count

    def send(self, data: bytes | memoryview) -> None:
        """Send all of it, as `Channel`."""
        rest = memoryview(data)
        while rest:
            left = self._deadline - self._now()
            rest = rest[self._within(left, self._writable, self._socket.send, rest) :]

    @staticmethod
    def _within(seconds: float, ready: "poll", step: Callable[[memoryview], int], data: memoryview) -> int:
        """Return the result of a step of the socket, after waiting at most `seconds` until it is possible."""
        while True:
            try:
                return step(data)
            except BlockingIOError:
                if not ready.poll(max(seconds, 0) * 1000):
                    raise TimeoutError("timed out") from None

    def is_silent(self) -> bool:
        """Return whether the peer has sent nothing, nor closed the connection, since the last read."""
        return not self._readable.poll(0)

    def shut_down(self) -> None:
        """Interrupt any use of the connection by other threads."""
        with suppress(OSError):  # the peer was first
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the socket. Only by the thread that uses it: another may get a file of the same number at once."""
        self._socket.close()


class Tls:
    """TLS over a channel, which may be TLS itself, as with an `https://` proxy in front of an `https://` server.

    Rejected: `SSLContext.wrap_socket`, which cannot do that, and takes a fifth longer for large responses, since it
    reads each record (16 KiB) from the socket by itself.
    """

    def __init__(self, channel: Channel, context: ssl.SSLContext, host: str) -> None:
        """Shake hands. Raises OSError, or ValueError if the host cannot be named in a certificate."""
        self._channel = channel
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._piece = memoryview(bytearray(READ_BYTES))
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self._do(self._tls.do_handshake)
        self.version = self._tls.version() or ""

    def receive(self, buffer: memoryview) -> int:
        """Put what has arrived into the buffer, as `Channel`."""
        try:
            return int(self._do(self._tls.read, len(buffer), buffer))  # the number of bytes, if there is a buffer
        except ssl.SSLEOFError:  # many servers close the connection without a word of TLS
            return 0

    def send(self, data: bytes | memoryview) -> None:
        """Send all of it, as `Channel`."""
        while data:
            data = data[self._do(self._tls.write, data) :]

    def _do(self, step: Callable[..., T], *arguments: Any) -> T:
        """Return the result of a step of TLS, once the peer has sent all that it needs."""
        while True:
            try:
                return step(*arguments)
            except ssl.SSLWantReadError:
                self._flush()
                count = self._channel.receive(self._piece)
                if count:
                    self._incoming.write(self._piece[:count])
                else:
                    self._incoming.write_eof()
            finally:
                self._flush()  # also the alert of a handshake that fails

    def _flush(self) -> None:
        if self._outgoing.pending:
            self._channel.send(self._outgoing.read())


def connect(host: str, port: int, now: Now, deadline: float) -> Tcp:
    """Connect to the first address of the host that answers. Raises OSError, also if the host has no address.

    Each address has its share of the time until the deadline. Looking the host up cannot be interrupted: its time is
    bounded by the system's resolver.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # no host name at all
        raise OSError(str(error)) from None
    failure = OSError("the host name has no address")
    for number, (family, *_, address) in enumerate(found):
        left = (deadline - now()) / (len(found) - number)
        try:
            return Tcp(open_socket(family, address, max(left, LEAST_SECONDS)), now, deadline)
        except OSError as error:
            failure = error
    raise failure


def open_socket(family: int, address: Any, seconds: float) -> socket.socket:
    """Return a socket that is connected to the address. Raises OSError."""
    connected = socket.socket(family)
    try:
        connected.settimeout(seconds)
        connected.connect(address)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        connected.close()
        raise
    return connected
