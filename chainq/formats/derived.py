"""Adds to rows what chainq reads off them, before a format writes the rows."""

from collections.abc import Sequence

from msgspec import Raw

from chainq.catalog.methods import PROGRAM_ID
from chainq.formats.protocol import Writer
from chainq.rows.fields import Picker
from chainq.rows.raw_json import put_first
from chainq.rows.transaction import program_id


class WithProgramId:
    """Writes rows with the ID of the program whose source text is in the column `source`."""

    def __init__(self, writer: Writer, source: str) -> None:
        self._writer, self._pick = writer, Picker([source])
        self.close = writer.close

    def write(self, rows: Sequence[Raw]) -> None:
        """Write the next rows."""
        self._writer.write([put_first(row, {PROGRAM_ID: program_id(*self._pick(row)) or b"null"}) for row in rows])
