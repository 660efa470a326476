"""The options that commands share, declared once: each class is one group of them, as `commands` hands it to Typer.

The classes are declarations and are never instantiated: what Typer parses is turned into a `Query` and its settings at
once. No `from __future__ import annotations` here: Typer reads the annotations.
"""

from pathlib import Path
from typing import Annotated

from typer import Option

RANGE, GOING_ON, OUTPUT, SOURCE = "Range", "Going on", "Output", "Service"


class Group:
    """Options as annotated attributes with their defaults."""


class RangeOptions(Group):
    """Which heights."""

    start: Annotated[
        str | None,
        Option("--start", metavar="H", rich_help_panel=RANGE, help="First height; -100: the newest hundred."),
    ] = None
    end: Annotated[
        str | None,
        Option(
            "--end", metavar="H", rich_help_panel=RANGE, help="Height after the last; else the newest block is last."
        ),
    ] = None
    last: Annotated[str | None, Option("--last", metavar="N", rich_help_panel=RANGE, help="The newest N blocks.")] = (
        None
    )
    since: Annotated[
        str | None,
        Option(
            "--since",
            metavar="T",
            rich_help_panel=RANGE,
            help="From this block time: 2024-06-02, 2024-06-02T11:36Z, or 2h before now.",
        ),
    ] = None
    until: Annotated[
        str | None, Option("--until", metavar="T", rich_help_panel=RANGE, help="Blocks before this time.")
    ] = None
    reverse: Annotated[bool, Option("--reverse", rich_help_panel=RANGE, help="Newest heights first.")] = False


class LimitOptions(Group):
    """How many rows."""

    limit: Annotated[
        int | None, Option("--limit", metavar="N", min=0, rich_help_panel=RANGE, help="Stop after N rows.")
    ] = None


class PageOptions(Group):
    """The service's own paging."""

    page: Annotated[
        int | None,
        Option(
            "--page", metavar="N", min=0, rich_help_panel=RANGE, help="Only this page of one call, raw and unproved."
        ),
    ] = None
    page_size: Annotated[
        int | None,
        Option("--page-size", metavar="N", min=1, rich_help_panel=RANGE, help="Rows a call asks for at first."),
    ] = None


class VerifyOptions(Group):
    """Proof of the chain."""

    no_verify: Annotated[
        bool, Option("--no-verify", rich_help_panel=RANGE, help="Do not check that every block is there and linked.")
    ] = False


class CheckpointOptions(Group):
    """Going on where the last run ended, and as blocks appear."""

    checkpoint: Annotated[
        Path | None,
        Option("--checkpoint", metavar="FILE", rich_help_panel=GOING_ON, help="Go on where the last run ended."),
    ] = None
    lag: Annotated[
        int, Option("--lag", metavar="N", min=0, rich_help_panel=GOING_ON, help="Leave out the newest N blocks.")
    ] = 0
    rewind: Annotated[
        int | None,
        Option("--rewind", metavar="N", min=1, rich_help_panel=GOING_ON, help="First go back at least N blocks."),
    ] = None
    max_age: Annotated[
        str | None,
        Option("--max-age", metavar="AGE", rich_help_panel=GOING_ON, help="Exit 6 if the newest block is older: 10m."),
    ] = None
    follow: Annotated[
        bool, Option("--follow", "-f", rich_help_panel=GOING_ON, help="Go on as blocks appear, until interrupted.")
    ] = False
    interval: Annotated[
        float, Option("--interval", metavar="SECONDS", min=0.01, rich_help_panel=GOING_ON, help="Between looks.")
    ] = 5.0


class OutputOptions(Group):
    """What comes out, and where."""

    format: Annotated[
        str | None,
        Option(
            "--format",
            metavar="NAME",
            envvar="CHAINQ_FORMAT",
            rich_help_panel=OUTPUT,
            help="table, jsonl, json, csv, chart, parquet, or another package's. Usually table, in a pipe jsonl.",
        ),
    ] = None
    table: Annotated[bool, Option("--table", rich_help_panel=OUTPUT, help="For people.")] = False
    jsonl: Annotated[
        bool, Option("--jsonl", rich_help_panel=OUTPUT, help="One row a line, as the service sent it.")
    ] = False
    json: Annotated[bool, Option("--json", rich_help_panel=OUTPUT, help="One array, or one object.")] = False
    csv: Annotated[bool, Option("--csv", rich_help_panel=OUTPUT, help="RFC 4180, with a header.")] = False
    columns: Annotated[
        str | None,
        Option("--columns", metavar="A,B.C", rich_help_panel=OUTPUT, help="Only these; `all`, or `help` to list them."),
    ] = None
    no_trunc: Annotated[bool, Option("--no-trunc", rich_help_panel=OUTPUT, help="Show long values whole.")] = False
    output: Annotated[
        Path | None,
        Option(
            "--output",
            "-o",
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="A file that appears whole or not at all, or is appended to by --checkpoint and --follow.",
        ),
    ] = None


class SourceOptions(Group):
    """Where the data comes from, and how it is asked for."""

    url: Annotated[
        str | None,
        Option(
            "--url", metavar="URL", envvar="CHAINQ_URL", rich_help_panel=SOURCE, help="The service; demo: is a sample."
        ),
    ] = None
    profile: Annotated[
        str | None,
        Option(
            "--profile",
            metavar="NAME",
            envvar="CHAINQ_PROFILE",
            rich_help_panel=SOURCE,
            help="A server from config.toml.",
        ),
    ] = None
    dialect: Annotated[
        str | None,
        Option(
            "--dialect",
            metavar="NAME",
            rich_help_panel=SOURCE,
            help="How the server speaks: chain, aleo, or auto to find out.  [default: chain]",
        ),
    ] = None
    timeout: Annotated[
        float | None,
        Option("--timeout", metavar="SECONDS", rich_help_panel=SOURCE, help="Seconds for one request.  [default: 60]"),
    ] = None
    retries: Annotated[
        int, Option("--retries", metavar="N", min=0, rich_help_panel=SOURCE, help="Of a call that fails in passing.")
    ] = 5
    concurrency: Annotated[
        int, Option("--concurrency", "-j", metavar="N", min=1, max=64, rich_help_panel=SOURCE, help="Calls at a time.")
    ] = 8
    rate: Annotated[
        float | None, Option("--rate", metavar="N", rich_help_panel=SOURCE, help="At most N requests a second.")
    ] = None
    header: Annotated[
        list[str] | None,
        Option(
            "--header",
            metavar="'NAME: VALUE'",
            rich_help_panel=SOURCE,
            help="Sent with every call; keep secrets in a profile.",
        ),
    ] = None
    no_check: Annotated[
        bool, Option("--no-check", rich_help_panel=SOURCE, help="Send arguments that look wrong all the same.")
    ] = False
    dry_run: Annotated[
        bool, Option("--dry-run", rich_help_panel=SOURCE, help="Print the calls, one JSON object a line; send none.")
    ] = False
    quiet: Annotated[bool, Option("--quiet", "-q", rich_help_panel=SOURCE, help="No warnings on stderr.")] = False
    verbose: Annotated[bool, Option("--verbose", "-v", rich_help_panel=SOURCE, help="Say each call on stderr.")] = False


class ReportOptions(Group):
    """What a helper tells, for people or for programs."""

    json: Annotated[bool, Option("--json", help="As JSON, for programs.")] = False


class SaveOptions(Group):
    """What becomes of what `doctor` finds."""

    save: Annotated[str | None, Option("--save", metavar="NAME", help="Write it as a profile of config.toml.")] = None
