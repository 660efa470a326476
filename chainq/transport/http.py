"""Sends requests with HTTP POST. Only this folder uses httpx: its URLs, headers, requests, responses, proxies and
certificates, over connections of our own (`adapter`).

Rejected: `httpx.Client` over these. It keeps cookies, parses the targets of redirects that are not followed,
decompresses responses of any size, and logs the URL with all secrets in it.
"""

import contextlib
import time
from base64 import b64encode
from urllib.parse import urlsplit

import httpx

from chainq._version import __version__
from chainq.catalog.identifiers import is_loopback
from chainq.errors import UsageError
from chainq.text.sanitize import excerpt, mask_url
from chainq.transport.adapter import Adapter
from chainq.transport.base import Request, Response, ServiceOptions
from chainq.transport.body import read_body
from chainq.transport.network import Now
from chainq.transport.proxies import Route, named_proxy


class HttpTransport:
    """Sends requests to the service's URL, and keeps connections open between them. Threads share it.

    Proxies and certificates are those that the environment names. Raises UsageError if these cannot be used. `now`
    returns the time by which deadlines count.
    """

    def __init__(self, options: ServiceOptions, now: Now = time.monotonic) -> None:
        try:
            self._url = httpx.URL(options.url)
        except (httpx.InvalidURL, ValueError) as error:
            raise UsageError(f"invalid URL {mask_url(options.url)!r}: {excerpt(str(error))}") from None
        self._headers = _headers(options, self._url)
        route = Route(self._url, named_proxy(options.url), options.cert)
        self.via, self._forwarded = route.via, route.forwards
        self._adapter = Adapter(route, now)

    def call(self, request: Request) -> Response:
        """Return the response, whatever its status. Raises ExchangeError, ResponseError, or TooHeavyError."""
        headers = self._headers.copy()
        headers.setdefault("X-Request-ID", request.id)  # the user's own has precedence
        outgoing = httpx.Request(
            "POST",
            self._url,
            headers=headers,
            content=request.body,
            extensions={"deadline": request.deadline},
        )
        with contextlib.closing(self._adapter.handle_request(outgoing)) as incoming:
            shown = incoming.extensions
            coding = incoming.headers.get("content-encoding", "")
            return Response(
                incoming.status_code,
                read_body(incoming.iter_raw(), shown["length"], coding, request.memory),
                {name.lower(): value for name, value in incoming.headers.items()},
                shown["http_version"].decode(),
                shown["tls"],
                self._forwarded,
            )

    def close(self) -> None:
        """End the exchanges in progress, and close the connections."""
        self._adapter.close()


def _headers(options: ServiceOptions, url: httpx.URL) -> httpx.Headers:
    # Decompressing takes longer than receiving from this machine; from any other machine, receiving takes longer.
    coding = "identity" if is_loopback(urlsplit(options.url).hostname) else "gzip"
    host = url.netloc.decode("ascii")  # named here, since httpx would decode an IDNA name for it, perhaps in vain
    headers = httpx.Headers(
        {"Host": host, "Accept": "*/*", "Accept-Encoding": coding, "User-Agent": f"chainq/{__version__}"}
    )
    if url.username or url.password:  # RFC 7617
        headers["Authorization"] = f"Basic {b64encode(f'{url.username}:{url.password}'.encode()).decode()}"
    headers.update(options.headers)
    headers["Content-Type"] = "application/json"
    return headers
