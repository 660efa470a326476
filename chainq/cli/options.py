"""The options that commands share, declared once: each class is one group of them.

A command has a class of its own, which inherits from its groups and adds its arguments: `build` declares them to Typer,
and gives the command an instance with what was parsed. No `from __future__ import annotations` here: Typer reads the
annotations.
"""

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Context, Exit, Option

from chainq.defaults import CONCURRENCY, INTERVAL, MAX_MEMORY, RETRIES, TIMEOUT

RANGE, FILTER, RESUME, OUTPUT, SERVICE = "Range", "Filter", "Resume and follow", "Output", "Service"
RANGE_HELP = "One height, A:B (without B), A: (through the tip), :B, or latest."


def _list_columns(context: Context, values: list[str] | None) -> list[str] | None:
    """Print the columns of the command and end, if one of them is `help`: before arguments are asked for."""
    if values and "help" in values and not context.resilient_parsing:
        from chainq.cli import output

        output.list_columns(str(context.info_name))
        raise Exit
    return values


def option(heading: str, names: str, metavar: str, text: str, **more: Any) -> Any:
    """Return an option under a heading of the help; `names` with blanks between, `metavar` empty for a switch.

    `more`: as Typer's `Option` takes it.
    """
    return Option(*names.split(), metavar=metavar or None, rich_help_panel=heading or None, help=text, **more)


class Group:
    """Options and arguments as annotated attributes with their defaults; an instance has the values of a run."""

    def __init__(self, **parsed: Any) -> None:
        vars(self).update(parsed)


class RangeOptions(Group):
    """Which heights."""

    start: Annotated[str | None, option(RANGE, "--start", "H", "First height; -100: the last 100 blocks.")] = None
    end: Annotated[
        str | None, option(RANGE, "--end", "H", "End height, exclusive. Default, and latest: through the tip.")
    ] = None
    last: Annotated[str | None, option(RANGE, "--last", "N", "The last N blocks.")] = None
    since: Annotated[
        str | None,
        option(
            RANGE,
            "--since",
            "T",
            "First block time: 2024-06-02T11:36Z, yesterday or 2h.\fAlso 2024-06-02, '2 hours ago' or Unix seconds.",
        ),
    ] = None
    until: Annotated[str | None, option(RANGE, "--until", "T", "End block time, exclusive.")] = None

    def given_bounds(self) -> list[str]:
        """Return the options of a range that were given."""
        return [f"--{name}" for name in RangeOptions.__annotations__ if getattr(self, name) is not None]


class RangeArgument(Group):
    """The heights in one word."""

    range: Annotated[str | None, Argument(metavar="[RANGE]", help=RANGE_HELP)] = None


class OrderOptions(Group):
    """In which order."""

    reverse: Annotated[bool, option(RANGE, "--reverse", "", "Highest heights first.")] = False


class LimitOptions(Group):
    """How many rows."""

    limit: Annotated[int | None, option(RANGE, "--limit", "N", "Stop after N rows.", min=0)] = None


class PageOptions(Group):
    """One page as the service sends it."""

    page: Annotated[int | None, option(RANGE, "--page", "N", "Print one page of one request, unverified.", min=0)] = (
        None
    )


class PageSizeOptions(Group):
    """The page size of the service."""

    page_size: Annotated[int | None, option(RANGE, "--page-size", "N", "Initial page size.", min=1)] = None


class NewestOptions(Group):
    """Reading a list without heights from its end."""

    newest: Annotated[bool, option(RANGE, "--newest", "", "The newest rows first, as many as --limit.")] = False


class VerifyOptions(Group):
    """Verification of the chain."""

    no_verify: Annotated[bool, option(RANGE, "--no-verify", "", "Skip the check for missing and unlinked blocks.")] = (
        False
    )
    hashes: Annotated[
        bool, option(RANGE, "--hashes", "", "Recompute block hashes.\fExit with code 6 before the first wrong row.")
    ] = False
    workers: Annotated[
        int | None,
        option(RANGE, "--workers -w", "N", "Processes that recompute hashes.\fDefault: one per core.", min=1, max=256),
    ] = None


class CallFilterOptions(Group):
    """Which rows, by what was called."""

    of_program: Annotated[
        str | None, option(FILTER, "--program", "ID", "Print the rows of this program, such as credits.aleo.")
    ] = None
    of_function: Annotated[str | None, option(FILTER, "--function", "NAME", "Print the rows of this function.")] = None


class FilterOptions(Group):
    """Which rows, by any field."""

    where: Annotated[
        str | None,
        option(
            FILTER,
            "--where",
            "EXPRESSION",
            "Print the rows that meet a condition, such as 'output_index > 0 and program_id ~ token'.\fOperators: "
            "=, !=, <, <=, >, >=, ~ and !~ (regular expressions), and, or, not, ( ).",
        ),
    ] = None


class CheckpointOptions(Group):
    """Where an incremental run records how far it came."""

    checkpoint: Annotated[Path | None, option(RESUME, "--checkpoint", "FILE", "Resume where the last run ended.")] = (
        None
    )


class ResumeOptions(Group):
    """Incremental runs."""

    lag: Annotated[int, option(RESUME, "--lag", "N", "Leave out the last N blocks.", min=0)] = 0
    rewind: Annotated[
        int | None,
        option(RESUME, "--rewind", "N", "Fetch the last N or more blocks again.\fThe run then resumes.", min=1),
    ] = None
    adopt: Annotated[bool, option(RESUME, "--adopt", "", "Resume after -o FILE if there is no checkpoint.")] = False
    max_age: Annotated[
        str | None, option(RESUME, "--max-age", "AGE", "Exit with code 6 if the tip is older: 10m, 2h, 7d.")
    ] = None
    follow: Annotated[bool, option(RESUME, "--follow -f", "", "Keep running and print new blocks.")] = False
    interval: Annotated[
        float | None,
        option(RESUME, "--interval", "SECONDS", f"Seconds between polls.  [default: {INTERVAL:g}]", min=0.01),
    ] = None


class AgeOptions(Group):
    """How old the tip may be, for a command that prints it once."""

    max_age: Annotated[
        str | None, option(SERVICE, "--max-age", "AGE", "Exit with code 6 if the tip is older: 10m, 2h, 7d.")
    ] = None


class ColorOptions(Group):
    """Colors, for all commands that use them."""

    color: Annotated[str, option(OUTPUT, "--color", "auto|always|never", "When to use colors.")] = "auto"


class OutputOptions(ColorOptions):
    """What is written, and where to."""

    format: Annotated[
        str | None,
        option(
            OUTPUT,
            "--format",
            "NAME",
            "table, jsonl, json, csv, tsv, text, chart, parquet. Default: table, or jsonl in a pipe.\f"
            "Or a format of a plug-in. The extension of FILE and CHAINQ_FORMAT take precedence over the default.",
        ),
    ] = None
    table: Annotated[bool, option(OUTPUT, "--table", "", "Human-readable table.")] = False
    jsonl: Annotated[bool, option(OUTPUT, "--jsonl", "", "One JSON object per line, as the service sent it.")] = False
    json: Annotated[bool, option(OUTPUT, "--json", "", "One JSON array, or one object.")] = False
    csv: Annotated[bool, option(OUTPUT, "--csv", "", "CSV with a header (RFC 4180).")] = False
    text: Annotated[bool, option(OUTPUT, "--text", "", "Values only, separated by tabs, one row per line.")] = False
    no_header: Annotated[bool, option(OUTPUT, "--no-header", "", "csv or tsv without its header.")] = False
    columns: Annotated[
        list[str] | None,
        option(
            OUTPUT,
            "--columns",
            "A,B.C",
            "Columns, such as a,b.c; `help` lists them.\fAlso a.b[].c of the items of an array, or `all`.",
            callback=_list_columns,
            is_eager=True,
        ),
    ] = None
    no_trunc: Annotated[bool, option(OUTPUT, "--no-trunc", "", "Do not abbreviate values.")] = False
    output: Annotated[
        str | None,
        option(
            OUTPUT,
            "--output -o",
            "FILE",
            "Output file; its extension selects the format.\fIt is replaced when it is complete.",
        ),
    ] = None


class ReceiptOptions(Group):
    """What is written beside a file."""

    receipt: Annotated[
        bool,
        option(
            OUTPUT,
            "--receipt",
            "",
            "Write FILE.receipt.json for chainq verify FILE.\fIt contains the range, the row count and the SHA-256.",
        ),
    ] = False


class FlattenOptions(Group):
    """Whether jsonl has nested objects."""

    flatten: Annotated[
        bool, option(OUTPUT, "--flatten", "", "jsonl with a key for each column (b.c).\fIt has no nested objects.")
    ] = False


class DetailOptions(Group):
    """What a table adds to the rows."""

    no_details: Annotated[bool, option(OUTPUT, "--no-details", "", "Do not look up the transactions of a table.")] = (
        False
    )


class ServiceFlags(Group):
    """Where the data comes from, and how it is requested.

    `profile_first`: `--profile` is on the command line, and the URL comes from the environment.
    """

    profile_first = False

    url: Annotated[
        str | None,
        option(
            SERVICE,
            "--url",
            "URL",
            "URL of the service, or folder or URL of an export; demo: is a built-in sample.",
            envvar="CHAINQ_URL",
        ),
    ] = None
    profile: Annotated[
        str | None, option(SERVICE, "--profile", "NAME", "Profile from config.toml.", envvar="CHAINQ_PROFILE")
    ] = None
    dialect: Annotated[
        str | None,
        option(
            SERVICE,
            "--dialect",
            "NAME",
            "chain, aleo, or auto to detect it.\fThe dialect of the server.  [default: auto]",
        ),
    ] = None
    timeout: Annotated[
        float | None, option(SERVICE, "--timeout", "SECONDS", f"Seconds per request.  [default: {TIMEOUT:g}]")
    ] = None
    deadline: Annotated[
        str | None, option(SERVICE, "--deadline", "AGE", "Exit with code 4 if it takes longer: 90s, 10m, 2h.")
    ] = None
    retries: Annotated[
        int | None, option(SERVICE, "--retries", "N", f"Retries for transient failures.  [default: {RETRIES}]", min=0)
    ] = None
    concurrency: Annotated[int, option(SERVICE, "--concurrency -j", "N", "Parallel requests.", min=1, max=64)] = (
        CONCURRENCY
    )
    max_memory: Annotated[str, option(SERVICE, "--max-memory", "SIZE", "Memory for responses: 512M, 2G.")] = (
        f"{MAX_MEMORY // 2**30}G"
    )
    rate: Annotated[float | None, option(SERVICE, "--rate", "N", "Maximum requests per second.")] = None
    header: Annotated[
        list[str] | None,
        option(SERVICE, "--header", "'NAME: VALUE'", "HTTP header for every request.\fKeep secrets in a profile."),
    ] = None
    cert: Annotated[
        str | None,
        option(SERVICE, "--cert", "FILE[:KEY]", "Client certificate (PEM).\fAnd its key, if that is not in FILE."),
    ] = None
    quiet: Annotated[bool, option(SERVICE, "--quiet -q", "", "Suppress warnings and progress.")] = False
    verbose: Annotated[bool, option(SERVICE, "--verbose -v", "", "Log every request to stderr.")] = False
    log_format: Annotated[str, option(SERVICE, "--log-format", "text|json", "Format of the lines on stderr.")] = "text"


class LakeOptions(Group):
    """What need not be requested."""

    lake: Annotated[
        str | None, option(SERVICE, "--lake", "DEST", "Read what an export in DEST contains from there.")
    ] = None


class FillOptions(Group):
    """What is kept of what was requested."""

    fill: Annotated[bool, option(SERVICE, "--fill", "", "First write what --lake lacks of the range into it.")] = False


class CheckOptions(Group):
    """Whether arguments are checked before they are sent."""

    no_check: Annotated[bool, option(SERVICE, "--no-check", "", "Skip argument checks.")] = False


class StrictOptions(Group):
    """Which proof of completeness is enough."""

    strict: Annotated[
        bool,
        option(
            SERVICE,
            "--strict",
            "",
            "Exit with code 6 before rows without proof.\fThat is, before rows that are not proved complete. A few "
            "heights are compared with their full blocks, too.",
        ),
    ] = False


class RequestOptions(Group):
    """Whether the requests of a command are sent."""

    dry_run: Annotated[bool, option(SERVICE, "--dry-run", "", "Print the requests as JSON Lines and send none.")] = (
        False
    )


class ReportOptions(Group):
    """How a helper prints its result."""

    json: Annotated[bool, option("", "--json", "", "JSON instead of a table.")] = False


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
    AgeOptions,
    OutputOptions,
    FlattenOptions,
    ReceiptOptions,
    DetailOptions,
    ServiceFlags,
    LakeOptions,
    FillOptions,
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
