"""Checks the checksums of IDs and addresses: bech32 (BIP 173) and bech32m (BIP 350).

IDs of the service are long, so that the limit of 90 characters of BIP 173 is not applied.
"""

import re
from collections.abc import Iterable

ALPHABET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
BECH32, BECH32M = 1, 0x2BC830A3
TERMS = [0]  # what the five bits that leave the checksum put back into it: the generators of BIP 173, combined
for _generator in (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3):
    TERMS += [_generator ^ term for term in TERMS]


def polymod(values: Iterable[int], checksum: int = 1) -> int:
    """Return the BCH checksum of 5-bit values (BIP 173, "Checksum"). `checksum`: of the values before them."""
    for value in values:
        checksum = (checksum & 0x1FFFFFF) << 5 ^ value ^ TERMS[checksum >> 25]
    return checksum


def expand(prefix: str) -> list[int]:
    """Return the prefix as the 5-bit values that go into the checksum (BIP 173)."""
    return [ord(c) >> 5 for c in prefix] + [0] + [ord(c) & 31 for c in prefix]


def fault(text: str, prefix: str = "") -> str:
    """Return what is wrong with a bech32 or bech32m string, as the end of a message; empty if nothing is.

    With `prefix`, the human-readable part must be that one.
    """
    if text not in (text.lower(), text.upper()):
        return "upper and lower case are mixed"
    head, _, data = text.lower().rpartition("1")
    if not re.fullmatch(prefix or "[!-~]+", head):
        return f"expected {f'{prefix}1 at its beginning' if prefix else 'a prefix followed by 1, such as aleo1'}"
    values = list(map(ALPHABET.find, data))
    if len(values) < 6 or -1 in values or polymod(expand(head) + values) not in (BECH32, BECH32M):
        return "the checksum does not match: a character is wrong, missing or extra"
    return ""
