"""The error boundary of the Python API: messages name its keywords where those of the commands name options."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from chainq.errors import ChainqError, UsageError
from chainq.transport.base import Stopped

_WORDS = (
    (r", such as --[^;]*", ""),  # heights that count back from the tip are for the command line
    (r"--no-verify", "verify=False"),
    (r"--(dialect|url) ([a-z]+:?)(?![a-z])", r"\1='\2'"),
    (r"--header\b", "headers"),
    (r"-j\b", "concurrency"),
    (r"-w ([0-9]+)", r"workers=\1"),
    (r"-w\b", "workers"),
    (r"--max-memory", "max_memory"),
    (r"--(start|end|last|since|until|limit|reverse|url|profile|dialect|timeout|retries|rate)\b", r"\1"),
)
"""What stands in the place of an option, in this order."""


@contextmanager
def boundary() -> Iterator[None]:
    """Let errors through in the words of Python; the end of a call on a closed client is a UsageError."""
    try:
        yield
    except Stopped:
        raise UsageError("the client is closed") from None
    except ChainqError as error:
        error.message = _in_python(error.message)
        error.hint = _in_python(error.hint)
        raise


def _in_python(text: str) -> str:
    """Return a text with keywords for options, but for those of a whole command, which is for a shell."""
    parts = re.split(r"(\bchainq [^;]*)", text)
    for option, keyword in _WORDS:
        parts[::2] = [re.sub(option, keyword, part) for part in parts[::2]]
    return "".join(parts)
