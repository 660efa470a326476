"""The parts of an object as one JSON object: what it is, what was looked at, and the rows as the service sent them."""

import msgspec
from msgspec import Raw

from chainq.heights.range import HeightRange
from chainq.show.parts import Parts


def encode(parts: Parts) -> bytes:
    """Return a JSON object with `kind` and the fields of the parts; `heights` as `start` and `end`, end excluded."""
    kind = type(parts).__name__.removesuffix("Parts").lower()  # `block` of BlockParts
    members = [b'"kind":' + msgspec.json.encode(kind)]
    members += [msgspec.json.encode(name) + b":" + _value(value) for name, value in parts._asdict().items()]
    return b"{" + b",".join(members) + b"}\n"


def _value(value: object) -> bytes:
    if isinstance(value, HeightRange):
        return msgspec.json.encode({"start": value.start, "end": value.end})
    if isinstance(value, list):
        return b"[" + b",".join(map(bytes, value)) + b"]"
    return bytes(value) if isinstance(value, Raw) else msgspec.json.encode(value)
