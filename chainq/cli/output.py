"""Which format, which columns, and where they will be seen: from options to a `Sheet`."""

import os
import shutil
from difflib import get_close_matches
from pathlib import Path

from chainq.catalog.methods import Column, Method
from chainq.cli.options import OutputOptions
from chainq.cli.report import Reporter
from chainq.errors import UsageError
from chainq.formats.protocol import Sheet
from chainq.sinks.open import open_sink
from chainq.text.sanitize import printable

FORMAT_FLAGS = ("table", "jsonl", "json", "csv")
APPENDABLE = ("jsonl", "csv")
WHOLE = ("json", "parquet", "chart")  # of which a part says nothing


def format_name(options: OutputOptions, *, appended: bool = False, endless: bool = False) -> str:
    """The format's name by flag, environment, or whether a person looks. Raises UsageError.

    `appended`: the output goes on where an earlier run ended, which only jsonl and csv can; `endless`: it has no end.
    """
    flags = {name for name in FORMAT_FLAGS if getattr(options, name)}
    if len(flags) > 1:
        raise UsageError(
            f"one format at a time: {' and '.join('--' + name for name in sorted(flags))} exclude each other"
        )
    name = flags.pop() if flags else options.format
    if name is None:
        return "table" if on_terminal(options.file) and not appended else "jsonl"
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


def columns(method: Method, options: OutputOptions, check: bool) -> tuple[Column, ...]:
    """The columns to show; `check` holds them against the catalogue. Raises UsageError with the nearest names."""
    if options.columns is None or options.columns == "all":
        return method.columns
    known = {column.path: column for column in method.columns}
    chosen = []
    for path in options.columns.split(","):
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
    shown: tuple[Column, ...],
    options: OutputOptions,
    reporter: Reporter,
    *,
    single: bool = False,
    continued: bool = False,
) -> Sheet:
    """What the format is told. `single`: the answer is one object; `continued`: its beginning was written earlier."""
    terminal = on_terminal(options.file)
    return Sheet(
        method.command,
        shown,
        chosen=options.columns is not None,
        single=single,
        width=shutil.get_terminal_size().columns,
        color=terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb",
        trunc=not options.no_trunc,
        terminal=terminal,
        continued=continued,
        warn=reporter.warn,
    )
