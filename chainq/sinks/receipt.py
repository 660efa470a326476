"""The receipt of a file (what a command wrote into it, as JSON in `FILE.receipt.json`), and the sink that writes both.

A file of rows cannot show that its first or last rows are lost, or that a field without a checksum changed. The
receipt can, unless somebody rewrites both.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from chainq.sinks.atomic_file import AtomicFileSink
from chainq.sinks.open import has_receipt, receipt_path

VERSION = 1  # of the fields


class FileReceipt(msgspec.Struct, frozen=True, omit_defaults=True):
    """The contents of a file.

    `command`, `arguments`, `columns`, `format`, `url` (masked): what was requested. `start`, `end`: the heights, end
    excluded, None for a command without. `where`, `limit`, `page`: what left rows of these out. `rows`: in the file;
    `read`: before the filter. `bytes`, `sha256`: of the file. `grades`: number of heights by how they were proved
    complete. `time`: when it was written, UTC; `version`: of chainq.
    """

    receipt: int
    command: str
    format: str
    url: str
    rows: int
    bytes: int
    sha256: str
    time: str
    version: str
    start: int | None = None
    end: int | None = None
    arguments: dict[str, Any] = {}
    columns: str = ""
    where: dict[str, str] = {}
    limit: int | None = None
    page: int | None = None
    read: int | None = None
    grades: dict[str, int] = {}

    @property
    def left_out(self) -> dict[str, object]:
        """The parameters that left rows of the heights out, with their values; empty if the file has all rows."""
        limited = self.limit is not None and self.rows >= self.limit
        cut = {**({"limit": self.limit} if limited else {}), **({"page": self.page} if self.page is not None else {})}
        return {**self.where, **cut}


def read_receipt(file: Path) -> FileReceipt | None:
    """Return the receipt of a file, None without one. Raises ValueError for one that is damaged, and OSError."""
    if not has_receipt(file):
        return None
    found = msgspec.json.decode(receipt_path(file).read_bytes(), type=FileReceipt)
    if found.receipt != VERSION:
        raise ValueError(f"version {found.receipt}, this chainq reads version {VERSION}")
    return found


class ReceiptFileSink(AtomicFileSink):
    """A file that appears complete or not at all, and then its receipt.

    `receipt`: returns it once all rows are written, of the size and the SHA-256 of the file. The old receipt goes
    before the old file does: a run that is killed in between leaves a file without a receipt, never with a wrong one.
    """

    def __init__(self, path: Path, receipt: Callable[[int, str], FileReceipt]) -> None:
        super().__init__(path)
        self._receipt, self._hash = receipt, hashlib.sha256()
        self._beside = receipt_path(self._target)
        self._other: AtomicFileSink | None = AtomicFileSink(self._beside)

    def write(self, data: bytes, /) -> None:
        """Write all of `data`. Raises OutputError."""
        super().write(data)
        self._hash.update(data)

    def finish(self) -> None:
        """Rename the file to its name, and write its receipt. Raises OutputError, BusyError."""
        other, self._other = self._other, None
        if other is None:  # before
            return
        content = msgspec.json.encode(self._receipt(self.written, self._hash.hexdigest()))
        with other:
            other.write(msgspec.json.format(content, indent=1) + b"\n")
            with self._told():
                self._beside.unlink(missing_ok=True)
            super().finish()

    def abandon(self) -> None:
        """Remove the temporary files and leave the old ones unchanged."""
        super().abandon()
        if self._other is not None:
            self._other.abandon()
