"""How connections reach the server: directly, or through the proxy that the environment names."""

import os
import re
import ssl
from base64 import b64encode
from http.client import BadStatusLine, HTTPException, RemoteDisconnected
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from chainq import tuning
from chainq.errors import Phrase, UsageError
from chainq.text.sanitize import excerpt, keep_secret, mask_url, quoted
from chainq.transport.base import TRANSIENT, NoConnectionError, ProxyRefusedError
from chainq.transport.http1 import exchange
from chainq.transport.network import Channel, Now, Tcp, Tls, connect

_PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}


def named_proxy(url: str) -> httpx.Proxy | None:
    """Return the proxy that the environment names for a URL, None for none. Raises UsageError."""
    parts = urlsplit(url)
    named = getproxies()
    proxy = named.get(parts.scheme) or named.get("all")
    place = parts.netloc.rpartition("@")[2]
    direct = _excepted(parts.hostname or "", place, named["no"]) if "no" in named else proxy_bypass(place)
    if not proxy or direct:
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    keep_secret(proxy, {})
    try:
        return httpx.Proxy(proxy)
    except (ValueError, httpx.InvalidURL):  # whose texts hold the proxy's password
        raise UsageError(
            "HTTP_PROXY, HTTPS_PROXY or ALL_PROXY is not a valid proxy URL",
            "expected a URL such as http://127.0.0.1:3128",
        ) from None


def _excepted(host: str, place: str, no_proxy: str) -> bool:
    """Return whether NO_PROXY names a host, by the rules of curl (its manual page, "no_proxy").

    Names are separated by commas or spaces: `*`, a domain and all below it, an address, or a range of addresses in CIDR
    notation. `place`: the host with its port, which other programs accept as well.
    """
    names = [name.strip(".").lower() for name in re.split(r"[,\s]+", no_proxy) if name]
    host = host.rstrip(".").lower()
    try:
        address = ip_address(host)
    except ValueError:
        return any(name in ("*", host, place.lower()) or host.endswith(f".{name}") for name in names)
    return any(name in ("*", place) or _in_range(address, name.strip("[]")) for name in names)


def _in_range(address: IPv4Address | IPv6Address, name: str) -> bool:
    try:
        return address in ip_network(name, strict=False)
    except ValueError:
        return False


class Route:
    """The way to the server of a URL. `target` is what requests name, `headers` what they need for the proxy, and `via`
    what errors add to the URL: the proxy, without its login; empty for none. `forwards`: a proxy reads the requests
    and may answer them itself, as it does to `http://`.

    `cert`: the client certificate for the server, and for no proxy. Raises UsageError if it cannot be used, or
    the certificates that the environment names.
    """

    def __init__(self, url: httpx.URL, proxy: httpx.Proxy | None, cert: str | None = None) -> None:
        self._server, self._proxy = url, proxy
        self.forwards = proxy is not None and url.scheme == "http" and proxy.url.scheme in ("http", "https")
        self._authorization = _basic(proxy)
        self.via = f" (through proxy {mask_url(str(proxy.url))})" if proxy is not None else ""
        self._tls = _tls(url.scheme == "https", cert)
        self._proxy_tls = _tls(proxy is not None and proxy.url.scheme == "https")
        self.headers = self._authorization if self.forwards else []
        path = url.raw_path.decode("ascii")
        # RFC 9112, section 3.2: a proxy that forwards is sent the whole URL.
        self.target = f"{url.scheme}://{url.netloc.decode('ascii')}{path}" if self.forwards else path

    def open(self, now: Now, deadline: float) -> tuple[Tcp, Channel]:
        """Connect, and return the connection and, over it, the channel to the server.

        Raises OSError, ValueError or NoConnectionError.
        """
        tcp = self._connect(now, deadline)
        try:
            if self._proxy is not None and self._proxy.url.scheme.startswith("socks"):
                tcp.start(min(deadline, now() + tuning.SOCKS_SECONDS))
                _greet_socks(tcp, self._proxy.raw_auth)
                tcp.start(deadline)
            return tcp, self._channel(tcp)
        except BaseException:
            tcp.close()
            raise

    def _connect(self, now: Now, deadline: float) -> Tcp:
        if self._proxy is None:
            return connect(*_address(self._server), now, deadline)
        host, port = _address(self._proxy.url)
        try:
            return connect(host, port, now, deadline)
        except TimeoutError:
            raise
        except OSError as error:
            raise OSError(f"proxy: {error}") from None

    def _channel(self, channel: Channel) -> Channel:
        host, port = _address(self._server)
        if self._proxy is not None:
            if self._proxy.url.scheme == "https":
                channel = Tls(channel, self._proxy_tls, _address(self._proxy.url)[0])
            if self._proxy.url.scheme.startswith("socks"):
                _connect_by_socks(channel, host, port, self._proxy.raw_auth)
            elif not self.forwards:
                _connect_by_tunnel(channel, host, port, self._authorization)
        return Tls(channel, self._tls, host) if self._server.scheme == "https" else channel


def _address(url: httpx.URL) -> tuple[str, int]:
    return url.raw_host.decode("ascii"), url.port or _PORTS[url.scheme]


def _basic(proxy: httpx.Proxy | None) -> list[tuple[bytes, bytes]]:
    """Return the headers with a proxy's credentials (RFC 7617)."""
    if proxy is None or proxy.raw_auth is None:
        return []
    return [(b"Proxy-Authorization", b"Basic " + b64encode(b":".join(proxy.raw_auth)))]


def _tls(used: bool, cert: str | None = None) -> ssl.SSLContext:
    if not used:  # loading certificates takes a fifth of a short run
        if cert:
            raise UsageError(Phrase("{cert} needs an https:// URL"))
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context = httpx.create_ssl_context()
    except OSError as error:
        name = "SSL_CERT_FILE" if os.environ.get("SSL_CERT_FILE") else "SSL_CERT_DIR"
        named = f"{name} is {quoted(os.environ.get(name, ''))}"
        what = "cannot be read" if isinstance(error, FileNotFoundError | PermissionError) else "has no certificates"
        raise UsageError(f"{named}, which {what}: {excerpt(error.strerror or str(error))}") from None
    context.set_alpn_protocols(["http/1.1"])
    if cert:
        _load(context, cert)
    return context


def _load(context: ssl.SSLContext, cert: str) -> None:
    """Load a client certificate into a context, with the key from the same file, or from the file after a colon.

    `~` is expanded here, because a profile is not read by a shell. Raises UsageError.
    """
    file, colon, key = cert.rpartition(":")
    if not colon or Path(cert).expanduser().exists():
        file, key = cert, ""

    def no_password() -> str:
        raise UsageError(
            Phrase("{cert}: the key has a password", cert=cert), "openssl pkey writes a key file without one"
        )

    try:
        context.load_cert_chain(Path(file).expanduser(), Path(key).expanduser() if key else None, no_password)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(
            Phrase("{cert} cannot be used: {}", excerpt(error.strerror or str(error)), cert=cert),
            "expected a PEM file with a certificate and its key, or FILE:KEY",
        ) from None


def _connect_by_tunnel(channel: Channel, host: str, port: int, headers: list[tuple[bytes, bytes]]) -> None:
    """Connect the channel to a host through an HTTP proxy (RFC 9110, section 9.3.6). Raises OSError or
    NoConnectionError.
    """
    target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        response = exchange(channel, "CONNECT", target, [(b"Host", target.encode()), *headers])
    except HTTPException as error:
        other = isinstance(error, BadStatusLine) and not isinstance(error, RemoteDisconnected)
        refused = ProxyRefusedError if other else NoConnectionError
        raise refused(f"the proxy sent a response that is not HTTP: {excerpt(str(error))}") from None
    if not 200 <= response.status < 300:
        refused = NoConnectionError if response.status in TRANSIENT else ProxyRefusedError
        raise refused(excerpt(f"the proxy refused to connect: {response.status} {response.reason}"))


def _greet_socks(channel: Channel, login: tuple[bytes, bytes] | None) -> None:
    """Agree with a SOCKS5 proxy on whether there is a login (RFC 1928). Raises OSError or NoConnectionError."""
    channel.send(b"\5\1" + (b"\2" if login else b"\0"))  # one method: name and password, or none
    try:
        agreed = _received(channel, 2) == (b"\5\2" if login else b"\5\0")
    except TimeoutError:
        raise ProxyRefusedError("the SOCKS proxy does not respond: it may not be a SOCKS5 proxy") from None
    if not agreed:
        raise ProxyRefusedError("the SOCKS proxy refused the login, or is not a SOCKS5 proxy")


def _connect_by_socks(channel: Channel, host: str, port: int, login: tuple[bytes, bytes] | None) -> None:
    """Connect the channel to a host through a SOCKS5 proxy, which looks the host up (RFC 1928, RFC 1929).

    Raises OSError or NoConnectionError.
    """
    if login:
        channel.send(b"\1" + b"".join(bytes([len(word)]) + word for word in login))
        if _received(channel, 2)[1:] != b"\0":
            raise ProxyRefusedError("the SOCKS proxy refused the login")
    try:
        ip = ip_address(host)
        address = (b"\1" if ip.version == 4 else b"\4") + ip.packed
    except ValueError:
        address = b"\3" + bytes([len(host)]) + host.encode()
    channel.send(b"\5\1\0" + address + port.to_bytes(2, "big"))
    _, reply, _, kind = _received(channel, 4)
    if reply:
        raise NoConnectionError(f"the SOCKS proxy could not connect: reply {reply} (RFC 1928, section 6)")
    _received(channel, {1: 4, 3: _received(channel, 1)[0] if kind == 3 else 0, 4: 16}.get(kind, 0) + 2)


def _received(channel: Channel, count: int) -> bytes:
    """Return exactly `count` bytes."""
    data = memoryview(bytearray(count))
    rest = data
    while rest:
        size = channel.receive(rest)
        if not size:
            raise NoConnectionError("the SOCKS proxy closed the connection")
        rest = rest[size:]
    return bytes(data)
