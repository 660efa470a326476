"""Sends requests by HTTP POST: httpx, and its connection pool httpcore, are known in this folder only.

`httpx.HTTPTransport` and not `httpx.Client`: a client keeps cookies, reads the target of a redirect that nobody
follows, unpacks responses of any size, and logs the URL with all secrets in it.
"""

import contextlib
import ssl
import time
from base64 import b64encode
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

from chainq._version import __version__
from chainq.catalog.identifiers import is_loopback
from chainq.errors import UsageError
from chainq.text.sanitize import excerpt, mask_url
from chainq.transport.base import (
    BrokenResponseError,
    DeadlineError,
    Endpoint,
    NoConnectionError,
    Request,
    Response,
    UnconnectedError,
    UnusableRequestError,
)
from chainq.transport.body import read_body
from chainq.transport.network import Network, Now

KEEP_ALIVE = 5.0  # seconds that an idle connection stays open


class HttpTransport:
    """Sends requests to the endpoint's URL, and keeps connections open between them. Threads share it.

    Proxies and certificates are those that the environment names. Raises UsageError where these cannot be used. `now`
    returns the time by which deadlines count.
    """

    def __init__(self, endpoint: Endpoint, now: Now = time.monotonic) -> None:
        try:
            self._url = httpx.URL(endpoint.url)
        except (httpx.InvalidURL, ValueError) as error:
            raise UsageError(f"invalid URL {mask_url(endpoint.url)!r}: {_reason(error)}") from None
        self._headers = _headers(endpoint, self._url)
        self._pool = _Pool(_proxy(endpoint.url), _tls(endpoint.url), Network(now))

    def call(self, request: Request) -> Response:
        """Return the response, whatever its status. Raises ExchangeError, ResponseError, or TooHeavyError."""
        outgoing = httpx.Request(
            "POST",
            self._url,
            headers=self._headers,
            content=request.body,
            # No durations but the deadline: see `network`.
            extensions={"timeout": dict.fromkeys(("connect", "read", "write"), request.deadline)},
        )
        with _plain_errors(), contextlib.closing(self._pool.handle_request(outgoing)) as incoming:
            length = incoming.headers.get("content-length", "")
            if length.isdecimal():
                request.memory.check(int(length))
            body = read_body(incoming.iter_raw(), incoming.headers.get("content-encoding", ""), request.memory)
            secured = incoming.extensions["network_stream"].get_extra_info("ssl_object")
            return Response(
                incoming.status_code,
                body,
                {name.lower(): value for name, value in incoming.headers.items()},
                incoming.extensions["http_version"].decode(),
                (secured.version() or "") if secured is not None else "",
            )

    def close(self) -> None:
        """End the exchanges under way, and close the connections."""
        self._pool.close()


class _Pool(httpx.HTTPTransport):
    """httpx's transport over sockets of our own, which it has no argument for."""

    def __init__(self, proxy: httpx.Proxy | None, tls: ssl.SSLContext, network: Network) -> None:
        options: dict[str, Any] = {
            "ssl_context": tls,
            "max_connections": None,
            "max_keepalive_connections": None,
            "keepalive_expiry": KEEP_ALIVE,
            "network_backend": network,
        }
        if proxy is None:
            self._pool = httpcore.ConnectionPool(**options)
            return
        url = proxy.url
        options["proxy_url"] = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target="/")
        options["proxy_auth"] = proxy.raw_auth
        kind = httpcore.SOCKSProxy if url.scheme.startswith("socks") else httpcore.HTTPProxy
        try:
            self._pool = kind(**options)
        except RuntimeError:
            raise UsageError("the environment names a SOCKS proxy, for which the package socksio is missing") from None


def _proxy(url: str) -> httpx.Proxy | None:
    """Return the proxy that the environment names for a URL, None for none."""
    parts = urlsplit(url)
    named = getproxies()
    proxy = named.get(parts.scheme) or named.get("all")
    if not proxy or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    try:
        return httpx.Proxy(proxy if "://" in proxy else f"http://{proxy}")
    except (ValueError, httpx.InvalidURL):  # whose texts hold the proxy's password
        raise UsageError(
            "HTTP_PROXY, HTTPS_PROXY or ALL_PROXY is not a valid proxy URL",
            "expected a URL such as http://127.0.0.1:3128",
        ) from None


def _tls(url: str) -> ssl.SSLContext:
    # A bare context for plain http: loading the certificate store costs a fifth of a short run.
    if not url.lower().startswith("https:"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        return httpx.create_ssl_context()
    except OSError as error:
        raise UsageError(f"SSL_CERT_FILE or SSL_CERT_DIR holds no certificates: {excerpt(str(error))}") from None


def _headers(endpoint: Endpoint, url: httpx.URL) -> httpx.Headers:
    # Decompressing takes longer than receiving from this machine; from any other machine, receiving takes longer.
    coding = "identity" if is_loopback(urlsplit(endpoint.url).hostname) else "gzip"
    host = url.netloc.decode("ascii")  # named here, since httpx would decode an IDNA name for it, perhaps in vain
    headers = httpx.Headers(
        {"Host": host, "Accept": "*/*", "Accept-Encoding": coding, "User-Agent": f"chainq/{__version__}"}
    )
    if url.username or url.password:  # RFC 7617
        headers["Authorization"] = f"Basic {b64encode(f'{url.username}:{url.password}'.encode()).decode()}"
    headers.update(endpoint.headers)
    headers["Content-Type"] = "application/json"
    return headers


@contextlib.contextmanager
def _plain_errors() -> Iterator[None]:
    """Raise httpx's errors as those of `base`."""
    try:
        yield
    except (httpx.UnsupportedProtocol, httpx.LocalProtocolError) as error:
        raise UnusableRequestError(_reason(error)) from None
    except httpx.RemoteProtocolError as error:
        raise BrokenResponseError(_reason(error)) from None
    except httpx.ConnectTimeout:
        raise NoConnectionError("timed out while connecting") from None
    except httpx.ConnectError as error:
        raise UnconnectedError(_reason(error)) from None
    except httpx.TimeoutException:
        raise DeadlineError from None
    except httpx.HTTPError as error:
        raise NoConnectionError(_reason(error)) from None


def _reason(error: Exception) -> str:
    return excerpt(str(error)) or type(error).__name__
