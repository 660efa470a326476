"""`chainq owned`: the range command over the rows that view keys own."""

import os
from collections.abc import Iterable
from functools import partial

from chainq.catalog.methods import Column, Method
from chainq.catalog.owned import COMMAND, PLAINTEXT, PLAINTEXT_JSON, needed, owned_method, readable
from chainq.cli import connect, output
from chainq.cli import run as run_command
from chainq.cli.identity import prepare, read_keys, recorded_owner, warn_readable
from chainq.cli.query import is_range, is_url, read_query
from chainq.cli.tool_options import OwnedOptions
from chainq.errors import UsageError
from chainq.heights.bounds import parse_start
from chainq.process.pool import cores
from chainq.rows.fields import Alias
from chainq.text.sanitize import printable
from chainq.wallet.owned import OwnedService, Wallet, Wanted, block_of, heights_in_words
from chainq.wallet.shown import Style, totals


def run(given: OwnedOptions) -> None:
    """Run the command. Raises ChainqError, PipeClosed, Interrupted.

    IncompleteError at the end, after all rows, if some could not be compared.
    """
    files = _key_files(given)
    by_default = _takes_readable(given)
    if by_default:
        given.columns = _readable(given, several=True)
    wanted = _wanted(given)
    method = _method(wanted, given, several=True)
    if wanted.spends and (given.checkpoint is not None or given.follow):
        raise UsageError(
            f"--{'spent' if given.spent else 'unspent'} cannot be combined with --checkpoint or --follow: "
            "written rows would have to change when a record is spent",
            "leave them out, or use chainq balance with --checkpoint",
        )
    read_query(method, given)  # so that nobody types a key for arguments that are wrong
    prepare(COMMAND, given.network)
    network = given.network
    found = read_keys(files, given)
    identity = {"owner": recorded_owner([key.address for key in found], given.checkpoint)}
    first = given.checkpoint is None or not os.path.exists(given.checkpoint)  # noqa: PTH110  # for names that are too long
    reporter = connect.reporter(given)
    warn_readable(output.file_of(given), reporter.warn)
    if by_default:
        given.columns = _readable(given, several=len(found) > 1)
    with Wallet(found, wanted, given.workers or cores(), reporter) as wallet:
        method = _method(wanted, given, several=len(found) > 1)
        found.clear()
        whole = given.limit is None and not given.follow and given.checkpoint is None
        sums = partial(_totals, wallet, wanted) if whole else tuple
        run_command.run(method, given, partial(OwnedService, wallet, network), identity, reporter, sums)
        if first and (none := wallet.none_owned):
            reporter.note(none + ("" if given.checkpoint is None else "; later runs read new blocks"))
        wallet.check()


def _takes_readable(given: OwnedOptions) -> bool:
    """Return whether the rows have the columns of a table in another format, since no option says which."""
    appended = given.checkpoint is not None or (given.follow and given.output is not None)
    plain = owned_method(records=True, plaintext=True, spends=True)
    named = given.columns or given.records or given.decrypt
    return not named and output.settings(plain, given, appended=appended).format not in ("table", "chart")


def _readable(given: OwnedOptions, *, several: bool) -> list[str]:
    """Return the columns of a table, as `--columns` names them."""
    method = owned_method(records=True, plaintext=True, spends=given.spent or given.unspent)
    shown = [column for column in readable(method, several=several, spent=given.spent).columns if column.brief]
    return [column.path for column in sorted(shown, key=lambda column: column.brief)]


def _totals(wallet: Wallet, wanted: Wanted) -> list[str]:
    """Return the lines below a table. A sum of part of the chain says so: it could pass for what a key owns."""
    spent = wallet.spent if wanted.spent and wanted.unspent else None
    lines = totals(wallet.amounts, spent)
    part = ["of " + heights_in_words(wallet.read)] if lines and wallet.read and wallet.read.start else []
    return [printable(line) for line in (*lines, *part)]


def _key_files(given: OwnedOptions) -> list[str]:
    """Return the arguments that are files of view keys; the other one becomes the range. Raises UsageError."""
    files: list[str] = []
    ranges: list[str] = []
    for word in filter(None, (given.range, *(given.keys or ()))):
        (ranges if is_range(word) or is_url(word) else files).append(word)
    given.range, given.keys = ranges[0] if ranges else None, files
    if extra := ranges[1:]:
        raise UsageError(f"unexpected argument {' '.join(extra)}")
    return files


def _wanted(given: OwnedOptions) -> Wanted:
    """Return what is printed of each row. A table for a person shows what records hold."""
    requested = _requested(given)
    named = needed(requested)
    if named.spends and not (given.spent or given.unspent):
        raise UsageError(
            "columns spent_height and spent_transaction need --spent or --unspent",
            "for all records use --spent --unspent",
        )
    height = None if given.as_of is None else parse_start(given.as_of)
    as_of = block_of(height, spends=given.spent or given.unspent)
    plain = owned_method(records=True, plaintext=True, spends=True)
    appended = given.checkpoint is not None or (given.follow and given.output is not None)
    settings = output.settings(_with_members(plain, requested), given, appended=appended)
    format_name = settings.format
    readably = format_name == "table" and not given.columns
    decrypt = given.decrypt or named.plaintext or readably
    style = Style.TEXT if format_name in ("json", "jsonl", "parquet") else Style.LINE
    if format_name == "table":
        style = Style.TABLE
    # Ownership rows have no height, records do.
    records = given.records or named.records or decrypt or settings.can.needs_heights
    return Wanted(records, decrypt, given.spent, given.unspent, as_of, style)


def _method(wanted: Wanted, given: OwnedOptions, *, several: bool) -> Method:
    """Return what describes the rows, with the members of the plaintext that `--columns` names."""
    method = owned_method(records=wanted.records, plaintext=wanted.plaintext, spends=wanted.spends)
    if wanted.style is Style.TABLE and not given.columns:
        return readable(method, several=several, spent=given.spent)
    return _with_members(method, _requested(given))


def _requested(given: OwnedOptions) -> list[str]:
    """Return the paths that `--columns` names."""
    return [path.strip() for path in ",".join(given.columns or ()).split(",")]


def _with_members(method: Method, paths: Iterable[str]) -> Method:
    """Return the method with columns for those of these paths that lead into the plaintext.

    `plaintext` itself is text, so its members are those of `plaintext_json`.
    """
    inside: dict[str, str] = {}
    for path in paths:
        outer, dot, member = path.partition(".")
        if dot and outer == PLAINTEXT.path:
            inside[path] = Alias(path, f"{PLAINTEXT_JSON.path}.{member}")
        elif dot and outer == PLAINTEXT_JSON.path:
            inside[path] = path
    known = {column.path for column in method.columns}
    more = tuple(Column(column, "unknown") for path, column in inside.items() if path not in known)
    return method._replace(columns=(*method.columns, *more)) if PLAINTEXT in method.columns else method
