"""Field elements as bits, the hash functions BHP512, BHP1024 and Poseidon8, and the Merkle tree made of them.

Bits are little-endian everywhere; a field element has 253. Source of the tree: ProvableHQ/snarkVM,
`console/collections/src/merkle_tree/`.
"""

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import Any

from chainq.catalog import bech32
from chainq.hashes.sdk import load

FIELD_BITS = 253
FIELD_ORDER = 8444461749428370424248824938781546531375899335154063827935233455917409239041
_BASE_32 = str.maketrans(bech32.ALPHABET, "0123456789abcdefghijklmnopqrstuv")
_ID_PREFIXES = ("ab", "ar", "at", "au", "sr")

Bits = list[bool]
_OF_BYTE = [tuple(bool(byte >> place & 1) for place in range(8)) for byte in range(256)]  # a bit at a time takes longer


class NotAnElementError(ValueError):
    """A value that is neither a field element nor an ID that contains one."""


@lru_cache(maxsize=8192)  # an ID occurs in its own place and in those that name it
def element(value: object) -> int:
    """Return a field element as a number, from `12field` or a bech32m ID (`ab1…`, `at1…`, `au1…`, `sr1…`).

    The element of an ID is its payload, 32 bytes, little-endian. Raises NotAnElementError for anything else: an ID with
    a wrong checksum, digits with a leading zero, a number that is not below FIELD_ORDER; TypeError for a list or an
    object.

    >>> element("12field")
    12
    """
    if not isinstance(value, str):
        raise NotAnElementError(f"{value!r} is not a field element")
    digits = value.removesuffix("field")
    if digits != value and digits.isascii() and digits.isdecimal() and len(digits) < 78:
        number = int(digits)
        if str(number) == digits and number < FIELD_ORDER:
            return number
    for prefix in _ID_PREFIXES:
        if value.startswith(f"{prefix}1"):
            data = payload(prefix, value)
            number = int.from_bytes(data, "little")
            if len(data) == 32 and number < FIELD_ORDER:
                return number
    raise NotAnElementError(f"{value!r} is not a field element or an ID")


@lru_cache(maxsize=8192)
def element_bits(value: object) -> Bits:
    """Return the bits of a field element, as `element` takes it; not to be changed."""
    return bits_of(element(value))


def payload(prefix: str, text: str) -> bytes:
    """Return the bytes in a bech32m text. Raises NotAnElementError for any other text, or another prefix."""
    symbols = text.removeprefix(f"{prefix}1")
    if symbols == text or bech32.fault(text, prefix):
        raise NotAnElementError(f"{text!r} is not a bech32m text that begins with {prefix}1")
    number = int(symbols[:-6].translate(_BASE_32) or "0", 32)
    size, rest = divmod((len(symbols) - 6) * 5, 8)
    if rest > 4 or number & (1 << rest) - 1:
        raise NotAnElementError(f"{text!r} is padded with bits that are not zero")
    return (number >> rest).to_bytes(size)


def bech32m(prefix: str, data: bytes) -> str:
    """Return bytes as a bech32m text (BIP 350)."""
    bits = len(data) * 8
    number, symbols = int.from_bytes(data) << -bits % 5, -(-bits // 5)
    values = [number >> 5 * (symbols - 1 - at) & 31 for at in range(symbols)]
    checksum = bech32.polymod(bech32.expand(prefix) + values + [0] * 6) ^ bech32.BECH32M
    values += [checksum >> 5 * (5 - at) & 31 for at in range(6)]
    return f"{prefix}1" + "".join(bech32.ALPHABET[value] for value in values)


def id_text(prefix: str, number: int) -> str:
    """Return a field element as an ID: `ab1…` of a block, `at1…`, `au1…`, `sr1…`."""
    return bech32m(prefix, number.to_bytes(32, "little"))


def bits_of(number: int, width: int = FIELD_BITS) -> Bits:
    """Return the lowest `width` bits of a number, the lowest first."""
    if width == FIELD_BITS and number < FIELD_ORDER:  # by the SDK in a third of the time
        bits: Bits = hashes().sdk.Field.from_bytes_le(number.to_bytes(32, "little")).to_bits_le()
        return bits
    data = (number & (1 << width) - 1).to_bytes(-(-width // 8), "little")
    return bits_of_bytes(data)[:width]


@lru_cache(maxsize=1024)
def small_bits(number: int, width: int) -> tuple[bool, ...]:
    """Return `bits_of` a frequent number, such as a list index, from a cache."""
    return tuple(bits_of(number, width))


def bits_of_bytes(data: bytes) -> Bits:
    """Return the bits of bytes, the lowest of each byte first."""
    return list(chain.from_iterable(map(_OF_BYTE.__getitem__, data)))


class Hashes:
    """The hash functions of the SDK, a module with more in it; results are numbers."""

    def __init__(self, sdk: Any) -> None:
        self.sdk = sdk
        self._bhp512, self._bhp1024, self._poseidon8 = sdk.BHP512(), sdk.BHP1024(), sdk.Poseidon8()

    def bhp512(self, bits: Bits) -> int:
        """Return the hash of bits by BHP512."""
        return _number(self._bhp512.hash(bits))

    def bhp1024(self, bits: Bits) -> int:
        """Return the hash of bits by BHP1024."""
        return _number(self._bhp1024.hash(bits))

    def poseidon8(self, fields: Sequence[Any]) -> int:
        """Return the hash of field elements, objects of the SDK, by Poseidon8."""
        return _number(self._poseidon8.hash(fields))

    def hash_bits(self, bits: Bits) -> Bits:
        """Return the hash of bits by BHP1024 as bits, which the next hash takes."""
        node: Bits = self._bhp1024.hash(bits).to_bits_le()
        return node

    def node(self, left: Bits, right: Bits) -> Bits:
        """Return a node of a Merkle tree, as bits."""
        node: Bits = self._bhp512.hash([True, *left, *right]).to_bits_le()
        return node


@cache
def hashes() -> Hashes:
    """Return the hash functions. Raises UsageError without aleo-sdk. The first call takes half a second."""
    return Hashes(load("recomputing hashes", "hashes"))


@cache
def empty_nodes() -> tuple[Bits, Bits]:
    """Return the node that pads a tree, and the parent of two of them."""
    functions, zero = hashes(), bits_of(0)
    empty = functions.node(zero, zero)
    return empty, functions.node(empty, empty)


def merkle_root(leaves: Iterable[Bits], depth: int) -> int:
    """Return the root of a tree, as `root_bits` makes it."""
    return _number(hashes().sdk.Field.from_bits_le(root_bits(leaves, depth)))


def root_bits(leaves: Iterable[Bits], depth: int) -> Bits:
    """Return the root of a tree: full to the next power of two, then a path with an empty sibling up to `depth`."""
    functions, (empty, pair) = hashes(), empty_nodes()
    level = [functions.hash_bits([False, *bits]) for bits in leaves] or [empty]
    width, levels = 1 << (len(level) - 1).bit_length(), 0
    if len(level) > 1 and len(level) % 2:
        level.append(empty)
    while width > 1:
        level = [functions.node(level[at], level[at + 1]) for at in range(0, len(level), 2)]
        width, levels = width // 2, levels + 1
        level += [pair] * (width - len(level))
    root = level[0]
    for _ in range(depth - levels):
        root = functions.node(root, empty)
    return root


def _number(field: Any) -> int:
    return int(str(field).removesuffix("field"))
