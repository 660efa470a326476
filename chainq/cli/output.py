"""Which format and columns are written where: from the parsed values of a command line to an `OutputSpec`."""

import os
import shutil
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from chainq.catalog.methods import METHODS, Column, Method
from chainq.errors import UsageError
from chainq.formats import registry
from chainq.formats.protocol import Capabilities, Format, OutputSpec, capabilities
from chainq.sinks.open import descriptor_of, open_sink
from chainq.text.sanitize import printable

FORMAT_FLAGS = ("table", "jsonl", "json", "csv", "text")


class OutputSettings(NamedTuple):
    """What is written and where to.

    `format`: name of the format; `make`: the format itself; `can`: what it can do. `columns`: those to show;
    `requested`: the value of `--columns`, empty where it was not given. `abbreviate`: long values may be abbreviated.
    `header`: csv begins with one. `file`: the file to write, None for standard output.
    """

    format: str
    make: Format
    can: Capabilities
    columns: tuple[Column, ...]
    requested: str
    abbreviate: bool
    header: bool
    file: Path | None


def settings(
    method: Method, values: Mapping[str, Any], *, check: bool, appended: bool, endless: bool
) -> OutputSettings:
    """Return the output settings of a method's command.

    `check`: columns must be in the catalogue. `appended`: later runs add to the output; `endless`: it has no last row.
    Raises UsageError, also where the format cannot do that.
    """
    shown = columns(method, values["columns"], check)
    name = format_name(values, appended=appended)
    make = registry.load(name)
    can = capabilities(make)
    if appended and not can.append:
        raise UsageError(
            f"{name} cannot be used with --checkpoint or --follow -o FILE, which append", "use jsonl or csv"
        )
    if endless and not can.endless:
        raise UsageError(f"{name} needs a finished range and cannot be used with --follow")
    if can.needs_heights and method.height is None:
        commands = ", ".join(other.command for other in METHODS if other.height)
        raise UsageError(
            f"{name} needs rows with heights, and {method.command} has none", f"use {name} with {commands}"
        )
    if values["no_header"] and name != "csv":
        raise UsageError(f"--no-header needs csv, and the format is {name}")
    return OutputSettings(
        name,
        make,
        can,
        shown,
        values["columns"] or "",
        not values["no_trunc"],
        not values["no_header"],
        file_of(values),
    )


def file_of(values: Mapping[str, Any]) -> Path | None:
    """Return the file to write, None for standard output, which `-` and `/dev/stdout` name too."""
    file: Path | None = values["output"]
    return None if file is None or str(file) == "-" or descriptor_of(file) == 1 else file


def format_name(values: Mapping[str, Any], *, appended: bool) -> str:
    """Return the name of the format: by flag or environment, else a table on a terminal and jsonl elsewhere.

    `appended`: later runs add to the output, so that it is no table. Raises UsageError.
    """
    flags = {name for name in FORMAT_FLAGS if values[name]}
    if len(flags) > 1:
        raise UsageError(f"{' and '.join('--' + name for name in sorted(flags))} cannot be combined")
    name = flags.pop() if flags else values["format"]
    if name is None:
        return "table" if on_terminal(file_of(values)) and not appended else "jsonl"
    return str(name)


def on_terminal(file: Path | None) -> bool:
    """Return whether the output is a terminal; `file` is None for standard output."""
    try:
        return file is None and os.isatty(1)
    except OSError:
        return False


def columns(method: Method, requested: str | None, check: bool) -> tuple[Column, ...]:
    """Return the columns that `--columns` requests. With `check` they must be in the catalogue. Raises UsageError."""
    if requested is None or requested == "all":
        return method.columns
    known = {column.path: column for column in method.columns}
    chosen = []
    for path in requested.split(","):
        name = path.strip()
        if not name.isprintable():
            raise UsageError(f"invalid column '{printable(name)}': expected printable characters")
        if name in known:
            chosen.append(known[name])
        elif check or not name:
            near = get_close_matches(name, known, 3, 0.5)
            hint = f" (did you mean {' or '.join(near)}?)" if near else f"; the columns are {', '.join(known)}"
            raise UsageError(f"unknown column {name!r}{hint}", "--no-check skips this check")
        else:
            chosen.append(Column(name, "unknown"))
        if chosen[-1] in chosen[:-1]:
            raise UsageError(f"column {name} is given twice")
    return tuple(chosen)


def list_columns(method: Method) -> None:
    """Print the columns of a command with their types and notes, separated by tabs."""
    with open_sink(None) as sink:
        for column in method.columns:
            sink.write(f"{column.path}\t{column.type}\t{column.note}\n".encode())


def output_spec(
    method: Method,
    settings: OutputSettings,
    warn: Callable[[str], None],
    *,
    single: bool = False,
    resumed: bool = False,
) -> OutputSpec:
    """Return what the format needs to know. `single`: the result is one object; `resumed`: earlier runs wrote rows.

    Raises UsageError for a binary format on a terminal.
    """
    terminal = on_terminal(settings.file)
    if terminal and settings.can.binary:
        raise UsageError(f"{settings.format} is binary and cannot be shown on a terminal", "use -o FILE")
    return OutputSpec(
        method.command,
        settings.columns,
        selected=bool(settings.requested),
        height=method.height,
        single=single,
        resumed=resumed,
        header=settings.header,
        terminal=terminal,
        width=shutil.get_terminal_size().columns,
        color=terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb",
        abbreviate=settings.abbreviate,
        warn=warn,
    )
