"""Opens the sink for a path or for standard output. The only module that knows all kinds of sinks."""

import os
import sys
from pathlib import Path

from chainq.errors import OutputError
from chainq.sinks.base import Sink
from chainq.sinks.stdout import StreamSink
from chainq.text.sanitize import printable

MAX_LINKS = 40  # symbolic links on the way of a path, as many as Linux follows


def open_sink(path: Path | None, *, append: bool = False) -> Sink:
    """Return the sink for `-o PATH`; for standard output if `path` is None.

    `append`: append to rows of earlier runs, if `path` is a regular file or does not exist. Raises OutputError if it
    cannot be opened, BusyError if another run is appending to it.
    """
    number = None if path is None else descriptor_of(path)
    if path is None or number == 1:
        # Rejected: asking whether descriptor 1 is open. If it was closed, the next file opened gets its number.
        if sys.stdout is None:
            raise OutputError("standard output is closed")
        sys.stdout.flush()
        return StreamSink(1, "standard output")
    try:
        if number is not None:
            if not os.get_inheritable(number):  # one of our own, which nobody can mean
                raise OSError(0, "not open")
            return StreamSink(os.dup(number), printable(str(path)), own=True)
        regular = path.is_file() or not path.exists()
        descriptor = -1 if regular or path.is_dir() else os.open(path, os.O_WRONLY)  # a device or a FIFO
    except OSError as error:
        raise OutputError(f"cannot write {printable(str(path))}: {error.strerror}") from None
    if descriptor >= 0:
        return StreamSink(descriptor, printable(str(path)), own=True)
    if append and regular:
        from chainq.sinks.append_file import AppendFileSink

        return AppendFileSink(path)
    from chainq.sinks.atomic_file import AtomicFileSink

    return AtomicFileSink(path)


def descriptor_of(path: Path) -> int | None:
    """Return the open descriptor that a path names, None for any other path: 1 for `/dev/stdout`, 7 for `/dev/fd/7`.

    Such a path refers to the file that is open there. Replacing that file, or writing it from its beginning, would
    destroy the content that `>> FILE` must keep.
    """
    folders = {os.path.realpath(folder) for folder in ("/dev/fd", "/proc/self/fd", "/proc/thread-self/fd")}
    for _ in range(MAX_LINKS):
        folder = os.path.realpath(path.parent)
        if folder in folders and path.name.isdecimal() and len(path.name) < 10:
            return int(path.name)
        try:
            path = Path(folder, (Path(folder) / path.name).readlink())
        except OSError:  # no link
            return None
    return None
