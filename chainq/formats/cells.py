"""Values as a person reads them: a `Cell` is a value on one line, short and whole; nothing here draws.

Everything that a table or a tree shows of a row comes through here, and so through `chainq.text.sanitize.printable`.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from msgspec import Raw

from chainq.catalog.methods import Column, Kind
from chainq.rows.fields import array_of, count_of, text_of
from chainq.rows.transaction import CREDITS, Call, program_of
from chainq.text.humanize import counted, in_credits, utc
from chainq.text.sanitize import printable
from chainq.text.style import DIM, RED, YELLOW
from chainq.text.width import BOTH_ENDS, ELLIPSIS, truncate, width_of

RIGHT = {Kind.NUMBER, Kind.HEIGHT, Kind.DATA}
"""The kinds that are aligned to the right."""
ID_WIDTH = 15  # of an abbreviated ID: the same text for the same ID, wherever it is shown
_WORD = 36  # the longest program name (`31 bytes.aleo`): a shorter word is never abbreviated
_NUMBER = 100  # digits; a longer value is abbreviated, as IDs are
_TEXT = 240  # characters of a text of several words
_LINES = 12  # lines of a text
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,3999})")  # Python refuses to turn more than 4,300 digits into a number
# What an ID looks like, of which both ends are enough: bech32, or a field element. All else may be a name or an amount.
_ID = re.compile(r"(?<!\w)(?:[a-z]{2,10}1[a-z0-9]{20,}|[0-9]{25,}(?:field|group|scalar))(?!\w)")


class Cell(NamedTuple):
    """A value without control characters: `short` as a narrow column shows it, `whole` where the line has room.

    `style`: as in `text.style`. `fit`: returns what so many character cells hold, if that may be more than `short`.
    """

    short: str
    whole: str
    style: str = ""
    fit: Callable[[float], str] | None = None

    def text(self, room: float) -> str:
        """Return the whole text if it fits in `room` character cells, else what fits."""
        if self.whole == self.short or width_of(self.whole) <= room:
            return self.whole
        return self.fit(room) if self.fit else self.short


def first_of(items: Sequence[str], room: float) -> str:
    """Return the items if they fit in `room` character cells, else the first ones, at least one, with the number left.

    >>> first_of(["abc", "de", "f", "g"], 20)
    'abc, de, f, g'
    >>> first_of(["abc", "de", "f", "g"], 12)
    'abc, … 3 more'
    """
    for shown in range(_most(items, room), 0, -1):
        more = [f"{ELLIPSIS} {len(items) - shown:,} more"] if shown < len(items) else []
        if width_of(text := ", ".join([*items[:shown], *more])) <= room:
            break
    return text if items else ""


def _most(items: Sequence[str], room: float) -> int:
    """Return how many items to try at most, 1 or more: a row may have very many."""
    return min(len(items), max(int(room) // 2, 1))


def pieces(whole: Sequence[str], short: Sequence[str]) -> Cell:
    """Return texts on one line, from the first one on whole as far as there is room."""

    def fit(room: float) -> str:
        for count in range(_most(whole, room), 0, -1):
            if width_of(text := "  ".join([*whole[:count], *short[count:]])) <= room:
                return text
        return "  ".join(short)

    return Cell("  ".join(short), "  ".join(whole), fit=fit)


BLANK = Cell("", "")
NULL = Cell("-", "-", DIM)


def plain(text: str, style: str = "") -> Cell:
    """Return a text that is shown whole, whatever the room."""
    return Cell(text, text, style)


def id_cell(text: str, style: str = "", width: int = ID_WIDTH) -> Cell:
    """Return an ID, or another text that is recognized by its ends: abbreviated in the middle, always alike."""
    shown = printable(text)
    return Cell(truncate(shown, width, BOTH_ENDS), shown, style)


def items_cell(value: Raw | None, *, whole: bool) -> Cell:
    """Return the items of an array, and of arrays in it, each abbreviated by itself unless `whole`."""
    items = tuple(_leaves(value))
    if whole:
        return plain(", ".join(items))
    short = [item if width_of(item) <= _WORD else truncate(item, ID_WIDTH, BOTH_ENDS) for item in items]
    return Cell(first_of(short, _WORD), ", ".join(short), fit=partial(first_of, short))


def _leaves(value: Raw | None) -> Iterator[str]:
    for item in array_of(value):
        if bytes(item)[:1] == b"[":
            yield from _leaves(item)
        else:
            yield printable(text_of(item)) or "-"


def number_cell(text: str) -> Cell:
    """Return a whole number with its digits in groups of three; any other text as it is."""
    whole = f"{int(text):,}" if _INTEGER.fullmatch(text) else text
    return id_cell(whole, width=_NUMBER)


def credits_cell(text: str) -> Cell:
    """Return an amount of microcredits in credits, with every digit; any other text as it is."""
    return plain(in_credits(int(text))) if re.fullmatch(r"[0-9]{1,20}", text) else id_cell(text, width=_WORD)


def time_cell(text: str) -> Cell:
    """Return seconds since 1970 as UTC; as they were sent unless that is a time."""
    return plain(utc(int(text))) if re.fullmatch(r"[1-9][0-9]{0,10}", text) else id_cell(text, width=_WORD)


def status_cell(text: str) -> Cell:
    """Return a transaction's status; all but `accepted` have a sign and a color."""
    sign, style = {"accepted": ("", ""), "": ("", ""), "rejected": ("✗ ", RED)}.get(text.lower(), ("! ", YELLOW))
    return id_cell(sign + text, style, _WORD)


def text_cell(text: str) -> Cell:
    """Return the name of a program, given its source; of another text its first line, with the number of others."""
    if program := program_of(text):
        return id_cell(program, width=_WORD)
    lines = text.splitlines() or [""]
    first = next(filter(str.strip, lines), "").rstrip()
    note = f"  +{counted(len(lines) - 1, 'line')}" if len(lines) > 1 else ""
    return Cell(id_cell(first, width=_WORD).short + note, printable(first) + note)


def block_cell(text: str) -> Cell:
    """Return a text with its lines: the first of them, and the number of others."""
    lines = [printable(line) for line in text.splitlines()]
    if len(lines) <= _LINES + 1:
        return plain("\n".join(lines))
    rest = f"… {len(lines) - _LINES:,} more lines"
    return Cell("\n".join([*lines[:_LINES], rest]), "\n".join(lines))


def unknown_cell(text: str) -> Cell:
    """Return a text of unknown meaning on one line, its IDs abbreviated.

    What is left out at the end are whole words: a part of a number reads as another number.
    """
    whole = printable(" ".join(text.split()))
    short = short_ids(whole)
    if width_of(short) > _TEXT:
        cut = truncate(short, _TEXT, 0 if " " in short else BOTH_ENDS)
        short = f"{cut.rpartition(' ')[0]} {ELLIPSIS}" if " " in short else cut
    return Cell(short, whole)


def short_ids(text: str) -> str:
    """Return a text with its IDs abbreviated; names and amounts are whole, with or without their type.

    >>> short_ids("{ function_name: transfer_public_to_private, amount: 1000000000000000000000000u128.private }")
    '{ function_name: transfer_public_to_private, amount: 1000000000000000000000000u128.private }'
    """
    return _ID.sub(lambda word: truncate(word[0], ID_WIDTH, BOTH_ENDS), text)


def cell_of(value: Raw | None, column: Column, *, json: bool = False, whole: bool = False) -> Cell:
    """Return a value of that column on one line; blank if the row has none.

    `json`: an array or object is whole as JSON, not only as the number of its items; `whole`: the items of `a[].b` are.
    """
    text = text_of(value)
    if value is None or not text:
        return NULL if value is not None and bytes(value) == b"null" else BLANK
    if column.kind in _BY_KIND:
        return _BY_KIND[column.kind](text)
    if column.kind is Kind.TIME:
        return time_cell(text)
    if column.type == "time":  # that a query computed, by ISO 8601
        return id_cell(text.replace("T", " ", 1), width=_WORD)
    if column.kind is Kind.DATA and (count := count_of(value)) is not None:
        # What a query computed has no tree to be seen in, unlike the nested columns of the catalogue.
        json = json or column.type == "unknown"
        return Cell(counted(count, "item"), printable(text)) if json else plain(str(count))
    if "[]" in column.path:
        return items_cell(value, whole=whole)
    if column.folds:  # two such values may differ anywhere
        return plain(printable(text))
    return id_cell(text, width=_WORD)


_BY_KIND: dict[Kind, Callable[[str], Cell]] = {
    Kind.ID: id_cell,
    Kind.NUMBER: number_cell,
    Kind.STATUS: status_cell,
    Kind.HEIGHT: partial(id_cell, width=_NUMBER),
    Kind.TEXT: text_cell,
}
"""What makes a cell of a text, if the kind of its column alone decides."""


def fee_cell(fee: Call | None) -> Cell | None:
    """Return the amount of the call that pays a fee, whole with its parts; None if it has none."""
    if fee is None or not fee.amounts:
        return None
    total = f"{sum(fee.amounts):,}"
    if fee.program == CREDITS:
        total += f" microcredits  {in_credits(sum(fee.amounts))} credits"
    parts = " + ".join(f"{amount:,}" for amount in fee.amounts)
    return Cell(total, f"{total}  {parts} priority" if len(fee.amounts) == 2 and fee.amounts[1] else total)


def brief_fee(fee: Call) -> str:
    """Return the amount of the call that pays a fee in one unit: credits, if it is known to be in them."""
    if not fee.amounts:
        return ""
    return f"{in_credits(sum(fee.amounts))} credits" if fee.program == CREDITS else f"{sum(fee.amounts):,}"


_DOTTED = re.compile(r"[A-Za-z_]\w*(\[\])*(\.[A-Za-z_]\w*(\[\])*)*")


def headers(columns: Sequence[Column], among: Sequence[Column]) -> list[str]:
    """Return the last part of each column's path, with as many parts before it as distinguish it in `among`.

    `id` and `type` say nothing alone, so that they always come with the part before. Items of an array come with it.
    """
    paths = {column.path for column in (*columns, *among)}
    found = []
    for column in columns:
        steps = column.path.split(".") if _DOTTED.fullmatch(column.path) else [column.path]  # count(a.b) has no parts
        size = 2 if steps[-1] in ("id", "type") else 1
        while size < len(steps) and (
            sum(f".{path}".endswith("." + ".".join(steps[-size:])) for path in paths) > 1
            or ("[]" in column.path and "[]" not in "".join(steps[-size:]))
        ):
            size += 1
        found.append(printable(".".join(steps[-size:])))
    return found
