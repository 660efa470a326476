"""Builds a command for Typer from plain parts: its arguments and options, what it calls, and its texts."""

import inspect
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

import typer
from typer._click.types import IntRange

from chainq.cli.help import PlainCommand
from chainq.cli.options import Declared, Group
from chainq.errors import UsageError
from chainq.text.sanitize import abridged

if TYPE_CHECKING:
    from typer._click import Command, Context, Parameter

    from chainq.catalog.methods import Method

Options = TypeVar("Options", bound=Group)
CONTEXT = {"help_option_names": ["-h", "--help"]}


def build(
    name: str,
    options: type[Options],
    call: Callable[[Options], None],
    examples: str,
    text: str = "",
    listed: "Method | None" = None,
    declared: list[inspect.Parameter] | None = None,
) -> "Command":
    """Build one command; `call` gets an instance of `options` with the parsed values.

    `examples`: command lines. `text`: the help; by default the docstring of `options`. `listed`: whose columns it
    lists. `declared`: the parameters of `options` that the command has; by default its own, then those of its groups.
    """

    def command(**parsed: Any) -> None:
        for option in built.params:
            _check_number(option.opts[0], parsed[str(option.name)])
        call(options(**parsed))

    command.__signature__ = inspect.Signature(declared or parameters(*options.__mro__))  # type: ignore[attr-defined]  # what Typer reads
    lines = examples.splitlines()
    epilog = "".join((f"Example{'s' * (len(lines) > 1)}:\n", *(f"  {line}\n" for line in lines)))
    text = text or inspect.getdoc(options) or ""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, cls=PlainCommand, help=text, epilog=epilog, context_settings=CONTEXT)(command)
    built = cast("PlainCommand", typer.main.get_command(app))
    built.listed = listed
    built.params.sort(key=lambda param: param.param_type_name != "argument")  # help begins with them
    return built


class _Whole(IntRange):
    """A whole number with bounds, written as heights are: `1000`, `1_000`, `1K` or `1.5M`."""

    def convert(self, value: Any, param: "Parameter | None", ctx: "Context | None") -> Any:
        if isinstance(value, str):
            from chainq.heights.bounds import parse_height

            with suppress(UsageError):  # the base class has the error, and takes numbers below 0
                value = parse_height(value)
        return super().convert(value, param, ctx)


def _check_number(name: str, value: object) -> None:
    """Raise UsageError for a whole number that is higher than any height; options state lower bounds themselves."""
    if type(value) is not int:
        return
    from chainq.heights.bounds import HIGHEST  # not before a command runs: help has no use for it

    if abs(value) > HIGHEST:
        raise UsageError(f"invalid {name} {abridged(str(value), 40)}: the highest number is {HIGHEST}")


def parameters(*groups: type[Group]) -> list[inspect.Parameter]:
    """Return the attributes that these classes declare themselves as parameters that Typer can read."""
    return [
        parameter(name, group.__annotations__[name], declared)
        for group in groups
        for name, declared in vars(group).items()
        if isinstance(declared, Declared)
    ]


def parameter(name: str, kind: Any, declared: Declared) -> inspect.Parameter:
    """Return an attribute of that type as a parameter that Typer can read."""
    info = declared.info
    if kind in (int, int | None) and info.min is not None:
        info.click_type = _Whole(info.min, info.max)
    annotation = Annotated[kind, info]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=declared.default, annotation=annotation)
