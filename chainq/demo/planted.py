"""Records of the sample chain that a published test key owns, so that `chainq owned` finds something.

All other rows of the chain are computed from their height. The records in `planted.json` are real ciphertexts, made
once with `tests/harness/wallet/account.py`, so the chain itself needs no cryptography. The key is an example from the
SDK's documentation: anyone can read its records.

`NONCES` are points of the curve, a prime number of them, so that the nonces of neighboring records differ. Real ones
never repeat; millions of them would cost too much.
"""

from pathlib import Path
from typing import NamedTuple

import msgspec


class Planted(NamedTuple):
    """One planted record: its ciphertext and its ownership row. Empty nonces: its owner is public.

    `output_id`: the `id` of its output, which is its commitment. `sender_ciphertext`: of its output, empty for records
    of version 0, which have none. `tag`: of the input that spends it, empty for an unspent record.
    """

    record_ciphertext: str
    nonce_x: str
    nonce_y: str
    owner_x: str
    output_id: str = ""
    sender_ciphertext: str = ""
    tag: str = ""


Input = tuple[int, int, int, int]
"""Height, index of a transaction, number of a transition in it, index of an input."""

_PLACED, NONCES = msgspec.json.decode(
    Path(__file__).with_name("planted.json").read_bytes(),
    type=tuple[tuple[tuple[int, Input | None, Planted], ...], tuple[tuple[str, str], ...]],
)
PLANTED = {number: one for number, _, one in _PLACED}
"""The records of that key by the number of the record of the chain that each replaces: amounts of 1 to 16 credits. Two
have a public owner, every second one has version 1 and a sender, and every third one is spent."""
TAGS = {place: one.tag for _, place, one in _PLACED if place}
"""The tags of the inputs that spend planted records."""
