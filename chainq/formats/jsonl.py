"""`jsonl`: one row a line, byte for byte as the server sent it."""

from collections.abc import Sequence

from msgspec import Raw

from chainq.formats.protocol import Out, Sheet
from chainq.rows.fields import Picker
from chainq.text.sanitize import printable_json

BATCH = 512  # rows that are joined at a time: what fits in the processor's cache takes half the time


class Jsonl:
    """Rows as lines; with chosen columns, each row as one flat object of those (`"b.c"`), null where it lacks one."""

    def __init__(self, out: Out, sheet: Sheet) -> None:
        self._out = out
        self._shown = printable_json if sheet.terminal else bytes
        self._flat = Flat([column.path for column in sheet.columns]) if sheet.chosen else None

    def write(self, rows: Sequence[Raw]) -> None:
        """Write each row as a line."""
        for at in range(0, len(rows), BATCH):
            some = rows[at : at + BATCH]
            lines: Sequence[Raw | bytes] = some if self._flat is None else list(map(self._flat, some))
            self._out.write(self._shown(b"\n".join((*lines, b""))))

    def close(self) -> None:
        """Nothing stands after the last row."""


class Flat:
    """Makes a flat JSON object of chosen paths, its values as they were sent."""

    def __init__(self, paths: Sequence[str]) -> None:
        import msgspec

        self._pick = Picker(paths)
        self._keys = [msgspec.json.encode(path) + b":" for path in paths]

    def __call__(self, row: Raw) -> bytes:
        """The row's chosen values, in the order of the paths."""
        pairs = (
            key + (bytes(value) if value is not None else b"null")
            for key, value in zip(self._keys, self._pick(row), strict=True)
        )
        return b"{" + b",".join(pairs) + b"}"
