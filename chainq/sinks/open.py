"""Opens the sink that a path or standard output needs."""

import os
import sys
from pathlib import Path

from chainq.errors import OutputError
from chainq.sinks.atomic_file import FileSink
from chainq.sinks.base import Sink
from chainq.text.sanitize import printable


def open_sink(path: Path | None) -> Sink:
    """The sink for `-o PATH`, or standard output for None. Raises OutputError where it cannot be opened, BusyError."""
    if path is None:
        # Not whether descriptor 1 is open: where it was closed, the next file that is opened gets its number.
        if sys.stdout is None:
            raise OutputError("standard output is closed", "nothing was asked for yet")
        sys.stdout.flush()
        return Sink(1, "standard output")
    try:
        straight = path.exists() and not (path.is_file() or path.is_dir())
        descriptor = os.open(path, os.O_WRONLY) if straight else -1
    except OSError as error:
        raise OutputError(f"{printable(str(path))} cannot be opened: {error.strerror}") from None
    return Sink(descriptor, printable(str(path))) if straight else FileSink(path)
