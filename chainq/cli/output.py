"""Which format, which columns, and where they will be seen: from the parsed values of a command line to a `Sheet`."""

import os
import shutil
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from chainq.catalog.methods import Column, Method
from chainq.errors import UsageError
from chainq.formats.protocol import Sheet
from chainq.sinks.open import open_sink
from chainq.text.sanitize import printable

FORMAT_FLAGS = ("table", "jsonl", "json", "csv")
APPENDABLE = ("jsonl", "csv")
WHOLE = ("json", "parquet", "chart")  # of which a part says nothing


class OutputSettings(NamedTuple):
    """What is written and where to.

    `format`: name of the format. `columns`: those to show; `requested`: the value of `--columns`, empty where it was
    not given. `trunc`: long values may be abbreviated. `file`: the file to write, None for standard output.
    """

    format: str
    columns: tuple[Column, ...]
    requested: str
    trunc: bool
    file: Path | None


def settings(
    method: Method, values: Mapping[str, Any], *, check: bool, appended: bool, endless: bool
) -> OutputSettings:
    """Return the output settings of a method's command; the arguments are those of `format_name` and `columns`.

    Raises UsageError.
    """
    shown = columns(method, values["columns"], check)
    name = format_name(values, appended=appended, endless=endless)
    return OutputSettings(name, shown, values["columns"] or "", not values["no_trunc"], file_of(values))


def file_of(values: Mapping[str, Any]) -> Path | None:
    """Return the file to write, None for standard output, which `-` names too."""
    file: Path | None = values["output"]
    return None if file is None or str(file) == "-" else file


def format_name(values: Mapping[str, Any], *, appended: bool = False, endless: bool = False) -> str:
    """The format's name by flag, environment, or whether a person looks. Raises UsageError.

    `appended`: the output goes on where an earlier run ended, which only jsonl and csv can; `endless`: it has no end.
    """
    flags = {name for name in FORMAT_FLAGS if values[name]}
    if len(flags) > 1:
        raise UsageError(
            f"one format at a time: {' and '.join('--' + name for name in sorted(flags))} exclude each other"
        )
    name = flags.pop() if flags else values["format"]
    if name is None:
        return "table" if on_terminal(file_of(values)) and not appended else "jsonl"
    if appended and name not in APPENDABLE:
        raise UsageError(f"the format {name} cannot go on where an earlier run ended; {' and '.join(APPENDABLE)} can")
    if endless and name in WHOLE:
        raise UsageError(f"the format {name} is written when all is there, and --follow has no end")
    return name


def on_terminal(file: Path | None) -> bool:
    """Whether rows go where a person looks; `file` is where they go, None for standard output."""
    try:
        return file is None and os.isatty(1)
    except OSError:
        return False


def columns(method: Method, requested: str | None, check: bool) -> tuple[Column, ...]:
    """The columns to show; `check` holds them against the catalogue. Raises UsageError with the nearest names."""
    if requested is None or requested == "all":
        return method.columns
    known = {column.path: column for column in method.columns}
    chosen = []
    for path in requested.split(","):
        name = path.strip()
        if not name.isprintable():
            raise UsageError(f"the column {printable(name)} has characters that no field can have")
        if name in known:
            chosen.append(known[name])
        elif check or not name:
            near = get_close_matches(name, known, 3, 0.5)
            did = f"did you mean {', '.join(near)}?" if near else f"the columns: {', '.join(known)}"
            raise UsageError(f"{method.command} has no column {name!r}: {did}", "--no-check allows any field")
        else:
            chosen.append(Column(name, "unknown"))
        if chosen[-1] in chosen[:-1]:
            raise UsageError(f"the column {name} is chosen twice")
    return tuple(chosen)


def list_columns(method: Method) -> None:
    """Write the columns of a command, with their types and notes, as lines for people and `cut -f` alike."""
    with open_sink(None) as sink:
        for column in method.columns:
            sink.write(f"{column.path}\t{column.type}\t{column.note}\n".encode())


def sheet(
    method: Method,
    settings: OutputSettings,
    warn: Callable[[str], None],
    *,
    single: bool = False,
    continued: bool = False,
) -> Sheet:
    """Return what the format is told. `single`: the result is one object; `continued`: earlier runs wrote before."""
    terminal = on_terminal(settings.file)
    return Sheet(
        method.command,
        settings.columns,
        chosen=bool(settings.requested),
        single=single,
        width=shutil.get_terminal_size().columns,
        color=terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb",
        trunc=settings.trunc,
        terminal=terminal,
        continued=continued,
        warn=warn,
    )
