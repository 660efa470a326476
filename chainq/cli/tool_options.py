"""The commands that have options of their own: each with its options, and what builds it.

Apart from what they run, which takes longer to load than help takes to print. No `from __future__ import annotations`
here: Typer reads the annotations.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument

from chainq.cli.build import build, parameters
from chainq.cli.options import (
    OUTPUT,
    RANGE,
    RANGE_HELP,
    RESUME,
    CheckOptions,
    CheckpointOptions,
    ColorOptions,
    Group,
    LakeOptions,
    LimitOptions,
    MethodOptions,
    OrderOptions,
    OutputOptions,
    PageSizeOptions,
    RangeArgument,
    RangeOptions,
    ReportOptions,
    RequestOptions,
    ResumeOptions,
    ServiceFlags,
    StrictOptions,
    option,
)
from chainq.defaults import INTERVAL

if TYPE_CHECKING:
    from typer._click import Command

WALLET, EXPORT = "Wallet", "Export"


class KeyOptions(Group):
    """Whose records, if nothing is said of how they are printed."""

    view_key_file: Annotated[
        Path | None,
        option(
            WALLET,
            "--view-key-file",
            "FILE",
            "View keys, one per line; - for stdin. Default: CHAINQ_VIEW_KEY, else a hidden prompt.",
        ),
    ] = None
    insecure_key_file: Annotated[
        bool, option(WALLET, "--insecure-key-file", "", "Accept a key file that others can access.")
    ] = False
    network: Annotated[
        str | None, option(WALLET, "--network", "NAME", "Fail unless the service is on mainnet, or on testnet.")
    ] = None
    workers: Annotated[
        int | None,
        option(WALLET, "--workers -w", "N", "Processes that compare rows. Default: one per core.", min=1, max=256),
    ] = None


class WalletOptions(KeyOptions):
    """Whose records, and what is printed of them."""

    records: Annotated[bool, option(WALLET, "--records", "", "Add the record of each row, with its height.")] = False
    decrypt: Annotated[
        bool, option(WALLET, "--decrypt", "", "Add the record, its plaintext and sender, and check it.")
    ] = False
    unspent: Annotated[bool, option(WALLET, "--unspent", "", "Only records that are not spent, up to the tip.")] = False
    spent: Annotated[bool, option(WALLET, "--spent", "", "Only spent records, with what spends them.")] = False


class OwnedOptions(WalletOptions, MethodOptions):
    """What `owned` is given: what a method with heights is, and the keys."""


def _owned() -> "Command":
    def call(given: OwnedOptions) -> None:
        from chainq.cli import owned

        owned.run(given)

    groups = (
        RangeArgument,
        RangeOptions,
        OrderOptions,
        LimitOptions,
        PageSizeOptions,
        KeyOptions,
        WalletOptions,
        CheckpointOptions,
        ResumeOptions,
        OutputOptions,
        ColorOptions,
        ServiceFlags,
        LakeOptions,
        CheckOptions,
        StrictOptions,
        RequestOptions,
    )
    return build(
        "owned",
        OwnedOptions,
        call,
        "Ownership rows that view keys own; the keys never leave this machine.\n\n"
        "Reads every ownership row of the range (method: records/isOwner) and compares it here. Needs the package "
        "aleo-sdk: pip install 'chainq[wallet]'. That package is under the GPL-3, chainq under the MIT license; "
        "of the other commands, only balance and verify --hashes use it.\n\n"
        "A table shows what the records hold, and totals, unless --columns names others. Columns: owner (the address "
        "of the key) and those of ownership; with --records those of records; with --decrypt plaintext, "
        "plaintext_json, plaintext.MEMBER, record_name and sender too; with --spent or --unspent spent_height and "
        "spent_transaction. These two options read every full block from the first owned record to the tip, which can "
        "take hours; balance with --end reads up to there, and --lake DEST takes what an export of full-blocks has. "
        "With both, all records are printed.",
        "Examples:\n  chainq owned --last 100\n  chainq owned 0:500 --decrypt\n",
        declared=parameters(*groups),
    )


class BookOptions(Group):
    """From where on, and how often."""

    start: Annotated[str | None, option(RANGE, "--start", "H", "Height before the first record.  [default: 0]")] = None
    end: Annotated[
        str | None,
        option(RANGE, "--end", "H", "End height, exclusive: balance as of the block before. Not with --checkpoint."),
    ] = None
    watch: Annotated[bool, option(RESUME, "--watch", "", "Keep running and print each change.")] = False
    interval: Annotated[
        float | None,
        option(RESUME, "--interval", "SECONDS", f"Seconds between polls.  [default: {INTERVAL:g}]", min=0.01),
    ] = None


class BalanceCommand(BookOptions, CheckpointOptions, KeyOptions, ReportOptions, ServiceFlags, LakeOptions):
    """What `balance` is given."""

    keys: Annotated[list[str] | None, Argument(metavar="[KEYFILE]...", help="Files of view keys, one per line.")] = None


def _balance() -> "Command":
    def call(given: BalanceCommand) -> None:
        from chainq.cli import balance

        balance.run(given)

    return build(
        "balance",
        BalanceCommand,
        call,
        "Private balance of view keys, by program and token, as of a block; the keys never leave this machine.\n\n"
        "Reads ownership rows until the first record of a key, and from there on all full blocks, whose inputs show "
        "what is spent. With --checkpoint, later runs read only new blocks; that file holds amounts, but no key and no "
        "address. The service has no method for public balances. Needs the package aleo-sdk: "
        "pip install 'chainq[wallet]'.",
        "Examples:\n  chainq balance --end 400\n  chainq balance --end 500 --json\n",
    )


class ShowOptions(Group):
    """What `show` looks at, and how it prints it."""

    last: Annotated[
        str | None,
        option(
            "",
            "--last",
            "N",
            "Newest blocks to look at. Default: 500K for an address, 1000 for a record, else 100.",
        ),
    ] = None
    json: Annotated[bool, option(OUTPUT, "--json", "", "All parts as one JSON object.")] = False
    no_trunc: Annotated[bool, option(OUTPUT, "--no-trunc", "", "Do not abbreviate values.")] = False


class ShowCommand(ShowOptions, ColorOptions, ServiceFlags):
    """What `show` is given."""

    object: Annotated[
        str,
        Argument(
            metavar="OBJECT",
            help="Height, latest, transaction ID, address, program such as credits.aleo, PROGRAM/FUNCTION, "
            "transition ID, or a record's ciphertext; - reads them from stdin, one per line.",
        ),
    ]


def _show() -> "Command":
    def call(given: ShowCommand) -> None:
        from chainq.cli import show

        show.run(given)

    return build(
        "show",
        ShowCommand,
        call,
        "Show an object on one screen: what it is and what happened.\n\n"
        "A block with its transactions and records, a transaction as a tree, the newest transactions of an address or"
        " of a function, the newest calls of a program. No method looks up transitions and records:"
        " show looks for them in the newest blocks.",
        "Examples:\n  chainq show 12345\n  chainq show latest\n  chainq show credits.aleo/transfer_public\n"
        "  chainq records --last 1 --limit 5 --jsonl | chainq show -\n",
    )


class ExportOptions(Group):
    """Where a data set is, how it is divided, and who does the work."""

    to: Annotated[str, option(EXPORT, "--to", "DEST", "Folder, or s3://, gs:// or az:// URL.", show_default=False)]
    partition: Annotated[str | None, option(EXPORT, "--partition", "N", "Heights in a partition.  [default: 10K]")] = (
        None
    )
    no_full_blocks: Annotated[
        bool, option(EXPORT, "--no-full-blocks", "", "With chain: leave out the table of the full blocks themselves.")
    ] = False
    lag: Annotated[int, option(EXPORT, "--lag", "N", "Leave out the last N blocks.", min=0)] = 0
    workers: Annotated[
        int | None, option(EXPORT, "--workers -w", "N", "Worker processes. Default: one per core.", min=1)
    ] = None
    engine: Annotated[str, option(EXPORT, "--engine", "NAME", "Who does the work: local or dask.")] = "local"
    scheduler: Annotated[
        str | None,
        option(
            EXPORT,
            "--scheduler",
            "URL",
            "Dask scheduler, such as tcp://host:8786.  [default: a cluster on this machine]",
        ),
    ] = None
    delta: Annotated[
        bool, option(EXPORT, "--delta", "", "Commit full partitions to a Delta table for each command.")
    ] = False
    iceberg: Annotated[
        bool, option(EXPORT, "--iceberg", "", "Commit full partitions to an Iceberg table for each command.")
    ] = False
    repair: Annotated[
        str | None,
        option(
            EXPORT,
            "--repair",
            "FILE|all",
            "Write again the partitions that findings of verify name (jsonl), or all of the range.",
        ),
    ] = None
    hashes: Annotated[
        bool,
        option(
            EXPORT, "--hashes", "", "Recompute block hashes before partitions of blocks and full-blocks are written."
        ),
    ] = False
    no_lock: Annotated[
        bool, option(EXPORT, "--no-lock", "", "Do not keep other exports out; for disjoint partitions.")
    ] = False
    dry_run: Annotated[bool, option(EXPORT, "--dry-run", "", "List the partitions to write, write none.")] = False


class ExportCommand(ExportOptions, RangeOptions, ServiceFlags, StrictOptions):
    """What `export` is given."""

    words: Annotated[
        list[str] | None,
        Argument(
            metavar="COMMAND... [RANGE]",
            help="Range commands or chain, then heights: A:B, A:, :B or H. Default: the whole chain.",
        ),
    ] = None


def _export() -> "Command":
    def call(given: ExportCommand) -> None:
        from chainq.cli import export

        export.run(given)

    return build(
        "export",
        ExportCommand,
        call,
        "Write the rows of range commands as Parquet files, a partition each, into a folder or an object store.\n\n"
        "`chain` reads full blocks once and writes blocks, full_blocks, transactions, calls, inputs, outputs, finalize"
        " and ratifications. See docs/tables.md.\n\n"
        "Run it again to resume: partitions that are complete are skipped, the last one is replaced as the chain grows,"
        " and so are those that a reorg touched.",
        "Examples:\n  chainq export chain --to chain 10K:11K --partition 1K\n"
        "  chainq export records --to chain 10K:12K\n",
    )


class SaveOptions(Group):
    """What happens with the findings of `doctor`."""

    save: Annotated[str | None, option("", "--save", "NAME", "Save as a profile in config.toml.")] = None
    default: Annotated[bool, option("", "--default", "", "With --save: make it the default profile.")] = False


class DoctorCommand(ReportOptions, SaveOptions, ServiceFlags):
    """What `doctor` is given."""


def _doctor() -> "Command":
    def call(given: DoctorCommand) -> None:
        from chainq.cli import doctor

        doctor.run(given)

    return build(
        "doctor",
        DoctorCommand,
        call,
        "Examine a server: dialect, methods, pagination, limits.\n\nSends fewer than 40 requests, one at a time.",
        "Example:\n  chainq doctor --url http://127.0.0.1:8545 --save mine\n",
    )


class StatusCommand(ReportOptions):
    """What `status` is given."""

    target: Annotated[str, Argument(metavar="CHECKPOINT|DEST", help="A checkpoint file, or an export's folder or URL.")]
    max_age: Annotated[
        str | None, option("", "--max-age", "AGE", "Exit with code 6 if the last success is older: 90s, 10m, 2h.")
    ] = None
    prometheus: Annotated[
        bool, option("", "--prometheus", "", "Gauges in the text format of Prometheus, for node_exporter.")
    ] = False


def _status() -> "Command":
    def call(given: StatusCommand) -> None:
        from chainq.cli import status

        status.run(given)

    return build(
        "status",
        StatusCommand,
        call,
        "Show how far a checkpoint or an export has come, and how its last run ended.\n\nReads files only and sends no "
        "request, so it suits monitoring.",
        "Examples:\n  chainq blocks --start -5 --checkpoint blocks.ckpt -o blocks.jsonl\n"
        "  chainq status blocks.ckpt --max-age 15m\n",
    )


class VerifiedOptions(Group):
    """What `verify` compares."""

    commands: Annotated[
        str | None,
        option(
            RANGE,
            "--commands",
            "A,B",
            "Commands to verify beside the blocks: transactions, records, ownership, transitions. Default: all.",
        ),
    ] = None
    witness: Annotated[
        str | None, option(RANGE, "--witness", "URL", "Second service to compare with, as far as its chain goes.")
    ] = None
    sample: Annotated[
        int | None,
        option(
            RANGE,
            "--sample",
            "N",
            "Compare N random heights of a data set or file with the service. Of a service: compare the transactions of"
            " N heights. Default there: 64.",
            min=1,
        ),
    ] = None
    full: Annotated[bool, option(RANGE, "--full", "", "Compare all heights instead of a sample.")] = False
    workers: Annotated[
        int | None,
        option(
            RANGE,
            "--workers -w",
            "N",
            "Processes that read a data set, or recompute hashes. Default: one per core.",
            min=1,
            max=256,
        ),
    ] = None
    hashes: Annotated[bool, option(RANGE, "--hashes", "", "Recompute block hashes, roots and IDs from the rows.")] = (
        False
    )
    anchor: Annotated[
        str | None,
        option(RANGE, "--anchor", "HEIGHT:HASH", "Trusted block hash; proves all blocks up to it."),
    ] = None


class VerifyCommand(RangeOptions, CheckpointOptions, VerifiedOptions, OutputOptions, ServiceFlags):
    """What `verify` is given."""

    range: Annotated[
        str | None,
        Argument(
            metavar="[RANGE|DEST|FILE]",
            help=f"{RANGE_HELP[:-1]}; or a data set of chainq export, or a file of -o.",
        ),
    ] = None


def _verify() -> "Command":
    from chainq.verify.findings import FINDINGS

    def call(given: VerifyCommand) -> None:
        from chainq.cli import verify

        verify.run(given)

    return build(
        "verify",
        VerifyCommand,
        call,
        "Find missing, duplicate, altered and misplaced rows.\n\n"
        "Of a service: reads the full blocks of a height range and compares all other rows with them. Of a data set or"
        " a file: reads it, without a network. Exits with code 6 if anything is wrong.",
        "Example:\n  chainq verify --last 100 --url http://127.0.0.1:8545\n",
        tuple(column.path + ("*" if column.brief else "") for column in FINDINGS.columns),
    )


TOOLS: dict[str, Callable[[], "Command"]] = {
    "owned": _owned,
    "balance": _balance,
    "show": _show,
    "export": _export,
    "doctor": _doctor,
    "status": _status,
    "verify": _verify,
}
"""What builds each of these commands."""
