"""`--columns help` and `--fault help`: what these options take."""

from collections.abc import Sequence

from chainq.catalog.columns import members
from chainq.catalog.methods import BY_COMMAND, Kind, Shape
from chainq.catalog.owned import BALANCE, COMMAND, listed
from chainq.cli.output import on_terminal
from chainq.sinks.open import open_sink
from chainq.text.align import aligned
from chainq.text.width import ENDLESS, terminal_width
from chainq.verify.findings import FINDINGS


def list_columns(command: str) -> None:
    """Print the columns of a command with their types and notes, and what selects members of their arrays."""
    method = {**BY_COMMAND, COMMAND: listed(), "balance": BALANCE, "verify": FINDINGS}[command]
    rows = []
    for column in method.selectable:
        note = f"{column.type}{': ' * bool(column.note)}{column.note}"
        rows.append((f"{column.path}{' *' * bool(column.brief)}", note))
        inside = [f"{column.path}[]"] if column.type == "array of string" else members(column.path)
        rows += [(path, "") for path in inside if column.kind is Kind.DATA]
    several = " of several rows" * (method.shape is not Shape.ROWS)  # a table of one row shows all
    _print(rows, f"\n* shown in a table{several} by default\n")


def list_faults() -> None:
    """Print the faults of `chainq serve`, with what they do."""
    from chainq.demo.faults import listed_faults

    _print(listed_faults())


def _print(rows: Sequence[tuple[str, str]], note: str = "") -> None:
    """Print names with their texts, then a note; names are never broken, so that they can be copied."""
    lines = aligned(rows, terminal_width() if on_terminal(None) else ENDLESS)
    with open_sink(None) as sink:
        sink.write("".join(f"{line}\n" for line in lines).encode() + note.encode())
