"""Checks of the values that options and profiles share: headers, rates and timeouts."""

import re

from chainq.errors import UsageError


def fits(value: float) -> bool:
    """Whether a rate (requests a second) or a timeout (seconds) can be kept: from a millionth to a million."""
    return 1e-6 < value < 1e6


def header(text: str) -> tuple[str, str]:
    """A header as `Name: value` (RFC 9110, section 5). The value is never repeated in the message."""
    name, colon, value = text.partition(":")
    if not colon or not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name.strip()):
        raise UsageError("a --header is written 'Name: value'")
    if name.strip().lower() in ("content-length", "transfer-encoding"):
        raise UsageError(f"the header {name.strip()} follows from the body of each call, and cannot be given")
    value = value.strip()
    if not value.isascii() or not value.isprintable():
        raise UsageError(f"the value of the header {name.strip()} has characters that no header can carry")
    return name.strip(), value
