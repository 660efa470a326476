"""Lines of stderr: as text, or with `--log-format json` as JSON objects with time, level and the id of the run."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise

from chainq.text.sanitize import mask_keys, printable

RUN = os.urandom(4).hex()
"""The id of this run, in each line of the JSON log."""
GONE = (OSError, ValueError, AttributeError)  # what writing to a closed stderr raises


class Lines:
    """Whether lines are JSON."""

    json = False


def use(arguments: Sequence[str]) -> None:
    """Print JSON from the start if the command line says so, also what is wrong with the command line."""
    Lines.json = "--log-format=json" in arguments or ("--log-format", "json") in pairwise(arguments)


def clock() -> str:
    """Return the time in UTC, with milliseconds."""
    from datetime import UTC, datetime  # a run that prints nothing is spared it

    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def rendered(level: str, text: str, **fields: object) -> str:
    """Return a message as text, or as an object with `time`, `level`, `run`, `message`,
    and fields that have a value; sanitized, and keys are masked.
    """
    text = printable(text)
    if not Lines.json:
        return mask_keys(text)
    import msgspec

    message = text.removeprefix("chainq: ").removeprefix("warning: ")
    known = {name: value for name, value in fields.items() if value not in (None, "")}
    line = msgspec.json.encode({"time": clock(), "level": level, "run": RUN, "message": message, **known})
    return mask_keys(line.decode())


def write(line: str) -> None:
    """Write a line to stderr; if that is closed, exit codes have to do."""
    with suppress(*GONE):
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
