"""Checks of the values that options and profiles share: headers, rates and timeouts."""

import re

from chainq.errors import UsageError


def fits(value: float) -> bool:
    """Return whether a rate (requests a second) or a timeout (seconds) is between a millionth and a million."""
    return 1e-6 < value < 1e6


def header(text: str) -> tuple[str, str]:
    """Return the name and the value of a header written `Name: value` (RFC 9110, section 5).

    Raises UsageError, which never repeats the value: it may be a secret.
    """
    name, colon, value = text.partition(":")
    if not colon:
        raise UsageError("invalid --header: expected 'Name: value'")
    return checked_header(name.strip(), value.strip())


def checked_header(name: str, value: str) -> tuple[str, str]:
    """Return the name and the value of a header. Raises UsageError as `header` does."""
    if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
        raise UsageError("invalid header name: expected letters, digits or hyphens, as in 'Name: value'")
    if name.lower() in ("content-length", "transfer-encoding"):
        raise UsageError(f"the header {name} cannot be set: it follows from the body of each request")
    if not value.isascii() or not value.isprintable():
        raise UsageError(f"the value of the header {name} has characters that a header cannot carry")
    return name, value
