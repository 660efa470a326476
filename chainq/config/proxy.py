"""Which proxy the environment names for a service: `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`."""

import re
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit


def proxy_of(url: str) -> str:
    """Return the URL of the proxy for a URL, as it is named; "" for none."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):
        return ""
    from urllib.request import getproxies_environment  # which httpx loads in any case

    proxies = getproxies_environment()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or _excepted((parts.hostname or "").rstrip("."), proxies.get("no", "")):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


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
