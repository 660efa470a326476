"""`--columns help`: the columns of a command."""

from collections.abc import Iterable, Sequence

from chainq.catalog.columns import members
from chainq.catalog.methods import BY_COMMAND, Column, Kind, Method
from chainq.catalog.owned import COMMAND, listed
from chainq.cli.output import on_terminal
from chainq.sinks.open import open_sink
from chainq.text.align import aligned
from chainq.text.width import GAP, terminal_width
from chainq.verify.findings import CHECKS, FINDINGS

_NOTE = 24  # characters of a note; if there is less room beside a name, the note is below it
_ENDLESS = 1_000_000  # characters of a line in a pipe


def list_columns(command: str) -> None:
    """Print the columns of a command with their types and notes; in a pipe one per line."""
    room = terminal_width() if on_terminal(None) else _ENDLESS
    method = _methods()[command]
    columns = method.selectable
    rows = list(map(_described, columns))
    inside = [path for column in columns if column.kind is Kind.DATA for path in _inside(column)]
    text = _listed(rows, room)
    if inside:
        options = "--columns and --where" if method.filtered else "--columns"
        text += f"\nin these arrays, also for {options}:\n" + "".join(f"{path}\n" for path in inside)
    if command == FINDINGS.command:
        text += "\nvalues of check:\n" + aligned(list(CHECKS.items()), [max(map(len, CHECKS))], room)
    # Its table decrypts, so it needs no option for these columns.
    star = (
        "in a table by default, also without the option it names" if command == COMMAND else f"shown {method.starred}"
    )
    with open_sink(None) as sink:
        sink.write(f"{text}\n* {star}\n".encode())


def _inside(column: Column) -> Iterable[str]:
    """Return what selects items of an array, or members of them."""
    return [f"{column.path}[]"] if column.type == "array of string" else members(column.path)


def _methods() -> dict[str, Method]:
    """Return what describes the rows of each command that has columns."""
    return {**BY_COMMAND, COMMAND: listed(), FINDINGS.command: FINDINGS}


def _described(column: Column) -> tuple[str, str, str]:
    return f"{column.path}{' *' if column.brief else ''}", column.type, column.note


def _listed(rows: Sequence[tuple[str, str, str]], room: int) -> str:
    """Return a name, its type and a note for each row, in lines of `room` characters.

    A name is never broken, so that it can be copied. If a line has no room for all, type and note are below it.
    """
    wide, typed = (max(len(row[number]) for row in rows) for number in (0, 1))
    if room - wide - typed - 2 * GAP >= _NOTE:
        return aligned(rows, [wide, typed], room)
    below = [f"{kind}{': ' if note else ''}{note}" for _, kind, note in rows]
    return "".join(f"{name}\n{aligned([('', text)], [0], room)}" for (name, *_), text in zip(rows, below, strict=True))
