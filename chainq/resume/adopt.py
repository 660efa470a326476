"""`--adopt`: resumes after the rows of an output file whose checkpoint is gone.

The file must have the rows that this run would write: the same header, or the same fields. They are trusted except in
the last SETTLE heights, which a killed run may have left unfinished and a reorg may have replaced. These rows
are removed and fetched again, but none below the first row or `--start`. If the row before them names its block, that
block must still be on the chain. Rows are not sorted: a file whose end is not in order of height is refused, because it
cannot be truncated at a height.
"""

import csv
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple

from msgspec import Raw

from chainq.catalog.methods import METHODS, Method
from chainq.defaults import SETTLE
from chainq.errors import OutputError, Phrase, UsageError
from chainq.formats.protocol import OutputSpec
from chainq.resume.history import Position
from chainq.rows.fields import Key, Picker, integer_of, text_of
from chainq.rows.raw_json import members
from chainq.text.sanitize import excerpt, printable

_OTHER = Phrase("use another {output}", output="FILE")
_SAME = "use the arguments of its first run, or " + _OTHER


class _Row(NamedTuple):
    """A row of the file: its height, where it begins in bytes, and the hash of its block, empty without one."""

    height: int
    place: int
    block_hash: str


_Reader = Callable[[BinaryIO, OutputSpec, str], Iterator[_Row]]


def adopted(
    path: Path, method: Method, form: str, start: int, spec: OutputSpec, *, filtered: bool
) -> tuple[Position, int] | None:
    """Return the position at which rows can follow the rows of a file, and the last height that has rows in it.

    None for a file that is empty or not there. `form`: the name of its format. `start`: the first height that rows are
    wanted of; as for `Bounds`, below 0 it counts back from the tip. `spec`: of the rows that are to follow;
    `filtered`: a condition leaves rows out. Raises UsageError if the file has other rows, or its end does not tell how
    far they go; OutputError if it cannot be read.
    """
    name, field = printable(str(path)), method.height
    if field is None or form not in _READERS:
        raise UsageError(f"cannot resume after the rows of {name}: {method.command} in {form} has no heights", _OTHER)
    try:
        with path.open("rb") as file:
            lowest, before, last = _end(_READERS[form](file, spec, field))
    except _OtherRowsError as error:
        raise UsageError(f"cannot resume after the rows of {name}: {error}", _SAME) from None
    except FileNotFoundError:
        return None
    except OSError as error:
        raise OutputError(f"cannot read {name}: {error.strerror}") from None
    if not last:
        return None
    highest = max(row.height for row in last)
    if highest < start:
        raise UsageError(Phrase("{} ends at height {}, below {start}", name, highest, start=start), _OTHER)
    first = max(highest - SETTLE + 1, lowest, start)
    cut = next(row for row in last if row.height >= first)
    late = next((row for row in last if row.height < first and row.place > cut.place), None)
    if late is not None:  # it would be removed, and not fetched again
        after = f"a row of height {late.height} follows height {cut.height}"
        raise UsageError(f"the end of {name} is not in order: {after}", _OTHER)
    if method.linked and not filtered and 0 <= start < lowest:
        raise UsageError(
            Phrase("{} begins at height {}, above {start}", name, lowest, start=start),
            Phrase("use {start}, or another {output}", start=lowest, output="FILE"),
        )
    kept = [row for row in (before, *last) if row and row.height < first]
    proved = kept and kept[-1].height == first - 1 and (method.linked or method.names_block)
    block_hash = kept[-1].block_hash if proved else ""
    return Position(first, block_hash, cut.place), highest


class _OtherRowsError(Exception):
    """The file has rows that the command would not write, or none whose height can be read."""


def _end(rows: Iterable[_Row]) -> tuple[int, _Row | None, deque[_Row]]:
    """Return the height of the first row, the last row before the last SETTLE heights, and the rows of these."""
    lowest, highest, before = -1, -1, None
    last: deque[_Row] = deque()
    for row in rows:
        lowest = row.height if lowest < 0 else lowest
        last.append(row)
        highest = max(highest, row.height)
        while last[0].height <= highest - SETTLE:
            before = last.popleft()
    return lowest, before, last


def _row(height: int | None, place: int, block_hash: str, field: str) -> _Row:
    if height is None or height < 0:
        raise _OtherRowsError(f"byte {place} does not begin a row with a {field}")
    return _Row(height, place, printable(block_hash))


def _json_lines(file: BinaryIO, spec: OutputSpec, field: str) -> Iterator[_Row]:
    """Yield the rows; text after the last line break is not a row."""
    flat, place = spec.selected or spec.flatten, 0
    pick = Picker([Key(field) if flat else field, "block_hash"])
    for line in file:
        if line.endswith(b"\n"):
            try:
                fields = members(line)
                height, block_hash = pick(line)
            except ValueError:
                fields, height, block_hash = {}, None, None
            row = _row(integer_of(height), place, text_of(block_hash), field)
            if other := _other(fields, spec):
                raise _OtherRowsError(f"the row at byte {place} {other}")
            yield row
        place += len(line)


def _other(fields: Mapping[str, Raw], spec: OutputSpec) -> str:
    """Return how a JSON object differs from the rows of a run; empty if it is one of them."""
    paths = [column.path for column in spec.columns]
    if spec.selected or spec.flatten:
        found = [*fields] if spec.selected else [*fields][: len(paths)]
        return "" if found == paths else f"has the fields {_listed(fields)}, not {_listed(paths)}"
    # As the service sent it, which may have more fields; but those of other commands show that it is of these.
    own = dict.fromkeys(column.path.partition(".")[0] for column in spec.columns if not column.computed)
    foreign = {column.path.partition(".")[0] for method in METHODS for column in method.columns} - own.keys()
    wrong = [f"no {name}" for name in own if name not in fields] + [name for name in fields if name in foreign]
    return f"is not a row of {spec.command}: it has {wrong[0]}" if wrong else ""


def _listed(names: Iterable[str]) -> str:
    return excerpt(", ".join(names), 80)


def _csv(file: BinaryIO, spec: OutputSpec, field: str, delimiter: str = ",") -> Iterator[_Row]:
    """Yield the rows of CSV with a header. A quoted field may contain line breaks."""
    csv.field_size_limit(sys.maxsize)  # a full block is a large row
    place, begun, record = 0, 0, b""
    paths = [column.path for column in spec.columns]
    for line in file:
        record, place = record + line, place + len(line)
        if record.count(b'"') % 2 or not line.endswith(b"\n"):
            continue
        cells = next(csv.reader([record.decode("utf-8", "replace")], delimiter=delimiter), [])
        if not begun and cells != paths:
            raise _OtherRowsError(f"its first line is {_listed(cells)}, not the header {_listed(paths)}")
        if begun:
            named = dict(zip(paths, cells, strict=False))
            text = named.get(field, "")
            height = int(text) if text.isascii() and text.isdigit() else None
            row = _row(height, begun, named.get("block_hash", ""), field)
            if len(cells) != len(paths):
                raise _OtherRowsError(f"the row at byte {begun} has {len(cells)} cells, the header {len(paths)}")
            yield row
        begun, record = place, b""


_READERS: dict[str, _Reader] = {"jsonl": _json_lines, "csv": _csv, "tsv": partial(_csv, delimiter="\t")}
