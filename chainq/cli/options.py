"""The options that commands share, declared once: each class is one group of them.

A command has a class of its own, which inherits from its groups and adds its arguments: `build` declares them to Typer,
and gives the command an instance with what was parsed. No `from __future__ import annotations` here: Typer reads the
annotations.
"""

from collections.abc import Callable
from inspect import Parameter
from pathlib import Path
from typing import Any

from typer import Argument, Context, Exit, Option
from typer.models import ArgumentInfo, OptionInfo

from chainq.catalog.methods import Method
from chainq.defaults import CONCURRENCY, DEFAULT_LAST, INTERVAL, MAX_MEMORY, RETRIES, SETTLE, TIMEOUT

RANGE, FILTER, RESUME, OUTPUT, SERVICE = "Range", "Filter", "Resume and follow", "Output", "Service"
REQUIRED = Parameter.empty  # as a default
RANGE_HELP = "One height, A:B (without B), A: (through the tip), :B, or latest."
MAX_AGE_HELP = "Exit with code 8 if the tip is older: 10m, 2h, 7d."
HASHES_HELP = "Recompute and compare block hashes."
JSONL_HELP = "One JSON object per line."
CSV_HELP = "CSV with a header (RFC 4180)."
NO_TRUNC_HELP = "Do not abbreviate values."
INTERVAL_HELP = f"Seconds between polls.  [default: {INTERVAL:g}]"
LAG_HELP = "Leave out the last N blocks."
HEIGHTS_HELP = "Heights, ranges A:B, -100: (the last 100), latest, or - for stdin, one per line."


def _list_columns(context: Context, values: list[str] | None) -> list[str] | None:
    """Print the columns of the command and end, if one of them is `help`: before arguments are asked for."""
    if values and "help" in values and not context.resilient_parsing:
        from chainq.cli.list_columns import list_columns

        list_columns(str(context.info_name))
        raise Exit
    return values


class Declared:
    """An option or argument as an attribute of a group: its default, where an instance has no parsed value."""

    def __init__(self, info: OptionInfo | ArgumentInfo, default: Any) -> None:
        self.info, self.default = info, default

    def __set_name__(self, group: type, name: str) -> None:
        if isinstance(self.info, OptionInfo) and not self.info.param_decls:
            self.info.param_decls = (f"--{name.replace('_', '-')}",)

    def __get__(self, *_: object) -> Any:
        return self.default


def option(
    metavar: str, text: str, default: Any = None, *, names: str = "", heading: str | None = None, **more: Any
) -> Any:
    """Declare an option.

    `names`: with blanks between, if they are not that of the attribute alone; `heading`: of the help, if it is not that
    of the group; `more`: as Typer's `Option` takes it.
    """
    more = {"metavar": metavar or None, "rich_help_panel": heading, "help": text, **more}
    return Declared(Option(..., *names.split(), **more), default)


def processes(most: int | None = 256) -> Any:
    """Declare `--workers`."""
    return option("N", "Worker processes. Default: one per core.", names="--workers -w", min=1, max=most)


def switch(text: str, *, default: bool = False, names: str = "", heading: str | None = None) -> Any:
    """Declare an option without a value."""
    return option("", text, default, names=names, heading=heading)


def argument(metavar: str, text: str, default: Any = REQUIRED) -> Any:
    """Declare an argument, by its name in the usage line."""
    return Declared(Argument(metavar=metavar, help=text), default)


class Group:
    """Options and arguments as annotated attributes; an instance has the values of a run.

    `of`: whether the command of a method has them. `heading`: of its own options in the help.
    """

    of: Callable[[Method], bool] = staticmethod(lambda _: True)

    def __init_subclass__(cls, of: Callable[[Method], bool] = of, heading: str = "") -> None:
        cls.of = staticmethod(of)
        for declared in vars(cls).values():
            if isinstance(declared, Declared) and isinstance(declared.info, OptionInfo):
                own = declared.info.rich_help_panel
                declared.info.rich_help_panel = (heading if own is None else own) or None

    def __init__(self, **parsed: Any) -> None:
        vars(self).update(parsed)


def last_blocks(*, whole: bool = False, required: bool = False) -> Any:
    """Declare `--last`. `whole`: without a range, the command reads the whole chain. `required`: it needs one."""
    if required:
        return option("N", "The last N blocks.", names="--last", heading=RANGE)
    default = "the whole chain" if whole else f"the last {DEFAULT_LAST} blocks"
    return option("N", f"The last N blocks. Default: {default}.", names="--last", heading=RANGE)


class RangeOptions(Group, of=lambda method: method.ranged or method.listed, heading=RANGE):
    """Which heights."""

    start: str | None = option("H", "First height; -100: the last 100 blocks.")
    end: str | None = option("H", "End height, exclusive. Default: through the tip.")
    last: str | None = last_blocks()
    since: str | None = option("T", "First block time (UTC): 2024-06-02T11:36, yesterday or 2h.")
    until: str | None = option("T", "End block time (UTC), exclusive; also today or now.")

    def given_bounds(self) -> list[str]:
        """Return the options of a range that were given."""
        return [f"--{name}" for name in RangeOptions.__annotations__ if getattr(self, name) is not None]


class RangeArgument(Group, of=lambda method: method.ranged):
    """The heights in one word."""

    range: str | None = argument("[RANGE]", RANGE_HELP, None)


class OrderOptions(Group, of=lambda method: method.ranged, heading=RANGE):
    """In which order."""

    reverse: bool = switch("Highest heights first.")


class LimitOptions(Group, of=lambda method: method.ranged or method.sized or method.filtered, heading=RANGE):
    """How many rows."""

    limit: int | None = option("N", "Stop after N rows.", min=0)


class PageOptions(Group, of=lambda method: method.sized, heading=RANGE):
    """One page as the service sends it."""

    page: int | None = option("N", "Print one page of one request, unverified.", min=0)


class PageSizeOptions(Group, of=lambda method: method.sized, heading=RANGE):
    """The page size of the service."""

    page_size: int | None = option("N", "Initial page size.", min=1)


class NewestOptions(Group, of=lambda method: method.sized and not method.ranged, heading=RANGE):
    """Reading a list without heights from its end."""

    newest: bool = switch("The newest rows first, as many as --limit.")


class VerifyOptions(Group, of=lambda method: method.linked, heading=RANGE):
    """Verification of the chain."""

    no_verify: bool = switch("Skip the check for missing and unlinked blocks.")
    hashes: bool = switch(HASHES_HELP)
    workers: int | None = processes()


class CallFilterOptions(Group, of=lambda method: bool(method.program), heading=FILTER):
    """Which rows, by what was called."""

    of_program: list[str] | None = option("ID", "Rows of this program; repeat it for several.", names="--program")
    of_function: list[str] | None = option("NAME", "Rows of this function; repeat it for several.", names="--function")


def where(condition: str) -> Any:
    """Declare `--where`, with an example."""
    return option(
        "EXPRESSION",
        f"Rows that meet a condition: '{condition}'. Operators: = != < <= > >= ~ !~ and or not ( ).",
        names="--where",
        heading=FILTER,
    )


class FilterOptions(Group, of=lambda method: method.filtered):
    """Which rows, by any field. The example is that of the method (`Method.condition`)."""

    where: list[str] | None = where("height > 5")


class CheckpointOptions(Group, of=lambda method: method.ranged, heading=RESUME):
    """Where an incremental run records how far it came."""

    checkpoint: Path | None = option("FILE", "Resume the last run; start the first at --start or 0.")


class ResumeOptions(Group, of=lambda method: method.ranged, heading=RESUME):
    """Incremental runs."""

    lag: int | None = option(
        "N", f"Stay N blocks below the tip: a service may add rows late.  [default: {SETTLE}]", min=0
    )
    rewind: int | None = option("N", "Fetch the last N or more blocks again.", min=1)
    max_age: str | None = option("AGE", MAX_AGE_HELP)
    follow: bool = switch("Keep running and print new blocks.", names="--follow -f")
    interval: float | None = option("SECONDS", INTERVAL_HELP, min=0.01)


class AgeOptions(Group, of=lambda method: not method.params, heading=SERVICE):
    """How old the tip may be, for a command that prints it once."""

    max_age: str | None = option("AGE", MAX_AGE_HELP)


def output_format(*, chart: bool) -> Any:
    """Declare `--format`. `chart`: the rows of the command have heights, which a chart needs."""
    return option(
        "NAME",
        f"table, jsonl, json, csv, tsv, text, parquet{', chart' * chart}. Default: table, or jsonl in a pipe.",
        names="--format",
        heading=OUTPUT,
    )


class OutputOptions(Group, heading=OUTPUT):
    """What is written, and where to."""

    format: str | None = output_format(chart=True)
    table: bool = switch("Human-readable table.")
    jsonl: bool = switch(JSONL_HELP)
    json: bool = switch("A JSON array, or an object if the result is one.")
    csv: bool = switch(CSV_HELP)
    text: bool = switch("Values only, separated by tabs, one row per line.")
    no_header: bool = switch("csv or tsv without its header.")
    columns: list[str] | None = option(
        "A,B.C",
        "Columns; `--columns help` lists them.",
        callback=_list_columns,
        is_eager=True,
    )
    no_trunc: bool = switch(NO_TRUNC_HELP)
    typed: bool = switch("json, jsonl and csv with numbers, and times as RFC 3339.")
    output: str | None = option("FILE", "Output file; its extension selects the format.", names="--output -o")


class FlattenOptions(Group, heading=OUTPUT):
    """Whether jsonl has nested objects."""

    flatten: bool = switch("jsonl with a key for each column (b.c).")


class ServiceFlags(Group, heading=SERVICE):
    """Where the data comes from, and how it is requested.

    `profile_first`: `--profile` is on the command line, and the URL comes from the environment.
    """

    profile_first = False

    url: str | None = option("URL", "Service, or folder or URL of an export; demo: is a sample.", envvar="CHAINQ_URL")
    profile: str | None = option("NAME", "Profile from config.toml.", envvar="CHAINQ_PROFILE")
    dialect: str | None = option("NAME", "chain, aleo, or auto to detect it.  [default: auto]")
    timeout: float | None = option("SECONDS", f"Seconds per request.  [default: {TIMEOUT:g}]")
    deadline: str | None = option("DURATION", "Exit with code 4 if it takes longer: 90s, 10m, 2h.")
    retries: int | None = option("N", f"Retries for transient failures.  [default: {RETRIES}]", min=0)
    concurrency: int = option("N", "Parallel requests.", CONCURRENCY, names="--concurrency -j", min=1, max=64)
    max_memory: str = option("SIZE", "Memory for responses: 512M, 2G.", f"{MAX_MEMORY // 2**30}G")
    rate: float | None = option("N", "Maximum requests per second.")
    header: list[str] | None = option("'NAME: VALUE'", "HTTP header; VALUE may be env:VARIABLE.")
    cert: str | None = option("FILE[:KEY]", "Client certificate (PEM), and its key.")
    quiet: bool = switch("Suppress all but errors and warnings about rows.", names="--quiet -q", heading="")
    verbose: bool = switch("Log every request to stderr.", names="--verbose -v", heading="")
    log_format: str = option("text|json", "Format of the lines on stderr.", "text", heading="")


class LakeOptions(Group, of=lambda method: method.stored, heading=SERVICE):
    """What need not be requested."""

    lake: str | None = option("DEST", "Read what an export in DEST contains from there.")


class CheckOptions(Group, heading=SERVICE):
    """Whether arguments are checked before they are sent."""

    no_check: bool = switch("Skip argument checks.")


class StrictOptions(Group, of=lambda method: method.ranged or method.sized, heading=SERVICE):
    """Which proof of completeness is enough."""

    strict: bool = switch("Exit with code 6 before rows without proof.")


class RequestOptions(Group, heading=SERVICE):
    """Whether the requests of a command are sent."""

    dry_run: bool = switch("Print the requests as JSON Lines and send none.", heading="")


class ReportOptions(Group):
    """How a helper prints its result."""

    json: bool = switch("JSON instead of a table.")


class MethodOptions(
    RangeArgument,
    RangeOptions,
    OrderOptions,
    LimitOptions,
    PageOptions,
    PageSizeOptions,
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

    heights: list[str] = argument("HEIGHT...", HEIGHTS_HELP)
    ids: list[str] = argument("ID...", "Transaction IDs (at1...), or - to read IDs from stdin, one per line.")
    program: str = argument("PROGRAM", "Program ID, such as credits.aleo.", "")
    function: str = argument("FUNCTION", "Function name, such as transfer_public.", "")
    address: str = argument("ADDRESS", "Address, with the prefix of its network.", "")
