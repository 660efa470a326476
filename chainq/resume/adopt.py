"""`--adopt`: resumes after the rows of an output file whose checkpoint is gone.

Its rows are trusted but for those of the last SETTLE heights, which a killed run may have left unfinished and a reorg
may have replaced: these are cut off and fetched again. If the row before them names its block, that must be on the
chain still. Rows are not sorted: a file whose end is not in order of height is refused, for there is no place to cut.
"""

import csv
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from msgspec import DecodeError

from chainq.catalog.methods import Method
from chainq.defaults import SETTLE
from chainq.errors import OutputError, Phrase, UsageError
from chainq.resume.history import Position
from chainq.rows.fields import Picker, integer_of, text_of
from chainq.text.sanitize import printable

_Row = tuple[int | None, int]  # its height, and its place in bytes
_OTHER = Phrase("use another {output}", output="FILE")


def adopted(path: Path, method: Method, form: str, start: int) -> Position | None:
    """Return the position at which rows can follow those of a file; None for a file that is empty or not there.

    `form`: the name of its format, jsonl or csv. `start`: the first height that rows are wanted of. Raises UsageError
    if the end of the file does not tell how far its rows go, OutputError if it cannot be read.
    """
    name, field = printable(str(path)), method.height
    if field is None or form not in _READERS:
        raise UsageError(f"cannot resume after the rows of {name}: {method.command} in {form} has no heights", _OTHER)
    try:
        with path.open("rb") as file:
            before, last = _end(_READERS[form](file, field), f"of {name} does not begin a row with a {field}")
            if not last:
                return None
            highest = max(height for height, _ in last)
            first, block_hash = highest - SETTLE + 1, ""
            late = next((height for height, _ in last if height < first), None)
            if late is not None:
                where = f"a row of height {late} follows height {highest}"
                raise UsageError(f"the end of {name} is not in order: {where}", _OTHER)
            if highest < start:
                raise UsageError(Phrase("{} ends at height {}, below {start}", name, highest, start=start), _OTHER)
            if before[0] == first - 1 >= start and form == "jsonl" and (method.linked or method.names_block):
                file.seek(before[1])
                block_hash = printable(text_of(Picker(["block_hash"])(file.readline())[0]))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise OutputError(f"cannot read {name}: {error.strerror}") from None
    return Position(max(first, start), block_hash, next(place for height, place in last if height >= start))


def _end(rows: Iterable[_Row], bad: str) -> tuple[tuple[int, int], deque[tuple[int, int]]]:
    """Return the rows of the last SETTLE heights, and the row before. Raises UsageError for one without a height."""
    before, highest = (-1, 0), -1
    last: deque[tuple[int, int]] = deque()
    for height, place in rows:
        if height is None:
            raise UsageError(f"byte {place} {bad}", _OTHER)
        last.append((height, place))
        highest = max(highest, height)
        while last[0][0] <= highest - SETTLE:
            before = last.popleft()
    return before, last


def _json_lines(file: BinaryIO, field: str) -> Iterator[_Row]:
    """Yield the height and the place of each row; what follows the last line break is no row."""
    pick, place = Picker([field]), 0
    for line in file:
        if line.endswith(b"\n"):
            try:
                yield integer_of(pick(line)[0]), place
            except (DecodeError, ValueError):
                yield None, place
        place += len(line)


def _csv(file: BinaryIO, field: str) -> Iterator[_Row]:
    """As `_json_lines`, of csv with a header. A field in quotes may hold line breaks."""
    place, begun, column, record = 0, 0, None, b""
    for line in file:
        record, place = record + line, place + len(line)
        if record.count(b'"') % 2 or not line.endswith(b"\n"):
            continue
        cells = next(csv.reader([record.decode("utf-8", "replace")]), [])
        if not begun:
            column = cells.index(field) if field in cells else None
        else:
            text = cells[column] if column is not None and column < len(cells) else ""
            yield int(text) if text.isascii() and text.isdigit() else None, begun
        begun, record = place, b""


_READERS = {"jsonl": _json_lines, "csv": _csv}
