"""Rows as an HTML table, as a notebook shows them."""

from collections.abc import Sequence
from html import escape

from msgspec import Raw

from chainq.catalog.methods import Method
from chainq.rows.fields import Picker, text_of
from chainq.text.sanitize import abridged, printable

_LONGEST = 40  # characters of a value


def html_table(method: Method, rows: Sequence[Raw], caption: str, error: str = "") -> str:
    """Return rows with the columns that a table shows by default; all that the service sent is escaped.

    `error`: what ended the rows, shown below them.
    """
    columns = [column for column in method.columns if column.brief and not column.computed]
    pick = Picker([column.path for column in columns])
    head = "".join(f"<th>{escape(column.path)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in pick(row))}</tr>" for row in rows)
    below = f"<p>{escape(printable(error))}</p>" if error else ""
    return f"<table><caption>{escape(caption)}</caption><tr>{head}</tr>{body}</table>{below}"


def _cell(value: Raw | None) -> str:
    return escape(printable(abridged(text_of(value), _LONGEST)))
