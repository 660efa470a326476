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
    """A kind of text: its name with an article."""

    HEIGHT = "a height, or a row id"
    TRANSACTION = "a transaction ID"
    ADDRESS = "an address"
    PROGRAM = "a program ID"
    FUNCTION = "a function of a program"
    BLOCK_HASH = "a block hash"
    TRANSITION = "a transition ID"
    RECORD = "the ciphertext of a record"
    STATE_ROOT = "a state root"
    FIELD = "a field or group element"
    SHORTENED = "shortened by a table"
    SECRET = "a secret key"  # noqa: S105  # a name


_PREFIXES = {
    "aleo": TextKind.ADDRESS,
    "at": TextKind.TRANSACTION,
    "ab": TextKind.BLOCK_HASH,
    "au": TextKind.TRANSITION,
    "as": TextKind.TRANSITION,
    "record": TextKind.RECORD,
    "sr": TextKind.STATE_ROOT,
}
"""The human-readable parts of bech32 texts on the chain (docs/protocol.md, "Values")."""
_NAME = "[A-Za-z][A-Za-z0-9_]*"
_FORMS = {
    r".*….*|[a-z]{2,10}1\w+\.\.\.\w+": TextKind.SHORTENED,
    r"[0-9][0-9_]*(\.[0-9]+)?[KkMm]?": TextKind.HEIGHT,
    r"[0-9]+(field|group|scalar)": TextKind.FIELD,
    rf"{_NAME}\.aleo": TextKind.PROGRAM,
    rf"{_NAME}\.aleo/{_NAME}": TextKind.FUNCTION,
}


def kind_of(text: str) -> TextKind | None:
    """Return what a text is, None if it looks like nothing that is known. Checksums of known prefixes may be wrong."""
    if text.startswith(KEYS):
        return TextKind.SECRET
    for form, kind in _FORMS.items():
        if re.fullmatch(form, text):
            return kind
    prefix, _, data = text.lower().rpartition("1")
    if prefix in _PREFIXES:
        return _PREFIXES[prefix] if len(data) >= 6 and set(data) <= set(bech32.ALPHABET) else None
    # Each network has its prefix of addresses: 58 characters after the 1 are 32 bytes and the checksum. If that is
    # wrong, the prefix may be a mistyped one of these.
    return TextKind.ADDRESS if prefix.isalpha() and len(data) == 58 and not bech32.fault(text) else None


def shown(text: str) -> str:
    """Return an argument as messages repeat it: a space and the text in quotes, or nothing for a secret."""
    return "" if kind_of(text) is TextKind.SECRET else f" {quoted(text)}"


def check_kind(text: str, wanted: str, *expected: TextKind) -> None:
    """Raise UsageError for a text of another kind than `expected`, which it names; `wanted` names the argument.

    A text of no known kind passes: other checks know better what is wrong with it.
    """
    kind = kind_of(text)
    if kind is not None and kind not in expected:
        raise UsageError(f"invalid {wanted}{shown(text)}: this is {kind.value}")


def coded(text: str, title: str, kind: TextKind, prefix: str = "") -> str:
    """Check a bech32 or bech32m text of a kind, with that prefix if there is one; `title` names it in the message."""
    if fault := bech32.fault(text, prefix):
        check_kind(text, title, kind)
        raise UsageError(f"invalid {title} {quoted(text)}: {fault}")
    return text.lower()  # servers compare texts; BIP 173 allows upper case, for QR codes


def transaction_id(text: str) -> str:
    """Check a transaction ID: bech32 or bech32m with prefix `at` (docs/protocol.md, "Values")."""
    return coded(text, "transaction ID", TextKind.TRANSACTION, "at")


def address(text: str) -> str:
    """Check an address: bech32 or bech32m with any prefix, because each network has its own."""
    check_kind(text, "address", TextKind.ADDRESS)
    return coded(text, "address", TextKind.ADDRESS)


def program(text: str) -> str:
    """Check a program ID: a name and a network, both identifiers, as in `credits.aleo`."""
    if not re.fullmatch(rf"{_NAME}\.{_NAME}", text):
        check_kind(text, "program ID", TextKind.PROGRAM)
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
