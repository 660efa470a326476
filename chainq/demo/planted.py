"""Records of the sample chain that a published test key owns, so that `chainq owned` finds something.

All other rows of the chain are computed from their height. The records in `planted.json` are real ciphertexts, made
once with `tests/harness/account.py`, so the chain itself needs no cryptography. The key is an example from the SDK's
documentation: anyone can read its records.
"""

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from chainq.demo.ids import FIELD_ORDER

VIEW_KEY = "AViewKey1ccEt8A2Ryva5rxnKcAbn7wgTaTsb79tzkKHFpeKsm9NX"
"""The published test key."""

ADDRESS = "aleo1j7qxyunfldj2lp8hsvy7mw5k8zaqgjfyr72x2gh3x4ewgae8v5gscf5jh3"
"""Its address."""

SENDER = "aleo15yrhv4mmmcv8v3v8f3z3rkj0dtjsmms4nzq8a8cfnu3gceyzjcxsex0vuv"
"""The address that made the records that show a sender."""


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

_PLACED = msgspec.json.decode(
    Path(__file__).with_name("planted.json").read_bytes(), type=tuple[tuple[int, Input | None, Planted], ...]
)
PLANTED = {number: one for number, _, one in _PLACED}
"""The records of `ADDRESS` by the number of the record of the chain that each replaces: amounts of 1 to 16 credits. Two
have a public owner, every second one has version 1 and a sender, and every third one is spent."""
TAGS = {place: one.tag for _, place, one in _PLACED if place}
"""The tags of the inputs that spend planted records."""

# --- points of the curve of nonces

Point = tuple[int, int]

GENERATOR: Point = (
    522678458525321116977504528531602186870683848189190546523208313015552693483,
    4625467284263880392848236339834904393692054417272076479096796531274999498606,
)
"""The generator of accounts and nonces: the address of the view key 1."""

_D = 3021
POOL = 127  # a prime, so that the nonces of neighboring records differ


def add(one: Point, other: Point) -> Point:
    """Return the sum of two points."""
    (a, b), (c, d) = one, other
    cross = _D * a * b * c * d % FIELD_ORDER
    inverse = pow((1 + cross) * (1 - cross), -1, FIELD_ORDER)
    return (
        (a * d + b * c) * (1 - cross) * inverse % FIELD_ORDER,
        (b * d + a * c) * (1 + cross) * inverse % FIELD_ORDER,
    )


def multiple(scalar: int) -> Point:
    """Return the generator times `scalar` (0 or more)."""
    result, power = (0, 1), GENERATOR
    while scalar:
        if scalar & 1:
            result = add(result, power)
        power = add(power, power)
        scalar >>= 1
    return result


@lru_cache
def nonces() -> tuple[tuple[str, str], ...]:
    """Return `POOL` points as decimal digits. Real nonces never repeat; millions of them would cost too much."""
    point, made = multiple(0x5EED), []
    for _ in range(POOL):
        point = add(point, GENERATOR)
        made.append((str(point[0]), str(point[1])))
    return tuple(made)
