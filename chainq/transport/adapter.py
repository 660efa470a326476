"""httpx's transport for chainq: connections to one server, kept open between requests.

Rejected: httpx's own transport (httpcore and h11), which copies a response several times and takes three times as long
to receive it; urllib3, which receives as fast, but takes longer to import than that saves in a short run.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import BadStatusLine, HTTPException, RemoteDisconnected

import httpx

from chainq import tuning
from chainq.text.sanitize import excerpt
from chainq.transport.base import (
    BrokenResponseError,
    DeadlineError,
    NoConnectionError,
    NoResponseError,
    NotHttpError,
    UnconnectedError,
)
from chainq.transport.http1 import Incoming, exchange
from chainq.transport.network import Channel, Now, Tcp, Tls
from chainq.transport.proxies import Route

_TLS_RECORDS = ("\x15\x03", "\x16\x03")  # alert and handshake (RFC 8446, section 5.1)


class Adapter(httpx.BaseTransport):
    """Sends requests by a route. Threads share it. `now` returns the time by which deadlines count.

    A request has the extension `deadline`, a point of that time. A response has `http_version`; `tls`, the TLS version
    or empty; and `length`, the bytes of the body as sent, None if unknown. The body arrives in one piece if its length
    is known, else in small pieces.
    """

    def __init__(self, route: Route, now: Now) -> None:
        self._route, self._now = route, now
        self._lock = threading.Lock()
        self._idle: list[_Connection] = []
        self._busy: set[_Connection] = set()
        self._closed = False

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Return the response as soon as its head is there. Raises ExchangeError, and so does reading it."""
        connection, incoming = self._exchange(request)
        return httpx.Response(
            incoming.status,
            headers=[(name.encode("latin-1"), value.encode("latin-1")) for name, value in incoming.headers.items()],
            stream=_Body(self, connection, incoming),
            extensions={
                "http_version": b"HTTP/1.0" if incoming.version == 10 else b"HTTP/1.1",
                "tls": connection.channel.version if isinstance(connection.channel, Tls) else "",
                "length": incoming.length,
            },
        )

    def close(self) -> None:
        """Close the connections and end the exchanges in progress; later ones fail before anything is sent."""
        with self._lock:
            self._closed = True
            for connection in self._busy:
                connection.tcp.shut_down()
            while self._idle:
                self._idle.pop().tcp.close()

    def release(self, connection: "_Connection", reusable: bool) -> None:
        """Take a connection back whose exchange has ended."""
        with self._lock:
            self._busy.discard(connection)
            if reusable and not self._closed:
                connection.idle_since = self._now()
                self._idle.append(connection)
                return
        connection.tcp.close()

    def _exchange(self, request: httpx.Request) -> "tuple[_Connection, Incoming]":
        deadline = request.extensions["deadline"]
        with _plain_errors():
            while (kept := self._kept(deadline)) is not None:
                try:
                    return kept, self._send(kept, request)
                except ConnectionError:  # the server closed it at this very moment; all requests only read
                    continue
        with _plain_errors(connecting=True):
            made = self._made(deadline)
        with _plain_errors():
            return made, self._send(made, request)

    def _send(self, connection: "_Connection", request: httpx.Request) -> Incoming:
        headers = [*self._route.headers, *request.headers.raw]
        try:
            return exchange(connection.channel, request.method, self._route.target, headers, request.read())
        except BaseException:
            self.release(connection, reusable=False)
            raise

    def _kept(self, deadline: float) -> "_Connection | None":
        """Return an idle connection that the server has not closed, the last used first; None if there is none."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection = self._idle.pop()
                self._busy.add(connection)
            if self._now() < connection.idle_since + tuning.KEEP_ALIVE and connection.tcp.is_silent():
                connection.tcp.start(deadline)
                return connection
            self.release(connection, reusable=False)

    def _made(self, deadline: float) -> "_Connection":
        connection = _Connection(*self._route.open(self._now, deadline))
        with self._lock:
            if not self._closed:
                self._busy.add(connection)
                return connection
        connection.tcp.close()
        raise ConnectionError("the transport is closed")


class _Connection:
    """A connection and the channel over it; `idle_since`: when its last exchange ended."""

    def __init__(self, tcp: Tcp, channel: Channel) -> None:
        self.tcp, self.channel = tcp, channel
        self.idle_since = 0.0


class _Body(httpx.SyncByteStream):
    def __init__(self, adapter: Adapter, connection: _Connection, incoming: Incoming) -> None:
        self._adapter, self._connection, self._incoming = adapter, connection, incoming
        self._complete = False

    def __iter__(self) -> Iterator[bytes]:
        with _plain_errors():
            yield from self._incoming.pieces()
        self._complete = True

    def close(self) -> None:
        self._adapter.release(self._connection, reusable=self._complete and not self._incoming.will_close)


@contextmanager
def _plain_errors(*, connecting: bool = False) -> Iterator[None]:
    """Convert errors of sockets and of http.client to the errors of `base`."""
    try:
        yield
    except RemoteDisconnected:
        raise NoResponseError("the connection was closed without a response") from None
    except BadStatusLine as error:
        other = NotHttpError(f"the response is not HTTP: {excerpt(str(error))}")
        other.tls = str(error).startswith(_TLS_RECORDS)
        raise other from None
    except HTTPException as error:
        raise BrokenResponseError(excerpt(str(error))) from None
    except TimeoutError:
        raise NoConnectionError("timed out while connecting") if connecting else DeadlineError from None
    except (OSError, ValueError) as error:  # ValueError: a host that cannot be named in a certificate or to a proxy
        raise (UnconnectedError if connecting else NoConnectionError)(
            excerpt(str(error)) or type(error).__name__
        ) from None
