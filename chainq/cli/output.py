"""Which format and columns are written where: from the parsed values of a command line to an `OutputSpec`."""

import os
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from chainq.catalog.methods import BY_COMMAND, DETAILED_REFERENCE, METHODS, Column, Kind, Method
from chainq.errors import UsageError
from chainq.formats import registry
from chainq.formats.protocol import Capabilities, Format, OutputSpec, capabilities
from chainq.sinks.open import descriptor_of, open_sink
from chainq.text.sanitize import quoted
from chainq.text.width import terminal_width

FORMAT_FLAGS = ("table", "jsonl", "json", "csv", "text")
EXTENSIONS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".txt": "text",
}
"""The format of a file where no option names one."""


class OutputSettings(NamedTuple):
    """What is written and where to.

    `format`: name of the format; `make`: the format itself; `can`: what it can do. `columns`: those to show;
    `requested`: the value of `--columns`, empty where it was not given. `abbreviate`: long values may be abbreviated.
    `header`: csv begins with one. `file`: the file to write, None for standard output. `color`: whether to use colours.
    `details`: look the transactions up.
    """

    format: str
    make: Format
    can: Capabilities
    columns: tuple[Column, ...]
    requested: str
    abbreviate: bool
    header: bool
    file: Path | None
    color: bool
    details: bool

    @property
    def warning(self) -> str:
        """Return what is odd about the settings, empty where nothing is."""
        extension = "" if self.file is None else self.file.suffix
        expected = EXTENSIONS.get(extension.lower(), self.format)
        if expected == self.format or (expected == "text" and not self.can.binary):
            return ""
        return f"{self.file} holds {self.format}, although its extension is {extension}"


def settings(
    method: Method, values: Mapping[str, Any], *, check: bool, appended: bool, endless: bool
) -> OutputSettings:
    """Return the output settings of a method's command.

    `check`: columns must be in the catalogue. `appended`: later runs add to the output; `endless`: it has no last row.
    Raises UsageError, also where the format cannot do that.
    """
    requested = ",".join(values["columns"] or ())
    shown = columns(method, requested, check)
    file = file_of(values)
    name = format_name(values, file, appended=appended)
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
    if values["no_header"] and name not in ("csv", "tsv"):
        raise UsageError(f"--no-header needs csv or tsv, and the format is {name}")
    details = not (requested or appended or endless or values.get("no_details", True)) and name == "table"
    if details:
        shown = DETAILED_REFERENCE
    return OutputSettings(
        name,
        make,
        can,
        shown,
        requested,
        abbreviate=not values["no_trunc"],
        header=not values["no_header"],
        file=file,
        color=use_color(values["color"], terminal=on_terminal(file)),
        details=details,
    )


def file_of(values: Mapping[str, Any]) -> Path | None:
    """Return the file to write, None for standard output, which `-` and `/dev/stdout` name too."""
    file: Path | None = values["output"]
    return None if file is None or str(file) == "-" or descriptor_of(file) == 1 else file


def format_name(values: Mapping[str, Any], file: Path | None, *, appended: bool) -> str:
    """Return the name of the format: by option, else extension of `file`, else environment; a table on a terminal.

    `appended`: later runs add to the output, so that it is no table. Raises UsageError.
    """
    flags = {name for name in FORMAT_FLAGS if values[name]}
    if len(flags) > 1:
        raise UsageError(f"{' and '.join('--' + name for name in sorted(flags))} cannot be combined")
    name = flags.pop() if flags else values["format"]
    if name is None and file is not None:
        name = EXTENSIONS.get(file.suffix.lower())
    name = name or os.environ.get("CHAINQ_FORMAT")
    if not name:
        return "table" if on_terminal(file) and not appended else "jsonl"
    return str(name)


def on_terminal(file: Path | None) -> bool:
    """Return whether the output is a terminal; `file` is None for standard output."""
    try:
        return file is None and os.isatty(1)
    except OSError:
        return False


def use_color(wanted: str, *, terminal: bool) -> bool:
    """Return whether to use colours: as `--color` says, else NO_COLOR, else FORCE_COLOR, else on a terminal.

    Raises UsageError for a value that `--color` does not take.
    """
    if wanted not in ("auto", "always", "never"):
        raise UsageError(f"invalid --color {quoted(wanted)}: expected auto, always or never")
    if wanted != "auto":
        return wanted == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (terminal and os.environ.get("TERM") != "dumb")


def columns(method: Method, requested: str, check: bool) -> tuple[Column, ...]:
    """Return the columns that `--columns` requests. With `check` they must be in the catalogue. Raises UsageError."""
    if not requested:
        return method.columns
    known = {column.path: column for column in method.columns}
    chosen: list[Column] = []
    for path in requested.split(","):
        name = path.strip()
        some = method.columns if name == "all" else (_column(name, known, check),)
        if any(column in chosen for column in some):
            raise UsageError(f"column {name} is given twice")
        chosen += some
    return tuple(chosen)


def _column(name: str, known: Mapping[str, Column], check: bool) -> Column:
    """Return the column of that name; `a[].b` is `b` of each item of the array `a`. Raises UsageError."""
    if not name.isprintable():
        raise UsageError(f"invalid column {quoted(name)}: expected printable characters")
    if name in known:
        return known[name]
    array, brackets, _ = name.partition("[]")
    if brackets and array in known and known[array].kind is Kind.DATA:
        return Column(name, "unknown")
    if check or not name:
        near = get_close_matches(name, known, 3, 0.5)
        hint = f" (did you mean {' or '.join(near)}?)" if near else f"; the columns are {', '.join(known)}"
        raise UsageError(f"unknown column {quoted(name)}{hint}", "--no-check skips this check")
    return Column(name, "unknown")


def list_columns(command: str) -> None:
    """Print the columns of a command with their types and notes."""
    from chainq.catalog.owned import COMMAND, owned_method
    from chainq.verify.findings import FINDINGS

    others = {COMMAND: owned_method(records=True, plaintext=True), FINDINGS.command: FINDINGS}
    columns = (others.get(command) or BY_COMMAND[command]).columns
    paths = [f"{column.path}{' *' if column.brief else ''}" for column in columns]
    wide, typed = max(map(len, paths)), max(len(column.type) for column in columns)
    lines = [
        f"{path:{wide}}  {column.type:{typed}}  {column.note}".rstrip()
        for path, column in zip(paths, columns, strict=True)
    ]
    with open_sink(None, pager=True) as sink:
        sink.write("".join(f"{line}\n" for line in [*lines, "", "* shown in a table by default"]).encode())


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
        width=terminal_width(),
        color=settings.color,
        abbreviate=settings.abbreviate,
        warn=warn,
    )
