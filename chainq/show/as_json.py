"""The parts of an object as one JSON object: what it is, what was looked at, and the rows as the service sent them."""

import msgspec

from chainq.show.parts import Parts


def encode(parts: Parts) -> bytes:
    """Return a JSON object with `kind` and the fields of the parts; `heights` as `start` and `end`, end excluded."""
    kind = type(parts).__name__.removesuffix("Parts").lower()  # `block` of BlockParts
    return msgspec.json.encode({"kind": kind, **parts._asdict()}) + b"\n"
