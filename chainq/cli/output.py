"""Which format and columns are written where: from the options of a command to an `OutputSpec`."""

import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from chainq.catalog.methods import (
    Column,
    Method,
    Shape,
    height_of,
    is_charted,
)
from chainq.cli.report import Reporter
from chainq.errors import OutputError, UsageError
from chainq.formats import registry
from chainq.formats.protocol import Capabilities, Format, OutputSpec, Writer, capabilities
from chainq.sinks.base import Sink, unopened
from chainq.sinks.open import descriptor_of
from chainq.text.sanitize import mask_url, printable, quoted
from chainq.text.width import terminal_width, width_is_stated

if TYPE_CHECKING:
    from chainq.cli.options import OutputOptions

ALL = ("all", "*")
"""What `--columns` takes for every column."""
BEGINNING = 40  # rows that a table waits for, so that one header is above all of them
_WITH_HEADER = ("csv", "tsv")


class OutputSettings(NamedTuple):
    """What is written and where to.

    `format`: name of the format; `make`: the format itself; `can`: what it can do. `file`: the file to write, None for
    standard output. `requested`: the value of `--columns`, empty if it was not given. `stated`: an option
    states the format. `spec`: what the format needs to know. `source`: the column with the source text of a program
    whose ID is requested, too. `typed`: the columns that `--typed` reads, none without it.
    """

    format: str
    make: Format
    can: Capabilities
    file: Path | None
    requested: str
    stated: bool
    spec: OutputSpec
    source: str = ""
    typed: tuple[Column, ...] = ()

    @property
    def recorded_format(self) -> str:
        """Return what a checkpoint records as the format. A table is only looked at: other runs may write to a pipe."""
        return self.format if self.can.append else "jsonl"

    @property
    def has_header(self) -> bool:
        """Return whether the output begins with a header that an option leaves out."""
        return self.format in _WITH_HEADER and self.spec.header

    def begin(self, reporter: Reporter, sink: Sink, resumed: bool = False, **known: Any) -> Writer:
        """Return what writes rows to the sink. `resumed`, `known`: fields of `spec` that only the run knows."""
        spec = self.spec._replace(resumed=resumed, warn=reporter.warn, **known)
        writer = self.make(reporter.beside(sink), spec)
        if self.source or self.typed:
            from chainq.formats.changes import Changing, with_program_id, with_types

            writer = Changing(writer, with_program_id(self.source)) if self.source else writer
            writer = Changing(writer, with_types(self.typed)) if self.typed else writer
        return writer

    def run_again(self, keep: str) -> str:
        """Return what to do after a failure, which leaves the file as it was. `keep`: how to keep what came."""
        unchanged = self.unchanged
        return f"{unchanged}; run the command again{keep}" if unchanged else f"run the command again{keep}"

    @property
    def unchanged(self) -> str:
        """Return that a failure leaves the file as it was; empty for a device."""
        if self.file is not None and self.file.exists() and not self.file.is_file():
            return ""
        return f"{self.file} was {'left unchanged' if self.file and self.file.exists() else 'not created'}"

    def warn_odd(self, warn: Callable[[str], None]) -> None:
        """Warn of what is odd about the settings."""
        if self.file is None:
            return
        extension = self.file.suffix
        expected = registry.EXTENSIONS.get(extension.lower(), self.format)
        if expected != self.format and (expected != "text" or self.can.binary):
            warn(f"{self.file} contains {self.format}, but its extension is {extension}")


def settings(
    method: Method,
    given: "OutputOptions",
    *,
    appended: bool = False,
    endless: bool = False,
    no_check: bool | None = None,
    flatten: bool = False,
) -> OutputSettings:
    """Return the output settings of a method's command.

    `appended`: later runs add to the output, if that is no terminal; `endless`: it has no last row; `no_check`: as in
    `columns`; `flatten`: as in `OutputSpec`. Raises UsageError, also if the format cannot do that.
    """
    requested = ",".join(given.columns or ())
    if given.columns and not requested:
        raise UsageError("invalid --columns '': expected names of columns")
    shown = columns(method, requested, no_check)
    file = file_of(given)
    stated = _stated_format(given)
    name = format_name(given)
    make = registry.load(name)
    can = capabilities(make)
    shown_once = appended and on_terminal(file)
    if appended and not (can.append or shown_once):
        where = " in a pipe or redirection" if file is None else " or --follow for -o FILE"
        raise UsageError(f"{name} cannot be used with --checkpoint{where}: rows are appended")
    if (endless or shown_once) and not can.endless:
        option = "--follow" if endless else "--checkpoint"
        raise UsageError(f"{name} needs a finished range and cannot be used with {option}")
    if can.needs_heights and not is_charted(method):
        has = "none" if height_of(method) is None else "one row"
        raise UsageError(f"{name} needs rows with heights, and {method.command} has {has}")
    if given.no_header and name not in _WITH_HEADER:
        raise UsageError(f"--no-header needs csv or tsv, and the format is {name}")
    if flatten and name not in ("jsonl", "csv", "tsv"):  # the last two are flat already
        raise UsageError(f"--flatten needs jsonl, and the format is {name}")
    if given.typed and name not in ("jsonl", "json", "csv", "tsv"):
        raise UsageError(f"--typed needs json, jsonl or csv, and the format is {name}")
    height_only = name == "text" and method.shape is Shape.ROW and not requested  # of `latest`, for a shell variable
    if height_only:
        shown = tuple(column for column in shown if column.path == "height")
    spec = OutputSpec(
        method.command,
        shown,
        selected=bool(requested) or height_only,
        height=height_of(method),
        header=not given.no_header,
        flatten=flatten and name == "jsonl",
        terminal=on_terminal(file),
        width=terminal_width(),
        color=use_color(terminal=on_terminal(file)),
        abbreviate=not given.no_trunc and (file is None or on_terminal(file) or width_is_stated()),
    )
    if spec.terminal and can.binary:
        raise UsageError(f"{name} is binary and cannot be shown on a terminal: expected -o FILE")
    source = method.program if any(column in method.derived for column in shown) else ""
    typed = method.columns if given.typed else ()
    return OutputSettings(name, make, can, file, requested, stated is not None, spec, source, typed)


def file_of(given: "OutputOptions") -> Path | None:
    """Return the file to write, None for standard output, which `-` and `/dev/stdout` name too.

    Raises UsageError, also for a file that the command reads, and OutputError for what can only be a folder.
    """
    name = given.output
    if name is None or name == "-":
        return None
    if name == "":
        raise UsageError("invalid --output '': expected the name of a file, or - for standard output")
    check_name("--output", name)
    file = Path(name)
    if name.endswith("/") or not file.name:  # `.` has no name
        if file.is_dir():
            raise unopened(f"cannot write {printable(name)}", file, IsADirectoryError(0, "is a directory"))
        raise OutputError(f"cannot write {printable(name)}: the name of a folder, expected that of a file")
    if descriptor_of(file) == 1:
        return None
    _check_unread(file, given)
    return file


def _check_unread(file: Path, given: "OutputOptions") -> None:
    """Raise UsageError if an option or argument names the same file to be read; other links to it count."""
    named: list[Any] = [getattr(given, name, None) for name in ("range", "url", "lake", "cert")]
    for several in ("words", "keys", "view_key_file"):
        named += getattr(given, several, None) or ()
    for name in filter(None, named):
        with suppress(OSError, ValueError):  # no such file, or a name that is too long
            if file.samefile(name):
                raise UsageError(f"the output {printable(str(file))} is a file that this command reads")


def check_name(option: str, name: str) -> None:
    """Raise UsageError for a URL in place of the name of a file."""
    if re.match(r"([A-Za-z][A-Za-z0-9+.-]+):/", name):  # a Path has one slash left
        masked = mask_url(re.sub(":/+", "://", name, count=1))
        raise UsageError(f"invalid {option} {quoted(masked)}: expected the name of a file")


def format_name(given: "OutputOptions") -> str:
    """Return the name of the format of the output. Raises UsageError."""
    stated = _stated_format(given)
    return _default_format(file_of(given)) if stated is None else stated


def _stated_format(given: "OutputOptions") -> str | None:
    """Return the name of the format that an option states, None without one. Raises UsageError for several."""
    flag = one_switch(given, "csv", "json", "jsonl", "table", "text")
    if flag and given.format is not None and given.format != flag:
        raise UsageError(f"--{flag} and --format {printable(given.format)} cannot be combined")
    return flag or given.format


def one_switch(given: object, *names: str) -> str:
    """Return which of some switches is given, empty for none. Raises UsageError for several."""
    flags = [name for name in names if getattr(given, name)]
    if len(flags) > 1:
        raise UsageError(f"{' and '.join(f'--{name}' for name in flags)} cannot be combined")
    return flags[0] if flags else ""


def form_of(given: object, *names: str) -> str:
    """Return which of its forms a helper prints: that of a switch, else of CHAINQ_FORMAT if it has that one, else "".

    Raises UsageError, also for a format that no command has.
    """
    stated = one_switch(given, *names)
    variable = "" if stated else _variable()
    return variable if variable in names else stated


def _variable() -> str:
    """Return the format that the environment names, empty for none. Raises UsageError if it is unknown."""
    named = os.environ.get("CHAINQ_FORMAT", "")
    if named and named not in registry.BUILT_IN:
        try:
            registry.load(named)
        except UsageError as error:
            error.message = f"CHAINQ_FORMAT: {error.message}"
            raise
    return named


def _default_format(file: Path | None) -> str:
    """Return the name of the format if no option states one: by the extension of `file`, else by environment.

    Else it is a table on a terminal.
    """
    extension = registry.EXTENSIONS.get(file.suffix.lower()) if file else None
    return extension or _variable() or ("table" if on_terminal(file) else "jsonl")


def on_terminal(file: Path | None) -> bool:
    """Return whether the output is a terminal; `file` is None for standard output."""
    return file is None and os.isatty(1)


def use_color(*, terminal: bool) -> bool:
    """Return whether to use colors: as NO_COLOR says, else FORCE_COLOR, else on a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (terminal and os.environ.get("TERM") != "dumb")


def columns(method: Method, requested: str, no_check: bool | None) -> tuple[Column, ...]:
    """Return the columns that `--columns` requests, without `--no-check` only those of the catalogue.

    `no_check`: None for a command that has no such option. Raises UsageError.
    """
    if not requested:
        return method.columns
    from chainq.catalog.columns import column_by_end, selectable_column

    def found(name: str) -> Column | None:
        column = selectable_column(name, method.selectable)
        return column if column or no_check else column_by_end(name, method.selectable)

    chosen: list[Column] = []
    names = [path.strip() for path in requested.split(",")]
    if not all(names):
        raise UsageError(f"invalid --columns {quoted(requested)}: a column between two commas is empty")
    if odd := [name for name in names if not name.isprintable()]:
        raise UsageError(f"invalid column {quoted(odd[0])}: expected printable characters")
    if not no_check and (unknown := [name for name in names if name not in ALL and not found(name)]):
        known = ", ".join(column.path for column in method.selectable)
        raise UsageError(
            f"unknown column{'s' * (len(unknown) > 1)} {', '.join(map(quoted, unknown))}; the columns are {known}"
        )
    for name in names:
        some = method.columns if name in ALL else (found(name) or Column(name, "unknown"),)
        if twice := [column.path for column in some if column in chosen]:
            raise UsageError(f"column {twice[0]} is given twice" + (": all has it, too" if {*ALL} & {*names} else ""))
        chosen += some
    return tuple(chosen)
