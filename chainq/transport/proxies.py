"""Which proxy and which certificates the environment names."""

import os
import re
import ssl
from importlib.util import find_spec
from ipaddress import ip_address, ip_network
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies_environment

import httpx

from chainq.errors import UsageError, missing_package
from chainq.text.sanitize import excerpt, keep_secret, quoted


def named_proxy(url: str) -> httpx.Proxy | None:
    """Return the proxy that the environment names for a URL, None for none. Raises UsageError."""
    parts, named = urlsplit(url), getproxies_environment()
    proxy = named.get(parts.scheme) or named.get("all")
    if not proxy or _excepted((parts.hostname or "").rstrip("."), named.get("no", "")):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    keep_secret(proxy, {})
    if proxy.startswith("socks") and not find_spec("socksio"):
        raise missing_package("a SOCKS proxy needs the socksio package", "socks")
    try:
        return httpx.Proxy(proxy, ssl_context=tls_context(None) if proxy.startswith("https://") else None)
    except (ValueError, httpx.InvalidURL):  # whose texts hold the proxy's password
        named_by = "HTTP_PROXY, HTTPS_PROXY or ALL_PROXY"
        raise UsageError(f"{named_by} is not a valid proxy URL", "expected one such as http://127.0.0.1:3128") from None


def _excepted(host: str, no_proxy: str) -> bool:
    """Return whether NO_PROXY names a host, by the rules of curl (its manual page, "no_proxy").

    Names are separated by commas or spaces: `*`, a domain and all below it, an address, or a range of addresses in CIDR
    notation. Rejected: the rules of httpx, which know no ranges.
    """
    names = [name.strip(".[]") for name in re.split(r"[,\s]+", no_proxy.lower()) if name]
    return any(name == "*" or f".{host}".endswith(f".{name}") or _in_range(host, name) for name in names)


def _in_range(host: str, name: str) -> bool:
    try:
        return ip_address(host) in ip_network(name, strict=False)
    except ValueError:
        return False


def tls_context(cert: str | None, *, used: bool = True) -> ssl.SSLContext:
    """Return the context for a server. `used`: whether its URL is https. `cert`: the client certificate, as FILE or
    FILE:KEY. Raises UsageError if it cannot be used, or the certificates that the environment names.

    `~` is expanded here, because a profile is not read by a shell.
    """
    if not used:  # loading certificates takes a fifth of a short run
        if cert:
            raise UsageError("--cert needs an https:// URL")
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    named = os.environ.get("SSL_CERT_FILE", "")
    try:
        context = httpx.create_ssl_context()
    except OSError as error:
        raise UsageError(f"SSL_CERT_FILE is {quoted(named)}: {excerpt(error.strerror or str(error))}") from None
    if cert:
        file, colon, key = cert.rpartition(":")
        if not colon or Path(cert).expanduser().exists():
            file, key = cert, ""
        try:  # with no password, or OpenSSL would ask for one on the terminal
            context.load_cert_chain(Path(file).expanduser(), Path(key).expanduser() if key else None, password="")
        except OSError as error:
            raise UsageError(
                f"--cert {cert} cannot be used: {excerpt(error.strerror or str(error))}",
                "expected a PEM file with a certificate and its key, or FILE:KEY, without a password",
            ) from None
    return context
