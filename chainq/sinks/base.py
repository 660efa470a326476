"""The base of all sinks: their interface, and writing to a file descriptor.

Each kind has its own module: `stdout`, `atomic_file`, `append_file`; `open` chooses the right one.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from select import select
from stat import S_ISREG
from typing import Self

from chainq.errors import OutputError
from chainq.process.signals import PipeClosed, awaiting_reader
from chainq.text.sanitize import printable


class Sink:
    """Where the bytes of an output go: a file descriptor. `name` is what error messages call it. A context manager: it
    finishes an output that succeeded and abandons others, unless it was finished before.

    `appends`: rows follow those of earlier runs in the same file, so that a checkpoint can record its length. Only
    then `length` is the number of bytes in the file, and `truncate` goes back; elsewhere `length` stays 0 and that does
    nothing. `intact`: it is still the file that was opened, as this run left it; `reopen`
    goes on if not. `pipe`: a reader may not have taken what is written.
    """

    appends = False
    pipe = False

    def __init__(self, descriptor: int, name: str) -> None:
        self._descriptor = descriptor
        self._name = name
        self._has_reader = True  # one that may stall
        with suppress(OSError):  # a closed descriptor, which the first write reports
            self._has_reader = not S_ISREG(os.fstat(descriptor).st_mode)
        self.written = 0  # bytes, by this run
        self.length = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool | None:
        self.finish() if kind is None else self.abandon()
        return None

    def write(self, data: bytes, /) -> None:
        """Write all of `data`.

        Raises PipeClosed if the reader has closed the pipe, else OutputError with the number of bytes written.
        """
        view = memoryview(data)
        with awaiting_reader() if self._has_reader else nullcontext(), self._told():
            while view:
                try:
                    count = os.write(self._descriptor, view)
                except BlockingIOError:  # another process that shares the pipe made it non-blocking
                    select([], [self._descriptor], [])
                    continue
                except BrokenPipeError:
                    raise PipeClosed from None
                self.written += count
                view = view[count:]

    def keep(self) -> None:
        """Mark what is written so far as valid, whatever happens later: it ends with a complete row.

        Only standard output and devices need it.
        """

    def sync(self) -> None:
        """Make what is written so far survive a power failure, if it is a file."""

    def has_line_end(self, _: int) -> bool:
        """Return whether a line of a file that is appended to ends after so many bytes."""
        return True

    def truncate(self, length: int) -> None:
        """Leave only the first `length` bytes; only a file that is appended to can go back. Raises OutputError."""

    @property
    def intact(self) -> bool:
        """Return whether a file that is appended to is as this run left it."""
        return True

    def reopen(self) -> None:
        """Continue in the file that has the name now (`AppendFileSink`)."""

    def finish(self) -> None:
        """End an output that is complete. Raises OutputError."""

    def abandon(self) -> None:
        """End an output that failed: remove what must not be mistaken for a complete one. Does nothing after
        `finish`.
        """

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Convert an OSError to OutputError."""
        try:
            yield
        except OSError as error:
            raise OutputError(f"{self._name}: {error.strerror} (at byte {self.written} of the output)") from None


def unopened(failed: str, path: Path, error: OSError) -> OutputError:
    """Return the error of a file that cannot be opened, which `failed` names; if its folder does not exist, that."""
    folder = path.parent
    if isinstance(error, FileNotFoundError) and not os.path.lexists(folder):
        return OutputError(f"{failed}: there is no folder {printable(str(folder))}")
    return OutputError(f"{failed}: {error.strerror}")
