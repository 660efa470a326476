"""Checks of the values that options and profiles share: headers and sizes."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from chainq.errors import UsageError
from chainq.text.sanitize import quoted

LEAST_MEMORY = 2**20  # bytes


def header(text: str, of: str = "header") -> tuple[str, str]:
    """Return the name and the value of a header written `Name: value` (RFC 9110, section 5), or as it is sent for
    `Name: env:VARIABLE`.

    Raises UsageError, which names `of` and never repeats the value: it may be a secret.
    """
    name, colon, value = text.partition(":")
    if not colon:
        raise UsageError("invalid --header: expected 'Name: value'")
    name, value = checked_header(name.strip(), value.strip())
    if not value.startswith("env:"):
        return name, value
    variable = value.removeprefix("env:")
    value = os.environ.get(variable, "").strip()  # a newline at the end, as of a file that was read, is not part of it
    if not value:
        why = "empty" if variable in os.environ else "not set"
        raise UsageError(f"environment variable {variable} is {why} ({of} {name})")
    return checked_header(name, value)


@contextmanager
def in_variable(name: str) -> Iterator[None]:
    """Have an error about the value of an environment variable name it."""
    try:
        yield
    except UsageError as error:
        error.add_note(f"{name} is set to it")
        raise


def checked_header(name: str, value: str) -> tuple[str, str]:
    """Return the name and the value of a header. Raises UsageError as `header` does."""
    if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
        raise UsageError("invalid header name: expected letters, digits or hyphens, as in 'Name: value'")
    if name.lower() in ("content-length", "transfer-encoding"):
        raise UsageError(f"the header {name} cannot be set: chainq sets it for each request")
    if not value.isascii() or not value.isprintable():
        raise UsageError(f"the value of the header {name} has characters that are not allowed in a header")
    return name, value


def memory(text: object) -> int:
    """Return the bytes of a size such as `512M`, `2G` or `2GiB`: units are powers of 1,024. Raises UsageError."""
    written = re.fullmatch(r"([0-9]{1,15})(?:([KMGT])(?:i?B)?)?", str(text).strip(), re.IGNORECASE | re.ASCII)
    size = int(written[1]) * 1024 ** " KMGT".index((written[2] or " ").upper()) if written else 0
    if size < LEAST_MEMORY:
        raise UsageError(f"invalid --max-memory {quoted(str(text))}: expected a size such as 512M or 2G, at least 1M")
    return size
