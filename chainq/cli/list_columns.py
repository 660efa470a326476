"""`--columns help`: the columns of a command."""

from collections.abc import Iterable

from chainq.catalog.columns import members
from chainq.catalog.methods import BY_COMMAND, Column, Kind, Method
from chainq.catalog.owned import COMMAND, listed
from chainq.cli.output import on_terminal
from chainq.sinks.open import open_sink
from chainq.text.align import aligned
from chainq.text.width import terminal_width
from chainq.verify.findings import CHECKS, FINDINGS

_ENDLESS = 1_000_000  # characters of a line in a pipe


def list_columns(command: str) -> None:
    """Print the columns of a command with their types and notes; in a pipe one per line."""
    room = terminal_width() if on_terminal(None) else _ENDLESS
    method = _methods()[command]
    columns = method.selectable
    rows = list(map(_described, columns))
    inside = [path for column in columns if column.kind is Kind.DATA for path in _inside(column)]
    text = aligned(rows, [max(len(row[number]) for row in rows) for number in (0, 1)], room)
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
