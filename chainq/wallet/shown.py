"""Formats the plaintext of an owned record (as text, on one line, or by its members) and its amount."""

import json
import re
from enum import Enum
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from chainq.catalog.owned import AMOUNT, PLAINTEXT, PLAINTEXT_JSON, TOKEN
from chainq.rows.transaction import CREDITS
from chainq.text.humanize import in_credits

Members = dict[str, Any]
_LITERAL = re.compile(r"""[^\s{}\[\],:]+""")
_VISIBILITY = re.compile(r"\.(?:private|public|constant)$")
_WHOLE = re.compile(r"([0-9]+)u(?:8|16|32|64|128)")


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
    literal, token = (members.get(name) for name in ("microcredits" if program == CREDITS else "amount", "token_id"))
    found = _WHOLE.fullmatch(literal) if isinstance(literal, str) else None
    return Amount(program, token if isinstance(token, str) else "", int(found[1]) if found else None)


def members_of(text: str) -> Members | None:
    """Return the members of a plaintext: literals with their type (`5u64`), structs as dicts, arrays as lists.

    Visibilities are left out. None for a text of another form, as of a later version of the network.
    """
    try:  # with literals as strings, its notation is that of JSON
        found = json.loads(_LITERAL.sub(lambda word: json.dumps(_VISIBILITY.sub("", word[0])), text))
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def shown_plaintext(text: str | None, program: str, style: Style) -> dict[str, Raw]:
    """Return the fields to add to a record's row; all null for a record that could not be decrypted."""
    members = members_of(text or "")
    amount = amount_in(program, members or {})
    plaintext = text if text is None or style in (Style.TEXT, Style.PYTHON) else " ".join(text.split())
    value = amount if style is Style.TABLE else amount.amount
    number = value if value is None or style is Style.PYTHON else str(value)  # as of balance: a number may be rounded
    added: dict[str, Any] = {PLAINTEXT.path: plaintext, PLAINTEXT_JSON.path: members}
    added |= {AMOUNT.path: number, TOKEN.path: amount.token or None}
    return {name: Raw(msgspec.json.encode(value)) for name, value in added.items()}
