"""The commands that have modules of their own: each with its options and its texts.

Apart from what they run, which takes longer to load than help takes to print. No `from __future__ import annotations`
here: Typer reads the annotations.
"""

from pathlib import Path
from typing import Literal

from chainq.cli import options
from chainq.cli.options import RANGE, RANGE_HELP, REQUIRED, Group, argument, option, processes, switch

WALLET, EXPORT = "Wallet", "Export"


class KeyOptions(Group, heading=WALLET):
    """Whose records, if nothing is said of how they are printed."""

    view_key_file: list[Path] | None = option(
        "FILE", "View keys, one per line. Default: CHAINQ_VIEW_KEY, or a prompt.", common=True
    )
    insecure_key_file: bool = switch("Accept a key file that others can access.")
    workers: int | None = processes()


class RangeAndKeyFiles(Group):
    """The heights in one word and the files of view keys, in any order."""

    keys: list[str] | None = argument(
        "[RANGE] [KEYFILE]...", "Heights (0: is the whole chain), and files of view keys, one per line.", None
    )


class WalletOptions(KeyOptions, heading=WALLET):
    """Whose records, and what is printed of them."""

    records: bool = switch("Add the record of each row, with its height.")
    decrypt: bool = switch("Add and check the record, its plaintext and sender.", common=True)
    unspent: bool = switch("Only unspent records; reads full blocks up to the tip.", common=True)
    spent: bool = switch("Only spent records and what spends them.", common=True)
    as_of: int | None = option("H", "Count spends up to block H, not below the range.  [default: the tip]", least=0)


class OwnedOptions(RangeAndKeyFiles, WalletOptions, options.MethodOptions, command="owned"):
    """Ownership rows that your view keys own.

    Reads every ownership row of the range (method: records/isOwner) and compares it here: keys never leave this
    machine. Needs aleo-sdk
    (the extra wallet), which is under the GPL-3; chainq is under the MIT license.

    Without --columns, --records and --decrypt, rows show what the records hold; a table also has totals. Columns:
    owner (the address of the key) and those of ownership; with --records those of records; with --decrypt plaintext,
    plaintext_json, plaintext_json.MEMBER, record_name, sender, amount and token_id too; with --spent or --unspent
    spent_height and spent_transaction. --columns requests and decrypts what the columns that it names need. --spent and
    --unspent read every full block from the first owned record to the tip, or to --as-of; that can take hours.
    With both, all records are printed.

    owned does not prove that the service lists every record, even with --strict. balance and verify do, and --spent and
    --unspent for the full blocks that they read: these contain the records themselves.

    Ownership rows alone (--columns owner,transition_id,output_index) show the service nothing of your keys. All
    other columns, --spent and --unspent do: they request the blocks and the transactions of your records. --lake DEST
    requests none of those that an export of chain, ownership and records has, except source texts of programs other
    than credits.aleo, which an export of transitions has. With --url DEST, such an export, no service learns anything.

    Examples:
        chainq owned 0:500 --decrypt
        chainq owned 0:500 --csv --columns height,timestamp,amount,program_id
        chainq owned 0:500 --spent --unspent --as-of 499
    """

    without = ("range", "page", "where")


class BalanceCommand(
    RangeAndKeyFiles,
    options.CheckpointOptions,
    KeyOptions,
    options.OutputOptions,
    options.ServiceFlags,
    options.LakeOptions,
    heading=RANGE,
    command="balance",
):
    """Private balance of your view keys.

    By program and token, as of a block; the keys never leave this machine. Reads ownership rows until the first
    record of a key, and from there on all full blocks, whose inputs show what is spent: the service sees where
    these begin, and no more of your keys. With --checkpoint, later runs read only new blocks; that file holds
    amounts, but no key and no address. The service has no method for public balances. Needs aleo-sdk (the extra
    wallet).

    Amounts are in the smallest unit, such as microcredits; a table has them with their unit.

    Examples:
        chainq balance --end 400
        chainq balance --end 500 --csv
    """

    start: str | None = option("H", "Height before the first record.", common=True)
    end: str | None = option("H", "End height, exclusive; not with --checkpoint.", common=True)


class ShowCommand(options.ReportOptions, options.ServiceFlags, command="show"):
    """Show a block, transaction, address or program.

    Each on one screen: a block with its transactions and records, a transaction as a tree, the newest transactions
    of an address or of a function, the newest calls of a program. No method looks up transitions, records and block
    hashes: show looks for them in the newest blocks. Of an export (--url DEST) a screen has what there is in the
    tables of chain, and in records and transitions. In a pipe values are whole, unless COLUMNS is set.

    Examples:
        chainq show 12345 latest
        chainq show credits.aleo/transfer_public
        chainq records --last 10 --limit 5 --jsonl | chainq show -
    """

    objects: list[str] = argument(
        "OBJECT...",
        "Height, latest, block hash, transaction ID, transition ID, address, program, PROGRAM/FUNCTION, record "
        "ciphertext, tag (in an export), or - for stdin, one per line.",
    )
    last: int | None = option("N", "Blocks to search. Default: 500K for an address, else 100 or 1000.", least=1)
    no_trunc: bool = switch(options.NO_TRUNC_HELP)


class ExportCommand(
    options.RangeOptions, options.ServiceFlags, options.StrictOptions, heading=EXPORT, command="export"
):
    """Write Parquet partitions into a folder or a bucket.

    Writes the rows of range commands, a file per partition. `chain` reads full blocks once and writes blocks,
    full_blocks, transactions, calls, inputs, outputs, finalize and ratifications. `chainq show` also reads records
    and transitions. See docs/tables.md.

    Run it again to resume: partitions that are complete are skipped, and those that a reorg touched are replaced.
    Without RANGE it goes on to the tip, without COMMAND with every table that DEST has.

    Examples:
        chainq export chain --to chain 10K:11K --partition 1K
        chainq export records --to chain 10K:11K
        chainq verify chain
    """

    words: list[str] | None = argument(
        "[COMMAND...] [RANGE]",
        "Range commands or chain, then heights as in RANGE; 0: is the whole chain. A new export needs both.",
        None,
    )
    to: str = option("DEST", "Folder, or s3://, gs:// or az:// URL.", REQUIRED, show_default=False, common=True)
    partition: str | None = option("N", "Heights in a partition.  [default: 10K]", common=True)
    no_full_blocks: bool = switch("chain without the table full_blocks.")
    lag: int = option("N", "Leave out the last N blocks.", 0, least=0)
    workers: int | None = processes()
    engine: Literal["local", "dask"] = option("local|dask", "Worker processes, or a Dask cluster.", "local")
    scheduler: str | None = option("URL", "Dask scheduler, such as tcp://host:8786.  [default: on this machine]")
    delta: bool = switch("Commit full partitions to Delta tables.")
    hashes: bool = switch(options.HASHES_HELP)
    dry_run: bool = switch("List the partitions to write, write none.")


class DoctorCommand(options.ReportOptions, options.ServiceFlags, command="doctor"):
    """Examine a server: dialect, methods, ranges, limits.

    Sends fewer than 40 requests, one at a time.

    Examples:
        chainq doctor --url http://127.0.0.1:8545
    """


class StatusCommand(options.ReportOptions, command="status"):
    """Show how far a checkpoint or an export has come.

    Of a checkpoint, also how its last run ended. Reads files only and sends no request, so it suits monitoring.

    Examples:
        chainq blocks --start -100 --checkpoint blocks.ckpt -o blocks.jsonl
        chainq status blocks.ckpt --max-age 15m
    """

    target: str = argument("CHECKPOINT|DEST", "A checkpoint file, or the folder or URL of an export.")
    max_age: float | None = option(
        "AGE", "Exit with code 8 if the last success is older, or the last run failed for good.", parser=options.MAX_AGE
    )
    quiet: bool = switch("Print errors only, for a job with --max-age.", names="--quiet -q")


class VerifyCommand(options.RangeOptions, options.OutputOptions, options.ServiceFlags, heading=RANGE, command="verify"):
    """Find missing, duplicate, altered and misplaced rows.

    RANGE: reads the full blocks of a service (--url) and compares all other rows with them, transactions at --sample N
    heights. Without an argument, it verifies the last 10 blocks.

    DEST: checks the files of an export and compares its tables with its full blocks, without a network. It verifies
    the whole export and takes no range.

    FILE: compares the rows of a file with a service (--url), and checks their order, links, checksums and duplicates.
    A file alone cannot show what it lacks. --start and --end give the heights that the file should have. Rows without
    heights (ownership, transactions) need both, unless a Parquet file names them.

    --full and --sample N also compare an export with a service; --sample N compares some rows of a file. verify exits
    with code 0 if nothing is wrong, with code 6 if anything is or RANGE ends above the tip, and with other codes if it
    fails before the end.

    Examples:
        chainq verify --last 100 --url http://127.0.0.1:8545
        chainq records 500:600 -o records.csv
        chainq verify records.csv
    """

    range: str | None = argument(
        "[RANGE|DEST|FILE]", f"{RANGE_HELP[:-1]}; or the folder or URL of an export, or a file of rows.", None
    )
    commands: list[str] | None = option("A,B", "Besides blocks: transactions, records, ownership, transitions.")
    witness: str | None = option("URL", "Second service to compare with, or its profile.", common=True)
    sample: int | None = option("N", "Compare N random heights; of a service, 64 by default.", least=1)
    full: bool = switch("Compare all heights instead of a sample.", common=True)
    workers: int | None = processes()
    hashes: bool = switch("Recompute block hashes, roots and IDs from the rows.")
    anchor: str | None = option("HEIGHT:HASH", "Trusted block hash; proves all blocks up to it.", common=True)


class SqlOptions(
    options.RangeOptions,
    options.OutputOptions,
    options.ServiceFlags,
    options.StrictOptions,
    command="sql",
):
    """Query an export, or the last blocks, with SQL.

    The SQL is that of DuckDB. Tables: blocks, full_blocks, records, ownership, transitions, transactions, with the
    columns of these commands; an export has those that it was written with, others such as calls too. The query
    'describe blocks' lists the columns of a table and their types. Without DEST the tables that the query names are
    fetched into memory, for the range; --url DEST without a range is the whole export. Without QUERY, chainq prints
    the tables of DEST as CREATE VIEW statements, for duckdb -init.

    Examples:
        chainq sql --last 1000 'select program_id, count(*) from records group by 1'
    """

    without = ("columns", "typed")

    words: list[str] | None = argument(
        "[RANGE|DEST] [QUERY]",
        "Heights, or folder or URL of an export, and one SELECT in quotes, or - to read it from stdin.",
        None,
    )
    partial: bool = switch("Query an export although heights are missing.", common=True)


class RpcOptions(options.ServiceFlags, options.RequestOptions, command="rpc"):
    """Call any method and print its result.

    The result is one line of JSON, indented on a terminal. Name and parameters are sent as given, in every dialect.

    Examples:
        chainq rpc getBlocks '{"start": 0, "end": 5}'
    """

    method: str = argument("METHOD", "Name of the method on the server.")
    params: str | None = argument("[PARAMS]", "JSON object or array, or - to read it from stdin.", None)


class ProfilesCommand(options.ReportOptions, command="profiles"):
    """List the profiles in config.toml.

    Without their secrets. chainq doctor prints the lines of one.

    Examples:
        chainq profiles --json
    """


class ServeOptions(Group, command="serve"):
    """Serve the sample chain over HTTP, with optional faults.

    With --lake it serves an export. Listens on a loopback address, prints its URL and runs until interrupted.

    Examples:
        chainq serve --port 8545 --fault row-cap:700 --fault fail-rate:0.1
    """

    port: int = option("N", "TCP port; 0: any free one.", 8545, least=0, most=65535, common=True)
    host: str = option("ADDRESS", "A loopback address; any address with --lake.", "127.0.0.1")
    dialect: Literal["chain", "aleo"] = option("NAME", "chain or aleo.", "chain")
    tip: int | None = option("H", "Tip height; -1: an empty chain.", least=-1, common=True)
    now: bool = switch("The newest block is seconds old, and new ones come as their times are reached.", common=True)
    seed: int = option("N", "Seed for the chain.", 0)
    sealed: int | None = option(
        "N", "A chain of N blocks with true hashes; making 50 takes about a second.", least=1, most=1e5, common=True
    )
    shuffle: bool = switch("Shuffle the rows inside each height.", default=True, names="--shuffle/--no-shuffle")
    lake: str | None = option("DEST", "Serve the export in this folder or at this URL instead.")
    fault: list[str] | None = option(
        "NAME[:N]", "A fault of the server, such as row-cap:700; `--fault help` lists them.", common=True
    )
    verbose: bool = switch("Log every request to stderr.", names="--verbose -v")


class CompletionOptions(Group, command="completion"):
    """Print the completion script of a shell.

    Examples:
        source <(chainq completion bash)
    """

    shell: Literal["bash", "zsh", "fish"] = argument("SHELL", "bash, zsh or fish.")


class HelpOptions(Group, command="help"):
    """Show the help of a command.

    Examples:
        chainq help records
    """

    command: str | None = argument("[COMMAND]", "The command. Default: chainq itself.", None)


class VersionOptions(Group, command="version"):
    """Print the version.

    Examples:
        chainq version
    """
