"""Reads and checks view keys: from a file, the environment, or a prompt; never from the command line.

Everyone on a machine can read command lines. No message here repeats any part of what was read: it may be a key.
"""

import os
import stat
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from chainq.errors import UsageError
from chainq.hashes.sdk import load
from chainq.text.sanitize import PRIVATE_KEY, VIEW_KEY, encoding, printable

VARIABLE = "CHAINQ_VIEW_KEY"
_EXPECTED = f"expected one a line, such as {VIEW_KEY}..."
STDIN = "-"
_MOST_BYTES = 1 << 20  # of a file of keys
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class ViewKey(NamedTuple):
    """A valid view key and its address. Shown by its address only."""

    text: str
    address: str

    def __repr__(self) -> str:
        return f"ViewKey of {self.address}"


def read(files: Sequence[Path], *, insecure: bool = False) -> list[ViewKey]:
    """Return view keys, each once: from all files, else the environment, else a prompt. Raises UsageError.

    A file (`-` is standard input) and the environment have one key per line; empty lines and lines that begin with `#`
    are skipped. A file that anyone but its owner can read or write is refused, unless `insecure`. The environment
    variable is removed, so that no child process inherits it.
    """
    by_environment = os.environ.pop(VARIABLE, None)
    if files:
        return list({key.address: key for file in files for key in checked(_lines(file, insecure))}.values())
    if by_environment is not None:
        return checked(_named(VARIABLE, by_environment.splitlines()))
    return _typed()


def checked(named: Iterable[tuple[str, str]]) -> list[ViewKey]:
    """Return valid view keys, each once, from texts that have a name for messages. Raises UsageError."""
    sdk = load()
    keys: dict[str, ViewKey] = {}
    for name, text in named:
        word = text.strip() if isinstance(text, str) else ""
        if word.startswith(PRIVATE_KEY):
            raise UsageError(f"{name} is a private key")
        try:
            address = str(sdk.ViewKey.from_string(word).address)
        except RuntimeError:
            raise UsageError(f"{name} is not a valid view key: {_EXPECTED}") from None
        keys[address] = ViewKey(word, address)
    if not keys:
        raise UsageError(f"there is no view key: {_EXPECTED}")
    return list(keys.values())


def _lines(file: Path, insecure: bool) -> list[tuple[str, str]]:
    by_stdin = str(file) == STDIN
    name = "standard input" if by_stdin else printable(str(file))
    if by_stdin and sys.stdin is None:  # then descriptor 0 may be another file
        raise UsageError("standard input is closed")
    try:
        with open(0 if by_stdin else file, "rb", closefd=not by_stdin) as opened:
            mode = os.fstat(opened.fileno()).st_mode  # of the open file, not of the file that now has the name
            device = stat.S_ISCHR(mode)  # such as a terminal, whose mode says nothing about the key
            if mode & _OTHERS and not device and not insecure:
                raise UsageError(
                    f"{name} can be read or written by others (mode {stat.S_IMODE(mode):04o}): expected mode 0600, or"
                    " --insecure-key-file"
                )
            sent = opened.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from None
    try:
        lines = sent.decode(encoding(sent)).splitlines() if len(sent) <= _MOST_BYTES else None
    except UnicodeDecodeError:
        lines = None
    if lines is None:
        raise UsageError(f"{name} is not a file of view keys: expected one a line")
    return _named(name, lines)


def _named(source: str, lines: Sequence[str]) -> list[tuple[str, str]]:
    """Return the lines that are to be keys, each with its name for messages. Raises UsageError if there is none."""
    found = [
        (f"{source} line {number}" if len(lines) > 1 else source, line)
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not found:
        raise UsageError(f"there is no view key in {source}: {_EXPECTED}")
    return found


def _typed() -> list[ViewKey]:
    """Return the view key that is typed at the terminal, without echo. Raises UsageError if there is no terminal."""
    if not (os.isatty(0) and os.isatty(2)):
        raise UsageError("no view key", f"pass --view-key-file FILE, set {VARIABLE}, or run in a terminal to type it")
    from getpass import getpass

    try:
        typed = getpass("View key (hidden): ")
    except EOFError:
        typed = ""
    if not typed.strip():
        raise UsageError("no view key was typed")
    return checked([("what you typed", typed)])
