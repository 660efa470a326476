"""Reads heights and IDs from standard input, one per line."""

import os
import select
from collections.abc import Iterator

from chainq.errors import UsageError

STDIN_WAIT = 0.1  # seconds between two looks at results that have arrived


def lines() -> Iterator[str | None]:
    """Yield the lines of standard input that are not empty; None each time that none is ready. Raises UsageError."""
    rest = b""
    while True:
        try:
            if not select.select([0], [], [], STDIN_WAIT)[0]:
                yield None
                continue
            piece = os.read(0, 65536)
        except OSError as error:
            raise UsageError(f"cannot read standard input: {error.strerror}") from None
        *lines, rest = (rest + piece).split(b"\n")
        if not piece and rest:
            lines, rest = [rest], b""
        for line in lines:
            if word := line.decode(errors="replace").strip():
                yield word
        if not piece:
            return
