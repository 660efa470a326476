"""HTTP by httpx, with one deadline for each exchange and a bound on each body. Only this module uses httpx.

Rejected: `httpx.Client`. It keeps cookies, parses the targets of redirects that are not followed, and logs URLs with
all secrets in them. Its transport does none of that.
"""

import contextlib
import os
import socket
import ssl
import time
from base64 import b64encode
from contextvars import ContextVar
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpcore
import httpx

from chainq import tuning
from chainq._version import __version__
from chainq.catalog.identifiers import is_loopback
from chainq.errors import ChainqError, ResponseError, UsageError, needed
from chainq.options import ServiceOptions
from chainq.text.sanitize import excerpt, keep_secret, mask_url, quoted
from chainq.transport.base import ExchangeError, Request, Response, check_size

_AT_ONCE = 128 * 2**10  # bytes: half as many steps of h11 as by httpcore's 64 KiB, a fifth less time; more gain nothing
_EXPECTED = "expected a PEM file with a certificate and its key, or FILE:KEY, without a password"
_DEADLINE: ContextVar[float] = ContextVar("_DEADLINE")
"""Of the exchange in progress in this thread, by `time.monotonic`."""


class HttpTransport:
    """Sends requests to the service's URL, and keeps connections open between them. Threads share it.

    `via` names the proxy for messages, "" for none. Raises UsageError if it, or a certificate, cannot be used.
    """

    def __init__(self, options: ServiceOptions) -> None:
        try:
            self._url = httpx.URL(options.url)
        except (httpx.InvalidURL, ValueError) as error:
            raise UsageError(f"invalid URL {mask_url(options.url)!r}: {excerpt(str(error))}") from None
        self._headers = _headers(options, self._url)
        proxy = _proxy(options.proxy)
        self.via = f" (through proxy {mask_url(str(proxy.url))})" if proxy is not None else ""
        context = tls_context(options.cert, used=self._url.scheme == "https")
        limits = httpx.Limits(keepalive_expiry=tuning.KEEP_ALIVE)  # `Connection` limits concurrency
        with needed("a SOCKS proxy needs the socksio package", "socks"):
            self._transport = httpx.HTTPTransport(verify=context, proxy=proxy, limits=limits)
        # The public way is httpcore.ConnectionPool(network_backend=...), which would bypass httpx and its choice of
        # pools for proxies. tests/transport/test_http.py fails if this attribute is gone.
        pool: Any = self._transport._pool
        self._backend = pool._network_backend = _Backend()

    def call(self, request: Request) -> Response:
        """Return the response, whatever its status. Raises ExchangeError, ResponseError, or TooHeavyError."""
        _DEADLINE.set(request.deadline)
        try:
            sent = httpx.Request("POST", self._url, headers=self._headers, content=request.body)
            with contextlib.closing(self._transport.handle_request(sent)) as response:
                body = _read(response, request.most)
                return Response(response.status_code, body, dict(response.headers))
        except ChainqError:
            raise
        except Exception as error:  # also of the packages for IDNA and SOCKS, which httpx passes on
            kind = "ConnectError" if isinstance(error, UnicodeError) else type(error).__name__
            away = "proxy: " if kind == "ConnectError" and self.via and "SSL" not in str(error) else ""
            raise ExchangeError(kind, away + (excerpt(str(error)) or kind)) from None

    def close(self) -> None:
        """End the exchanges in progress, and close the connections. No other one is opened."""
        self._backend.closed = True
        for stream in list(self._backend.open):  # also those that httpcore loses if a SOCKS proxy refuses
            stream.close()
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


def _left(timeout: float | None) -> float:
    """Return the seconds until the deadline, at most `timeout`. Raises httpcore.ReadTimeout if there are none."""
    if (left := _DEADLINE.get() - time.monotonic()) <= 0:
        raise httpcore.ReadTimeout
    return left if timeout is None else min(left, timeout)


class _Backend(httpcore.SyncBackend):
    """httpcore's network backend, each of whose waits ends at the deadline of the exchange, not `timeout` later."""

    def __init__(self) -> None:
        self.open: set[_Stream] = set()
        self.closed = False

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, *args: Any, **kwargs: Any) -> "_Stream":
        if not self.closed:
            stream = _Stream(super().connect_tcp(host, port, _left(timeout), *args, **kwargs), self.open)
            if not self.closed:
                return stream
            stream.close()  # the transport was closed meanwhile, and knew nothing of it
        raise httpcore.ConnectError("the transport is closed")


class _Stream(httpcore.NetworkStream):
    """One of its streams. `among`: all that are open."""

    def __init__(self, stream: httpcore.NetworkStream, among: "set[_Stream]") -> None:
        self._stream, self._among = stream, among
        among.add(self)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max(max_bytes, _AT_ONCE), _left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _left(timeout))

    def start_tls(self, ssl_context: Any, server_hostname: Any = None, timeout: float | None = None) -> "_Stream":
        self._among.discard(self)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, _left(timeout)), self._among)

    def close(self) -> None:
        self._among.discard(self)
        with contextlib.suppress(OSError):  # the peer was first
            # Wakes a thread that waits for the socket, which closing it does not.
            self.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
        self._stream.close()


def _headers(options: ServiceOptions, url: httpx.URL) -> httpx.Headers:
    # Decompressing takes longer than receiving from this machine; from any other machine, receiving takes longer.
    coding = "identity" if is_loopback(urlsplit(options.url).hostname) else "gzip"
    headers = httpx.Headers({"Accept": "*/*", "Accept-Encoding": coding, "User-Agent": f"chainq/{__version__}"})
    if url.username or url.password:  # RFC 7617
        headers["Authorization"] = f"Basic {b64encode(f'{url.username}:{url.password}'.encode()).decode()}"
    headers.update(options.headers)
    headers["Content-Type"] = "application/json"
    return headers


def _proxy(url: str) -> httpx.Proxy | None:
    """Return the proxy with that URL, None for none. Raises UsageError."""
    keep_secret(url, {})
    try:
        return httpx.Proxy(url) if url else None
    except (ValueError, httpx.InvalidURL):  # whose texts hold the proxy's password
        named_by = "HTTP_PROXY, HTTPS_PROXY or ALL_PROXY"
        raise UsageError(f"{named_by} is not a valid proxy URL", "expected one such as http://127.0.0.1:3128") from None


def tls_context(cert: str | None, *, used: bool) -> ssl.SSLContext:
    """Return the context for a server. `used`: whether its URL is https. `cert`: the client certificate, as FILE or
    FILE:KEY. Raises UsageError if it cannot be used, or the certificates that the environment names.

    `~` is expanded here, because a profile is not read by a shell.
    """
    if not used:  # loading certificates takes a fifth of a short run
        if cert:
            raise UsageError("--cert needs an https:// URL")
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    wrong, hint = f"SSL_CERT_FILE is {quoted(os.environ.get('SSL_CERT_FILE', ''))}", ""
    try:
        context = httpx.create_ssl_context()
        if cert:
            wrong, hint = f"--cert {cert} cannot be used", _EXPECTED
            file, colon, key = cert.rpartition(":")
            if not colon or Path(cert).expanduser().exists():
                file, key = cert, ""
            # With no password, or OpenSSL would ask for one on the terminal.
            context.load_cert_chain(Path(file).expanduser(), Path(key).expanduser() if key else None, password="")
    except OSError as error:
        raise UsageError(f"{wrong}: {excerpt(error.strerror or str(error))}", hint) from None
    return context
