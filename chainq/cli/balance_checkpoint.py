"""The checkpoint of `chainq balance`: a book with what identifies it, and how the last runs ended.

Without aleo-sdk, so that `chainq status` reads it as fast as others.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from chainq.errors import ChainqError, OutputError, UsageError
from chainq.process import Closing
from chainq.process.signals import signals_deferred
from chainq.resume.checkpoint import State, check_query, other_query
from chainq.resume.kept_file import content_of, locked, replace_file
from chainq.text.sanitize import abridged, excerpt, printable
from chainq.wallet.book import Book

VERSION = 1  # of the checkpoint's fields
MODE = 0o600  # of the checkpoint, which holds amounts


class Kept(msgspec.Struct, forbid_unknown_fields=True):
    """The file: what identifies the wallet and the service, the book, how many keys, and how the last runs ended."""

    chainq_balance: int
    query: dict[str, Any]
    book: Book
    keys: int = 0
    state: State = State()


class Checkpoint(Closing):
    """The book of a run, and the file that keeps it, locked; no file if `path` is None. A context manager.

    `identity`: what identifies the wallet and the service; `start`: of a new book; `keys`: how many there are. Raises
    BusyError, and UsageError for a file that is damaged or of other arguments.
    """

    def __init__(self, path: Path | None, identity: dict[str, Any], start: int, keys: int) -> None:
        self._path = None if path is None else path.resolve()
        self._name = printable(abridged(str(path), 200))
        self._kept, self._lock = Kept(VERSION, identity, Book(start)), None
        if self._path is not None:
            self._lock = locked(self._path, self._name)
            try:
                self._kept = self._read(self._path, identity) or self._kept
            except BaseException:
                self.close()
                raise
        self._kept.keys = keys
        self._record()

    def _record(self) -> None:
        self._saved, self._next = Raw(msgspec.json.encode(self._kept.book)), self._kept.book.next

    def close(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            os.close(self._lock)

    @property
    def book(self) -> Book:
        """Return the book, which the caller changes."""
        return self._kept.book

    @property
    def rest(self) -> str:
        """Return where the next run goes on, in words; empty without a file."""
        return "" if self._path is None else f"the next run reads from block {self._next} on"

    def save(self) -> None:
        """Record the book as it is now. Raises OutputError."""
        self._record()
        self._write()

    def succeeded(self, tip: int, tip_time: int | None) -> None:
        """Record the book, brought up to a tip, unless that is below it. Raises OutputError."""
        if tip + 1 >= self.book.next:
            self._kept.state = self._kept.state.succeeded(tip, tip_time)
            self.save()

    def failed(self, error: ChainqError, *, lasting: bool) -> None:
        """Record why it was not, beside the book as it was recorded last: an error may leave half a block in it."""
        self._kept.state = self._kept.state.failed(str(error), lasting=lasting)
        with suppress(OutputError):  # which the error may be about
            self._write()

    def _write(self) -> None:
        if self._path is not None:
            fields = {name: getattr(self._kept, name) for name in self._kept.__struct_fields__}
            content = msgspec.json.encode({**fields, "book": self._saved})
            with signals_deferred():
                replace_file(self._path, msgspec.json.format(content, indent=1) + b"\n", self._name, MODE)

    def _read(self, path: Path, identity: dict[str, Any]) -> Kept | None:
        """Return what a checkpoint has; None if there is none. Raises UsageError."""
        content = content_of(path, self._name)
        if content is None:
            return None
        try:
            kept = msgspec.json.decode(content, type=Kept)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UsageError(
                f"checkpoint {self._name} is damaged, or not one of balance: {excerpt(str(error), 80)}"
            ) from None
        if kept.chainq_balance != VERSION:
            raise other_query(self._name, "version", kept.chainq_balance, VERSION)
        check_query(self._name, kept.query, identity)
        return kept
