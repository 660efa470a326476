"""The commands: one for each method of the catalogue, and the tools. Only the command that is called is built.

The completion scripts are Typer's own, and ask chainq at each Tab. Rejected: a table of all options in a script, which
saves the start of chainq, a tenth of a second, but needs a completion of our own in each shell.
"""

import inspect
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, cast

import typer

from chainq._version import __version__
from chainq.catalog.methods import BY_COMMAND, METHODS, Method, Role
from chainq.cli.help import PlainCommand, PlainGroup
from chainq.cli.options import TOOLS, Group, MethodOptions
from chainq.cli.tool_options import CompletionOptions, HelpOptions
from chainq.defaults import DEFAULT_LAST

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
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
VERSION = f"chainq {__version__}"
COMPLETE = "_CHAINQ_COMPLETE"
"""The variable by which a completion script asks chainq, instead of running a command."""
SCRIPTS = {"bash": "chainq.bash", "zsh": "_chainq", "fish": "chainq.fish"}
"""The shells, and the names of their scripts in `completions/`."""
PROGRAM_EPILOG = """Try it without a server:
  chainq show 12345 --url demo:
  chainq records 0:500 --url demo: --jsonl
"""


def parameters(options: type[Group], method: Method | None = None) -> list[inspect.Parameter]:
    """Return what the groups of a class declare as parameters that Typer can read, of a method those that it has."""
    taken = []
    others = {*ARGUMENTS.values()} - {ARGUMENTS.get(param.role) for param in method.params} if method else ()
    for group, name, declared in options.declared():
        if method is None or (group.of(method) and name not in others):
            info = copy(declared.info)
            info.help = (info.help or "").format(method=method) if method else info.help
            kind: Any = group.__annotations__[name]
            annotation: Any = Annotated[kind, info]
            taken.append(
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=declared.default, annotation=annotation)
            )
    return taken


def build(
    name: str, options: type[Group], call: Callable[[Any], None], declared: list[inspect.Parameter], text: str
) -> "Command":
    """Build one command; `call` gets an instance of `options` with the parsed values of the declared parameters.

    `text`: the help, and at its end examples, one per line.
    """

    def command(**parsed: Any) -> None:
        call(options(**parsed))

    command.__signature__ = inspect.Signature(declared)  # type: ignore[attr-defined]  # what Typer reads
    text, _, examples = text.partition("\n\nExamples:\n")
    epilog = "".join(("Examples:\n", *(f"  {line.strip()}\n" for line in examples.splitlines())))
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, cls=PlainCommand, help=text, epilog=epilog, context_settings=CONTEXT)(command)
    built = cast("PlainCommand", typer.main.get_command(app))
    built.params.sort(key=lambda param: param.param_type_name != "argument")  # help begins with them
    built.common = {name for _, name, one in options.declared() if one.common}
    return built


def _method_command(method: Method) -> "Command":
    def call(given: MethodOptions) -> None:
        from chainq.cli import query, report, run

        run.run(query.read_query(method, given), given, report.Reporter(given))

    text = f"{method.purpose[0].upper()}{method.purpose[1:]}. Method: {method.name}.\n\nLimits: {method.limits}."
    if method.ranged:
        whole = method.param(Role.ADDRESS) is not None
        text += f" Without a range: the {'whole chain' if whole else f'last {DEFAULT_LAST} blocks'}."
    text += f"\n\nExamples:\n{method.example}"
    return build(method.command, MethodOptions, call, parameters(MethodOptions, method), text)


def _tool(name: str) -> "Command":
    """Return the command that the module of its name runs."""

    def call(given: Any) -> None:
        run = _PLAIN.get(name) or import_module(f"chainq.cli.tools.{name}").run
        run(given)

    options = TOOLS[name]
    method = BY_COMMAND["ownership"] if name == "owned" else None  # the options of a method that it has
    declared = [one for one in parameters(options, method) if one.name not in options.without]
    return build(name, options, call, declared, inspect.getdoc(options) or "")


def _purpose(options: type[Group]) -> str:
    """Return the first paragraph of the help of a tool, as lists of commands have it."""
    text = (inspect.getdoc(options) or "").partition("\n\n")[0].rstrip(".")
    return f"{text[:1].lower()}{text[1:]}"


def _help(given: HelpOptions) -> None:
    arguments = [given.command] if given.command else []
    typer.main.get_command(app).main([*arguments, "--help"], prog_name="chainq", standalone_mode=False)


def _version(_: object) -> None:
    print(VERSION)  # noqa: T201  # as --version


def script(shell: str) -> str:
    """Return the completion script of a shell."""
    import typer.completion

    make = vars(typer.completion)["get_completion_script"]
    return f"{make(prog_name='chainq', complete_var=COMPLETE, shell=shell)}\n"


def _completion(given: CompletionOptions) -> None:
    from chainq.cli.output import write

    write(script(given.shell))


def complete() -> NoReturn:
    """Print what may follow the words that a completion script names, and end the process."""
    import typer.completion

    vars(typer.completion)["completion_init"]()
    with suppress(SystemExit):
        typer.main.get_command(app).main([], prog_name="chainq", standalone_mode=False)
    with suppress(OSError):
        sys.stdout.flush()
    os._exit(0)


_PLAIN: dict[str, Callable[[Any], None]] = {"completion": _completion, "help": _help, "version": _version}
"""The commands that need no module of their own."""
COMMANDS: dict[str, tuple[str, str, Callable[[], "Command"]]] = {
    **{method.command: (method.group, method.purpose, cache(partial(_method_command, method))) for method in METHODS},
    **{
        name: ("Records" if name in ("owned", "balance") else "Tools", _purpose(tool), cache(partial(_tool, name)))
        for name, tool in TOOLS.items()
    },
}
"""Each command's heading, purpose, and what builds it when first asked, in the order of `--help`."""
PlainGroup.catalogue = COMMANDS

app = typer.Typer(cls=PlainGroup, add_completion=False, rich_markup_mode=None)


def _print_version(wanted: bool) -> None:
    if wanted:
        _version(None)
        raise typer.Exit


@app.callback(epilog=PROGRAM_EPILOG, no_args_is_help=False, context_settings=CONTEXT)
def chainq(
    _version: Annotated[
        bool,
        typer.Option("--version", "-V", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Explore the Aleo chain through a data service: every row exactly once, no digit changed. Name it with --url,
    CHAINQ_URL or a profile.
    """
