"""A hash in the footer of a Parquet file, of the footer itself: readers look at little of what is in it.

The hash is a value of the file's metadata, of as many zeros while it is computed. It is there twice, so that no single
change can hide it: where the name of one is damaged, the other one does not fit any more.
"""

import hashlib
import re

UNSEALED = {f"chainq.footer{number}": "0" * 64 for number in (1, 2)}
"""The metadata of a file whose footer is to be sealed."""
HEIGHTS_KEY = "chainq.heights"
"""The metadata with the height range of a file: `START:END`, the end excluded."""
_HASH = re.compile(rb"(?<=chainq\.footer[12]\x18\x40)[0-9a-f]{64}")  # of a text of 64 bytes (Thrift, compact protocol)
TRAILER = 8  # bytes after the metadata: their length, and PAR1


def footer_size(end: bytes) -> int:
    """Return the number of bytes of a footer by the last bytes of its file."""
    return int.from_bytes(end[-TRAILER:-4], "little") + TRAILER


def sealed(end: bytes) -> bytes:
    """Return the end of a file, its whole footer included, with the hash in it."""
    start = max(0, len(end) - footer_size(end))
    digest = hashlib.sha256(end[start:]).hexdigest().encode()
    return end[:start] + _HASH.sub(digest, end[start:])


def is_damaged(footer: bytes) -> bool:
    """Return whether a footer has a hash and is not what that is of."""
    found = set(_HASH.findall(footer))
    digest = hashlib.sha256(_HASH.sub(b"0" * 64, footer)).hexdigest().encode()
    return bool(found) and found != {digest}
