"""The commands: one for each method of the catalogue, and the tools. Only the command that is called is built."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chainq._version import __version__
from chainq.catalog.methods import METHODS, Method, Role
from chainq.cli import options
from chainq.cli.build import CONTEXT, argument, build, parameters, range_argument
from chainq.cli.help import PlainGroup

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
VERSION = f"chainq {__version__}"
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
        options.CheckpointOptions: method.ranged,
        options.ResumeOptions: method.ranged,
        options.OutputOptions: True,
        options.ColorOptions: True,
        options.DetailOptions: method.param(Role.ADDRESS) is not None,
        options.ServiceOptions: True,
        options.CheckOptions: True,
        options.StrictOptions: method.ranged or sized,
        options.RequestOptions: True,
    }
    return [group for group, wanted in groups.items() if wanted]


def _method_command(method: Method) -> "Command":
    def call(values: dict[str, Any]) -> None:
        from chainq.cli import run

        run.run(method, values)

    arguments = [ARGUMENTS[param.role] for param in method.params if param.role in ARGUMENTS]
    positional = [
        argument(name, list[str] if metavar.endswith("...") else str, metavar, text)
        for name, metavar, text in arguments
    ]
    if method.ranged:
        positional.append(range_argument())
    return build(
        method.command,
        call,
        positional + parameters(*groups_of(method)),
        f"{_sentence(method.purpose)}\n\nMethod: {method.name}. Limits: {method.limits}.",
        f"Example:\n  {method.example}\n",
        tuple(column.path + ("*" if column.brief else "") for column in method.columns),
    )


def _sentence(purpose: str) -> str:
    return purpose[0].upper() + purpose[1:] + "."


def _tool(name: str) -> "Command":
    """Return the command of a tool with options of its own."""
    from chainq.cli.tools import TOOLS

    return TOOLS[name]()


def _rpc_command() -> "Command":
    def call(values: dict[str, Any]) -> None:
        from chainq.cli import helpers

        helpers.rpc(values["method"], values["params"], values)

    return build(
        "rpc",
        call,
        [
            argument("method", str, "METHOD", "Name of the method on the server."),
            argument("params", str, "[PARAMS]", "JSON object or array, or - to read it from stdin.", optional=True),
            *parameters(options.ColorOptions, options.ServiceOptions, options.RequestOptions),
        ],
        "Call any method and print its result: one line of JSON, on a terminal indented.\n\n"
        "Name and parameters are sent as given, in every dialect.",
        """Example:\n  chainq rpc getBlocks '{"start": 0, "end": 5}'\n""",
    )


def _sql_command() -> "Command":
    def call(values: dict[str, Any]) -> None:
        from chainq.cli import sql

        sql.run(values)

    words = argument("words", list[str], "[DEST] QUERY", "Folder or URL of an export, and one SELECT in quotes.")
    shared = parameters(options.RangeOptions, options.OutputOptions, options.ColorOptions, options.ServiceOptions)
    return build(
        "sql",
        call,
        [words, *(option for option in shared if option.name != "columns")],
        "Query an export, or the last blocks, with SQL (DuckDB).\n\n"
        "Tables: blocks, full_blocks, records, ownership, transitions. Without DEST the tables that the query names are"
        " fetched into memory, for the range.",
        "Example:\n  chainq sql --last 1000 'select program_id, count(*) from records group by 1'\n",
    )


def _serve_command() -> "Command":
    from chainq.cli import serve
    from chainq.demo.list_faults import KINDS

    names = ", ".join(f"{name}:N" if kind.number else name for name, kind in KINDS.items())
    return build(
        "serve",
        lambda values: serve.serve(**values),
        parameters(serve.ServeOptions, serve.FaultOptions),
        "Serve the sample chain over HTTP, with the faults of real servers.\n\n"
        "Listens on a loopback address, prints its URL and runs until interrupted.\n\n"
        f"Names for --fault, explained in docs/cookbook.md: {names}.",
        "Example:\n  chainq serve --port 8545 --row-cap 700 --fail-rate 0.1\n",
    )


def _profiles_command() -> "Command":
    def call(values: dict[str, Any]) -> None:
        from chainq.cli import helpers

        helpers.list_profiles(values["json"])

    return build(
        "profiles",
        call,
        parameters(options.ReportOptions),
        "List the profiles in config.toml, without their secrets.",
        "Example:\n  chainq profiles --json\n",
    )


def _completion_command() -> "Command":
    def call(values: dict[str, Any]) -> None:
        from chainq.cli import completion

        completion.print_script(values["shell"])

    return build(
        "completion",
        call,
        [argument("shell", str, "SHELL", "bash, zsh or fish.")],
        "Print the completion script of a shell.",
        "Example:\n  source <(chainq completion bash)\n",
    )


def _help_command() -> "Command":
    def call(values: dict[str, Any]) -> None:
        words = [values["command"]] if values["command"] else []
        typer.main.get_command(app).main([*words, "--help"], prog_name="chainq", standalone_mode=False)

    return build(
        "help",
        call,
        [argument("command", str, "[COMMAND]", "A command; without one the program.", optional=True)],
        "Show the help of the program or of a command.",
        "Example:\n  chainq help records\n",
    )


def _version_command() -> "Command":
    def call(_: dict[str, Any]) -> None:
        print(VERSION)  # noqa: T201  # as --version

    return build("version", call, [], "Print the version.", "Example:\n  chainq version\n")


COMMANDS: dict[str, tuple[str, str, Callable[[], "Command"]]] = {
    **{method.command: (method.group, method.purpose, partial(_method_command, method)) for method in METHODS},
    "owned": ("Records", "ownership rows that your view keys own", partial(_tool, "owned")),
    "show": ("Tools", "show a block, transaction, address or program on one screen", partial(_tool, "show")),
    "export": ("Tools", "write Parquet partitions into a folder or an object store", partial(_tool, "export")),
    "sql": ("Tools", "query an export, or the last blocks, with SQL", _sql_command),
    "rpc": ("Tools", "call any method and print its result", _rpc_command),
    "doctor": ("Tools", "examine a server: dialect, methods, pagination, limits", partial(_tool, "doctor")),
    "verify": ("Tools", "find missing, doubled, altered and misplaced rows", partial(_tool, "verify")),
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
