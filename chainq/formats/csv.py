"""`csv`: RFC 4180 with a header, one column for each path; nested arrays and objects as compact JSON, null empty.

`tsv` and `text` are the same rows with other signs between them.

Rows that are flat and alike are read column by column in loops of C (`_reader`), ten times as fast as one by one;
others value by value. Both ways give the same bytes.
"""

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import Raw

from chainq.formats.protocol import Output, OutputSpec, check_text, unknown_field_warner
from chainq.rows.fields import Picker, text_of
from chainq.rows.raw_json import members
from chainq.text.sanitize import printable

_BATCH = 512  # rows that are Python objects at a time
_BARE = b"0123456789+-.eEtrufals"  # the characters of numbers, true and false, but not of null
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})

Columns = list[Sequence[str]]


class Csv:
    """Writes rows as records: lines end in CR LF and quotes are doubled (RFC 4180), numbers keep every digit.

    Takes `out` and `spec` as every format does.
    """

    append = endless = True
    name, delimiter, line_end = "csv", ",", "\r\n"

    def __init__(self, out: Output, spec: OutputSpec) -> None:
        self._out = out
        self._paths = [column.path for column in spec.columns]
        self._warn_unknown = unknown_field_warner(spec, self.name)
        self._spec = spec
        self._unknown: list[str] = []  # unknown fields seen so far, which readers skip
        self._pick = Picker(self._paths, self._on_unknown if self._warn_unknown else None)
        self._sanitize = printable if spec.terminal else str
        self._flat = not (spec.terminal or any("." in path or "[" in path for path in self._paths))
        self._readers: dict[tuple[bool, ...], Callable[[Sequence[Raw]], Columns | None]] = {}
        if spec.header and not spec.resumed:
            self._write_records([self._paths])

    def write(self, rows: Sequence[Raw]) -> None:
        """Write each row as a record. Raises OutputError for text that is not valid Unicode, before any of them."""
        check_text(rows, self._spec)
        for start in range(0, len(rows), _BATCH):
            self._write_batch(rows[start : start + _BATCH])

    def close(self) -> None:
        """Do nothing: every row is a record of its own."""

    def _write_batch(self, rows: Sequence[Raw]) -> None:
        columns = self._columns(rows) if self._flat else None
        if columns is None:
            self._write_records([self._sanitize(text_of(value)) for value in self._pick(row)] for row in rows)
            return
        text = self.line_end.join((*map(self.delimiter.join, zip(*columns, strict=True)), ""))
        # JSON has quotation marks and line ends in strings as escapes only (RFC 8259, section 7). Without escapes, and
        # without delimiters but those between cells, nothing needs quotes; only an empty cell that is alone does.
        escaped = b"\\" in b"".join(rows)
        if len(columns) > 1 and not escaped and text.count(self.delimiter) == len(rows) * (len(columns) - 1):
            self._out.write(text.encode())
        else:
            self._write_records(zip(*columns, strict=True))

    def _columns(self, rows: Sequence[Raw]) -> Columns | None:
        """Return the cells column by column; None if rows differ too much from the first of them."""
        first = members(bytes(rows[0]))
        strings = tuple(path not in first or bytes(first[path])[:1] in (b'"', b"n") for path in self._paths)
        if strings not in self._readers:
            unknown = None if self._warn_unknown is None else self._unknown
            try:
                self._readers[strings] = _reader(self._paths, strings, unknown)
            except ValueError:  # msgspec refuses the name of a field that JSON writes with an escape
                self._flat = False
                return None
        return self._readers[strings](rows)

    def _on_unknown(self, path: str) -> None:
        if self._warn_unknown:
            self._warn_unknown(path)
        self._unknown.append(path)
        self._readers.clear()  # the next ones skip it

    def _write_records(self, records: Iterable[Sequence[str]]) -> None:
        text = io.StringIO(newline="")
        csv.writer(text, delimiter=self.delimiter, lineterminator=self.line_end).writerows(records)
        self._out.write(text.getvalue().encode())


class Tsv(Csv):
    """The same with tabs between the cells; a cell with a tab or a line end in it is in quotes."""

    name, delimiter, line_end = "tsv", "\t", "\n"


class Text(Csv):
    """Values only, for shell variables and tools such as cut and awk: no header and no quotes.

    Tabs, line ends and backslashes inside a value are written as escapes with a backslash, as by jq's @tsv, so that
    every row is one line with all its columns.
    """

    name = "text"

    def __init__(self, out: Output, spec: OutputSpec) -> None:
        super().__init__(out, spec._replace(header=False))
        self._flat, sanitize = False, self._sanitize
        self._sanitize = lambda text: sanitize(text.translate(_ESCAPES))

    def _write_records(self, records: Iterable[Sequence[str]]) -> None:
        self._out.write("".join("\t".join(record) + "\n" for record in records).encode())


def _reader(
    paths: list[str], strings: Sequence[bool], unknown: list[str] | None
) -> Callable[[Sequence[Raw]], Columns | None]:
    """Make a function that reads rows whose values are strings or null where `strings` says so, else bare words.

    It refuses rows with fields that are neither columns nor in `unknown`; none if that is None.
    """
    names = [f"f{number}" for number in range(len(paths))]
    fields: list[tuple[str, Any, Any]] = [
        (name, str | None, None) if string else (name, Raw, Raw(b""))
        for name, string in zip(names, strings, strict=True)
    ]
    rename = dict(zip(names, paths, strict=True))
    for number, path in enumerate(unknown or []):
        fields.append((f"u{number}", Raw, Raw(b"")))
        rename[f"u{number}"] = path
    kind = msgspec.defstruct("Cells", fields, rename=rename, forbid_unknown_fields=unknown is not None, gc=False)
    decode = msgspec.json.Decoder(kind).decode
    cells_of = attrgetter(*names) if len(names) > 1 else lambda cells: (cells.f0,)

    def read(rows: Sequence[Raw]) -> Columns | None:
        try:
            columns: list[Sequence[Any]] = list(zip(*map(cells_of, map(decode, rows)), strict=True))
        except msgspec.DecodeError:
            return None
        for number, string in enumerate(strings):
            if string:
                if None in columns[number]:
                    columns[number] = ["" if value is None else value for value in columns[number]]
            else:
                sent = b",".join(columns[number])
                if sent.translate(None, _BARE) != b"," * (len(rows) - 1):
                    return None
                columns[number] = sent.decode().split(",")
        return columns

    return read
