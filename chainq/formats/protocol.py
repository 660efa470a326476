"""What a format is: it turns rows into bytes; and how one is found by its name.

chainq's own are in `BUILT_IN`. Any other package adds one with an entry point of the group `chainq.formats`,
`name = "module:attribute"`.

A format is a callable, usually a class, with this signature and, as attributes, the capabilities that it has::

    class Tsv:
        append = endless = True                                # Capabilities; what is not declared is False
        def __init__(self, out: Output, spec: OutputSpec): ...
        def write(self, rows: Sequence[Raw]): ...              # Writer
        def close(self): ...

It knows of no network, no files, and of heights only the path at which a row has its own. It may rest on these modules,
which are public: this one, `chainq.catalog.methods`, `chainq.errors`, `chainq.rows.fields` and `chainq.text`.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from chainq.catalog.methods import BY_COMMAND, Column
from chainq.errors import OutputError, UsageError
from chainq.text.sanitize import abridged, printable, quoted

if TYPE_CHECKING:  # the help of each command has the names of formats
    from msgspec import Raw

AS_SENT = "use jsonl, which writes it as it was sent, or leave the column out"
"""The hint for a value that a format cannot write."""
MAX_UNKNOWN = 5  # unknown fields that warnings name
GROUP = "chainq.formats"
# Rejected: entry points as well, because a search through the metadata of all packages would slow down every start.
BUILT_IN = {
    "table": ("chainq.formats.table:Table",),
    "jsonl": ("chainq.formats.json:Jsonl", ".jsonl", ".ndjson"),
    "json": ("chainq.formats.json:Json", ".json"),
    "csv": ("chainq.formats.csv:Csv", ".csv"),
    "tsv": ("chainq.formats.csv:Tsv", ".tsv"),
    "text": ("chainq.formats.csv:Text", ".txt"),
    "parquet": ("chainq.formats.parquet:Parquet", ".parquet"),
    "chart": ("chainq.formats.chart:Chart",),
}
"""The formats of chainq by name: where each is, and the extensions of its files."""
EXTENSIONS = {extension: name for name, (_, *extensions) in BUILT_IN.items() for extension in extensions}
"""The format of a file if no option names one."""


class Output(Protocol):
    """Where a format writes."""

    def write(self, data: bytes, /) -> object:
        """Write all of `data`, or raise."""


class OutputSpec(NamedTuple):
    """What a format writes, and for whom.

    `command`: the command whose rows they are (`records`). `columns`: those that `--columns` selected, in that
    order, else all of the command. `selected`: whether `--columns` was given. `height`: path of the height in each
    row; None if rows have none. `single`: the result is one object by nature, not a list of one. `resumed`: the
    output follows rows that an earlier run wrote, so that a header is there already. `header`: whether csv begins
    with one. `flatten`: an object has a key for each column, `b.c`, instead of nested objects. `terminal`: the output
    goes to a terminal, where control characters must be escaped. `width`: characters in a line of it. `color`: ANSI
    styles may be used. `abbreviate`: long values may be abbreviated. `counted`: a table ends with the number of its
    rows. `warn`: writes a line to stderr, unless `--quiet` was given.
    `heights`: returns the height range (start, end excluded) that the rows written so far complete; None if they
    are not all rows of a range. `read`: returns the height range that was read for them, also if a filter dropped
    some; None if rows were not selected by a range, or a limit may have ended it.
    """

    command: str
    columns: tuple[Column, ...]
    selected: bool = False
    height: str | None = None
    single: bool = False
    resumed: bool = False
    header: bool = True
    flatten: bool = False
    terminal: bool = False
    width: int = 80
    color: bool = False
    abbreviate: bool = True
    counted: bool = True
    warn: Callable[[str], None] = lambda _: None
    heights: Callable[[], tuple[int, int] | None] = lambda: None
    read: Callable[[], tuple[int, int] | None] = lambda: None


class Writer(Protocol):
    """One output in progress."""

    def write(self, rows: "Sequence[Raw]", /) -> None:
        """Write the next rows: JSON objects, each without white space between tokens, else as the server sent it."""

    def close(self) -> None:
        """Write what follows the last row. Not called after a failure."""


Format = Callable[[Output, OutputSpec], Writer]


class Capabilities(NamedTuple):
    """What a format can do and what it needs, declared by attributes of these names; without one it is False.

    `append`: the output stays valid when a later run adds rows to it; `--checkpoint` and `--follow -o FILE` need it.
    `endless`: every row is useful as soon as it is written, without `close`; `--follow` needs it.
    `binary`: the output is no text and must not be sent to a terminal.
    `needs_heights`: rows must have a height (`OutputSpec.height`), so that only some commands can use the format.
    `verbatim`: rows are written as the server sent them, unless columns were selected; so no computed column is added.
    `no_header`, `flatten`, `typed`: these options can be combined with it.
    """

    append: bool = False
    endless: bool = False
    binary: bool = False
    needs_heights: bool = False
    verbatim: bool = False
    no_header: bool = False
    flatten: bool = False
    typed: bool = False


def capabilities(format_: Format) -> Capabilities:
    """Return what a format declares. Only True counts, so that a method of the same name declares nothing."""
    return Capabilities(*(getattr(format_, name, False) is True for name in Capabilities._fields))


def unlisted_of(spec: OutputSpec) -> set[str]:
    """Return the paths of the fields that rows of the command can have, and the published interface lacks."""
    method = BY_COMMAND.get(spec.command)
    return {column.path for column in method.unlisted} if method else set()


def few(warn: Callable[[str], None], more: str) -> Callable[[str], None]:
    """Return what warns of the first few fields; then once of `more`, and of no others."""
    left = iter(range(MAX_UNKNOWN, -1, -1))

    def warn_few(text: str) -> None:
        if (number := next(left, None)) is not None:
            warn(text if number else more)

    return warn_few


def unfit(path: str, value: bytes, kind: str) -> OutputError:
    """Return the error for a value that a format cannot write, which no resumed run could either."""
    shown = printable(abridged(value.decode(errors="replace"), 80))  # an excerpt would lose what looks like a tag
    error = OutputError(f"{printable(path)} {shown} does not fit {kind}", AS_SENT)
    error.again = False
    return error


def load(name: str) -> Format:
    """Return the format of that name. Raises UsageError if there is none, or its package cannot be imported."""
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name][0].partition(":")
        return cast("Format", getattr(import_module(module), attribute))
    from importlib.metadata import entry_points

    others = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name not in others:
        known = dict.fromkeys((*BUILT_IN, *sorted(others)))
        raise UsageError(f"unknown format {quoted(name)}: expected one of {', '.join(known)}")
    try:
        return cast("Format", others[name].load())
    except Exception as error:  # code of another package can raise anything
        raise UsageError(f"cannot load the format {quoted(name)} from {others[name].value}: {error}") from None
