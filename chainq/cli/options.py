"""The options that commands share, declared once: each class is one group of them.

A command has a class of its own, which inherits from its groups and adds its arguments: `build` declares them to Typer,
and gives the command an instance with what was parsed. No `from __future__ import annotations` here: Typer reads the
annotations.
"""

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Context, Exit, Option

from chainq.defaults import CONCURRENCY, INTERVAL, MAX_MEMORY, RETRIES, TIMEOUT

RANGE, RESUME, OUTPUT, SERVICE = "Range", "Resume and follow", "Output", "Service"
RANGE_HELP = "One height, A:B (without B), A: (through the tip), :B, or latest."


def _list_columns(context: Context, values: list[str] | None) -> list[str] | None:
    """Print the columns of the command and end, where one of them is `help`: before arguments are asked for."""
    if values and "help" in values and not context.resilient_parsing:
        from chainq.cli import output

        output.list_columns(str(context.info_name))
        raise Exit
    return values


class Group:
    """Options and arguments as annotated attributes with their defaults; an instance has the values of a run."""

    def __init__(self, **parsed: Any) -> None:
        vars(self).update(parsed)


class RangeOptions(Group):
    """Which heights."""

    start: Annotated[
        str | None,
        Option("--start", metavar="H", rich_help_panel=RANGE, help="First height; -100: the last 100 blocks."),
    ] = None
    end: Annotated[
        str | None,
        Option(
            "--end",
            metavar="H",
            rich_help_panel=RANGE,
            help="End height, exclusive. Default, and latest: through the tip.",
        ),
    ] = None
    last: Annotated[str | None, Option("--last", metavar="N", rich_help_panel=RANGE, help="The last N blocks.")] = None
    since: Annotated[
        str | None,
        Option(
            "--since",
            metavar="T",
            rich_help_panel=RANGE,
            help="First block time: 2024-06-02, 2024-06-02T11:36Z, 2h or '2 hours ago', yesterday, or Unix seconds.",
        ),
    ] = None
    until: Annotated[
        str | None, Option("--until", metavar="T", rich_help_panel=RANGE, help="End block time, exclusive.")
    ] = None

    def given_bounds(self) -> list[str]:
        """Return the options of a range that were given."""
        return [f"--{name}" for name in RangeOptions.__annotations__ if getattr(self, name) is not None]


class RangeArgument(Group):
    """The heights in one word."""

    range: Annotated[str | None, Argument(metavar="[RANGE]", help=RANGE_HELP)] = None


class OrderOptions(Group):
    """In which order."""

    reverse: Annotated[bool, Option("--reverse", rich_help_panel=RANGE, help="Highest heights first.")] = False


class LimitOptions(Group):
    """How many rows."""

    limit: Annotated[
        int | None, Option("--limit", metavar="N", min=0, rich_help_panel=RANGE, help="Stop after N rows.")
    ] = None


class PageOptions(Group):
    """One page as the service sends it."""

    page: Annotated[
        int | None,
        Option("--page", metavar="N", min=0, rich_help_panel=RANGE, help="Print one page of one request, unverified."),
    ] = None


class PageSizeOptions(Group):
    """The page size of the service."""

    page_size: Annotated[
        int | None, Option("--page-size", metavar="N", min=1, rich_help_panel=RANGE, help="Initial page size.")
    ] = None


class NewestOptions(Group):
    """Reading a list without heights from its end."""

    newest: Annotated[
        bool, Option("--newest", rich_help_panel=RANGE, help="The newest rows first, as many as --limit.")
    ] = False


class VerifyOptions(Group):
    """Verification of the chain."""

    no_verify: Annotated[
        bool,
        Option("--no-verify", rich_help_panel=RANGE, help="Skip the check for missing and unlinked blocks."),
    ] = False


class CheckpointOptions(Group):
    """Where an incremental run records how far it came."""

    checkpoint: Annotated[
        Path | None,
        Option("--checkpoint", metavar="FILE", rich_help_panel=RESUME, help="Resume where the last run ended."),
    ] = None


class ResumeOptions(Group):
    """Incremental runs."""

    lag: Annotated[
        int, Option("--lag", metavar="N", min=0, rich_help_panel=RESUME, help="Leave out the last N blocks.")
    ] = 0
    rewind: Annotated[
        int | None,
        Option(
            "--rewind",
            metavar="N",
            min=1,
            rich_help_panel=RESUME,
            help="Fetch the last N or more blocks again, then resume.",
        ),
    ] = None
    max_age: Annotated[
        str | None,
        Option(
            "--max-age",
            metavar="AGE",
            rich_help_panel=RESUME,
            help="Exit with code 6 if the tip is older: 10m, 2h, 7d.",
        ),
    ] = None
    follow: Annotated[
        bool, Option("--follow", "-f", rich_help_panel=RESUME, help="Keep running and print new blocks.")
    ] = False
    interval: Annotated[
        float | None,
        Option(
            "--interval",
            metavar="SECONDS",
            min=0.01,
            rich_help_panel=RESUME,
            help=f"Seconds between polls.  [default: {INTERVAL:g}]",
        ),
    ] = None


class ColorOptions(Group):
    """Colours, for all commands that use them."""

    color: Annotated[
        str,
        Option("--color", metavar="auto|always|never", rich_help_panel=OUTPUT, help="When to use colours."),
    ] = "auto"


class OutputOptions(ColorOptions):
    """What is written, and where to."""

    format: Annotated[
        str | None,
        Option(
            "--format",
            metavar="NAME",
            rich_help_panel=OUTPUT,
            help="table, jsonl, json, csv, tsv, text, chart, parquet, plug-ins. Default: by the extension of FILE, "
            "else CHAINQ_FORMAT, else table on a terminal and jsonl elsewhere.",
        ),
    ] = None
    table: Annotated[bool, Option("--table", rich_help_panel=OUTPUT, help="Human-readable table.")] = False
    jsonl: Annotated[
        bool, Option("--jsonl", rich_help_panel=OUTPUT, help="One JSON object per line, as the service sent it.")
    ] = False
    json: Annotated[bool, Option("--json", rich_help_panel=OUTPUT, help="One JSON array, or one object.")] = False
    csv: Annotated[bool, Option("--csv", rich_help_panel=OUTPUT, help="CSV with a header (RFC 4180).")] = False
    text: Annotated[
        bool, Option("--text", rich_help_panel=OUTPUT, help="Values only, separated by tabs, one row per line.")
    ] = False
    no_header: Annotated[bool, Option("--no-header", rich_help_panel=OUTPUT, help="csv or tsv without its header.")] = (
        False
    )
    columns: Annotated[
        list[str] | None,
        Option(
            "--columns",
            metavar="A,B.C",
            rich_help_panel=OUTPUT,
            callback=_list_columns,
            is_eager=True,
            help="Columns to print, such as a,b.c or a.b[].c; `all`, or `help` for a list.",
        ),
    ] = None
    no_trunc: Annotated[bool, Option("--no-trunc", rich_help_panel=OUTPUT, help="Do not abbreviate values.")] = False
    output: Annotated[
        str | None,
        Option(
            "--output",
            "-o",
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="Output file, replaced when complete; its extension selects the format.",
        ),
    ] = None


class DetailOptions(Group):
    """What a table adds to the rows."""

    no_details: Annotated[
        bool, Option("--no-details", rich_help_panel=OUTPUT, help="Do not look up the transactions of a table.")
    ] = False


class ServiceFlags(Group):
    """Where the data comes from, and how it is requested."""

    url: Annotated[
        str | None,
        Option(
            "--url",
            metavar="URL",
            envvar="CHAINQ_URL",
            rich_help_panel=SERVICE,
            help="URL of the service; demo: is a built-in sample.",
        ),
    ] = None
    profile: Annotated[
        str | None,
        Option(
            "--profile",
            metavar="NAME",
            envvar="CHAINQ_PROFILE",
            rich_help_panel=SERVICE,
            help="Profile from config.toml.",
        ),
    ] = None
    dialect: Annotated[
        str | None,
        Option(
            "--dialect",
            metavar="NAME",
            rich_help_panel=SERVICE,
            help="Dialect of the server: chain, aleo, or auto to detect it.  [default: auto]",
        ),
    ] = None
    timeout: Annotated[
        float | None,
        Option(
            "--timeout",
            metavar="SECONDS",
            rich_help_panel=SERVICE,
            help=f"Seconds per request.  [default: {TIMEOUT:g}]",
        ),
    ] = None
    retries: Annotated[
        int, Option("--retries", metavar="N", min=0, rich_help_panel=SERVICE, help="Retries for transient failures.")
    ] = RETRIES
    concurrency: Annotated[
        int,
        Option("--concurrency", "-j", metavar="N", min=1, max=64, rich_help_panel=SERVICE, help="Parallel requests."),
    ] = CONCURRENCY
    max_memory: Annotated[
        str,
        Option("--max-memory", metavar="SIZE", rich_help_panel=SERVICE, help="Maximum memory for responses: 512M, 2G."),
    ] = f"{MAX_MEMORY // 2**30}G"
    rate: Annotated[
        float | None, Option("--rate", metavar="N", rich_help_panel=SERVICE, help="Maximum requests per second.")
    ] = None
    header: Annotated[
        list[str] | None,
        Option(
            "--header",
            metavar="'NAME: VALUE'",
            rich_help_panel=SERVICE,
            help="HTTP header for every request; keep secrets in a profile.",
        ),
    ] = None
    quiet: Annotated[bool, Option("--quiet", "-q", rich_help_panel=SERVICE, help="Suppress warnings and progress.")] = (
        False
    )
    verbose: Annotated[
        bool, Option("--verbose", "-v", rich_help_panel=SERVICE, help="Log every request to stderr.")
    ] = False


class CheckOptions(Group):
    """Whether arguments are checked before they are sent."""

    no_check: Annotated[bool, Option("--no-check", rich_help_panel=SERVICE, help="Skip argument checks.")] = False


class StrictOptions(Group):
    """Which proof of completeness is enough."""

    strict: Annotated[
        bool,
        Option(
            "--strict",
            rich_help_panel=SERVICE,
            help="Exit with code 6 before rows whose completeness is not proved.",
        ),
    ] = False


class RequestOptions(Group):
    """Whether the requests of a command are sent."""

    dry_run: Annotated[
        bool, Option("--dry-run", rich_help_panel=SERVICE, help="Print requests as JSON lines, send none.")
    ] = False


class ReportOptions(Group):
    """How a helper prints its result."""

    json: Annotated[bool, Option("--json", help="JSON instead of a table.")] = False


class MethodOptions(
    RangeArgument,
    RangeOptions,
    OrderOptions,
    LimitOptions,
    PageOptions,
    PageSizeOptions,
    NewestOptions,
    VerifyOptions,
    CheckpointOptions,
    ResumeOptions,
    OutputOptions,
    DetailOptions,
    ServiceFlags,
    CheckOptions,
    StrictOptions,
    RequestOptions,
):
    """What the command of a method may be given; what a command does not have keeps its default."""

    heights: Annotated[
        list[str],
        Argument(metavar="HEIGHT...", help="Heights, ranges A:B, latest, or - to read them from stdin, one per line."),
    ]
    ids: Annotated[
        list[str],
        Argument(metavar="ID...", help="Transaction IDs (at1...), or - to read IDs from stdin, one per line."),
    ]
    program: Annotated[str, Argument(metavar="PROGRAM", help="Program ID, such as credits.aleo.")] = ""
    function: Annotated[str, Argument(metavar="FUNCTION", help="Function name, such as transfer_public.")] = ""
    address: Annotated[str, Argument(metavar="ADDRESS", help="Address, with the prefix of its network.")] = ""
