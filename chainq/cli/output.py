"""Which format and columns are written where: from the options of a command to an `OutputSpec`."""

import os
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from chainq.catalog.methods import BY_COMMAND, Column, Schema, Shape, height_of
from chainq.cli.report import Reporter
from chainq.config.values import in_variable
from chainq.errors import OutputError, UsageError
from chainq.formats import protocol
from chainq.formats.protocol import Capabilities, Format, OutputSpec, Writer, capabilities
from chainq.process.signals import signals_deferred
from chainq.sinks.base import Sink
from chainq.sinks.open import descriptor_of, open_sink
from chainq.text.sanitize import mask_url, printable, quoted
from chainq.text.width import ENDLESS, GAP, LEAST, aligned, stated_width, terminal_width, wrap

if TYPE_CHECKING:
    from chainq.cli.options import OutputOptions, ReportOptions
    from chainq.cli.tool_options import ShowCommand

ALL = ("all", "*")
"""What `--columns` takes for every column."""


class OutputSettings(NamedTuple):
    """What is written and where to.

    `format`: name of the format; `make`: the format itself; `can`: what it can do. `file`: the file to write, None for
    standard output. `requested`: the value of `--columns`, empty if it was not given. `spec`: what the format needs to
    know. `source`: the column with the source text of a program whose ID is requested, too. `typed`: the columns that
    `--typed` reads, none without it.
    """

    format: str
    make: Format
    can: Capabilities
    file: Path | None
    requested: str
    spec: OutputSpec
    source: str = ""
    typed: tuple[Column, ...] = ()

    @property
    def has_header(self) -> bool:
        """Return whether the output begins with a header that an option leaves out."""
        return self.can.no_header and self.spec.header

    def begin(self, reporter: Reporter, sink: Sink, resumed: bool = False, **known: Any) -> Writer:
        """Return what writes rows to the sink. `resumed`, `known`: fields of `spec` that only the run knows."""
        suffix = self.file.suffix if self.file else ""
        expected = protocol.EXTENSIONS.get(suffix.lower(), self.format)
        if expected != self.format and (expected != "text" or self.can.binary):
            reporter.warn_once("extension", f"{self.file} contains {self.format}, but its extension is {suffix}")
        writer = self.make(reporter.beside(sink), self.spec._replace(resumed=resumed, warn=reporter.warn, **known))
        if self.source or self.typed:
            from chainq.formats.changes import Changing, with_program_id, with_types

            writer = Changing(writer, with_program_id(self.source)) if self.source else writer
            writer = Changing(writer, with_types(self.typed)) if self.typed else writer
        return writer

    @property
    def unchanged(self) -> str:
        """Return that a failure leaves the file as it was; empty for a stream or device."""
        file = self.file
        if file is None or descriptor_of(file) is not None or (file.exists() and not file.is_file()):
            return ""
        return f"{file} was {'left unchanged' if file.exists() else 'not created'}"


def settings(schema: Schema, given: "OutputOptions", *, appended: bool = False) -> OutputSettings:
    """Return the output settings of a command with these rows.

    `appended`: later runs add to the output, if that is no terminal. Raises UsageError, also if the format cannot do
    that.
    """
    requested = ",".join(given.columns or ())
    shown = columns(schema, requested, given.no_check) if given.columns else schema.columns
    file, name = file_of(given), format_name(given)
    make = protocol.load(name)
    can, terminal = capabilities(make), on_terminal(file)
    if why := _refusal(schema, given, can, appended=appended, terminal=terminal):
        raise UsageError(f"{name} {why}")
    spec = OutputSpec(
        schema.command,
        shown,
        selected=bool(requested),
        height=height_of(schema),
        header=not given.no_header,
        flatten=given.flatten,
        terminal=terminal,
        width=terminal_width(),
        color=use_color(terminal=terminal),
        abbreviate=not given.no_trunc and (file is None or terminal or bool(stated_width())),
    )
    source = schema.program if any(column in schema.derived for column in shown) else ""
    return OutputSettings(name, make, can, file, requested, spec, source, schema.columns if given.typed else ())


def _refusal(schema: Schema, given: "OutputOptions", can: Capabilities, *, appended: bool, terminal: bool) -> str:
    """Return why a format cannot be used with the other options; empty if it can."""
    if appended and not terminal and not can.append:
        return "cannot be used with --checkpoint or --follow, which append rows"
    if (given.follow or (appended and terminal)) and not can.endless:
        return "needs a finished range and cannot be used with --follow or --checkpoint"
    if can.needs_heights and (height_of(schema) is None or schema.shape is Shape.ROW):
        return f"needs several rows with heights, and {schema.command} has none here"
    for option in ("no_header", "flatten", "typed"):
        if getattr(given, option) and not getattr(can, option):
            able = [one for one in protocol.BUILT_IN if getattr(capabilities(protocol.load(one)), option)]
            return f"cannot be combined with --{option.replace('_', '-')}, which needs {' or '.join(able)}"
    return "is binary and cannot be shown on a terminal: expected -o FILE" if terminal and can.binary else ""


def file_of(given: "OutputOptions") -> Path | None:
    """Return the file to write, None for standard output, which `-` and `/dev/stdout` name too.

    Raises UsageError, also for a file that the command reads, and OutputError.
    """
    name = given.output
    if name is None or name == "-" or descriptor_of(file := Path(name)) == 1:
        return None
    if name.endswith("/") and "://" not in name:
        raise OutputError(f"cannot write {printable(name)}: is a directory")
    if not name or "://" in name:
        raise UsageError(f"invalid --output {quoted(mask_url(name))}: expected the name of a file, or -")
    single = (getattr(given, name, None) for name in ("range", "cert"))
    several = (getattr(given, name, None) or () for name in ("words", "keys", "view_key_file"))
    for other in filter(None, chain(single, *several)):
        with suppress(OSError, ValueError):  # no such file, or a name that is too long
            if file.samefile(other):
                raise UsageError(f"the output {printable(name)} is a file that this command reads")
    return file


def format_name(given: "OutputOptions") -> str:
    """Return the name of the format: that of an option, else by the extension of the file, else of the environment;
    else it is a table on a terminal. Raises UsageError for several options."""
    flags = given.stated("csv", "json", "jsonl", "table", "text", "format")
    if len(flags) > 1:
        raise UsageError(f"{' and '.join(flags)} cannot be combined")
    if flags:
        return flags[0].removeprefix("--") if given.format is None else given.format
    file = file_of(given)
    if file and (extension := protocol.EXTENSIONS.get(file.suffix.lower())):
        return extension
    if name := os.environ.get("CHAINQ_FORMAT"):
        with in_variable("CHAINQ_FORMAT"):
            protocol.load(name)
    return name or ("table" if on_terminal(file) else "jsonl")


def as_json(given: "ReportOptions | ShowCommand") -> bool:
    """Return whether a helper prints JSON, as an option or the environment says."""
    return given.json or os.environ.get("CHAINQ_FORMAT") == "json"


def write(text: str) -> None:
    """Write a text to standard output. Raises OutputError and PipeClosed."""
    with open_sink(None) as sink:
        sink.write(text.encode())


def write_json(sink: Sink, value: bytes) -> None:
    """Write a JSON value as a line, on a terminal on several, indented. Raises OutputError and PipeClosed."""
    if on_terminal(None):
        from chainq.formats.json import indented

        value = indented(value, use_color(terminal=True))
    with signals_deferred():
        sink.write(value + b"\n")


def on_terminal(file: Path | None) -> bool:
    """Return whether the output is a terminal; `file` is None for standard output."""
    return file is None and os.isatty(1)


def use_color(*, terminal: bool) -> bool:
    """Return whether to use colors: as NO_COLOR says, else FORCE_COLOR, else on a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (terminal and os.environ.get("TERM") != "dumb")


def columns(schema: Schema, requested: str, no_check: bool) -> tuple[Column, ...]:
    """Return the columns that `--columns` requests, unless `--no-check` those of the catalogue. Raises UsageError."""
    from chainq.catalog.nested import column_by_end, selectable_column

    chosen: list[Column] = []
    for name in map(str.strip, requested.split(",")):
        if not name or not name.isprintable():
            raise UsageError(f"invalid --columns {quoted(requested)}: expected names with commas between")
        column = selectable_column(name, schema.selectable)
        column = column if column or no_check else column_by_end(name, schema.selectable)
        if name not in ALL and not (column or no_check):
            known = ", ".join(column.path for column in schema.selectable)
            raise UsageError(f"unknown column {quoted(name)}; the columns are {known}")
        some = schema.columns if name in ALL else (column or Column(name, "unknown"),)
        if twice := [column.path for column in some if column in chosen]:
            raise UsageError(f"column {twice[0]} is given twice")
        chosen += some
    return tuple(chosen)


def list_columns(command: str) -> None:
    """Print the columns of a command with their types and notes, and what selects members of their arrays."""
    from chainq.catalog.nested import members
    from chainq.catalog.owned import BALANCE, COMMAND, owned_schema
    from chainq.verify.findings import FINDINGS

    owned = owned_schema(records=True, plaintext=True, spends=True)
    method = {**BY_COMMAND, COMMAND: owned, "balance": BALANCE, "verify": FINDINGS}[command]
    rows = []
    for column in method.selectable:
        note = f"{column.type}{': ' * bool(column.note)}{column.note}"
        rows.append((f"{column.path}{' *' * bool(column.brief)}", note))
        rows += [(path, "") for path in members(column.path)]
    several = " of several rows" * (method.shape is not Shape.ROWS)  # a table of one row shows all
    write_names(rows, f"\n* shown in a table{several} by default\n")


def write_names(rows: Sequence[tuple[str, str]], note: str = "") -> None:
    """Print names with their texts, then a note; names are never broken, so that they can be copied."""
    room = terminal_width() if on_terminal(None) else ENDLESS
    if room - GAP - max(len(name) for name, _ in rows) < LEAST:  # a line of its own for each name
        lines = [
            line for name, text in rows for line in (name, *(f"  {part}" for part in wrap(text, room - 2) if part))
        ]
    else:
        lines = aligned(rows, room)
    write("".join(f"{line}\n" for line in lines) + note)
