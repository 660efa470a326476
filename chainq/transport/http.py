"""HTTP by httpx, with one deadline for each exchange and a bound on each body. Only this folder uses httpx.

Rejected: `httpx.Client`. It keeps cookies, parses the targets of redirects that are not followed, and logs URLs with
all secrets in them. Its transport does none of that.
"""

import contextlib
import socket
import time
from base64 import b64encode
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlsplit

import httpcore
import httpx

from chainq import tuning
from chainq._version import __version__
from chainq.catalog.identifiers import is_loopback
from chainq.errors import ChainqError, ResponseError, UsageError
from chainq.text.sanitize import excerpt, mask_url
from chainq.transport.base import ExchangeError, Request, Response, ServiceOptions, check_size
from chainq.transport.proxies import named_proxy, tls_context

_AT_ONCE = 128 * 2**10  # bytes: half as many steps of h11 as by httpcore's 64 KiB, a fifth less time; more gain nothing
_DEADLINE: ContextVar[float] = ContextVar("_DEADLINE")
"""Of the exchange in progress in this thread, by `time.monotonic`."""


class HttpTransport:
    """Sends requests to the service's URL, and keeps connections open between them. Threads share it.

    Proxies and certificates are those that the environment names; `via` names the proxy for messages, "" for none.
    Raises UsageError if these cannot be used.
    """

    def __init__(self, options: ServiceOptions) -> None:
        try:
            self._url = httpx.URL(options.url)
        except (httpx.InvalidURL, ValueError) as error:
            raise UsageError(f"invalid URL {mask_url(options.url)!r}: {excerpt(str(error))}") from None
        self._headers = _headers(options, self._url)
        proxy = named_proxy(options.url)
        self.via = f" (through proxy {mask_url(str(proxy.url))})" if proxy is not None else ""
        self._transport = httpx.HTTPTransport(
            verify=tls_context(options.cert, used=self._url.scheme == "https"),
            proxy=proxy,
            limits=httpx.Limits(keepalive_expiry=tuning.KEEP_ALIVE),  # `Connection` limits concurrency
        )
        # The public way is httpcore.ConnectionPool(network_backend=...), which would bypass httpx and its choice of
        # pools for proxies. tests/transport/test_http.py fails if this attribute is gone.
        pool: Any = self._transport._pool
        speaks_http = proxy is None or not proxy.url.scheme.startswith("socks")
        self._backend = pool._network_backend = _Backend(pool._network_backend, speaks_http=speaks_http)

    def call(self, request: Request) -> Response:
        """Return the response, whatever its status. Raises ExchangeError, ResponseError, or TooHeavyError."""
        headers = self._headers.copy()
        headers.setdefault("X-Request-ID", request.id)  # the user's own has precedence
        _DEADLINE.set(request.deadline)
        try:
            sent = httpx.Request("POST", self._url, headers=headers, content=request.body)
            with contextlib.closing(self._transport.handle_request(sent)) as response:
                http_version = response.extensions.get("http_version", b"HTTP/1.1").decode()
                body = _read(response, request.most)
                return Response(response.status_code, body, dict(response.headers), http_version)
        except ChainqError:
            raise
        except Exception as error:  # also of the packages for IDNA and SOCKS, which httpx passes on
            unknown_host = isinstance(error, UnicodeError | httpcore.ConnectionNotAvailable)
            kind = "ConnectError" if unknown_host else type(error).__name__
            away = "proxy: " if kind == "ConnectError" and self.via and "SSL" not in str(error) else ""
            raise ExchangeError(kind, away + (excerpt(str(error)) or kind)) from None

    def close(self) -> None:
        """End the exchanges in progress, and close the connections; later calls fail before anything is sent."""
        self._backend.close()
        self._transport.close()


def _read(response: httpx.Response, most: int) -> bytes:
    """Return the body, decompressed. Raises TooHeavyError for more than `most` bytes, ResponseError for a coding that
    was not requested."""
    coding = response.headers.get("content-encoding", "").strip().lower()
    if coding not in ("", "identity", "gzip"):
        raise ResponseError(f"response has the content coding {excerpt(coding, 40)!r}; chainq asks for gzip only")
    check_size(int(response.headers.get("content-length", 0)), most)  # a number, or h11 would have refused it
    size, pieces = 0, []
    # httpx inflates each piece that arrives at once, so that `most` may be exceeded by 128 MiB at most.
    for piece in response.iter_bytes() if coding == "gzip" else response.iter_raw():
        size += len(piece)
        check_size(size, most)
        pieces.append(piece)
    return b"".join(pieces)


class _Backend:
    """httpcore's network backend, each of whose waits ends at the deadline of the exchange in progress."""

    def __init__(self, backend: httpcore.NetworkBackend, *, speaks_http: bool) -> None:
        self._backend, self.speaks_http = backend, speaks_http
        self.open: set[_Stream] = set()
        self._closed = False

    def connect_tcp(self, timeout: float | None = None, **options: Any) -> "_Stream":
        return _Stream(self._backend.connect_tcp(timeout=self.left(timeout), **options), self)

    def left(self, timeout: float | None) -> float:
        """Return the seconds until the deadline, at most `timeout`. Raises httpcore.ReadTimeout if there are none."""
        if self._closed:
            raise httpcore.ConnectError("the transport is closed")
        if (left := _DEADLINE.get() - time.monotonic()) <= 0:
            raise httpcore.ReadTimeout
        return left if timeout is None else min(left, timeout)

    def close(self) -> None:
        """Interrupt all reads and writes: closing a socket does not wake a thread that waits for it."""
        self._closed = True
        for stream in list(self.open):
            with contextlib.suppress(OSError):  # the peer was first
                stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
            stream.close()


class _Stream:
    """A network stream of httpcore whose every wait ends at the deadline, not `timeout` later."""

    def __init__(self, stream: httpcore.NetworkStream, backend: _Backend) -> None:
        self._stream, self._backend, self._greeted = stream, backend, not backend.speaks_http
        backend.open.add(self)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)

    def close(self) -> None:
        self._backend.open.discard(self)
        self._stream.close()

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = self._stream.read(max(max_bytes, _AT_ONCE), self._backend.left(timeout))
        # h11 waits for the end of a line, which other protocols may never send.
        if not self._greeted and not b"HTTP/".startswith(data[:5]):
            raise httpcore.RemoteProtocolError(f"the response is not HTTP: {excerpt(data[:80].decode('latin-1'))}")
        self._greeted = True
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._backend.left(timeout))

    def start_tls(self, ssl_context: Any, server_hostname: Any = None, timeout: float | None = None) -> "_Stream":
        self._backend.open.discard(self)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, self._backend.left(timeout)), self._backend)


def _headers(options: ServiceOptions, url: httpx.URL) -> httpx.Headers:
    # Decompressing takes longer than receiving from this machine; from any other machine, receiving takes longer.
    coding = "identity" if is_loopback(urlsplit(options.url).hostname) else "gzip"
    headers = httpx.Headers({"Accept": "*/*", "Accept-Encoding": coding, "User-Agent": f"chainq/{__version__}"})
    if url.username or url.password:  # RFC 7617
        headers["Authorization"] = f"Basic {b64encode(f'{url.username}:{url.password}'.encode()).decode()}"
    headers.update(options.headers)
    headers["Content-Type"] = "application/json"
    return headers
