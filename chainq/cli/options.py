"""The options that commands share, declared once: each class is one group of them.

A command has a class of its own, which inherits from its groups and adds its arguments: `commands` declares them to
Typer, and gives the command an instance with what was parsed. No `from __future__ import annotations` here: Typer reads
the annotations.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from inspect import Parameter
from pathlib import Path
from typing import Any, Literal, NamedTuple

from typer import Argument, BadParameter, Context, Exit, Option
from typer.models import ArgumentInfo, OptionInfo

from chainq.catalog.methods import Method
from chainq.config.values import header, memory
from chainq.defaults import CONCURRENCY, INTERVAL, MAX_MEMORY, RETRIES, SETTLE, TIMEOUT
from chainq.errors import UsageError
from chainq.formats.protocol import BUILT_IN
from chainq.heights.block_time import parse_age
from chainq.heights.bounds import HIGHEST, parse_height
from chainq.text.sanitize import quoted

RANGE, FILTER, RESUME, OUTPUT, SERVICE = "Range", "Filter", "Resume and follow", "Output", "Service"
REQUIRED = Parameter.empty  # as a default
RANGE_HELP = "One height, A:B (without B), A: (through the tip), :B, or latest."
HASHES_HELP = "Recompute and compare block hashes."
NO_TRUNC_HELP = "Do not abbreviate values."
MAX_AGE = partial(parse_age, option="max-age")


def _list_columns(context: Context, values: list[str] | None) -> list[str] | None:
    """Print the columns of the command and end, if one of them is `help`: before arguments are asked for."""
    if values and "help" in values and not context.resilient_parsing:
        from chainq.cli.output import list_columns

        list_columns(str(context.info_name))
        raise Exit
    return values


class Declared(NamedTuple):
    """An option or argument of a group. `common`: whether `--help` shows it also of a command with many options."""

    info: OptionInfo | ArgumentInfo
    default: Any
    common: bool = True


def option(
    metavar: str,
    text: str,
    default: Any = None,
    *,
    names: str = "",
    common: bool = False,
    least: float | None = None,
    most: float | None = None,
    **more: Any,
) -> Any:
    """Declare an option.

    `names`: with blanks between, if they are not that of the attribute alone; `common`: as in `Declared`; `least`,
    `most`: of a number; `more`: as Typer's `Option` takes it.
    """
    if least is not None:
        more["parser"] = partial(_number, least, most)
    return Declared(Option(..., *names.split(), metavar=metavar or None, help=text, **more), default, common)


def _number(least: float, most: float | None, text: Any) -> float:
    """Return the value of an option: a fraction if `least` is one, else a whole number, written as heights are."""
    most = HIGHEST if most is None else most
    with suppress(UsageError, ValueError):
        text = str(text)  # a default is a number already
        value = float(text) if isinstance(least, float) else int(text) if text.startswith("-") else parse_height(text)
        if least <= value <= most:
            return value
    raise BadParameter(f"{quoted(text)}, expected a number from {least:g} to {most:.16g}")


def processes() -> Any:
    """Declare `--workers`."""
    return option("N", "Worker processes. Default: one per core.", names="--workers -w", least=1)


def switch(text: str, *, default: bool = False, **more: Any) -> Any:
    """Declare an option without a value; `more`: as `option` takes it."""
    return option("", text, default, **more)


def argument(metavar: str, text: str, default: Any = REQUIRED) -> Any:
    """Declare an argument, by its name in the usage line."""
    return Declared(Argument(metavar=metavar, help=text), default)


TOOLS: dict[str, type["Group"]] = {}
"""All commands but those of methods, in the order of `--help`."""


class Group:
    """Options and arguments as annotated attributes; an instance has the values of a run.

    `of`: whether the command of a method has them. `heading`: of its own options in the help. Of the class of a tool:
    `command`, its name, and `without`, the names of options that it does not have; its docstring is its help, and ends
    with examples.
    """

    without: tuple[str, ...] = ()
    of: Callable[[Method], bool] = staticmethod(lambda _: True)

    def __init_subclass__(cls, of: Callable[[Method], bool] = of, heading: str = "", command: str = "") -> None:
        cls.of = staticmethod(of)
        for name, declared in vars(cls).items():
            if isinstance(declared, Declared) and isinstance(info := declared.info, OptionInfo):
                info.param_decls = info.param_decls or (_written(name),)
                info.rich_help_panel = heading or None
        if command:
            TOOLS[command] = cls

    def __init__(self, **parsed: Any) -> None:
        vars(self).update({name: one.default for _, name, one in self.declared()} | parsed)

    @classmethod
    def declared(cls) -> Iterator[tuple[type["Group"], str, Declared]]:
        """Yield the options and arguments, each with the group that declares it and its name."""
        for group in cls.__mro__:
            if issubclass(group, Group):
                yield from ((group, name, one) for name, one in vars(group).items() if isinstance(one, Declared))

    def stated(self, *fields: str) -> list[str]:
        """Return those of these options that have another value than their default, as they are written."""
        return [_written(name) for name in fields if getattr(self, name) != getattr(type(self), name).default]

    def exclude(self, field: str, *others: str) -> None:
        """Raise UsageError if an option is given, and one of the others is too."""
        if (one := self.stated(field)) and (more := self.stated(*others)):
            raise UsageError(f"{one[0]} cannot be combined with {' or '.join(more)}")

    def require(self, field: str, *others: str) -> None:
        """Raise UsageError if an option is given, and none of the others is."""
        if (one := self.stated(field)) and not self.stated(*others):
            raise UsageError(f"{one[0]} needs {' or '.join(map(_written, others))}")


def _written(name: str) -> str:
    """Return the name of a field as an option."""
    return f"--{name.replace('_', '-')}"


class RangeOptions(Group, of=lambda method: method.ranged or method.listed, heading=RANGE):
    """Which heights."""

    start: str | None = option("H", "First height; -100 begins 100 blocks before the end.", common=True)
    end: str | None = option("H", "End height, exclusive. Default: through the tip.", common=True)
    last: str | None = option("N", "The last N blocks.", common=True)
    since: str | None = option("T", "First block time (UTC): 2024-06-02T11:36, yesterday or 2h.", common=True)
    until: str | None = option("T", "End block time (UTC), exclusive; also today or now.")

    def given_bounds(self) -> list[str]:
        """Return the options of a range that were given."""
        return self.stated(*RangeOptions.__annotations__)


class RangedOptions(Group, of=lambda method: method.ranged, heading=RANGE):
    """The heights in one word, and their order."""

    range: str | None = argument("[RANGE]", RANGE_HELP, None)
    reverse: bool = switch("Highest heights first.", common=True)


class LimitOptions(Group, of=lambda method: method.ranged or bool(method.page_size or method.condition), heading=RANGE):
    """How many rows."""

    limit: int | None = option("N", "Stop after N rows.", least=0, common=True)


class PageOptions(Group, of=lambda method: bool(method.page_size), heading=RANGE):
    """The pages of the service."""

    page: int | None = option("N", "Print one page of one request, unverified.", least=0)
    page_size: int | None = option("N", "Initial page size.", least=1)


class NewestOptions(Group, of=lambda method: bool(method.page_size) and not method.ranged, heading=RANGE):
    """Reading a list without heights from its end."""

    newest: bool = switch("The newest rows first, as many as --limit.")


class VerifyOptions(Group, of=lambda method: method.linked, heading=RANGE):
    """Verification of the chain."""

    no_verify: bool = switch("Skip the check for missing and unlinked blocks.")
    hashes: bool = switch(HASHES_HELP)
    workers: int | None = processes()


class CallFilterOptions(Group, of=lambda method: bool(method.program), heading=FILTER):
    """Which rows, by what was called."""

    of_program: list[str] | None = option("ID", "Rows of these programs.", names="--program", common=True)
    of_function: list[str] | None = option("NAME", "Rows of these functions.", names="--function", common=True)


class FilterOptions(Group, of=lambda method: bool(method.condition), heading=FILTER):
    """Which rows, by any field."""

    where: list[str] | None = option(
        "EXPRESSION",
        "Rows that meet a condition: '{method.condition}'. Operators: = != < <= > >= ~ !~ and or not ( ).",
        common=True,
    )


class CheckpointOptions(Group, of=lambda method: method.ranged, heading=RESUME):
    """Where an incremental run records how far it came."""

    checkpoint: Path | None = option("FILE", "Resume the last run; start the first at --start or 0.", common=True)


class ResumeOptions(Group, of=lambda method: method.ranged, heading=RESUME):
    """Incremental runs."""

    lag: int | None = option("N", f"Stay N blocks below the tip.  [default: {SETTLE}]", least=0)
    rewind: int | None = option("N", "Fetch the last N or more blocks again.", least=1)
    follow: bool = switch("Keep running and print new blocks.", names="--follow -f", common=True)
    interval: float | None = option("SECONDS", f"Seconds between polls.  [default: {INTERVAL:g}]", least=0.01)


class AgeOptions(Group, of=lambda method: method.ranged or not method.params, heading=SERVICE):
    """How old the tip may be."""

    max_age: float | None = option("AGE", "Exit with code 8 if the tip is older: 10m, 2h, 7d.", parser=MAX_AGE)


class OutputOptions(Group, heading=OUTPUT):
    """What is written, and where to."""

    flatten = follow = no_check = False  # of a command without these options
    format: str | None = option("NAME", f"{', '.join(BUILT_IN)}. Default: table, or jsonl in a pipe.", common=True)
    table: bool = switch("Human-readable table.")
    jsonl: bool = switch("One JSON object per line.")
    json: bool = switch("A JSON array, or an object if the result is one.")
    csv: bool = switch("CSV with a header (RFC 4180).")
    text: bool = switch("Values only, separated by tabs, one row per line.")
    no_header: bool = switch("csv or tsv without its header.")
    columns: list[str] | None = option(
        "A,B.C", "Columns; `--columns help` lists them.", callback=_list_columns, is_eager=True, common=True
    )
    no_trunc: bool = switch(NO_TRUNC_HELP)
    typed: bool = switch("json, jsonl and csv with numbers, and times as RFC 3339.")
    output: str | None = option(
        "FILE", "Output file; its extension selects the format.", names="--output -o", common=True
    )


class FlattenOptions(Group, heading=OUTPUT):
    """Whether jsonl has nested objects."""

    flatten: bool = switch("jsonl with a key for each column (b.c).")


class LogOptions(Group):
    """What stderr shows."""

    quiet: bool = switch("Suppress all but errors and warnings about rows.", names="--quiet -q")
    verbose: bool = switch("Log every request to stderr.", names="--verbose -v")
    log_format: Literal["text", "json"] = option("text|json", "Format of the lines on stderr.", "text")


class ServiceFlags(LogOptions, heading=SERVICE):
    """Where the data comes from, and how it is requested."""

    lake: str | None = None  # of a command without these options
    strict = follow = False
    url: str | None = option("URL", "Service, or an export; demo: is a sample.  [env var: CHAINQ_URL]", common=True)
    profile: str | None = option("NAME", "Profile from config.toml.  [env var: CHAINQ_PROFILE]", common=True)
    dialect: Literal["auto", "chain", "aleo"] | None = option("NAME", "chain, aleo, or auto to detect it.")
    timeout: float | None = option("SECONDS", f"Seconds per request.  [default: {TIMEOUT:g}]", least=1e-6, most=1e6)
    deadline: str | None = option("DURATION", "Exit with code 4 if it takes longer: 90s, 10m, 2h.")
    retries: int | None = option("N", f"Retries for transient failures.  [default: {RETRIES}]", least=0)
    concurrency: int = option("N", "Parallel requests.", CONCURRENCY, names="--concurrency -j", least=1, most=64)
    max_memory: int | None = option("SIZE", f"Memory for responses.  [default: {MAX_MEMORY >> 30}G]", parser=memory)
    rate: float | None = option("N", "Maximum requests per second.", least=1e-6, most=1e6)
    header: list[Any] | None = option(  # of pairs, which Typer cannot have in a list
        "'NAME: VALUE'", "HTTP header; VALUE may be env:VARIABLE.", parser=partial(header, of="--header")
    )
    cert: str | None = option("FILE[:KEY]", "Client certificate (PEM), and its key.")


class LakeOptions(Group, of=lambda method: method.stored, heading=SERVICE):
    """What need not be requested."""

    lake: str | None = option("DEST", "Read what an export in DEST contains from there.", "", show_default=False)


class CheckOptions(Group, heading=SERVICE):
    """Whether arguments are checked before they are sent."""

    no_check: bool = switch("Skip argument checks.")


class StrictOptions(Group, of=lambda method: method.ranged or bool(method.page_size), heading=SERVICE):
    """Which proof of completeness is enough."""

    strict: bool = switch("Exit with code 6 before rows without proof.")


class RequestOptions(Group):
    """Whether the requests of a command are sent."""

    dry_run: bool = switch("Print the requests as JSON Lines and send none.")


class ReportOptions(Group):
    """How a helper prints its result."""

    json: bool = switch("JSON instead of text.")


class MethodOptions(
    RangeOptions,
    RangedOptions,
    LimitOptions,
    PageOptions,
    NewestOptions,
    VerifyOptions,
    CallFilterOptions,
    FilterOptions,
    CheckpointOptions,
    ResumeOptions,
    OutputOptions,
    FlattenOptions,
    ServiceFlags,
    LakeOptions,
    AgeOptions,
    CheckOptions,
    StrictOptions,
    RequestOptions,
):
    """What the command of a method may be given, in the order of its help; what it does not have keeps its default."""

    heights: list[str] = argument("HEIGHT...", "Heights, ranges A:B, latest, or - for stdin, one per line.", [])
    ids: list[str] = argument("ID...", "Transaction IDs (at1...), or - to read IDs from stdin, one per line.")
    program: str = argument("PROGRAM", "Program ID, such as credits.aleo.")
    function: str = argument("FUNCTION", "Function name, such as transfer_public.")
    address: str = argument("ADDRESS", "Address, with the prefix of its network.")
