"""Rows as an HTML table, as a notebook shows them."""

from collections.abc import Iterable, Sequence
from html import escape

from msgspec import Raw

from chainq.catalog.methods import Column, Kind, Method
from chainq.formats.cells import time_cell
from chainq.rows.fields import Picker, text_of
from chainq.text.sanitize import abridged, printable

_LONGEST = 40  # characters of a value


def html_table(method: Method, rows: Sequence[Raw], caption: str, below: str = "") -> str:
    """Return rows with the columns that a table shows by default, times in UTC; all that the service sent is escaped.

    `below`: what is said below them: that there are more, or what ended them.
    """
    columns = [column for column in method.columns if column.brief and (not column.computed or _added(rows, column))]
    pick = Picker([column.path for column in columns])
    cells = ([_cell(value, column) for value, column in zip(pick(row), columns, strict=True)] for row in rows)
    return table([column.path for column in columns], cells, caption, below)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str, below: str = "") -> str:
    """Return rows of text as an HTML table. All text is escaped."""
    first = _row("th", head)
    body = "".join(_row("td", cells) for cells in rows)
    said = f"<p>{escape(printable(below))}</p>" if below else ""
    return f"<table><caption>{escape(caption)}</caption>{first}{body}</table>{said}"


def _row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


def _added(rows: Sequence[Raw], column: Column) -> bool:
    """Return whether rows have a column that chainq adds to those of several blocks."""
    return bool(rows) and Picker([column.path])(rows[0])[0] is not None


def _cell(value: Raw | None, column: Column) -> str:
    text = text_of(value)
    return time_cell(text).short if column.kind is Kind.TIME else printable(abridged(text, _LONGEST))
