"""Finds which view keys own which ownership rows: the formula in docs/protocol.md, "Ownership rows", on blocks of rows.

A row to which the formula does not apply is not treated as another owner's, but reported as malformed.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from chainq.hashes.sdk import load

HASH, DOMAIN = "AleoPoseidon8", "AleoSymmetricEncryption0"
FIELD_BYTES = 32


class Findings(NamedTuple):
    """The findings in a block of rows.

    `owned`: row number and key number of each row that a key owns; `malformed`: row number and what is wrong with it.
    """

    owned: list[tuple[int, int]]
    malformed: list[tuple[int, str]]


class _Row(msgspec.Struct):
    """The fields that the formula reads, of whatever type they were sent."""

    nonce_x: Any = None
    nonce_y: Any = None
    owner_x: Any = None


_DECODER = msgspec.json.Decoder(list[_Row])


class Matcher:
    """Compares rows with view keys. What the keys share for a row, the nonce, is decoded once.

    Raises UsageError without the SDK; the view keys must be valid.
    """

    def __init__(self, view_keys: Sequence[str]) -> None:
        sdk = load()
        self._keys = []
        self._addresses: dict[int, int] = {}  # x-coordinate -> number of the key
        for number, text in enumerate(view_keys):
            view_key = sdk.ViewKey.from_string(text)
            address_x = view_key.address.to_group().to_x_coordinate()
            self._keys.append((view_key.to_scalar(), address_x))
            self._addresses[int.from_bytes(bytes(address_x.to_bytes_le()), "little")] = number
        self._hash = sdk.Poseidon8.setup(HASH).hash
        self._domain = sdk.Field.domain_separator(DOMAIN)
        self._field, self._point = sdk.Field.from_bytes_le, sdk.Group.from_field

    def match(self, block: bytes) -> Findings:
        """Return the findings in a block: a JSON array of ownership rows."""
        found = Findings([], [])
        for number, row in enumerate(_rows(block)):
            try:
                found.owned.extend((number, key) for key in self._owners(row))
            except ValueError as error:
                found.malformed.append((number, str(error)))
        return found

    def _owners(self, row: _Row) -> Iterator[int]:
        """Yield the numbers of the keys that own a row. Raises ValueError for a malformed row."""
        owner_x = _number("owner_x", row.owner_x)
        if row.nonce_x == "" and row.nonce_y == "":  # the owner is public
            self._element("owner_x", owner_x)
            if owner_x in self._addresses:
                yield self._addresses[owner_x]
            return
        nonce_x = self._element("nonce_x", _number("nonce_x", row.nonce_x))
        _number("nonce_y", row.nonce_y)  # not needed, but a row with an invalid one is not to be trusted
        try:
            nonce = self._point(nonce_x)
        except RuntimeError:
            raise ValueError("nonce_x is not the x-coordinate of a point") from None
        encrypted = self._element("owner_x", owner_x)
        for number, (scalar, address_x) in enumerate(self._keys):
            record_view_key = nonce.scalar_multiply(scalar).to_x_coordinate()
            if address_x + self._hash([self._domain, record_view_key]) == encrypted:
                yield number

    def _element(self, name: str, number: int) -> Any:
        """Return the field element of a number. Raises ValueError."""
        try:
            return self._field(number.to_bytes(FIELD_BYTES, "little"))
        except (OverflowError, RuntimeError):
            raise ValueError(f"{name} is not a field element") from None


def _rows(block: bytes) -> list[_Row]:
    try:
        return _DECODER.decode(block)
    except msgspec.DecodeError:  # lone surrogates, or a number beyond any float in a field that nobody reads
        return [_Row(*map(row.get, _Row.__struct_fields__)) for row in json.loads(block, parse_int=str)]


def _number(name: str, value: object) -> int:
    """Return the whole number in a text of decimal digits, with or without the suffix of its type."""
    digits = value.removesuffix("field").removesuffix("group") if isinstance(value, str) else ""
    if not (digits.isascii() and digits.isdigit() and len(digits) < 100):
        raise ValueError(f"{name} is not a string of decimal digits")
    return int(digits)
