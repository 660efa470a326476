"""Checks of arguments before any call, of which `--no-check` passes by those that CHECKS names.

Most return their argument or raise UsageError.
"""

import re
from urllib.parse import urlsplit

from chainq.catalog import bech32
from chainq.catalog.methods import Role
from chainq.errors import UsageError
from chainq.text.sanitize import mask_url, printable

_ANYWAY = "--no-check sends it anyway"


def transaction_id(text: str) -> str:
    """A transaction ID: bech32 or bech32m with prefix `at` (docs/protocol.md, "Values")."""
    if fault := bech32.fault(text, prefix="at"):
        raise UsageError(f"{text!r} is no transaction ID: {fault}", _ANYWAY)
    return text


def address(text: str) -> str:
    """An address: bech32 or bech32m with the network's own prefix, whichever that is."""
    if fault := bech32.fault(text):
        raise UsageError(f"{text!r} is no address: {fault}", _ANYWAY)
    return text


def program(text: str) -> str:
    """A program ID: a name and a network, both identifiers, as in `credits.aleo`."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*\.[A-Za-z][A-Za-z0-9_]*", text):
        raise UsageError(f"{text!r} is no program ID such as credits.aleo", _ANYWAY)
    return text


def function(text: str) -> str:
    """A function name: an identifier."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", text):
        raise UsageError(f"{text!r} is no function name such as transfer_public", _ANYWAY)
    return text


def sendable(text: str) -> str:
    """Any word that a request can carry; what the shell gave may be no UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{printable(text)!r} is no UTF-8, so no request can carry it") from None
    return text


CHECKS = {
    Role.ID: transaction_id,
    Role.ADDRESS: address,
    Role.PROGRAM: program,
    Role.FUNCTION: function,
}


def url(text: str) -> str:
    """An http or https URL with a host, or `demo:`."""
    if text == "demo:":
        return text
    try:
        parts = urlsplit(text)
        port_fits = parts.port is None or parts.port > 0
    except ValueError:
        port_fits = False
        parts = urlsplit("")
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or not port_fits
        or not text.isprintable()
        or " " in text
    ):
        raise UsageError(f"{mask_url(text)!r} is no URL such as http://127.0.0.1:8545, https://host/path or demo:")
    return text


def is_loopback(host: str | None) -> bool:
    """Return whether a host is this machine by its name alone (RFC 6761, section 6.3; RFC 1122, section 3.2.1.3)."""
    name = host or ""
    return name in ("localhost", "::1") or (name.startswith("127.") and name.replace(".", "").isdecimal())
