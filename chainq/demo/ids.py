"""Deterministic texts: bech32m IDs, field and group elements.

Every text is a pure function of one 64-bit word. `chain.py` decides what the words mean (heights, row numbers).
"""

from collections.abc import Sequence
from functools import cached_property, lru_cache
from math import gcd
from typing import TypeVar

from chainq.catalog.bech32 import ALPHABET, BECH32M, expand, polymod

_T = TypeVar("_T")

WORD = (1 << 64) - 1
"""The largest word."""

FIELD_ORDER = 8444461749428370424248824938781546531375899335154063827935233455917409239041
"""Field elements are the decimal numbers below this one."""

_TO_TEXT = (ALPHABET * 8).encode()
_LOW_5 = bytes(i & 31 for i in range(256))
_CARRIED = 13  # symbols of five bits that hold the word itself: 65 bits

_MULTIPLY_1, _MULTIPLY_2 = 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53
_UNDO_1, _UNDO_2 = pow(_MULTIPLY_1, -1, 1 << 64), pow(_MULTIPLY_2, -1, 1 << 64)
_SPREAD = 0x0D9A3C5F17E28B64_91F0E7A26C35D84B_5E2B7A90C1D4F683_A7C8E1935B0D6F27


def mix(number: int, key: int) -> int:
    """Return `number` (a word) scrambled under `key` (a word), as a word. One to one: `unmix` reverses it."""
    x = number ^ key
    x = (x ^ (x >> 33)) * _MULTIPLY_1 & WORD
    x = (x ^ (x >> 33)) * _MULTIPLY_2 & WORD
    return x ^ (x >> 33)


def unmix(word: int, key: int) -> int:
    """Return the number for which `mix(number, key)` is `word`."""
    x = (word ^ (word >> 33)) * _UNDO_2 & WORD
    x = (x ^ (x >> 33)) * _UNDO_1 & WORD
    return x ^ (x >> 33) ^ key


def scattered(rows: Sequence[_T], word: int) -> Sequence[_T]:
    """Return the rows in an order that depends on a word.

    A stride through the rows. Rejected: a true shuffle, as costly as the rows themselves.
    """
    count = len(rows)
    if count < 2:
        return rows
    at, stride = word % count, 1 + (word >> 20) % (count - 1)
    while gcd(stride, count) > 1:
        stride = stride % (count - 1) + 1
    return [rows[(at + stride * i) % count] for i in range(count)]


def element(word: int) -> int:
    """Return a number below `FIELD_ORDER`, distinct for each word because the order is prime."""
    return word * _SPREAD % FIELD_ORDER


def field(word: int) -> str:
    """Return a field element in the service's form: decimal digits and `field` (docs/protocol.md, "Values")."""
    return f"{word * _SPREAD % FIELD_ORDER}field"


def group(word: int) -> str:
    """Return a group element in the service's form: decimal digits and `group` (docs/protocol.md, "Values")."""
    return f"{word * _SPREAD % FIELD_ORDER}group"


def _six(check: int) -> bytes:
    return bytes(check >> shift & 31 for shift in (25, 20, 15, 10, 5, 0))


# The checksum of BIP 350 is linear over GF(2), so a whole ID can be too: an ID is a constant of its prefix, XORed with
# one precomputed number (a byte for each symbol, checksum included) for each byte of the word. Eight look-ups instead
# of 58 steps of the checksum, and every symbol depends on the word. Rejected: hashing each ID and computing its
# checksum by ten-bit groups, which needs 26 look-ups for the checksum and as many for the text.
@lru_cache
def _tables(symbols: int, bits: int) -> tuple[list[int], ...]:
    loose = symbols - _CARRIED
    # Noise from expanding a fraction with a prime denominator; importing hashlib or random would take longer.
    size = loose * bits
    noise = ((element(symbols) << size * 8) // FIELD_ORDER).to_bytes(size).translate(_LOW_5)
    tables = []
    for byte in range(bits // 8 - 1, -1, -1):  # from the most significant byte, as int.to_bytes gives them
        table = [0] * 256
        for bit in range(8):
            at = byte * 8 + bit
            values = bytearray(_CARRIED) + noise[at * loose : (at + 1) * loose]
            values[at // 5] = 1 << at % 5
            values[-1] &= 31 << symbols * 5 % 8 & 31  # the bits that pad the last byte stay zero (BIP 173)
            table[1 << bit] = int.from_bytes(bytes(values) + _six(polymod(bytes(values) + bytes(6), 0)))
        for index in range(1, 256):
            lowest = index & -index
            if index != lowest:
                table[index] = table[index ^ lowest] ^ table[lowest]
        tables.append(table)
    return tuple(tables)


class Coder:
    """Writes words as bech32m texts (BIP 350) of one prefix and length, and reads them back."""

    def __init__(self, prefix: str, symbols: int = 52, bits: int = 64) -> None:
        """Takes the prefix, the number of data symbols before the checksum (52 hold 32 bytes; at least 14), and how
        many of the word's lowest bits count (a multiple of 8; long texts are cheaper with few)."""
        self._prefix, self._symbols, self._bits, self._length = prefix + "1", symbols, bits, symbols + 6

    @cached_property
    def _ready(self) -> tuple[int, tuple[list[int], ...]]:
        """The common part of all texts, and the tables; made at first use, to keep start-up fast."""
        values = [*expand(self._prefix[:-1]), *bytes(self._symbols + 6)]
        base = int.from_bytes(_six(polymod(values) ^ BECH32M))
        return base, _tables(self._symbols, self._bits)

    @lru_cache(maxsize=4096)  # noqa: B019  # there are ten coders; many rows hold the same ID
    def text(self, word: int) -> str:
        """Return the text of `word`, as long as prefix + 1 + symbols + 6."""
        value, tables = self._ready
        for table, byte in zip(tables, (word & (1 << self._bits) - 1).to_bytes(self._bits // 8), strict=True):
            value ^= table[byte]
        return self._prefix + value.to_bytes(self._length).translate(_TO_TEXT).decode()

    def word(self, text: str) -> int | None:
        """Return the word whose text is exactly `text`; None if there is none (wrong prefix, length or checksum)."""
        if not text.isascii() or not text.startswith(self._prefix):
            return None
        word = 0
        for at, symbol in enumerate(text[len(self._prefix) :][:_CARRIED]):
            word |= ALPHABET.find(symbol) % 32 << at * 5
        word &= WORD
        return word if self.text(word) == text else None


ADDRESS = Coder("aleo")
BLOCK = Coder("ab")
ROOT = Coder("sr")
TRANSACTION = Coder("at")
TRANSITION = Coder("au")
RECORD = Coder("record", 191)
CIPHERTEXT = Coder("ciphertext", 108)
SIGNATURE = Coder("sign", 207, bits=16)
PROOF = Coder("proof", 1540, bits=16)
KEY = Coder("verifier", 1079, bits=16)
