"""The commands: one for each method of the catalogue, and the tools. Only the command that is called is built."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from chainq._version import __version__
from chainq.catalog.methods import METHODS, Method, Role
from chainq.cli import options
from chainq.cli.help import MAX_WIDTH, PlainCommand, PlainGroup

if TYPE_CHECKING:
    from typer._click import Command

ARGUMENTS: dict[Role, tuple[str, str, str]] = {
    Role.HEIGHT: ("heights", "HEIGHT...", "Heights, ranges A:B, latest, or - to read them from stdin, one per line."),
    Role.ID: ("ids", "ID...", "Transaction IDs (at1...), or - to read IDs from stdin, one per line."),
    Role.PROGRAM: ("program", "PROGRAM", "Program ID, such as credits.aleo."),
    Role.FUNCTION: ("function", "FUNCTION", "Function name, such as transfer_public."),
    Role.ADDRESS: ("address", "ADDRESS", "Address, with the prefix of its network."),
}
"""The positional arguments: name of the parameter, as shown in help, and its help."""
RANGE = "One height, A:B (without B), A: (through the tip), :B, or latest."
VERSION = f"chainq {__version__}"
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": MAX_WIDTH}
PROGRAM_EPILOG = """Try it without a server:
  chainq block 12345 --url demo:
  chainq records --start 0 --end 500 --url demo: --jsonl
"""


def groups_of(method: Method) -> list[type[options.Group]]:
    """Return the option groups of a method's command, in the order of its help."""
    sized = method.param(Role.SIZE) is not None
    groups = {
        options.RangeOptions: method.ranged,
        options.OrderOptions: method.ranged,
        options.LimitOptions: method.ranged or sized,
        options.PageOptions: sized,
        options.PageSizeOptions: sized,
        options.NewestOptions: sized and not method.ranged,
        options.VerifyOptions: method.linked,
        options.ResumeOptions: method.ranged,
        options.OutputOptions: True,
        options.ColorOptions: True,
        options.DetailOptions: method.param(Role.ADDRESS) is not None,
        options.ServiceOptions: True,
        options.RequestOptions: True,
    }
    return [group for group, wanted in groups.items() if wanted]


def _parameters(groups: list[type[options.Group]]) -> list[inspect.Parameter]:
    """Return the fields of option groups as keyword parameters that Typer can read."""
    kind = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(name, kind, default=getattr(group, name, inspect.Parameter.empty), annotation=annotation)
        for group in groups
        for name, annotation in group.__annotations__.items()
    ]


def _command(
    name: str,
    call: Callable[[dict[str, Any]], None],
    parameters: list[inspect.Parameter],
    text: str,
    epilog: str,
    columns: tuple[str, ...] = (),
) -> "Command":
    """Build one command; `call` gets the parsed values by the names of the parameters."""

    def command(**values: Any) -> None:
        call(values)

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what Typer reads
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(
        name,
        cls=PlainCommand,
        help=text,
        epilog=epilog,
        context_settings=CONTEXT,
    )(command)
    built = cast("PlainCommand", typer.main.get_command(app))
    built.columns = columns
    return built


def _method_command(method: Method) -> "Command":
    arguments = [ARGUMENTS[param.role] for param in method.params if param.role in ARGUMENTS]

    def call(values: dict[str, Any]) -> None:
        from chainq.cli import run

        run.run(method, values)

    positional = [
        inspect.Parameter(
            name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            annotation=Annotated[
                list[str] if metavar.endswith("...") else str, typer.Argument(metavar=metavar, help=text)
            ],
        )
        for name, metavar, text in arguments
    ]
    if method.ranged:
        positional.append(_range_argument())
    return _command(
        method.command,
        call,
        positional + _parameters(groups_of(method)),
        f"{_sentence(method.purpose)}\n\nMethod: {method.name}. Limits: {method.limits}.",
        f"Example:\n  {method.example}\n",
        tuple(column.path + ("*" if column.brief else "") for column in method.columns),
    )


def _range_argument(metavar: str = "[RANGE]", text: str = RANGE) -> inspect.Parameter:
    """Return the argument that is a range of heights in one word."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    annotation = Annotated[str | None, typer.Argument(metavar=metavar, help=text)]
    return inspect.Parameter("range", kind, default=None, annotation=annotation)


def _sentence(purpose: str) -> str:
    return purpose[0].upper() + purpose[1:] + "."


def _owned_command() -> "Command":
    def call(values: dict[str, Any]) -> None:
        from chainq.cli import owned

        owned.run(values)

    groups: list[type[options.Group]] = [
        options.RangeOptions,
        options.OrderOptions,
        options.LimitOptions,
        options.PageSizeOptions,
        options.WalletOptions,
        options.ResumeOptions,
        options.OutputOptions,
        options.ColorOptions,
        options.ServiceOptions,
        options.RequestOptions,
    ]
    return _command(
        "owned",
        call,
        [_range_argument(), *_parameters(groups)],
        "Ownership rows that view keys own; the keys never leave this machine.\n\n"
        "Reads every ownership row of the range (method: records/isOwner) and compares it here. Needs the package "
        "aleo-sdk: pip install 'chainq[wallet]'. That package is under the GPL-3, chainq under the MIT license; no "
        "other command uses it.\n\n"
        "Columns: owner (the address of the key) and those of ownership; with --records those of records; with "
        "--decrypt plaintext too.",
        "Examples:\n  chainq owned --last 100\n  chainq owned 0:500 --decrypt\n",
    )


def _rpc_command() -> "Command":
    def call(values: dict[str, Any]) -> None:
        from chainq.cli import helpers

        helpers.rpc(values["method"], values["params"], values)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    method = Annotated[str, typer.Argument(metavar="METHOD", help="Name of the method on the server.")]
    params = Annotated[
        str | None, typer.Argument(metavar="[PARAMS]", help="JSON object or array, or - to read it from stdin.")
    ]
    return _command(
        "rpc",
        call,
        [
            inspect.Parameter("method", kind, annotation=method),
            inspect.Parameter("params", kind, annotation=params, default=None),
            *_parameters([options.ColorOptions, options.ServiceOptions, options.RequestOptions]),
        ],
        "Call any method and print its result: one line of JSON, on a terminal indented.",
        """Example:\n  chainq rpc getBlocks '{"start": 0, "end": 5}'\n""",
    )


def _export_command() -> "Command":
    def call(values: dict[str, Any]) -> None:
        from chainq.cli import export

        export.run(values)

    words = Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND... [RANGE]", help="Range commands, then heights: A:B, A:, :B or H; else all."),
    ]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    positional = inspect.Parameter("words", kind, annotation=words, default=None)
    return _command(
        "export",
        call,
        [positional, *_parameters([options.ExportOptions, options.RangeOptions, options.ServiceOptions])],
        "Write the rows of range commands as Parquet files, a partition each, into a folder or an object store.\n\n"
        "Run it again to resume: partitions that are complete are skipped, the last one is replaced as the chain grows,"
        " and so are those that a reorg touched.",
        "Example:\n  chainq export blocks records --to chain 10K:20K\n",
    )


def _sql_command() -> "Command":
    def call(values: dict[str, Any]) -> None:
        from chainq.cli import sql

        sql.run(values)

    words = Annotated[
        list[str],
        typer.Argument(metavar="[DEST] QUERY", help="Folder or URL of an export, and one SELECT in quotes."),
    ]
    positional = inspect.Parameter("words", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=words)
    groups = [options.RangeOptions, options.OutputOptions, options.ColorOptions, options.ServiceOptions]
    return _command(
        "sql",
        call,
        [positional, *(option for option in _parameters(groups) if option.name != "columns")],
        "Query an export, or the last blocks, with SQL (DuckDB).\n\n"
        "Tables: blocks, full_blocks, records, ownership, transitions. Without DEST the tables that the query names are"
        " fetched into memory, for the range.",
        "Example:\n  chainq sql --last 1000 'select program_id, count(*) from records group by 1'\n",
    )


def _serve_command() -> "Command":
    from chainq.cli import serve

    return _command(
        "serve",
        lambda values: serve.serve(**values),
        _parameters([serve.ServeOptions, serve.FaultOptions]),
        "Serve the sample chain over HTTP, with the faults of real servers.\n\n"
        "Listens on a loopback address, prints its URL and runs until interrupted.",
        "Example:\n  chainq serve --port 8545 --row-cap 700 --fail-rate 0.1\n",
    )


def _show_command() -> "Command":
    def call(values: dict[str, Any]) -> None:
        from chainq.cli import show

        show.run(values["object"], values)

    text = "Height, latest, transaction ID, address, program such as credits.aleo, or PROGRAM/FUNCTION."
    positional = inspect.Parameter(
        "object",
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        annotation=Annotated[str, typer.Argument(metavar="OBJECT", help=text)],
    )
    return _command(
        "show",
        call,
        [positional, *_parameters([options.ShowOptions, options.ColorOptions, options.ServiceOptions])],
        "Show an object on one screen: what it is and what happened.\n\n"
        "A block with its transactions and records, a transaction as a tree, the newest transactions of an address or"
        " of a function, the newest calls of a program.",
        "Examples:\n  chainq show 12345\n  chainq show latest\n  chainq show credits.aleo/transfer_public\n",
    )


def _doctor_command() -> "Command":
    def call(values: dict[str, Any]) -> None:
        from chainq.cli import doctor

        doctor.run(values)

    return _command(
        "doctor",
        call,
        _parameters([options.ReportOptions, options.SaveOptions, options.ServiceOptions]),
        "Examine a server: dialect, methods, pagination, limits.\n\nSends fewer than 40 requests, one at a time.",
        "Example:\n  chainq doctor --url http://127.0.0.1:8545 --save mine\n",
    )


def _verify_command() -> "Command":
    from chainq.verify.findings import FINDINGS

    def call(values: dict[str, Any]) -> None:
        from chainq.cli import verify

        verify.run(values)

    heights = [option for option in _parameters([options.RangeOptions]) if option.name != "reverse"]
    groups = [options.VerifiedOptions, options.OutputOptions, options.ColorOptions, options.ServiceOptions]
    return _command(
        "verify",
        call,
        [
            _range_argument("[RANGE|DEST|FILE]", f"{RANGE[:-1]}; or a data set of chainq export, or a file of -o."),
            *heights,
            *(option for option in _parameters([options.ResumeOptions]) if option.name == "checkpoint"),
            *_parameters(groups),
        ],
        "Find missing, doubled, altered and misplaced rows.\n\n"
        "Of a service: reads the full blocks of a height range and compares all other rows with them. Of a data set or"
        " a file: reads it, without a network. Exits with code 6 if anything is wrong.",
        "Example:\n  chainq verify --last 100 --url http://127.0.0.1:8545\n",
        tuple(column.path + ("*" if column.brief else "") for column in FINDINGS.columns),
    )


def _profiles_command() -> "Command":
    def call(values: dict[str, Any]) -> None:
        from chainq.cli import helpers

        helpers.list_profiles(values["json"])

    return _command(
        "profiles",
        call,
        _parameters([options.ReportOptions]),
        "List the profiles in config.toml, without their secrets.",
        "Example:\n  chainq profiles --json\n",
    )


def _completion_command() -> "Command":
    def call(values: dict[str, Any]) -> None:
        from chainq.cli import completion

        completion.print_script(values["shell"])

    shell = Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")]
    return _command(
        "completion",
        call,
        [inspect.Parameter("shell", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=shell)],
        "Print the completion script of a shell.",
        "Example:\n  source <(chainq completion bash)\n",
    )


def _help_command() -> "Command":
    def call(values: dict[str, Any]) -> None:
        words = [values["command"]] if values["command"] else []
        typer.main.get_command(app).main([*words, "--help"], prog_name="chainq", standalone_mode=False)

    command = Annotated[str | None, typer.Argument(metavar="[COMMAND]", help="A command; without one the program.")]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return _command(
        "help",
        call,
        [inspect.Parameter("command", kind, annotation=command, default=None)],
        "Show the help of the program or of a command.",
        "Example:\n  chainq help records\n",
    )


def _version_command() -> "Command":
    def call(_: dict[str, Any]) -> None:
        print(VERSION)  # noqa: T201  # as --version

    return _command("version", call, [], "Print the version.", "Example:\n  chainq version\n")


COMMANDS: dict[str, tuple[str, str, Callable[[], "Command"]]] = {
    **{method.command: (method.group, method.purpose, partial(_method_command, method)) for method in METHODS},
    "owned": ("Records", "ownership rows that your view keys own", _owned_command),
    "show": ("Tools", "show a block, transaction, address or program on one screen", _show_command),
    "export": ("Tools", "write Parquet partitions into a folder or an object store", _export_command),
    "sql": ("Tools", "query an export, or the last blocks, with SQL", _sql_command),
    "rpc": ("Tools", "call any method and print its result", _rpc_command),
    "doctor": ("Tools", "examine a server: dialect, methods, pagination, limits", _doctor_command),
    "verify": ("Tools", "find missing, doubled, altered and misplaced rows", _verify_command),
    "profiles": ("Tools", "list the profiles in config.toml", _profiles_command),
    "serve": ("Tools", "serve the sample chain over HTTP, with optional faults", _serve_command),
    "completion": ("Tools", "print the completion script of a shell", _completion_command),
    "help": ("Tools", "show the help of the program or of a command", _help_command),
    "version": ("Tools", "print the version", _version_command),
}
"""Each command's heading, purpose, and what builds it, in the order of `--help`."""
PlainGroup.catalogue = COMMANDS

app = typer.Typer(cls=PlainGroup, add_completion=False, rich_markup_mode=None)


def _version(wanted: bool) -> None:
    if wanted:
        print(VERSION)  # noqa: T201  # what --version is for
        raise typer.Exit


@app.callback(
    epilog=PROGRAM_EPILOG,
    no_args_is_help=False,
    context_settings=CONTEXT,
)
def chainq(
    _version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Explore a chain data service: every row exactly once, no digit changed."""
