"""One HTTP/1.1 request and its response over a channel: uses http.client, and adds the checks that it lacks.

http.client takes a response for complete when the connection is closed in its head or at the end of a chunk, takes an
interim response for the final one, ignores a length or a transfer coding that it does not understand, reads as much as
there is for a chunk of negative size, and reads interim responses and trailers without end.
"""

import io
import re
from collections.abc import Iterable, Iterator
from http.client import HTTPConnection, HTTPException, HTTPResponse, InvalidURL
from typing import Any

from chainq.transport.base import UnusableRequestError
from chainq.transport.network import READ_BYTES, Channel

HEAD_BYTES = 64 * 2**10  # that are read at a time of a head or of small chunks; of other bodies, all that has arrived
MOST_LINES = 1000  # one after the other: of heads, also of interim responses, and of a trailer


class Incoming(HTTPResponse):
    """A response whose head is read. `length`: of the body in bytes, None if the head does not say it."""

    def __init__(self, connection: "_Socket", method: str) -> None:
        """Read the head. Raises OSError or HTTPException."""
        super().__init__(connection, method=method)  # type: ignore[arg-type]  # all of a socket that it makes use of
        self._connection = connection
        self.begin()
        while 100 <= self.status < 200:  # interim (RFC 9110, section 15.2); http.client passes over 100 only
            self.headers = self.msg = None  # type: ignore[assignment]  # so that `begin` reads the next head
            self.begin()
        if connection.ended:
            raise HTTPException("the connection was closed in the head of the response")
        if isinstance(rest := self.headers.get_payload(), str) and rest:
            raise HTTPException("a line in the head of the response is not a header")
        if "transfer-encoding" in self.headers and not self.chunked:
            raise HTTPException("the response has a Transfer-Encoding other than chunked")
        lengths = set(self.headers.get_all("content-length", []))
        if len(lengths) > 1 or not all(re.fullmatch("[0-9]{1,18}", length) for length in lengths):
            raise HTTPException("the response has a Content-Length that is not a number")

    def pieces(self) -> Iterator[bytes]:
        """Yield the body, in one piece if its length is known. Raises OSError, and HTTPException if it is truncated."""
        until_closed = self.length is None and not self.chunked
        while piece := self.read(READ_BYTES if self.length is None else self.length):
            yield piece
        if self._connection.ended and not until_closed:
            raise HTTPException("the connection was closed in the body of the response")


class _Socket(io.RawIOBase):
    """A channel with the socket methods that http.client needs, for one exchange. `ended`: the peer has closed it."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.head = b""  # of the request
        self.ended = False

    def makefile(self, _mode: str) -> io.BufferedReader:
        return _Reader(self, HEAD_BYTES)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._channel.receive(memoryview(buffer))
        self.ended = not count
        return count

    def sendall(self, data: bytes) -> None:
        """Keep the head of a request, which is sent together with its body."""
        self.head = data

    def close(self) -> None:
        """Leave the channel open; http.client would close it after each response."""


class _Reader(io.BufferedReader):
    """The reader of a response for http.client. Raises HTTPException for reads that would have no other bound."""

    _lines = 0  # since the last piece of a body

    def readline(self, size: int | None = -1, /) -> bytes:
        self._lines += 1
        if self._lines > MOST_LINES:
            raise HTTPException(f"the response has more than {MOST_LINES} lines of headers or trailers")
        return super().readline(size)

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:  # "all that there is", which nothing would bound
            raise HTTPException("the response has a chunk of negative size")
        self._lines = 0
        return super().read(size)


def exchange(
    channel: Channel, method: str, target: str, headers: Iterable[tuple[bytes, bytes]], body: bytes = b""
) -> Incoming:
    """Send a request with these headers and no others, and return its response as soon as the head is there.

    Raises UnusableRequestError if the target or a header cannot be sent; OSError; HTTPException.
    """
    connection = _Socket(channel)
    outgoing = HTTPConnection("", 80)  # of no meaning: it is connected, and has a header Host
    outgoing.sock = connection
    try:
        outgoing.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        for name, value in headers:
            outgoing.putheader(name, value)
    except (ValueError, InvalidURL):  # whose texts hold the value, perhaps a secret
        raise UnusableRequestError("a character in it cannot be sent") from None
    outgoing.endheaders()
    channel.send(connection.head + body)
    return Incoming(connection, method)
