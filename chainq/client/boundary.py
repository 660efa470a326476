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
        hints = map(_in_python, error.hint.split("; "))
        error.hint = "; ".join(hint for hint in hints if "--" not in hint)  # what Python has no keyword for
        raise


def _in_python(text: str) -> str:
    for option, keyword in _WORDS:
        text = re.sub(option, keyword, text)
    return text
