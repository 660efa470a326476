"""Which proxy and which certificates the environment names."""

import os
import re
import ssl
from importlib.util import find_spec
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from chainq.errors import UsageError, missing_package
from chainq.text.sanitize import excerpt, keep_secret, quoted

_TRUSTED = ("SSL_CERT_FILE", "SSL_CERT_DIR")


def named_proxy(url: str) -> httpx.Proxy | None:
    """Return the proxy that the environment names for a URL, None for none. Raises UsageError."""
    parts, named = urlsplit(url), getproxies()
    host, place = (parts.hostname or "").rstrip("."), parts.netloc.rpartition("@")[2]
    proxy = named.get(parts.scheme) or named.get("all")
    if not proxy or (_excepted(host, place, named["no"]) if "no" in named else proxy_bypass(place)):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    keep_secret(proxy, {})
    if proxy.startswith("socks") and not find_spec("socksio"):
        raise missing_package("a SOCKS proxy needs the socksio package", "socks")
    try:
        return httpx.Proxy(proxy, ssl_context=tls_context(True, None) if proxy.startswith("https://") else None)
    except (ValueError, httpx.InvalidURL):  # whose texts hold the proxy's password
        named_by = "HTTP_PROXY, HTTPS_PROXY or ALL_PROXY"
        raise UsageError(f"{named_by} is not a valid proxy URL", "expected one such as http://127.0.0.1:3128") from None


def _excepted(host: str, place: str, no_proxy: str) -> bool:
    """Return whether NO_PROXY names a host, by the rules of curl (its manual page, "no_proxy").

    Names are separated by commas or spaces: `*`, a domain and all below it, an address, or a range of addresses in CIDR
    notation. `place`: the host with its port, which other programs accept as well.
    """
    names = [name.strip(".").lower() for name in re.split(r"[,\s]+", no_proxy)]
    try:
        address = ip_address(host)
    except ValueError:
        return any(name in ("*", host, place.lower()) or host.endswith(f".{name}") for name in names if name)
    return any(name in ("*", place) or _in_range(address, name.strip("[]")) for name in names)


def _in_range(address: IPv4Address | IPv6Address, name: str) -> bool:
    try:
        return address in ip_network(name, strict=False)
    except ValueError:
        return False


def tls_context(used: bool, cert: str | None) -> ssl.SSLContext:
    """Return the context for the server. `used`: whether its URL is https. `cert`: the client certificate, as FILE or
    FILE:KEY. Raises UsageError if it cannot be used, or the certificates that the environment names."""
    if not used:  # loading certificates takes a fifth of a short run
        if cert:
            raise UsageError("--cert needs an https:// URL")
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context = httpx.create_ssl_context()
    except OSError as error:
        named = [f"{name} is {quoted(os.environ[name])}" for name in _TRUSTED if os.environ.get(name)]
        raise UsageError(f"{' and '.join(named)}: {excerpt(error.strerror or str(error))}") from None
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
        raise UsageError(f"--cert {cert}: the key has a password", "openssl pkey writes a key file without one")

    try:
        context.load_cert_chain(Path(file).expanduser(), Path(key).expanduser() if key else None, no_password)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(
            f"--cert {cert} cannot be used: {excerpt(error.strerror or str(error))}",
            "expected a PEM file with a certificate and its key, or FILE:KEY",
        ) from None
