"""Reads heights and IDs from standard input, one per line."""

import os
import select
import sys
from codecs import getincrementaldecoder
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TypeVar

from chainq.errors import UsageError
from chainq.query import STDIN
from chainq.text.sanitize import encoding

T = TypeVar("T")
STDIN_WAIT = 0.1  # seconds between two looks at results that have arrived
LONGEST_LINE = 64 * 2**20  # characters; a full block as jsonl has up to 12 MB


def check_open() -> None:
    """Raise UsageError if standard input is closed."""
    # Rejected: asking whether descriptor 0 is open. If it was closed, the next file opened gets its number, and that
    # may be the connection to the service.
    if sys.stdin is None:
        raise UsageError("standard input is closed")


def everything() -> str:
    """Return all of standard input. Raises UsageError."""
    check_open()
    try:
        sent = sys.stdin.buffer.read()
        return sent.decode(encoding(sent))
    except OSError as error:
        raise UsageError(f"cannot read standard input: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"standard input is not valid {error.encoding.upper()}") from None


def expanded(words: Collection[T], read: Callable[[str], T]) -> Iterator[T | None]:
    """Return the words, `-` replaced by what `read` makes of the lines of standard input; None each time that none is
    ready. One that is the same as the one before is left out: of rows, many have the ID of the row before.

    Raises UsageError, at once if standard input is closed.
    """
    if STDIN in words:
        check_open()
    return _unlike_the_one_before(words, read)


def _unlike_the_one_before(words: Iterable[T], read: Callable[[str], T]) -> Iterator[T | None]:
    before: T | None = None
    for word in words:
        for value in lines(read) if word == STDIN else (word,):
            if value is None or value != before:
                yield value
            before = before if value is None else value


def lines(read: Callable[[str], T]) -> Iterator[T | None]:
    """Yield what `read` makes of each line of standard input that is not empty; None each time that none is ready.

    Raises UsageError; one that `read` raises gets the number of the line.
    """
    number, text, sent, decoder = 0, "", b"\n", None
    while sent:
        try:
            if not select.select([0], [], [], STDIN_WAIT)[0]:
                yield None
                continue
            sent = os.read(0, 65536)
        except OSError as error:
            raise UsageError(f"cannot read standard input: {error.strerror}") from None
        decoder = decoder or getincrementaldecoder(encoding(sent))("replace")
        text += decoder.decode(sent, final=not sent)
        if len(text) > LONGEST_LINE:
            raise UsageError(f"a line of standard input is longer than {LONGEST_LINE // 2**20} MiB")
        if sent and "\n" not in text[-len(sent) :]:  # a line of many pieces is split once
            continue
        *ended, text = text.split("\n")
        for line in ended if sent else (*ended, text):
            number += 1
            if word := line.lstrip("\ufeff").strip():
                try:
                    value = read(word)
                except UsageError as error:
                    error.message = f"line {number} of standard input: " + error.message
                    raise
                yield value
