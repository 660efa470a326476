"""A worker process: reads view keys and then blocks of rows from stdin, and writes what it finds to stdout.

Each message is four bytes of length and JSON. The process ends when its input does, so that none outlives the run,
however that ends.
"""

import sys
from typing import BinaryIO

import msgspec

from chainq.wallet.ownership import Matcher

_LENGTH = 4  # bytes


def send(stream: BinaryIO, message: bytes) -> None:
    """Write one message. Raises OSError where nobody reads."""
    stream.write(len(message).to_bytes(_LENGTH, "little") + message)
    stream.flush()


def receive(stream: BinaryIO) -> bytes | None:
    """Return the next message; None at the end of the stream, or where it ends inside a message."""
    head = stream.read(_LENGTH)
    size = int.from_bytes(head, "little")
    message = stream.read(size) if len(head) == _LENGTH else b""
    return message if len(head) == _LENGTH and len(message) == size else None


def main() -> None:
    """Serve the process that started this one."""
    source, target = sys.stdin.buffer, sys.stdout.buffer
    keys = receive(source)
    if keys is None:
        return
    matcher = Matcher(msgspec.json.decode(keys, type=list[str]))
    while (block := receive(source)) is not None:
        send(target, msgspec.json.encode(matcher.match(block)))


if __name__ == "__main__":
    main()
