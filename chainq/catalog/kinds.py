"""What a text is, by its form alone: a height, an ID and of what, an address, a program, or a secret.

For `chainq show`, which takes any of them, and for messages about an argument of the wrong kind.
"""

import re
from enum import Enum

from chainq.catalog.bech32 import ALPHABET, fault
from chainq.errors import Phrase, UsageError
from chainq.text.sanitize import KEYS, abridged, quoted


class TextKind(Enum):
    """A kind of text: its name with an article, and what to do with one, as a `Phrase` (`{}` is the text itself)."""

    def __init__(self, title: str, hint: str) -> None:
        self.title, self.hint = title, hint

    HEIGHT = (
        "a height, or a row id",
        "use chainq show {} or chainq block {} for a height; no command takes the row ids in the column id",
    )
    TRANSACTION = "a transaction ID", "use chainq show {} or chainq transaction {}"
    ADDRESS = "an address", "use chainq show {} or chainq address-transactions {}"
    PROGRAM = "a program ID", "use chainq show {} or chainq program-transactions {} FUNCTION"
    FUNCTION = "a function of a program", "use chainq show {}"
    BLOCK_HASH = "a block hash", "use chainq show {}, which looks for it in the newest blocks"
    TRANSITION = (
        "a transition ID",
        "use chainq show {}, which looks for it in the newest blocks or an export",
    )
    RECORD = "the ciphertext of a record", "use chainq show {}, which looks for it in the newest blocks"
    STATE_ROOT = "a state root", "the service has no method for it; chainq blocks shows those of blocks"
    SIGNATURE = "a signature", "the service has no method for it"
    CIPHERTEXT = "a ciphertext", "the service has no method for it"
    FIELD = (
        "a field or group element",
        "the service has no method for it; if it is a tag, an export has what it spends: chainq show {} --url DEST",
    )
    SHORTENED = "shortened by a table", "use {trunc} there to see it whole"
    SECRET = "a secret key", "owned and balance read a view key from a file; never pass a key as an argument"


WITH_SCREEN = {kind for kind in TextKind if kind.hint.startswith("use chainq show")}
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
    """Raise UsageError for a text of another kind than `expected`; `wanted` names the argument (`height`).

    The message says what the text is and which command takes it. A text of no known kind passes: other checks know
    better what is wrong with it.
    """
    kind = kind_of(text)
    if kind is None or kind in expected:
        return
    repeated = abridged(text, 80)
    raise UsageError(
        f"invalid {wanted}{shown(text)}: this is {kind.title}", Phrase(kind.hint, repeated, repeated, trunc=False)
    )
