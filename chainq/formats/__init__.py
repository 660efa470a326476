"""What a format is, and how one is found.

A format is a callable, `(out, sheet) -> Writer`, under a name in the entry-point group `chainq.formats`; another
package adds one by naming its own there. It gets rows as the server's own bytes and writes bytes to `out`; it knows of
no network, no heights and no files.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NamedTuple, Protocol, cast

from msgspec import Raw

from chainq.errors import UsageError
from chainq.methods import Column

BUILT_IN = {
    "table": "chainq.formats.table:Table",
    "jsonl": "chainq.formats.jsonl:Jsonl",
    "json": "chainq.formats.json:Json",
    "csv": "chainq.formats.csv:Csv",
    "chart": "chainq.formats.chart:Chart",
    "parquet": "chainq.formats.parquet:Parquet",
}
GROUP = "chainq.formats"


class Out(Protocol):
    """Where a format writes."""

    def write(self, data: bytes, /) -> object:
        """Take all of `data`, or raise."""


class Sheet(NamedTuple):
    """What is to be written, and where it will be seen.

    `command`: whose rows they are (`records`). `columns`: the command's, or those that `--columns` picked, in that
    order; `chosen`: whether they were picked. `single`: the answer is one object by nature, not a list of one.
    `width`: characters in a line of the terminal; `color`: styles may be used; `trunc`: long values may be shortened;
    `terminal`: a person is looking. `continued`: what stands before the first row was written by an earlier run.
    `warn` says a line on stderr, unless the user wants none.
    """

    command: str
    columns: tuple[Column, ...]
    chosen: bool = False
    single: bool = False
    width: int = 80
    color: bool = False
    trunc: bool = True
    terminal: bool = False
    continued: bool = False
    warn: Callable[[str], None] = lambda _: None


def stray_of(sheet: Sheet, name: str) -> Callable[[str], None] | None:
    """What warns, once for each, of fields that no column of the format shows; None where columns were picked.

    Who picked columns knows that the others are left out.
    """
    told: set[str] = set()

    def stray(path: str) -> None:
        if path not in told:
            told.add(path)
            sheet.warn(f"the field {path} has no column in {name}; --columns with --no-check, or jsonl, shows it")

    return None if sheet.chosen else stray


class Writer(Protocol):
    """One output under way."""

    def write(self, rows: Sequence[Raw], /) -> None:
        """Take the next rows: JSON objects, each compact and otherwise as the server sent it."""

    def close(self) -> None:
        """Write what stands after the last row. Not called after a failure."""


Format = Callable[[Out, Sheet], Writer]


def names() -> list[str]:
    """The names of all formats, built-in ones first."""
    from importlib.metadata import entry_points

    others = {entry.name for entry in entry_points(group=GROUP)} - BUILT_IN.keys()
    return [*BUILT_IN, *sorted(others)]


def load(name: str) -> Format:
    """The format of that name. Raises UsageError where there is none, or where its package cannot be imported."""
    if place := BUILT_IN.get(name):  # without a search through the metadata of all packages
        module, _, attribute = place.partition(":")
        return cast("Format", getattr(import_module(module), attribute))
    from importlib.metadata import entry_points

    found = list(entry_points(group=GROUP, name=name))
    if not found:
        raise UsageError(f"there is no format {name!r}", f"the formats are {', '.join(names())}")
    try:
        return cast("Format", found[0].load())
    except Exception as error:  # another package's code: whatever it raises, the user hears which one it is
        raise UsageError(f"the format {name!r} of {found[0].value} cannot be loaded: {error}") from None
