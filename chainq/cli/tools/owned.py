"""`chainq owned`: the range command over the rows that view keys own."""

import os

from chainq.catalog.methods import BY_COMMAND, Column, Schema
from chainq.catalog.owned import COMMAND, PLAINTEXT_JSON, needed, owned_schema
from chainq.cli import output
from chainq.cli.query import read_query, split_range
from chainq.cli.report import Reporter
from chainq.cli.run import Picked
from chainq.cli.run import run as run_command
from chainq.cli.tool_options import OwnedOptions
from chainq.cli.tools import view_keys
from chainq.errors import UsageError
from chainq.fetching.service import Service
from chainq.heights.bounds import Bounds
from chainq.process.pool import cores
from chainq.wallet.owned import Wallet, Wanted
from chainq.wallet.records import none_of
from chainq.wallet.shown import Style

_OWNERSHIP = BY_COMMAND["ownership"]


def run(given: OwnedOptions) -> None:
    """Run the command. Raises ChainqError, PipeClosed, Interrupted.

    IncompleteError at the end, after all rows, if some could not be compared.
    """
    given.range, files = split_range(given.keys)
    given.exclude("spent", "checkpoint", "follow")  # written rows would have to change when a record is spent
    given.exclude("unspent", "checkpoint", "follow")
    format_name = output.format_name(given)
    like_table = not (given.columns or given.records or given.decrypt) and format_name not in ("table", "chart")
    if like_table:
        spends = given.spent or given.unspent
        every = owned_schema(records=True, plaintext=True, spends=spends, several=True).columns
        shown = [column for column in every if column.brief]
        given.columns = [column.path for column in sorted(shown, key=lambda column: column.brief)]
    wanted = _wanted(given, format_name)
    query = read_query(_OWNERSHIP, given)  # first, so that nobody types a key for arguments that are wrong
    reporter = Reporter(given)
    found = view_keys.read_keys(COMMAND, files, given, output.file_of(given), reporter.warn)
    addresses = [key.address for key in found]
    identity = {"owner": view_keys.recorded_owner(addresses, given.checkpoint)}
    first = given.checkpoint is None or not os.path.exists(given.checkpoint)  # noqa: PTH110  # for names that are too long
    if like_table and len(found) == 1:
        given.columns = [path for path in given.columns or () if path != "owner"]
    schema = _schema(wanted, given, several=len(found) > 1)

    def check(service: Service) -> None:
        service.need(*wanted.commands)
        if wanted.unspent and query.bounds == Bounds():  # the newest blocks alone would pass for what a key owns
            view_keys.refuse_whole_chain("what is unspent", service)

    with Wallet(found, wanted, given.workers or cores(), reporter.warn, reporter) as wallet:
        run_command(query._replace(pick=wallet.owned), given, reporter, Picked(schema, check, identity))
        if first and wallet.read and (none := none_of(addresses, wallet.owners)):
            before = " (--start 0 reads those before)" if wallet.read.start else ""
            reporter.note(f"{wallet.read}{before}: {none}")
        wallet.check()


def _wanted(given: OwnedOptions, format_name: str) -> Wanted:
    """Return what is printed of each row. A table for a person shows what records hold."""
    records, plaintext, spends = needed(_requested(given))
    if spends and not (given.spent or given.unspent):
        raise UsageError(
            "columns spent_height and spent_transaction need --spent or --unspent",
            "for all records use --spent --unspent",
        )
    given.require("as_of", "spent", "unspent")
    decrypt = given.decrypt or plaintext or (format_name == "table" and not given.columns)
    style = Style.TEXT if format_name in ("json", "jsonl", "parquet") else Style.LINE
    style = Style.TABLE if format_name == "table" else style
    # Ownership rows have no height, records do.
    records = given.records or records or decrypt or format_name == "chart"
    return Wanted(records, decrypt, given.spent, given.unspent, given.as_of, style)


def _schema(wanted: Wanted, given: OwnedOptions, *, several: bool) -> Schema:
    """Return the rows, with the members of the plaintext that `--columns` names."""
    inside = (path for path in dict.fromkeys(_requested(given)) if path.startswith(f"{PLAINTEXT_JSON.path}."))
    members = [Column(path, "unknown") for path in inside]
    parts = {"records": wanted.records, "plaintext": wanted.plaintext, "spends": wanted.spends}
    return owned_schema(**parts, several=several, members=members)


def _requested(given: OwnedOptions) -> list[str]:
    """Return the paths that `--columns` names."""
    return [path.strip() for path in ",".join(given.columns or ()).split(",")]
