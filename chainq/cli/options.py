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

from chainq.catalog.methods import Method, Role
from chainq.defaults import CONCURRENCY, INTERVAL, MAX_MEMORY, RETRIES, TIMEOUT

RANGE, FILTER, RESUME, OUTPUT, SERVICE = "Range", "Filter", "Resume and follow", "Output", "Service"
REQUIRED = Parameter.empty  # as a default
RANGE_HELP = "One height, A:B (without B), A: (through the tip), :B, or latest."


def _list_columns(context: Context, values: list[str] | None) -> list[str] | None:
    """Print the columns of the command and end, if one of them is `help`: before arguments are asked for."""
    if values and "help" in values and not context.resilient_parsing:
        from chainq.cli import output

        output.list_columns(str(context.info_name))
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


def option(heading: str, metavar: str, text: str, default: Any = None, *, names: str = "", **more: Any) -> Any:
    """Declare an option under a heading of the help.

    `names`: with blanks between, if they are not that of the attribute alone; `more`: as Typer's `Option` takes it.
    """
    more = {"metavar": metavar or None, "rich_help_panel": heading or None, "help": text, **more}
    return Declared(Option(..., *names.split(), **more), default)


def processes(heading: str, text: str) -> Any:
    """Declare `--workers`."""
    return option(heading, "N", text, names="--workers -w", min=1, max=256)


def switch(heading: str, text: str, *, default: bool = False, names: str = "") -> Any:
    """Declare an option without a value."""
    return option(heading, "", text, default, names=names)


def argument(metavar: str, text: str, default: Any = REQUIRED) -> Any:
    """Declare an argument, by its name in the usage line."""
    return Declared(Argument(metavar=metavar, help=text), default)


class Group:
    """Options and arguments as annotated attributes; an instance has the values of a run.

    `of`: whether the command of a method has them.
    """

    of: Callable[[Method], bool] = staticmethod(lambda _: True)

    def __init_subclass__(cls, of: Callable[[Method], bool] = of) -> None:
        cls.of = staticmethod(of)

    def __init__(self, **parsed: Any) -> None:
        vars(self).update(parsed)


class RangeOptions(Group, of=lambda method: method.ranged):
    """Which heights."""

    start: str | None = option(RANGE, "H", "First height; -100: the last 100 blocks.")
    end: str | None = option(RANGE, "H", "End height, exclusive. Default, and latest: through the tip.")
    last: str | None = option(RANGE, "N", "The last N blocks.")
    since: str | None = option(
        RANGE,
        "T",
        "First block time: 2024-06-02T11:36Z, yesterday or 2h.\fAlso 2024-06-02, '2 hours ago' or Unix seconds.",
    )
    until: str | None = option(RANGE, "T", "End block time, exclusive.")

    def given_bounds(self) -> list[str]:
        """Return the options of a range that were given."""
        return [f"--{name}" for name in RangeOptions.__annotations__ if getattr(self, name) is not None]


class RangeArgument(Group, of=lambda method: method.ranged):
    """The heights in one word."""

    range: str | None = argument("[RANGE]", RANGE_HELP, None)


class OrderOptions(Group, of=lambda method: method.ranged):
    """In which order."""

    reverse: bool = switch(RANGE, "Highest heights first.")


class LimitOptions(Group, of=lambda method: method.ranged or method.sized or method.filtered):
    """How many rows."""

    limit: int | None = option(RANGE, "N", "Stop after N rows.", min=0)


class PageOptions(Group, of=lambda method: method.sized):
    """One page as the service sends it."""

    page: int | None = option(RANGE, "N", "Print one page of one request, unverified.", min=0)


class PageSizeOptions(Group, of=lambda method: method.sized):
    """The page size of the service."""

    page_size: int | None = option(RANGE, "N", "Initial page size.", min=1)


class NewestOptions(Group, of=lambda method: method.sized and not method.ranged):
    """Reading a list without heights from its end."""

    newest: bool = switch(RANGE, "The newest rows first, as many as --limit.")


class VerifyOptions(Group, of=lambda method: method.linked):
    """Verification of the chain."""

    no_verify: bool = switch(RANGE, "Skip the check for missing and unlinked blocks.")
    hashes: bool = switch(RANGE, "Recompute block hashes.\fExit with code 6 before the first wrong row.")
    workers: int | None = processes(RANGE, "Processes that recompute hashes.\fDefault: one per core.")


class CallFilterOptions(Group, of=lambda method: bool(method.program)):
    """Which rows, by what was called."""

    of_program: list[str] | None = option(
        FILTER,
        "ID",
        "Print the rows of this program, such as credits.aleo.\fA row may be of any that is given.",
        names="--program",
    )
    of_function: list[str] | None = option(
        FILTER, "NAME", "Print the rows of this function.\fA row may be of any that is given.", names="--function"
    )


def where(condition: str) -> Any:
    """Declare `--where`, with an example."""
    return option(
        FILTER,
        "EXPRESSION",
        f"Print rows with '{condition}'. Operators: = != < <= > >= ~ !~ and or not ( ).\f"
        "~ and !~ are regular expressions. A row must meet every condition that is given.",
        names="--where",
    )


class FilterOptions(Group, of=lambda method: method.filtered):
    """Which rows, by any field. The example is that of the method (`Method.condition`)."""

    where: list[str] | None = where("height > 5")


class CheckpointOptions(Group, of=lambda method: method.ranged):
    """Where an incremental run records how far it came."""

    checkpoint: Path | None = option(RESUME, "FILE", "Resume where the last run ended.")


class ResumeOptions(Group, of=lambda method: method.ranged):
    """Incremental runs."""

    lag: int = option(RESUME, "N", "Leave out the last N blocks.", 0, min=0)
    rewind: int | None = option(RESUME, "N", "Fetch the last N or more blocks again.\fThe run then resumes.", min=1)
    adopt: bool = switch(RESUME, "Without a checkpoint, resume 10 heights back in -o FILE.")
    max_age: str | None = option(RESUME, "AGE", "Exit with code 6 if the tip is older: 10m, 2h, 7d.")
    follow: bool = switch(RESUME, "Keep running and print new blocks.", names="--follow -f")
    interval: float | None = option(RESUME, "SECONDS", f"Seconds between polls.  [default: {INTERVAL:g}]", min=0.01)


class AgeOptions(Group, of=lambda method: not method.params):
    """How old the tip may be, for a command that prints it once."""

    max_age: str | None = option(SERVICE, "AGE", "Exit with code 6 if the tip is older: 10m, 2h, 7d.")


class ColorOptions(Group):
    """Colors, for all commands that use them."""

    color: str = option(OUTPUT, "auto|always|never", "When to use colors.", "auto")


class OutputOptions(ColorOptions):
    """What is written, and where to."""

    format: str | None = option(
        OUTPUT,
        "NAME",
        "table, jsonl, json, csv, tsv, text, chart, parquet. Default: table, or jsonl in a pipe.\f"
        "Or a format of a plug-in. The extension of FILE and CHAINQ_FORMAT take precedence over the default.",
    )
    table: bool = switch(OUTPUT, "Human-readable table.")
    jsonl: bool = switch(OUTPUT, "One JSON object per line, as the service sent it.")
    json: bool = switch(OUTPUT, "One JSON array, or one object.")
    csv: bool = switch(OUTPUT, "CSV with a header (RFC 4180).")
    text: bool = switch(OUTPUT, "Values only, separated by tabs, one row per line.")
    no_header: bool = switch(OUTPUT, "csv or tsv without its header.")
    columns: list[str] | None = option(
        OUTPUT,
        "A,B.C",
        "Columns, such as a,b.c; `help` lists them.\fAlso a.b[].c of the items of an array, or `all`.",
        callback=_list_columns,
        is_eager=True,
    )
    no_trunc: bool = switch(OUTPUT, "Do not abbreviate values.")
    output: str | None = option(
        OUTPUT,
        "FILE",
        "Output file; its extension selects the format.\fIt is replaced when it is complete.",
        names="--output -o",
    )


class ReceiptOptions(Group):
    """What is written beside a file."""

    receipt: bool = switch(
        OUTPUT, "Write FILE.receipt.json for chainq verify FILE.\fIt contains the range, the row count and the SHA-256."
    )


class FlattenOptions(Group):
    """Whether jsonl has nested objects."""

    flatten: bool = switch(OUTPUT, "jsonl with a key for each column (b.c).\fNested objects become keys, too.")


class DetailOptions(Group, of=lambda method: method.param(Role.ADDRESS) is not None):
    """What a table adds to the rows."""

    no_details: bool = switch(OUTPUT, "Do not look up the transactions of a table.")


class ServiceFlags(Group):
    """Where the data comes from, and how it is requested.

    `profile_first`: `--profile` is on the command line, and the URL comes from the environment.
    """

    profile_first = False

    url: str | None = option(
        SERVICE,
        "URL",
        "URL of the service, or folder or URL of an export; demo: is a built-in sample.",
        envvar="CHAINQ_URL",
    )
    profile: str | None = option(SERVICE, "NAME", "Profile from config.toml.", envvar="CHAINQ_PROFILE")
    dialect: str | None = option(SERVICE, "NAME", "chain, aleo, or auto to detect the dialect.  [default: auto]")
    timeout: float | None = option(SERVICE, "SECONDS", f"Seconds per request.  [default: {TIMEOUT:g}]")
    deadline: str | None = option(SERVICE, "AGE", "Exit with code 4 if it takes longer: 90s, 10m, 2h.")
    retries: int | None = option(SERVICE, "N", f"Retries for transient failures.  [default: {RETRIES}]", min=0)
    concurrency: int = option(SERVICE, "N", "Parallel requests.", CONCURRENCY, names="--concurrency -j", min=1, max=64)
    max_memory: str = option(SERVICE, "SIZE", "Memory for responses: 512M, 2G.", f"{MAX_MEMORY // 2**30}G")
    rate: float | None = option(SERVICE, "N", "Maximum requests per second.")
    header: list[str] | None = option(
        SERVICE, "'NAME: VALUE'", "HTTP header for every request.\fKeep secrets in a profile."
    )
    cert: str | None = option(
        SERVICE, "FILE[:KEY]", "Client certificate (PEM).\fKEY is its key, if that is not in FILE."
    )
    quiet: bool = switch(SERVICE, "Suppress warnings and progress.", names="--quiet -q")
    verbose: bool = switch(SERVICE, "Log every request to stderr.", names="--verbose -v")
    log_format: str = option(SERVICE, "text|json", "Format of the lines on stderr.", "text")


class LakeOptions(Group, of=lambda method: method.stored):
    """What need not be requested."""

    lake: str | None = option(SERVICE, "DEST", "Read what an export in DEST contains from there.")


class FillOptions(Group, of=lambda method: method.stored and method.ranged):
    """What is kept of what was requested."""

    fill: bool = switch(SERVICE, "First write what --lake lacks of the range into it.")


class CheckOptions(Group):
    """Whether arguments are checked before they are sent."""

    no_check: bool = switch(SERVICE, "Skip argument checks.")


class StrictOptions(Group, of=lambda method: method.ranged or method.sized):
    """Which proof of completeness is enough."""

    strict: bool = switch(
        SERVICE,
        "Exit with code 6 before rows without proof.\fThat is, before rows that are not proved complete. A few "
        "heights are compared with their full blocks, too.",
    )


class RequestOptions(Group):
    """Whether the requests of a command are sent."""

    dry_run: bool = switch(SERVICE, "Print the requests as JSON Lines and send none.")


class ReportOptions(Group):
    """How a helper prints its result."""

    json: bool = switch("", "JSON instead of a table.")


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
    ReceiptOptions,
    ColorOptions,
    DetailOptions,
    ServiceFlags,
    LakeOptions,
    FillOptions,
    AgeOptions,
    CheckOptions,
    StrictOptions,
    RequestOptions,
):
    """What the command of a method may be given, in the order of its help; what it does not have keeps its default."""

    heights: list[str] = argument(
        "HEIGHT...", "Heights, ranges A:B, latest, or - to read them from stdin, one per line."
    )
    ids: list[str] = argument("ID...", "Transaction IDs (at1...), or - to read IDs from stdin, one per line.")
    program: str = argument("PROGRAM", "Program ID, such as credits.aleo.", "")
    function: str = argument("FUNCTION", "Function name, such as transfer_public.", "")
    address: str = argument("ADDRESS", "Address, with the prefix of its network.", "")
