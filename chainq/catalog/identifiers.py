"""Checks of arguments before any request; `--no-check` skips those in CHECKS.

Each check returns its argument, in lower case where case says nothing, or raises UsageError.
"""

import os
import re
from urllib.parse import urlsplit

from chainq.catalog import bech32
from chainq.catalog.methods import Role
from chainq.errors import UsageError
from chainq.text.sanitize import KEYS, excerpt, mask_url, quoted

STORES = ("s3", "gs", "az")
"""The schemes of URLs at which a data set may be, beside folders (`lake/store.py`)."""


def transaction_id(text: str) -> str:
    """Check a transaction ID: bech32 or bech32m with prefix `at` (docs/protocol.md, "Values")."""
    if bech32.fault(text, prefix="at"):
        _check_kind(text, "transaction ID", "TRANSACTION")
    return coded(text, "transaction ID", prefix="at")


def address(text: str) -> str:
    """Check an address: bech32 or bech32m with any prefix, because each network has its own."""
    _check_kind(text, "address", "ADDRESS")
    return coded(text, "address")


def coded(text: str, title: str, prefix: str = "") -> str:
    """Check a bech32 or bech32m text, with that prefix if there is one; `title` names it in the message."""
    if fault := bech32.fault(text, prefix):
        raise UsageError(f"invalid {title} {quoted(text)}: {fault}")
    return text.lower()  # servers compare texts; BIP 173 allows upper case, for QR codes


def program(text: str) -> str:
    """Check a program ID: a name and a network, both identifiers, as in `credits.aleo`."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*\.[A-Za-z][A-Za-z0-9_]*", text):
        _check_kind(text, "program ID", "PROGRAM")
        raise UsageError(f"invalid program ID {quoted(text)}: expected a name such as credits.aleo")
    return text


def function(text: str) -> str:
    """Check a function name: an identifier."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", text):
        raise UsageError(f"invalid function name {quoted(text)}: expected a name such as transfer_public")
    return sendable(text)


def _check_kind(text: str, wanted: str, expected: str) -> None:
    """Raise UsageError for a text of another kind, which the message names."""
    from chainq.catalog.kinds import TextKind, check_kind  # rarely needed: not loaded before

    check_kind(text, wanted, TextKind[expected])


def sendable(text: str) -> str:
    """Check that a request can carry the text: it is UTF-8, as an argument may not be, and holds no secret key."""
    if any(key in text for key in KEYS):
        raise UsageError("invalid argument: it contains a secret key")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"invalid argument {quoted(text)}: not valid UTF-8") from None
    return text


CHECKS = {
    Role.ID: transaction_id,
    Role.ADDRESS: address,
    Role.PROGRAM: program,
    Role.FUNCTION: function,
}


def is_data_set(text: str) -> bool:
    """Return whether a URL is that of a data set: a folder that exists, a `file:` URL, or one of the schemes STORES.

    >>> [is_data_set(url) for url in ("s3://bucket/chain", "file:///chain", "http://host", "demo:")]
    [True, True, False, False]
    """
    scheme, colon, _ = text.partition(":")
    if colon and scheme.lower() in (*STORES, "file"):
        return True
    return "://" not in text and text != "demo:" and os.path.isdir(text)  # noqa: PTH112  # a Path takes longer to load


def url(text: str) -> str:
    """Check a URL: http or https with a host, `demo:`, or a data set. Return it without white space around it."""
    if is_data_set(text) or (text := text.strip()) == "demo:":  # a file of variables may end its lines in CR LF
        return text
    if re.fullmatch(r"demo(:[0-9]*)?", text.strip("/").lower()):
        raise UsageError(f"invalid URL {quoted(text)}: the sample chain is --url demo:")
    try:
        parts = urlsplit(text)
        usable = _is_host(parts.hostname or "") and parts.port != 0
    except ValueError:
        usable = False
    # Some take a backslash for a slash, so that the host is another.
    if not usable or parts.scheme not in ("http", "https") or not text.isprintable() or {*text} & {*" \\"}:
        raise UsageError(
            f"invalid URL {excerpt(mask_url(text))!r}: expected http://127.0.0.1:8545, https://host/path, demo:,"
            " or the folder or URL of an export"
        )
    return text


def _is_host(name: str) -> bool:
    """Return whether a name can be looked up (RFC 1035, section 2.3.4). Raises UnicodeError, a ValueError."""
    if ":" in name:  # IPv6, which `urlsplit` has checked
        return True
    labels = name.removesuffix(".").encode("ascii" if name.isascii() else "idna").split(b".")
    return all(0 < len(label) < 64 for label in labels) and sum(map(len, labels)) + len(labels) < 255


def is_loopback(host: str | None) -> bool:
    """Return whether a host is this machine by its name alone (RFC 6761, section 6.3; RFC 1122, section 3.2.1.3)."""
    name = host or ""
    return name in ("localhost", "::1") or (name.startswith("127.") and name.replace(".", "").isdecimal())
