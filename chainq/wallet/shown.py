"""Formats the plaintext of an owned record (as text, on one line, or by its members) and its amount."""

from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from chainq.catalog.owned import AMOUNT, PLAINTEXT, PLAINTEXT_JSON, TOKEN
from chainq.rows.transaction import CREDITS
from chainq.text.humanize import counted, in_credits
from chainq.wallet.plaintext import Members, amount_of, members_of
from chainq.wallet.records import Key


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


def shown_plaintext(text: str, program: str, style: Style) -> tuple[dict[str, Raw], Amount]:
    """Return the fields to add to a record's row, and its amount."""
    members: Members | None
    try:
        members = members_of(text)
    except ValueError:  # from a later version of the network
        members = None
    amount = amount_in(program, members or {})
    plaintext = text if style in (Style.TEXT, Style.PYTHON) else " ".join(text.split())
    value = amount if style is Style.TABLE else amount.amount
    number = value if value is None or style is Style.PYTHON else str(value)  # as of balance: a number may be rounded
    added: dict[str, Any] = {PLAINTEXT.path: plaintext, PLAINTEXT_JSON.path: members}
    added |= {AMOUNT.path: number, TOKEN.path: amount.token or None}
    return {name: Raw(msgspec.json.encode(value)) for name, value in added.items()}, amount


def totals(amounts: Mapping[Key, Amount], spent: Collection[Key] | None = None) -> list[str]:
    """Return a line per program and token: the number of records and their sum; of those that are not `spent`, too."""
    groups: dict[tuple[str, str], list[Key]] = {}
    for key, one in amounts.items():
        groups.setdefault((one.program, one.token), []).append(key)
    lines = []
    for (program, token), group in sorted(groups.items()):
        line = f"{program}{f' {token}' if token else ''}: {counted(len(group), 'record')}, {_sum(group, amounts)}"
        if spent is not None:
            left = [key for key in group if key not in spent]
            line += f"; unspent: {counted(len(left), 'record')}{f', {_sum(left, amounts)}' if left else ''}"
        lines.append(line)
    return lines


def _sum(keys: Sequence[Key], amounts: Mapping[Key, Amount]) -> Amount:
    """Return the sum of the amounts that are known, of records of one program and token."""
    known = [amount for key in keys if (amount := amounts[key].amount) is not None]
    return amounts[keys[0]]._replace(amount=sum(known) if known else None)
