"""What a text is, by its form alone, and checks of arguments before any request; `--no-check` skips those in CHECKS.

Each check returns its argument, in lower case where case says nothing, or raises UsageError.
"""

import os
import re
from enum import Enum
from urllib.parse import urlsplit

from chainq.catalog import bech32
from chainq.catalog.methods import Role
from chainq.errors import UsageError
from chainq.text.sanitize import KEYS, excerpt, mask_url, quoted

STORES = ("s3", "gs", "az")
"""The schemes of URLs at which a data set may be, beside folders (`lake/store.py`)."""


class TextKind(Enum):
    """A kind of text."""

    HEIGHT = "height"
    FIELD = "field element"
    PROGRAM = "program ID"
    FUNCTION = "function of a program"
    TRANSACTION = "transaction ID"
    BLOCK_HASH = "block hash"
    TRANSITION = "transition ID"
    RECORD = "ciphertext of a record"
    ADDRESS = "address"


_NAME = "[A-Za-z][A-Za-z0-9_]*"
_SYMBOLS = f"1[{bech32.ALPHABET}]"
# The human-readable parts are those of docs/protocol.md, "Values". Each network has its prefix of addresses.
_FORMS = {
    TextKind.HEIGHT: r"[0-9][0-9_]*(\.[0-9]+)?[KM]?",
    TextKind.FIELD: "[0-9]+(field|group|scalar)",
    TextKind.PROGRAM: rf"{_NAME}\.aleo",
    TextKind.FUNCTION: rf"{_NAME}\.aleo/{_NAME}",
    TextKind.TRANSACTION: f"at{_SYMBOLS}{{6,}}",
    TextKind.BLOCK_HASH: f"ab{_SYMBOLS}{{6,}}",
    TextKind.TRANSITION: f"a[us]{_SYMBOLS}{{6,}}",
    TextKind.RECORD: f"record{_SYMBOLS}{{6,}}",
    TextKind.ADDRESS: f"aleo{_SYMBOLS}{{6,}}|[a-z]+{_SYMBOLS}{{58}}",
}


def kind_of(text: str) -> TextKind | None:
    """Return what a text is by its form, None if it looks like nothing that is known. Checksums may be wrong."""
    return next((kind for kind, form in _FORMS.items() if re.fullmatch(form, text, re.IGNORECASE)), None)


def coded(text: str, title: str, prefix: str = "") -> str:
    """Check a bech32 or bech32m text, with that prefix if there is one; `title` names it in the message."""
    if fault := bech32.fault(text, prefix):
        raise UsageError(f"invalid {title} {quoted(text)}: {fault}")
    return text.lower()  # servers compare texts; BIP 173 allows upper case, for QR codes


def transaction_id(text: str) -> str:
    """Check a transaction ID: bech32 or bech32m with prefix `at` (docs/protocol.md, "Values")."""
    return coded(text, "transaction ID", "at")


def address(text: str) -> str:
    """Check an address: bech32 or bech32m with any prefix, because each network has its own."""
    if (kind := kind_of(text)) and kind is not TextKind.ADDRESS:
        raise UsageError(f"invalid address {quoted(text)}: this is a {kind.value}")
    return coded(text, "address")


def program(text: str) -> str:
    """Check a program ID: a name and a network, both identifiers, as in `credits.aleo`."""
    if not re.fullmatch(rf"{_NAME}\.{_NAME}", text):
        raise UsageError(f"invalid program ID {quoted(text)}: expected a name such as credits.aleo")
    return text


def function(text: str) -> str:
    """Check a function name: an identifier."""
    if not re.fullmatch(_NAME, text):
        raise UsageError(f"invalid function name {quoted(text)}: expected a name such as transfer_public")
    return sendable(text)


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
    """Return whether a URL is that of a data set: a folder that exists, or one of the schemes STORES.

    >>> [is_data_set(url) for url in ("s3://bucket/chain", "http://host", "demo:")]
    [True, False, False]
    """
    scheme, colon, _ = text.partition(":")
    if colon and scheme.lower() in STORES:
        return True
    return "://" not in text and text != "demo:" and os.path.isdir(text)  # noqa: PTH112  # a Path takes longer to load


def url(text: str) -> str:
    """Check a URL: http or https with a host, `demo:`, or a data set. Return it without white space around it."""
    if is_data_set(text):
        return text
    if (text := text.strip()) in ("demo:", "demo://"):  # a file of variables may end its lines in CR LF
        return "demo:"
    try:
        parts = urlsplit(text)
        host = parts.hostname or ""
        # A name whose labels are empty or too long cannot be looked up (RFC 1035, section 2.3.4): UnicodeError.
        sent = host.encode("idna").strip(b".")
        usable = parts.scheme in ("http", "https") and 0 < len(sent) < 255 and parts.port != 0
    except ValueError:
        usable = False
    # Some take a backslash for a slash, so that the host is another.
    if not usable or not text.isprintable() or {*text} & {*" \\"}:
        raise UsageError(
            f"invalid URL {excerpt(mask_url(text))!r}: expected http://127.0.0.1:8545, https://host/path, demo:,"
            " or the folder or URL of an export"
        )
    return text


def is_loopback(host: str | None) -> bool:
    """Return whether a host is this machine by its name alone (RFC 6761, section 6.3; RFC 1122, section 3.2.1.3)."""
    name = host or ""
    return name in ("localhost", "::1") or (name.startswith("127.") and name.replace(".", "").isdecimal())
