"""What a format is given and what it must do."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from msgspec import Raw

from chainq.catalog.methods import Column


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


def unknown_field_warner(sheet: Sheet, name: str) -> Callable[[str], None] | None:
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
