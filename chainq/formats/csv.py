"""`csv`: RFC 4180 with a header, one column for each path; nested arrays and objects as compact JSON, null empty."""

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import Raw

from chainq.formats.protocol import Out, Sheet, unknown_field_warner
from chainq.rows.fields import Picker, text_of
from chainq.rows.raw_json import members
from chainq.text.sanitize import printable

_BATCH = 512  # rows that are Python objects at a time
_BARE = b"0123456789+-.eEtrufals"  # what numbers, true and false are made of, but not null

Columns = list[Sequence[str]]


class Csv:
    """Lines end in CR LF and quotes are doubled, as RFC 4180 has it; numbers keep every digit.

    What UTF-8 cannot carry (a lone surrogate) becomes `?`, with a warning.
    """

    def __init__(self, out: Out, sheet: Sheet) -> None:
        self._out = out
        self._paths = [column.path for column in sheet.columns]
        self._tell = unknown_field_warner(sheet, "csv")
        self._warn, self._told = sheet.warn, False  # of what UTF-8 cannot carry
        self._strays: list[str] = []  # fields without a column, of which the user knows
        self._pick = Picker(self._paths, self._stray if self._tell else None)
        self._shown = printable if sheet.terminal else str
        self._plain = not (sheet.terminal or any("." in path for path in self._paths))
        self._readers: dict[tuple[bool, ...], Callable[[Sequence[Raw]], Columns | None]] = {}
        if not sheet.continued:
            self._lines([self._paths])

    def write(self, rows: Sequence[Raw]) -> None:
        """Write each row as a record."""
        for start in range(0, len(rows), _BATCH):
            self._batch(rows[start : start + _BATCH])

    def close(self) -> None:
        """Nothing stands after the last row."""

    def _batch(self, rows: Sequence[Raw]) -> None:
        columns = self._columns(rows) if self._plain else None
        if columns is None:
            self._lines([self._shown(text_of(value)) for value in self._pick(row)] for row in rows)
            return
        text = "\r\n".join((*map(",".join, zip(*columns, strict=True)), ""))
        # JSON has quotation marks and line ends in strings as escapes only (RFC 8259, section 7). Where there is none,
        # and no comma but those between cells, nothing wants quoting; a lone empty cell does.
        escaped = b"\\" in b"".join(rows)
        if len(columns) > 1 and not escaped and text.count(",") == len(rows) * (len(columns) - 1):
            self._out.write(text.encode())
        else:
            self._lines(zip(*columns, strict=True))

    def _columns(self, rows: Sequence[Raw]) -> Columns | None:
        """The cells column by column, read in loops of C; None where rows differ too much from the first of them."""
        first = members(bytes(rows[0]))
        texts = tuple(path not in first or bytes(first[path])[:1] in (b'"', b"n") for path in self._paths)
        if texts not in self._readers:
            strays = None if self._tell is None else self._strays
            try:
                self._readers[texts] = _reader(self._paths, texts, strays)
            except ValueError:  # msgspec: the name of a field that JSON writes with an escape
                self._plain = False
                return None
        return self._readers[texts](rows)

    def _stray(self, path: str) -> None:
        if self._tell:
            self._tell(path)
        self._strays.append(path)
        self._readers.clear()  # the next ones pass it by

    def _lines(self, cells: Iterable[Sequence[str]]) -> None:
        text = io.StringIO(newline="")
        csv.writer(text).writerows(cells)
        try:
            data = text.getvalue().encode()
        except UnicodeEncodeError:
            if not self._told:
                self._warn(
                    "csv is UTF-8, which cannot carry a lone surrogate: it becomes ?; jsonl has it as it was sent"
                )
            self._told = True
            data = text.getvalue().encode(errors="replace")
        self._out.write(data)


def _reader(
    paths: list[str], texts: Sequence[bool], strays: list[str] | None
) -> Callable[[Sequence[Raw]], Columns | None]:
    """Makes the function that reads rows whose values are strings or null where `texts` says so, else bare.

    It refuses rows with fields that are neither columns nor `strays`, or none where that is None.
    """
    names = [f"f{place}" for place in range(len(paths))]
    fields: list[tuple[str, Any, Any]] = [
        (name, str | None, None) if text else (name, Raw, Raw(b"")) for name, text in zip(names, texts, strict=True)
    ]
    rename = dict(zip(names, paths, strict=True))
    for place, path in enumerate(strays or []):
        fields.append((f"s{place}", Raw, Raw(b"")))
        rename[f"s{place}"] = path
    kind = msgspec.defstruct("Cells", fields, rename=rename, forbid_unknown_fields=strays is not None, gc=False)
    decode = msgspec.json.Decoder(kind).decode
    take = attrgetter(*names) if len(names) > 1 else lambda cells: (cells.f0,)

    def read(rows: Sequence[Raw]) -> Columns | None:
        try:
            columns: list[Sequence[Any]] = list(zip(*map(take, map(decode, rows)), strict=True))
        except msgspec.DecodeError:
            return None
        for place, text in enumerate(texts):
            if text:
                if None in columns[place]:
                    columns[place] = ["" if value is None else value for value in columns[place]]
            else:
                sent = b",".join(columns[place])
                if sent.translate(None, _BARE) != b"," * (len(rows) - 1):
                    return None
                columns[place] = sent.decode().split(",")
        return columns

    return read
