"""Standard output, a device or a FIFO: bytes are written directly."""

import fcntl
import os
import stat
from contextlib import suppress
from typing import Any

from chainq.sinks.base import Sink


class StreamSink(Sink):
    """A stream that is written directly. If it is a regular file (`chainq … > FILE`), `abandon` truncates that file
    to the last `keep`, so it ends with a complete row."""

    def __init__(self, descriptor: int, name: str, *, own: bool = False) -> None:
        """`own`: whether the descriptor is closed at the end, so that the reader of a FIFO sees that."""
        super().__init__(descriptor, name)
        self._own = own
        self._kept: tuple[int, int] | None = None  # where the next byte went at the last `keep`, and `written`
        with suppress(OSError):
            mode = os.fstat(descriptor).st_mode
            self.pipe = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
        self.keep()  # a run that fails before its first whole height leaves the file as it was

    def keep(self) -> None:
        """Mark what is written so far as valid, whatever happens later: it ends with a complete row."""
        offset = self._offset()
        self._kept = None if offset is None else (offset, self.written)

    def sync(self) -> None:
        """Make what is written to a regular file survive a power failure. Raises OutputError."""
        if self._kept is not None:
            with self._told():
                os.fsync(self._descriptor)

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        if self._own:
            os.close(self._descriptor)

    def finish(self) -> None:
        """Mark all that is written as valid."""
        self.keep()

    def abandon(self) -> None:
        """Truncate a regular file to the last `keep`, unless another process wrote to it since."""
        offset = self._offset()
        if self._kept is None or offset is None or offset - self._kept[0] != self.written - self._kept[1]:
            return
        with suppress(OSError):
            if offset > self._kept[0] and offset == os.fstat(self._descriptor).st_size:
                os.ftruncate(self._descriptor, self._kept[0])
                os.lseek(self._descriptor, self._kept[0], os.SEEK_SET)

    def _offset(self) -> int | None:
        """Return the offset of the next byte in a regular file, or None for anything else."""
        with suppress(OSError):
            status = os.fstat(self._descriptor)
            if stat.S_ISREG(status.st_mode):
                # `>> FILE`: bytes go to the end, and the descriptor's own offset is 0 until the first of them.
                if fcntl.fcntl(self._descriptor, fcntl.F_GETFL) & os.O_APPEND:
                    return status.st_size
                return os.lseek(self._descriptor, 0, os.SEEK_CUR)
        return None
