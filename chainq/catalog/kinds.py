"""What a text is, by its form alone: a height, an ID and of what, an address, a program, or a secret.

For `chainq show`, which takes any of them, and for messages about an argument of the wrong kind.
"""

import re
from enum import Enum

from chainq.catalog.bech32 import ALPHABET, fault
from chainq.errors import UsageError
from chainq.text.sanitize import KEYS, quoted


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
    SIGNATURE = "a signature"
    CIPHERTEXT = "a ciphertext"
    FIELD = "a field or group element"
    SHORTENED = "shortened by a table"
    SECRET = "a secret key"  # noqa: S105  # a name


WITH_SCREEN = {
    *(TextKind.HEIGHT, TextKind.TRANSACTION, TextKind.ADDRESS, TextKind.PROGRAM, TextKind.FUNCTION),
    *(TextKind.BLOCK_HASH, TextKind.TRANSITION, TextKind.RECORD),
}
"""What `chainq show` has a screen for."""
PREFIXES = {
    "aleo": TextKind.ADDRESS,
    "at": TextKind.TRANSACTION,
    "ab": TextKind.BLOCK_HASH,
    "au": TextKind.TRANSITION,
    "as": TextKind.TRANSITION,
    "sr": TextKind.STATE_ROOT,
    "sign": TextKind.SIGNATURE,
    "record": TextKind.RECORD,
    "ciphertext": TextKind.CIPHERTEXT,
}
"""The human-readable parts of bech32 texts on the chain (docs/protocol.md, "Values")."""
_ADDRESS_LENGTH = 58  # characters after the 1: 32 bytes and the checksum
_NAME = "[A-Za-z][A-Za-z0-9_]*"


def kind_of(text: str) -> TextKind | None:
    """Return what a text is, None if it looks like nothing that is known. Checksums of known prefixes may be wrong."""
    if text.startswith(KEYS):
        return TextKind.SECRET
    if "…" in text or re.fullmatch(r"[a-z]{2,10}1\w+\.\.\.\w+", text):
        return TextKind.SHORTENED
    if re.fullmatch(r"[0-9][0-9_]*(\.[0-9]+)?[KkMm]?", text):
        return TextKind.HEIGHT
    if re.fullmatch(r"[0-9]+(field|group|scalar)", text):
        return TextKind.FIELD
    if re.fullmatch(rf"{_NAME}\.aleo", text):
        return TextKind.PROGRAM
    if re.fullmatch(rf"{_NAME}\.aleo/{_NAME}", text):
        return TextKind.FUNCTION
    prefix, separator, data = text.lower().rpartition("1")
    if not separator or len(data) < 6 or not set(data) <= set(ALPHABET):
        return None
    if prefix in PREFIXES:
        return PREFIXES[prefix]
    # Each network has its prefix of addresses; if the checksum is wrong, the prefix may be a mistyped one of these.
    return TextKind.ADDRESS if prefix.isalpha() and len(data) == _ADDRESS_LENGTH and not fault(text) else None


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
