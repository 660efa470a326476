"""The checkpoint of `chainq balance`: a book with what identifies it, and how the last runs ended.

Without aleo-sdk. It has the fields of other checkpoints too, so `chainq status` reads it as those.
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
from chainq.resume.checkpoint import VERSION, Position, Recorded, State, check_query
from chainq.resume.kept_file import content_of, locked, replace_file
from chainq.text.sanitize import abridged, excerpt, printable
from chainq.wallet.book import Book

MODE = 0o600  # of the file, which holds amounts


class Kept(msgspec.Struct, forbid_unknown_fields=True):
    """The file: what identifies the wallet and the service, the position, the book, and how the last runs ended."""

    chainq: int
    query: dict[str, Any]
    positions: list[Position]
    book: Book
    state: State = State()


class Checkpoint(Closing):
    """The book of a run, and the file that keeps it, locked; no file if `path` is None. A context manager.

    `query`: what identifies the wallet and the service; `start`: of a new book. Raises BusyError, and UsageError for a
    file that is damaged or of other arguments.
    """

    def __init__(self, path: Path | None, query: dict[str, Any], start: int) -> None:
        self._path = None if path is None else path.resolve()
        self._name = printable(abridged(str(path), 200))
        self.book, self._state, self._query, self._lock = Book(start), State(), query, None
        if self._path is not None:
            self._lock = locked(self._path, self._name)
            try:
                self._read(self._path)
            except BaseException:
                self.close()
                raise
        self._record()

    def _record(self) -> None:
        self._saved, self._position = (
            Raw(msgspec.json.encode(self.book)),
            Position(self.book.next, rows=len(self.book.entries)),
        )

    def close(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            os.close(self._lock)

    @property
    def rest(self) -> str:
        """Return where the next run goes on, in words; empty without a file."""
        return "" if self._path is None else f"the next run reads from block {self._position.next} on"

    def save(self) -> None:
        """Record the book as it is now. Raises OutputError."""
        self._record()
        self._write()

    def succeeded(self, tip: int, tip_time: int | None) -> None:
        """Record the book, brought up to a tip, unless that is below it. Raises OutputError."""
        if tip + 1 >= self.book.next:
            self._state = self._state.succeeded(tip, tip_time)
            self.save()

    def failed(self, error: ChainqError, *, lasting: bool) -> None:
        """Record why it was not, beside the book as it was recorded last: an error may leave half a block in it."""
        self._state = self._state.failed(str(error), lasting=lasting)
        with suppress(OutputError):  # which the error may be about
            self._write()

    def _write(self) -> None:
        if self._path is not None:
            kept = {"chainq": VERSION, "query": self._query, "positions": [self._position], "book": self._saved}
            content = msgspec.json.encode({**kept, "state": self._state})
            with signals_deferred():
                replace_file(self._path, msgspec.json.format(content, indent=1) + b"\n", self._name, MODE)

    def _read(self, path: Path) -> None:
        """Take over what the file has, if there is one. Raises UsageError."""
        content = content_of(path, self._name)
        if content is None:
            return
        try:
            check_query(self._name, msgspec.json.decode(content, type=Recorded).query, self._query)
            kept = msgspec.json.decode(content, type=Kept)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            what = f"checkpoint {self._name} is damaged: {excerpt(str(error), 80)}"
            raise UsageError(what, "delete it to start over") from None
        self.book, self._state = kept.book, kept.state
