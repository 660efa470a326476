"""Makes records of an address: real ciphertexts, which its view key decrypts.

The SDK cannot encrypt a record, so this module builds the ciphertext with the SDK's arithmetic, in the byte format of
snarkVM: version and kind of owner, owner, number of entries, entries, nonce. Integers are little-endian.
"""

from typing import Any

from chainq.demo.planted import Planted
from chainq.hashes.sdk import load
from chainq.hashes.trees import bech32m
from chainq.wallet.examine import SENDER_HASH
from chainq.wallet.ownership import DOMAIN, HASH

SENDER = "aleo15yrhv4mmmcv8v3v8f3z3rkj0dtjsmms4nzq8a8cfnu3gceyzjcxsex0vuv"
"""The address that made the records that show a sender."""
PUBLIC_EVERY = 8  # one record in this many has a public owner (the last)
HIDING_EVERY = 2  # every second record has version 1, used since consensus V8, and a sender
_PUBLIC, _PRIVATE = b"\0\2", b"\1\3"  # of version 0, of version 1
_ENTRY_PRIVATE = b"\2"


def fresh_records(address: str, count: int) -> list[Planted]:
    """Return that many new records of an address, of 1, 2, 3 ... credits, each eighth with a public owner."""
    sdk = load()
    owner = sdk.Address.from_string(address)
    sender_x = sdk.Address.from_string(SENDER).to_group().to_x_coordinate()
    return [
        _record(sdk, owner, 1_000_000 * number, sender_x, number % HIDING_EVERY == 0, public=number % PUBLIC_EVERY == 0)
        for number in range(1, count + 1)
    ]


def _record(sdk: Any, owner: Any, microcredits: int, sender_x: Any, version: int, *, public: bool) -> Planted:
    scalar = sdk.Scalar.random()
    # The SDK does not bind the generator of accounts, but its multiples are the addresses of view keys.
    nonce = sdk.ViewKey.from_bytes(bytes(scalar.to_bytes_le())).address.to_group()
    # The view key times the nonce is the address times the scalar: no key is needed to encrypt for it.
    record_view_key = owner.to_group().scalar_multiply(scalar).to_x_coordinate()
    domain = sdk.Field.domain_separator(DOMAIN)
    masks = sdk.Poseidon8.setup(HASH).hash_many([domain, record_view_key], 2)
    (amount,) = sdk.Plaintext.from_string(f"{microcredits}u64").to_fields()
    address_x = owner.to_group().to_x_coordinate()
    if public:
        owner_x, head, mask = address_x, _PUBLIC[version : version + 1] + bytes(owner.to_bytes_le()), masks[0]
    else:
        owner_x, mask = address_x + masks[0], masks[1]
        head = _PRIVATE[version : version + 1] + _fields(owner_x)
    entry = _ENTRY_PRIVATE + _fields(amount + mask)
    name = b"microcredits"
    data = b"\1" + bytes([len(name)]) + name + len(entry).to_bytes(2, "little") + entry
    text = bech32m("record", head + data + bytes(nonce.to_bytes_le()))
    plaintext = sdk.RecordCiphertext.from_string(text).decrypt_with_record_view_key(record_view_key)
    program, record = sdk.ProgramID.from_string("credits.aleo"), sdk.Identifier.from_string("credits")
    mask = sdk.Poseidon4.setup(SENDER_HASH).hash([domain, record_view_key, sdk.Field.one()])
    nonce_x = "" if public else str(nonce.to_x_coordinate()).removesuffix("field")
    return Planted(
        text,
        nonce_x,
        nonce_x,  # its y, which nothing compares
        str(owner_x).removesuffix("field"),
        str(plaintext.commitment(program, record, record_view_key)),
        str(sender_x + mask) if version else "",
    )


def _fields(field: Any) -> bytes:
    """Return a ciphertext of one field element."""
    return b"\1\0" + bytes(field.to_bytes_le())
