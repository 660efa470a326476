"""The commands: one for each method of the catalogue, and the helpers. Only the called command is built."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chainq._version import __version__
from chainq.catalog.methods import METHODS, Method, Role
from chainq.cli import options
from chainq.cli.help import PlainCommand, PlainGroup

if TYPE_CHECKING:
    from typer._click import Command

WORDS: dict[Role, tuple[str, str, str]] = {
    Role.HEIGHT: ("heights", "HEIGHT...", "Heights, latest, or - for one a line on standard input."),
    Role.ID: ("ids", "ID...", "Transaction IDs (at1...), or - for one a line on standard input."),
    Role.PROGRAM: ("program", "PROGRAM", "Program ID, as in credits.aleo."),
    Role.FUNCTION: ("function", "FUNCTION", "Function name, as in transfer_public."),
    Role.ADDRESS: ("address", "ADDRESS", "Address, with the network's own prefix."),
}
EXIT_CODES = """Exit codes:
  0 all of it   1 no such block or transaction   2 usage   3 the service answered an error   4 unreachable
  5 no valid answer   6 incomplete or contradictory data   7 output cannot be written   75 checkpoint or file in use
"""
PROGRAM_EPILOG = f"""Try it without a server:
  chainq block 12345 --url demo:
  chainq records --start 0 --end 500 --url demo: --jsonl

{EXIT_CODES}"""


def groups_of(method: Method) -> list[type[options.Group]]:
    """Return the option groups of a method's command, in the order of its help."""
    sized = method.param(Role.SIZE) is not None
    groups = {
        options.RangeOptions: method.ranged,
        options.LimitOptions: method.ranged or sized,
        options.PageOptions: sized,
        options.VerifyOptions: method.linked,
        options.CheckpointOptions: method.ranged,
        options.OutputOptions: True,
        options.SourceOptions: True,
    }
    return [group for group, wanted in groups.items() if wanted]


def _parameters(groups: list[type[options.Group]]) -> list[inspect.Parameter]:
    """The fields of option groups as keyword parameters that Typer can read."""
    kind = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(name, kind, default=getattr(group, name), annotation=annotation)
        for group in groups
        for name, annotation in group.__annotations__.items()
    ]


def _command(
    name: str, call: Callable[..., None], parameters: list[inspect.Parameter], text: str, epilog: str
) -> "Command":
    """Build the one command that was called."""

    def command(**values: Any) -> None:
        call(values)

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what Typer reads
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(
        name,
        cls=PlainCommand,
        help=text,
        epilog=epilog,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )(command)
    return typer.main.get_command(app)


def _method_command(method: Method) -> "Command":
    words = [WORDS[param.role] for param in method.params if param.role in WORDS]

    def call(values: dict[str, Any]) -> None:
        from chainq.cli import run

        run.run(method, values)

    positional = [
        inspect.Parameter(
            name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            annotation=Annotated[
                list[str] if metavar.endswith("...") else str, typer.Argument(metavar=metavar, help=note)
            ],
        )
        for name, metavar, note in words
    ]
    return _command(
        method.command,
        call,
        positional + _parameters(groups_of(method)),
        f"{_sentence(method.purpose)}\n\nThe method {method.name}. Limits: {method.limits}.",
        f"Columns (* in a table by default):\n{_wrapped_columns(method)}\n\nExample:\n  {method.example}\n",
    )


def _wrapped_columns(method: Method) -> str:
    import textwrap

    names = " ".join(column.path + ("*" if column.brief else "") for column in method.columns)
    return textwrap.fill(names, 96, initial_indent="  ", subsequent_indent="  ", break_long_words=False)


def _sentence(purpose: str) -> str:
    return purpose[0].upper() + purpose[1:] + "."


def _rpc_command() -> "Command":
    def call(values: dict[str, Any]) -> None:
        from chainq.cli import helpers

        helpers.rpc(values["method"], values["params"], values)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    method = Annotated[str, typer.Argument(metavar="METHOD", help="Method name, as the server knows it.")]
    params = Annotated[
        str | None, typer.Argument(metavar="[PARAMS]", help="A JSON object or array, or - for standard input.")
    ]
    return _command(
        "rpc",
        call,
        [
            inspect.Parameter("method", kind, annotation=method),
            inspect.Parameter("params", kind, annotation=params, default=None),
            *_parameters([options.SourceOptions]),
        ],
        "Any call, raw: prints the result as one line of JSON.",
        """Example:\n  chainq rpc records/all '{"start": 0, "end": 5, "page": 0, "recordsPerRequest": 10}'\n""",
    )


def _serve_command() -> "Command":
    from chainq.cli import serve

    return _command(
        "serve",
        lambda values: serve.serve(**values),
        _parameters([serve.ServeOptions, serve.FaultOptions]),
        "Serve the sample chain on a loopback socket, with the faults that real servers have.\n\n"
        "Prints its URL on one line and runs until it is interrupted.",
        "Example:\n  chainq serve --port 8545 --row-cap 700 --fail-rate 0.1\n",
    )


def _doctor_command() -> "Command":
    def call(values: dict[str, Any]) -> None:
        from chainq.cli import doctor

        doctor.run(values)

    return _command(
        "doctor",
        call,
        _parameters([options.ReportOptions, options.SaveOptions, options.SourceOptions]),
        "Find out what a server is, and what that means for you.\n\nIn fewer than 40 calls, one at a time.",
        "Example:\n  chainq doctor --url http://127.0.0.1:8545 --save mine\n",
    )


def _profiles_command() -> "Command":
    def call(values: dict[str, Any]) -> None:
        from chainq.cli import helpers

        helpers.list_profiles(values["json"])

    return _command(
        "profiles",
        call,
        _parameters([options.ReportOptions]),
        "List the profiles of config.toml, without their secrets.",
        "Example:\n  chainq profiles --json\n",
    )


PlainGroup.catalogue = {
    **{method.command: (method.group, method.purpose, partial(_method_command, method)) for method in METHODS},
    "rpc": ("Tools", "any call, raw", _rpc_command),
    "doctor": ("Tools", "what a server is, and what that means for you", _doctor_command),
    "profiles": ("Tools", "the servers of config.toml", _profiles_command),
    "serve": ("Tools", "the sample chain on a socket, for tests and trials", _serve_command),
}

app = typer.Typer(cls=PlainGroup, add_completion=False, rich_markup_mode=None)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"chainq {__version__}")  # noqa: T201  # what --version is for
        raise typer.Exit


@app.callback(
    epilog=PROGRAM_EPILOG,
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
def chainq(
    _version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Explore a chain data service: every row, exactly once, no digit changed."""
