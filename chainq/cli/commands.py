"""The commands: one for each method of the catalogue, and the tools. Only the command that is called is built."""

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from chainq._version import __version__
from chainq.catalog.methods import METHODS, Kind, Method, Role, is_charted
from chainq.cli import options
from chainq.cli.build import CONTEXT, build, parameter, parameters
from chainq.cli.help import PlainGroup

if TYPE_CHECKING:
    from typer._click import Command

ARGUMENTS = {
    Role.HEIGHT: "heights",
    Role.ID: "ids",
    Role.PROGRAM: "program",
    Role.FUNCTION: "function",
    Role.ADDRESS: "address",
}
"""The positional arguments: the fields of `MethodOptions` for parameters of a method."""
VERSION = f"chainq {__version__}"
PROGRAM_EPILOG = """Try it without a server:
  chainq show 12345 --url demo:
  chainq records 0:500 --url demo: --jsonl
"""


def _method_command(method: Method) -> "Command":
    def call(given: options.MethodOptions) -> None:
        from chainq.cli import run

        run.run(method, given)

    positional = {ARGUMENTS[param.role] for param in method.params if param.role in ARGUMENTS}
    groups = [one for one in options.MethodOptions.__mro__ if issubclass(one, options.Group) and one.of(method)]
    whole = method.param(Role.ADDRESS) is not None
    own = {
        "where": parameter("where", list[str] | None, options.where(method.condition)),
        "last": parameter("last", str | None, options.last_blocks(whole=whole, required=method.listed)),
        "format": parameter("format", str | None, options.output_format(chart=is_charted(method))),
    }
    if method.listed:  # a range option can take their place
        own["heights"] = parameter("heights", list[str], options.argument("[HEIGHT]...", options.HEIGHTS_HELP, []))
    declared = [
        own.get(one.name) or (one.replace(default=one.empty) if one.name in positional else one)
        for one in parameters(*groups)
        if one.name in positional or one.name not in ARGUMENTS.values()
    ]
    return build(
        method.command,
        options.MethodOptions,
        call,
        method.example,
        f"{method.purpose[0].upper()}{method.purpose[1:]}. Method: {method.name}.\n\nLimits: {method.limits}."
        f"{_filters(method)}{_computed(method)}",
        method,
        declared,
    )


def _filters(method: Method) -> str:
    """Return which columns the filter options compare, empty for a method without them."""
    array, _, program = method.program.rpartition("[].")
    function = method.function.rpartition("[].")[2]
    inside = f" of any of {array}" if array else ""
    inside += f" or {method.fee}" if method.fee else ""
    if any(column.path == program and column.kind is Kind.TEXT for column in method.columns):
        program = f"the ID in {program}"
    return f" --program compares {program}, --function {function}{inside}." if program else ""


def _computed(method: Method) -> str:
    """Return which columns chainq adds to the rows of the service, empty for none."""
    added = ", ".join(column.path for column in method.columns if column.computed)
    return f" chainq adds {added}, to json and jsonl only with --columns or --flatten." if added else ""


def _tool(name: str) -> "Command":
    """Return the command that the module of its name runs."""
    from chainq.cli.tool_options import TOOLS

    def call(given: options.Group) -> None:
        import_module(f"chainq.cli.{name}").run(given)

    tool = TOOLS[name]
    declared = tool.declared and tool.declared()
    return build(name, tool.options, call, tool.examples, listed=tool.listed(), declared=declared)


def _serve_command() -> "Command":
    from chainq.cli import serve
    from chainq.demo.list_faults import KINDS

    names = ", ".join(f"{name}:N" if kind.number else name for name, kind in KINDS.items())
    return build(
        "serve",
        serve.ServeOptions,
        serve.run,
        "chainq serve --port 8545 --row-cap 700 --fail-rate 0.1",
        f"{serve.ServeOptions.__doc__}\n\nNames for --fault, explained in chainq/demo/list_faults.py: {names}.",
        declared=parameters(serve.ServeOptions) + serve.fault_options(),
    )


class HelpOptions(options.Group):
    """Show the help of the program or of a command, as --help does."""

    command: str | None = options.argument("[COMMAND]", "The command. Default: chainq itself.", None)


def _help_command() -> "Command":
    def call(given: HelpOptions) -> None:
        arguments = [given.command] if given.command else []
        typer.main.get_command(app).main([*arguments, "--help"], prog_name="chainq", standalone_mode=False)

    return build("help", HelpOptions, call, "chainq help records")


def _version_command() -> "Command":
    def call(_: options.Group) -> None:
        print(VERSION)  # noqa: T201  # as --version

    return build("version", options.Group, call, "chainq version", "Print the version.")


_COMMANDS: dict[str, tuple[str, str, Callable[[], "Command"]]] = {
    **{method.command: (method.group, method.purpose, partial(_method_command, method)) for method in METHODS},
    "owned": ("Records", "ownership rows that your view keys own", partial(_tool, "owned")),
    "balance": ("Records", "private balance of your view keys", partial(_tool, "balance")),
    "show": ("Tools", "show a block, transaction, address or program", partial(_tool, "show")),
    "export": ("Tools", "write Parquet partitions into a folder or a bucket", partial(_tool, "export")),
    "sql": ("Tools", "query an export, or the last blocks, with SQL", partial(_tool, "sql")),
    "rpc": ("Tools", "call any method and print its result", partial(_tool, "rpc")),
    "doctor": ("Tools", "examine a server: dialect, methods, pagination, limits", partial(_tool, "doctor")),
    "verify": ("Tools", "find missing, duplicate, altered and misplaced rows", partial(_tool, "verify")),
    "status": ("Tools", "show how far a checkpoint or an export has come", partial(_tool, "status")),
    "profiles": ("Tools", "list the profiles in config.toml", partial(_tool, "profiles")),
    "serve": ("Tools", "serve the sample chain over HTTP, with optional faults", _serve_command),
    "completion": ("Tools", "print the completion script of a shell", partial(_tool, "completion")),
    "help": ("Tools", "show the help of a command", _help_command),
    "version": ("Tools", "print the version", _version_command),
}
COMMANDS = {name: (heading, purpose, cache(make)) for name, (heading, purpose, make) in _COMMANDS.items()}
"""Each command's heading, purpose, and what builds it when first asked, in the order of `--help`."""
PlainGroup.catalogue = COMMANDS

app = typer.Typer(cls=PlainGroup, add_completion=False, rich_markup_mode=None)


def _version(wanted: bool) -> None:
    if wanted:
        print(VERSION)  # noqa: T201  # what --version is for
        raise typer.Exit


@app.callback(epilog=PROGRAM_EPILOG, no_args_is_help=False, context_settings=CONTEXT)
def chainq(
    _version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Explore the Aleo chain through a data service: every row exactly once, no digit changed. Name it with --url,
    CHAINQ_URL or a profile.
    """
