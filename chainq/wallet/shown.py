"""Formats the plaintext of an owned record (as text, on one line, or by its members) and its amount."""

from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from chainq.catalog.owned import AMOUNT, PLAINTEXT, PLAINTEXT_JSON, TOKEN
from chainq.rows.transaction import CREDITS
from chainq.text.humanize import counted, in_credits
from chainq.wallet.book import Book, Entry
from chainq.wallet.plaintext import Members, amount_of, members_of


class Style(Enum):
    """The form of the `plaintext` column: the text as aleo-sdk writes it, or the same on one line. A TABLE has it on
    one line, and amounts with their unit. PYTHON has amounts as numbers, which other readers may round."""

    TEXT = "text"
    LINE = "line"
    TABLE = "table"
    PYTHON = "python"


class Amount(NamedTuple):
    """The amount of a record, in the smallest unit; `token`: its `token_id`, empty without one."""

    program: str
    token: str
    amount: int | None

    def __str__(self) -> str:
        if self.amount is None:
            return "-"
        return f"{in_credits(self.amount)} credits" if self.program == CREDITS else f"{self.amount:,}"


def amount_in(program: str, members: Members) -> Amount:
    """Return the amount of a record of a program: `microcredits` of credits.aleo, `amount` of other programs."""
    amount = amount_of(members.get("microcredits" if program == CREDITS else "amount"))
    token = members.get("token_id")
    return Amount(program, token if isinstance(token, str) else "", amount)


def members_in(text: str) -> Members | None:
    """Return the members of a plaintext; None for one of a later version of the network."""
    try:
        return members_of(text)
    except ValueError:
        return None


def shown_plaintext(text: str | None, program: str, style: Style) -> dict[str, Raw]:
    """Return the fields to add to a record's row; all null for a record that could not be decrypted."""
    members = members_in(text or "")
    amount = amount_in(program, members or {})
    plaintext = text if text is None or style in (Style.TEXT, Style.PYTHON) else " ".join(text.split())
    value = amount if style is Style.TABLE else amount.amount
    number = value if value is None or style is Style.PYTHON else str(value)  # as of balance: a number may be rounded
    added: dict[str, Any] = {PLAINTEXT.path: plaintext, PLAINTEXT_JSON.path: members}
    added |= {AMOUNT.path: number, TOKEN.path: amount.token or None}
    return {name: Raw(msgspec.json.encode(value)) for name, value in added.items()}


def totals(entries: Sequence[Entry], *, spends: bool) -> list[str]:
    """Return a line per program and token: the number of records and their sum; of those that are unspent, too."""
    lines = []
    for one in Book(0, entries=[msgspec.structs.replace(entry, owner=0) for entry in entries]).totals():
        total, left = (Amount(one.program, one.token, amount) for amount in (one.sum, one.unspent))
        line = f"{one.program}{f' {one.token}' if one.token else ''}: {counted(one.records, 'record')}, {total}"
        if spends:
            line += f"; unspent: {counted(one.unspent_records, 'record')}{f', {left}' if one.unspent_records else ''}"
        lines.append(line)
    return lines
