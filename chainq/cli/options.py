"""The options that commands share, declared once: each class is one group of them, as `commands` hands it to Typer.

The classes are declarations and are never instantiated: what Typer parses is turned into a `Query` and its settings at
once. No `from __future__ import annotations` here: Typer reads the annotations.
"""

from pathlib import Path
from typing import Annotated

from typer import Context, Exit, Option

from chainq.defaults import CONCURRENCY, INTERVAL, MAX_MEMORY, RETRIES, TIMEOUT

RANGE, WALLET, RESUME, OUTPUT, SERVICE = "Range", "Wallet", "Resume and follow", "Output", "Service"
EXPORT = "Export"


def _list_columns(context: Context, values: list[str] | None) -> list[str] | None:
    """Print the columns of the command and end, where one of them is `help`: before arguments are asked for."""
    if values and "help" in values and not context.resilient_parsing:
        from chainq.cli import output

        output.list_columns(str(context.info_name))
        raise Exit
    return values


class Group:
    """Options as annotated attributes with their defaults."""


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


class WalletOptions(Group):
    """Whose records, and what is printed of them."""

    view_key_file: Annotated[
        Path | None,
        Option(
            "--view-key-file",
            metavar="FILE",
            rich_help_panel=WALLET,
            help="View keys, one per line. Default: CHAINQ_VIEW_KEY, else a hidden prompt.",
        ),
    ] = None
    insecure_key_file: Annotated[
        bool, Option("--insecure-key-file", rich_help_panel=WALLET, help="Accept a key file that others can access.")
    ] = False
    records: Annotated[
        bool, Option("--records", rich_help_panel=WALLET, help="Add the record of each row, with its height.")
    ] = False
    decrypt: Annotated[bool, Option("--decrypt", rich_help_panel=WALLET, help="Add the record and its plaintext.")] = (
        False
    )
    network: Annotated[
        str | None,
        Option(
            "--network",
            metavar="NAME",
            rich_help_panel=WALLET,
            help="Fail unless the service is on mainnet, or on testnet.",
        ),
    ] = None
    workers: Annotated[
        int | None,
        Option(
            "--workers",
            "-w",
            metavar="N",
            min=1,
            max=256,
            rich_help_panel=WALLET,
            help="Processes that compare rows. Default: one per core.",
        ),
    ] = None


class VerifyOptions(Group):
    """Verification of the chain."""

    no_verify: Annotated[
        bool,
        Option("--no-verify", rich_help_panel=RANGE, help="Skip the check for missing and unlinked blocks."),
    ] = False


class VerifiedOptions(Group):
    """What `verify` compares."""

    commands: Annotated[
        str | None,
        Option(
            "--commands",
            metavar="A,B",
            rich_help_panel=RANGE,
            help="Commands to verify beside the blocks: transactions, records, ownership, transitions. Default: all.",
        ),
    ] = None
    witness: Annotated[
        str | None,
        Option(
            "--witness",
            metavar="URL",
            rich_help_panel=RANGE,
            help="Second service to compare with, as far as its chain goes.",
        ),
    ] = None
    sample: Annotated[
        int | None,
        Option(
            "--sample",
            metavar="N",
            min=1,
            rich_help_panel=RANGE,
            help="Compare N heights of a data set or file, drawn at random, with the service.",
        ),
    ] = None
    full: Annotated[
        bool,
        Option("--full", rich_help_panel=RANGE, help="Compare all heights of a data set or file with the service."),
    ] = False


class ResumeOptions(Group):
    """Incremental runs."""

    checkpoint: Annotated[
        Path | None,
        Option("--checkpoint", metavar="FILE", rich_help_panel=RESUME, help="Resume where the last run ended."),
    ] = None
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


class OutputOptions(Group):
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


class ColorOptions(Group):
    """Colours, for all commands that use them."""

    color: Annotated[
        str,
        Option("--color", metavar="auto|always|never", rich_help_panel=OUTPUT, help="When to use colours."),
    ] = "auto"


class DetailOptions(Group):
    """What a table adds to the rows."""

    no_details: Annotated[
        bool, Option("--no-details", rich_help_panel=OUTPUT, help="Do not look up the transactions of a table.")
    ] = False


class ServiceOptions(Group):
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


class RequestOptions(Group):
    """What is sent of the requests of one command."""

    no_check: Annotated[bool, Option("--no-check", rich_help_panel=SERVICE, help="Skip argument checks.")] = False
    dry_run: Annotated[
        bool, Option("--dry-run", rich_help_panel=SERVICE, help="Print requests as JSON lines, send none.")
    ] = False


class ExportOptions(Group):
    """Where a data set is, how it is divided, and who does the work."""

    to: Annotated[
        str,
        Option(
            "--to",
            metavar="DEST",
            rich_help_panel=EXPORT,
            help="Folder, or s3://, gs:// or az:// URL.",
            show_default=False,
        ),
    ]
    partition: Annotated[
        str | None,
        Option("--partition", metavar="N", rich_help_panel=EXPORT, help="Heights in a partition.  [default: 10K]"),
    ] = None
    lag: Annotated[
        int, Option("--lag", metavar="N", min=0, rich_help_panel=EXPORT, help="Leave out the last N blocks.")
    ] = 0
    workers: Annotated[
        int | None,
        Option(
            "--workers",
            "-w",
            metavar="N",
            min=1,
            rich_help_panel=EXPORT,
            help="Worker processes. Default: one per core.",
        ),
    ] = None
    engine: Annotated[
        str, Option("--engine", metavar="NAME", rich_help_panel=EXPORT, help="Who does the work: local or dask.")
    ] = "local"
    scheduler: Annotated[
        str | None,
        Option(
            "--scheduler",
            metavar="URL",
            rich_help_panel=EXPORT,
            help="Dask scheduler, such as tcp://host:8786.  [default: a cluster on this machine]",
        ),
    ] = None
    delta: Annotated[
        bool,
        Option("--delta", rich_help_panel=EXPORT, help="Commit full partitions to a Delta table for each command."),
    ] = False
    repair: Annotated[
        str | None,
        Option(
            "--repair",
            metavar="FILE|all",
            rich_help_panel=EXPORT,
            help="Write again the partitions that findings of verify name (jsonl), or all of the range.",
        ),
    ] = None
    no_lock: Annotated[
        bool,
        Option("--no-lock", rich_help_panel=EXPORT, help="Do not keep other exports out; for disjoint partitions."),
    ] = False
    dry_run: Annotated[
        bool, Option("--dry-run", rich_help_panel=EXPORT, help="List the partitions to write, write none.")
    ] = False


class ReportOptions(Group):
    """How a helper prints its result."""

    json: Annotated[bool, Option("--json", help="JSON instead of a table.")] = False


class ShowOptions(Group):
    """What `show` looks at, and how it prints it."""

    last: Annotated[
        str | None,
        Option(
            "--last",
            metavar="N",
            help="Newest blocks to look at. By default 500K for an address, 100 for a program.",
        ),
    ] = None
    json: Annotated[bool, Option("--json", rich_help_panel=OUTPUT, help="All parts as one JSON object.")] = False
    no_trunc: Annotated[bool, Option("--no-trunc", rich_help_panel=OUTPUT, help="Do not abbreviate values.")] = False


class SaveOptions(Group):
    """What happens with the findings of `doctor`."""

    save: Annotated[str | None, Option("--save", metavar="NAME", help="Save as a profile in config.toml.")] = None
    default: Annotated[bool, Option("--default", help="With --save: make it the default profile.")] = False
