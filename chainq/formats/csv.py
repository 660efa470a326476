"""`csv`: RFC 4180 with a header, one column for each path; nested arrays and objects as compact JSON, null empty.

`tsv` and `text` are the same rows with other signs between them.

Rows that are flat and alike are read column by column in loops of C (`_columns`), ten times as fast as one by one;
others value by value. Both ways give the same bytes.
"""

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import Raw

from chainq.formats.protocol import Output, OutputSpec, few, unfit, unlisted_of
from chainq.rows.fields import Picker, text_of
from chainq.rows.raw_json import members
from chainq.text.sanitize import printable

_BATCH = 1024  # rows that are Python objects at a time
_BARE = b"0123456789+-.eEtrufals"  # the characters of numbers, true and false, but not of null
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


class Csv:
    """Writes rows as records: lines end in CR LF and quotes are doubled (RFC 4180), numbers keep every digit.

    Takes `out` and `spec` as every format does.
    """

    append = endless = no_header = flatten = typed = True
    name, delimiter, line_end = "csv", ",", "\r\n"

    def __init__(self, out: Output, spec: OutputSpec) -> None:
        self._out, self._selected = out, spec.selected
        self._paths = [column.path for column in spec.columns]
        self._warn = few(spec.warn, f"more unknown fields are left out of {self.name}")
        self._unknown = dict.fromkeys(sorted(unlisted_of(spec)))  # and those seen so far: fields that readers skip
        self._pick = Picker(self._paths, None if spec.selected else self._on_unknown)
        self._sanitize: Callable[[str], str] = printable if spec.terminal else str
        self._flat = not (spec.terminal or any("." in path or "[" in path for path in self._paths))
        if spec.header and not spec.resumed:
            self._out.write(self._records([self._paths]))

    def write(self, rows: Sequence[Raw]) -> None:
        """Write each row as a record. Raises OutputError for text that is not valid Unicode, before any of them."""
        batches = (rows[start : start + _BATCH] for start in range(0, len(rows), _BATCH))
        self._out.write(b"".join([self._encoded(batch) for batch in batches]))

    def close(self) -> None:
        """Do nothing: every row is a record of its own."""

    def _encoded(self, rows: Sequence[Raw]) -> bytes:
        columns = None
        if self._flat:
            with suppress(ValueError, msgspec.DecodeError):
                columns = _columns(self._paths, rows, None if self._selected else [*self._unknown])
        if columns is None:
            return self._records([self._sanitize(text_of(value)) for value in self._pick(row)] for row in rows)
        text = self.line_end.join((*map(self.delimiter.join, zip(*columns, strict=True)), ""))
        # JSON has quotation marks and line ends in strings as escapes only (RFC 8259, section 7). Without escapes, and
        # without delimiters but those between cells, nothing needs quotes; only an empty cell that is alone does.
        escaped = b"\\" in b"".join(rows)
        if len(columns) > 1 and not escaped and text.count(self.delimiter) == len(rows) * (len(columns) - 1):
            return text.encode()
        return self._records(zip(*columns, strict=True))

    def _on_unknown(self, path: str, _: Raw) -> None:
        if path not in self._unknown:
            left = f"unknown field {path!r} is left out of {self.name}"
            self._warn(f"{left}; use jsonl, or select it by --columns and --no-check")
            self._unknown[path] = None

    def _records(self, records: Iterable[Sequence[str]]) -> bytes:
        text = io.StringIO(newline="")
        csv.writer(text, delimiter=self.delimiter, lineterminator=self.line_end).writerows(records)
        return encoded(text.getvalue())


def encoded(text: str) -> bytes:
    """Return a text as bytes. Raises OutputError for half of a surrogate pair, which JSON can name and UTF-8 cannot."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        half = text[error.start : error.end].encode(errors="backslashreplace")
        raise unfit("text with", half, "UTF-8") from None


class Tsv(Csv):
    """The same with tabs between the cells; a cell with a tab or a line end in it is in quotes."""

    name, delimiter, line_end = "tsv", "\t", "\n"


class Text(Csv):
    """Values only, for shell variables and tools such as cut and awk: no header and no quotes.

    Tabs, line ends and backslashes inside a value are written as escapes with a backslash, as by jq's @tsv, so that
    every row is one line with all its columns.
    """

    no_header = flatten = typed = False
    name = "text"

    def __init__(self, out: Output, spec: OutputSpec) -> None:
        super().__init__(out, spec._replace(header=False))
        self._flat, sanitize = False, self._sanitize
        self._sanitize = lambda text: sanitize(text.translate(_ESCAPES))

    def _records(self, records: Iterable[Sequence[str]]) -> bytes:
        return encoded("".join("\t".join(record) + "\n" for record in records))


def _columns(paths: list[str], rows: Sequence[Raw], unknown: list[str] | None) -> list[Sequence[str]]:
    """Return the cells of rows like the first one, column by column: strings and null in the same columns, in others
    bare words.

    Raises ValueError or DecodeError for others, also for fields that are neither columns nor in `unknown`; for none if
    that is None.
    """
    first = members(rows[0])
    strings = [path not in first or bytes(first[path])[:1] in (b'"', b"n") for path in paths]
    names = [f"f{number}" for number in range(len(paths) + len(unknown or ()))]
    fields: list[tuple[str, Any, Any]] = [
        (name, str | None, None) if number < len(paths) and strings[number] else (name, Raw, Raw(b""))
        for number, name in enumerate(names)
    ]
    rename = dict(zip(names, [*paths, *(unknown or ())], strict=True))
    kind = msgspec.defstruct("Cells", fields, rename=rename, forbid_unknown_fields=unknown is not None, gc=False)
    decode, take = msgspec.json.Decoder(kind).decode, attrgetter(*names, "__class__")  # a tuple, also of one column
    found: list[Any] = list(zip(*map(take, map(decode, rows)), strict=True))[: len(paths)]
    for number, string in enumerate(strings):
        if not string:
            sent = b",".join(found[number])
            if sent.translate(None, _BARE) != b"," * (len(rows) - 1):
                raise ValueError("not bare words")
            found[number] = sent.decode().split(",")
        elif None in found[number]:
            found[number] = ["" if value is None else value for value in found[number]]
    return found
