"""Builds a command for Typer from plain parts: what it calls, its arguments, its option groups and its texts."""

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from chainq.cli.help import MAX_WIDTH, PlainCommand
from chainq.cli.options import Group
from chainq.errors import UsageError
from chainq.text.sanitize import abridged

if TYPE_CHECKING:
    from typer._click import Command

RANGE_HELP = "One height, A:B (without B), A: (through the tip), :B, or latest."
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": MAX_WIDTH}


def build(
    name: str,
    call: Callable[[dict[str, Any]], None],
    parameters: list[inspect.Parameter],
    text: str,
    epilog: str,
    columns: tuple[str, ...] = (),
) -> "Command":
    """Build one command; `call` gets the parsed values by the names of the parameters."""

    def command(**values: Any) -> None:
        for option in built.params:
            _check_number(option.opts[0], values[str(option.name)])
        call(values)

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what Typer reads
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, cls=PlainCommand, help=text, epilog=epilog, context_settings=CONTEXT)(command)
    built = cast("PlainCommand", typer.main.get_command(app))
    built.columns = columns
    return built


def _check_number(name: str, value: object) -> None:
    """Raise UsageError for a whole number that is higher than any height; options state lower bounds themselves."""
    if type(value) is not int:
        return
    from chainq.heights.bounds import HIGHEST  # not before a command runs: help has no use for it

    if abs(value) > HIGHEST:
        raise UsageError(f"invalid {name} {abridged(str(value), 40)}: the highest number is {HIGHEST}")


def argument(name: str, kind: Any, metavar: str, text: str, *, optional: bool = False) -> inspect.Parameter:
    """Return a positional argument; `kind` is its type. One that is optional is None by default."""
    return inspect.Parameter(
        name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=None if optional else inspect.Parameter.empty,
        annotation=Annotated[kind | None if optional else kind, typer.Argument(metavar=metavar, help=text)],
    )


def range_argument(metavar: str = "[RANGE]", text: str = RANGE_HELP) -> inspect.Parameter:
    """Return the argument that is a range of heights in one word."""
    return argument("range", str, metavar, text, optional=True)


def parameters(*groups: type[Group]) -> list[inspect.Parameter]:
    """Return the fields of option groups as keyword parameters that Typer can read."""
    kind = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(name, kind, default=getattr(group, name, inspect.Parameter.empty), annotation=annotation)
        for group in groups
        for name, annotation in group.__annotations__.items()
    ]
