"""The error boundary of the Python API: parameters of errors as keywords, and the end of calls on a closed client."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from chainq.errors import ChainqError, Phrase, UsageError, in_python
from chainq.transport.base import Stopped


@contextmanager
def boundary() -> Iterator[None]:
    """Let errors through in the words of Python; a call on a closed client is a UsageError."""
    try:
        yield
    except Stopped:
        raise UsageError("the client is closed") from None
    except ChainqError as error:
        error.message, error.hint = map(in_words, (error.message, error.hint))
        raise


def in_words(text: str) -> str:
    """Return a text with keywords in the place of parameters, and methods in that of commands."""
    words = text.spelled(_keyword) if isinstance(text, Phrase) else text
    return words.replace("run the command again", "call the method again")


def _keyword(name: str, value: Any) -> str:
    """Return a parameter as a keyword. Heights that count back from the tip are for the command line alone."""
    if name in ("start", "end") and isinstance(value, int) and value < 0:
        return f"{name}=client.tip_height(){value + 1:+d}"
    return in_python(name, value)
