"""One value as a person reads it (`Cell`), and the column that such values stand in (`Lane`), with its width.

Everything that a table or a tree shows of a row comes through here, and so through `chainq.safe.printable`. Nothing
here knows of rows or writes anything.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from msgspec import Raw

from chainq.catalog.methods import Column, Kind
from chainq.rows.fields import text_of
from chainq.rows.raw_json import items, members
from chainq.text.humanize import age
from chainq.text.sanitize import printable
from chainq.text.width import BOTH_ENDS, GAP, shorten, width_of

# Plain SGR codes: four styles need no rich.style, which would cost a third of the time of a long table.
BOLD, DIM, RED, YELLOW = "1", "2", "31", "33"
_RIGHT = {Kind.NUMBER, Kind.HEIGHT, Kind.DATA}
WHOLE = {*_RIGHT, Kind.TIME}  # a digit less would be another number: these are shortened only by the line's end
_TIME, _AGE = 19, 2 + 8
_ID, _ID_LEAST = 15, 11
_TEXT_LEAST = 26
_PLAIN, _PLAIN_LEAST = 32, 12
_SKEW = 300  # seconds that a server's clock may be ahead of ours before its time counts as nonsense
_DIGITS = 4000  # Python refuses to turn more than 4,300 into a number
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")


class Cell(NamedTuple):
    """A value's text (no control characters), its style, and how it gives way.

    `keep`: how many characters at the end survive shortening, BOTH_ENDS for an ID. `more`: what follows where there is
    room for all of it.
    """

    text: str
    style: str = ""
    keep: int = 0
    more: str = ""


BLANK = Cell("")
NULL = Cell("-", DIM)


def paint(text: str, style: str, color: bool) -> str:
    """The text in that style, or as it is where there is none."""
    return f"\x1b[{style}m{text}\x1b[0m" if color and style and text else text


def fit(cell: Cell, room: int) -> str:
    """The cell's text in at most `room` cells, with what more there is if that fits too."""
    text = cell.text
    size = width_of(text)
    if size > room:
        return shorten(text, room, cell.keep)
    if cell.more and size + 2 + width_of(cell.more) <= room:
        return f"{text}  {cell.more}"
    return text


def moment(text: str, now: float) -> Cell:
    """Seconds since 1970 as UTC, and the age; as they were sent where they are no time that has been."""
    if not re.fullmatch(r"[1-9][0-9]{0,11}", text) or (seconds := int(text)) > now + _SKEW:
        return Cell(printable(text))
    return Cell(datetime.fromtimestamp(seconds, UTC).isoformat(" ")[:19], more=age(int(now) - seconds))


def grouped(text: str) -> str:
    """A whole number with its digits in groups of three; any other text as it is."""
    return f"{int(text):,}" if len(text) < _DIGITS and _INTEGER.fullmatch(text) else printable(text)


def status(text: str) -> Cell:
    """A transaction's status: whatever is not accepted has a sign and a colour."""
    if text.lower() == "accepted" or not text:
        return Cell(text)
    return Cell(f"✗ {text}", RED) if text.lower() == "rejected" else Cell(f"! {printable(text)}", YELLOW)


def opaque(text: str) -> Cell:
    """An ID, or another text in which only the ends tell anything."""
    return Cell(printable(text), keep=BOTH_ENDS)


def gist(text: str) -> Cell:
    """The one line of a long text that says what it is, and how many more there are."""
    lines = text.splitlines()
    if len(lines) < 2:
        return Cell(printable(text))
    # Of a program its name, which stands below the imports; the first line with anything on it of all else.
    first = next((line for line in lines if line.startswith("program ")), "") or next(filter(str.strip, lines), "")
    note = f"  +{len(lines) - 1} lines" if len(lines) > 2 else "  +1 line"
    return Cell(printable(first.rstrip()) + note, keep=len(note))


def cell_of(value: Raw | None, column: Column, now: float) -> Cell:
    """A value of that column on one line; blank where the row has none."""
    if value is None:
        return BLANK
    text = text_of(value)
    if not text:
        return NULL if bytes(value) == b"null" else BLANK
    kind = column.kind
    if kind is Kind.ID:
        return opaque(text)
    if kind is Kind.NUMBER:
        return Cell(grouped(text))
    if kind is Kind.TIME:
        return moment(text, now)
    if kind is Kind.TEXT:
        return gist(text)
    if kind is Kind.DATA:
        return Cell(str(count) if (count := count_of(value)) is not None else printable(text))
    return status(text) if column.path == "status" else Cell(printable(text))


def leaf(text: str) -> Cell:
    """A text that nothing is known of, on one line: shortened in the middle when it is one long word."""
    text = " ".join(text.split())
    return Cell(printable(text)) if " " in text else opaque(text)


def count_of(value: Raw) -> int | None:
    """How many items an array or an object has; None for any other value."""
    opening = bytes(value)[:1]
    if opening == b"[":
        return len(items(bytes(value)))
    return len(members(bytes(value))) if opening == b"{" else None


def open_object(value: Raw | bytes | None) -> dict[str, Raw]:
    """The members of a value that is an object; none of any other."""
    return members(bytes(value)) if value is not None and bytes(value)[:1] == b"{" else {}


def open_array(value: Raw | bytes | None) -> list[Raw]:
    """The items of a value that is an array; none of any other."""
    return items(bytes(value)) if value is not None and bytes(value)[:1] == b"[" else []


@dataclass(slots=True)
class Lane:
    """A column on the screen: its header, the widest value seen, and the width it has been given (0: not shown)."""

    column: Column
    header: str
    natural: int = 0
    width: int = 0

    @property
    def right(self) -> bool:
        """Whether its values stand at the right."""
        return self.column.kind in _RIGHT

    @property
    def usual(self) -> int:
        """The width that suits it where there is neither want nor plenty."""
        kind = self.column.kind
        if kind is Kind.TIME:
            size = max(_TIME, self.natural)
        elif kind is Kind.HEIGHT:
            size = self.natural + 1  # the next power of ten may come
        elif kind in _RIGHT:
            size = self.natural
        else:
            size = min(_ID if kind is Kind.ID else _PLAIN, self.natural)
        return max(size, width_of(self.header))

    @property
    def least(self) -> int:
        """The width below which it says nothing."""
        kind = self.column.kind
        if kind in WHOLE:
            return self.usual
        size = {Kind.ID: _ID_LEAST, Kind.TEXT: _TEXT_LEAST}.get(kind, _PLAIN_LEAST)
        return min(self.usual, max(size, width_of(self.header)))

    @property
    def most(self) -> int:
        """The width at which everything is shown."""
        return self.usual + _AGE if self.column.kind is Kind.TIME else max(self.usual, self.natural)


def settle(lanes: Sequence[Lane], room: int) -> None:
    """Set the widths of the lanes so that a line fits into `room` cells.

    Where not all fit as they should, the last ones become narrower, then some are not shown: long texts, then the last
    ones, height and time at the very end. Where room is left, times get their age, and IDs are shown whole: those of
    transactions first, for other commands take them.
    """
    gap = GAP
    kept = list(lanes)
    while len(kept) > 1 and sum(lane.least + gap for lane in kept) > room + gap:
        kept.remove(max(reversed(kept), key=_dispensable))
    spare = room + gap - sum(lane.usual + gap for lane in kept)
    for lane in lanes:
        lane.width = 0
    for lane in reversed(kept):
        lane.width = max(lane.least, lane.usual + min(spare, 0))
        spare += lane.usual - lane.width
    if spare < 0:  # one column is left, and even that is too wide
        kept[0].width = room
    for lane in sorted(kept, key=_worth):
        if lane.most - lane.width <= spare:
            spare -= lane.most - lane.width
            lane.width = lane.most


def _dispensable(lane: Lane) -> int:
    if lane.column.kind is Kind.TEXT:
        return 2
    # Dropping strictly from the end would cost `blocks` its time on a terminal of 80 columns.
    return 0 if lane.column.kind is Kind.TIME or lane.header == "height" else 1


def _worth(lane: Lane) -> int:
    if lane.column.kind is Kind.TIME:
        return 0
    return 1 if lane.header in ("transaction_id", "transaction.id") else 2


def headers(columns: Sequence[Column], among: Sequence[Column]) -> list[str]:
    """The last part of each column's path, and as many before it as it takes to tell it from the others in `among`.

    `id` and `type` say nothing alone, so they always come with the part before.
    """
    paths = {column.path for column in (*columns, *among)}
    found = []
    for column in columns:
        steps = column.path.split(".")
        size = 2 if steps[-1] in ("id", "type") else 1
        while size < len(steps) and sum(f".{path}".endswith("." + ".".join(steps[-size:])) for path in paths) > 1:
            size += 1
        found.append(printable(".".join(steps[-size:])))
    return found
