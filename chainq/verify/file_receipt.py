"""Compares a file with the receipt that `--receipt` wrote beside it."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from msgspec import DecodeError

from chainq.errors import OutputError
from chainq.heights.range import HeightRange
from chainq.sinks.open import receipt_path
from chainq.sinks.receipt import FileReceipt, read_receipt
from chainq.text.humanize import counted
from chainq.text.sanitize import excerpt, printable
from chainq.verify.findings import Finding, Step

_NOWHERE = HeightRange(0, 0)


class ReceiptCheck:
    """The receipt of a file, if there is one. `said`: what it says, None without one, or if it is damaged."""

    said: FileReceipt | None = None
    verdict = ""
    """What the receipt proves of the file, in words; empty if it proves nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def steps(self) -> Iterator[Step]:
        """Yield how the bytes of the file differ from the receipt. Raises OutputError for what cannot be read."""
        try:
            self.said = said = read_receipt(self._path)
            if said is None:
                return
            size = self._path.stat().st_size
            with self._path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except (DecodeError, ValueError, RecursionError) as error:
            damage = f"{receipt_path(self._path).name}: {excerpt(str(error), 80)}"
            yield Step(_NOWHERE, [Finding(None, None, "receipt", "a receipt", damage, None)], {})
            return
        except OSError as error:
            raise OutputError(f"cannot read {printable(str(self._path))} or its receipt: {error.strerror}") from None
        pairs = [(f"{said.bytes} bytes", f"{size} bytes"), (f"SHA-256 {said.sha256}", f"SHA-256 {found}")]
        findings = [self._finding(due, there) for due, there in pairs if due != there]
        if not findings:
            self.verdict = f"the file is as its receipt says (SHA-256, {counted(said.rows, 'row')})"
        yield Step(_NOWHERE, findings, {})

    def count(self, rows: int) -> Iterator[Step]:
        """Yield whether the file has another number of rows than its receipt says."""
        if self.said is not None and rows != self.said.rows:
            yield Step(_NOWHERE, [self._finding(counted(self.said.rows, "row"), counted(rows, "row"))], {})

    def _finding(self, due: str, found: str) -> Finding:
        return Finding(None, self.said.command if self.said else None, "receipt", due, found, None)
