"""Builds a command for Typer from plain parts: its arguments and options, what it calls, and its texts."""

import inspect
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

import typer

from chainq.cli.help import PlainCommand
from chainq.cli.options import Declared, Group
from chainq.errors import UsageError
from chainq.text.sanitize import quoted

if TYPE_CHECKING:
    from typer._click import Command

    from chainq.catalog.methods import Method

Options = TypeVar("Options", bound=Group)
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


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

    def command(context: typer.Context, **parsed: Any) -> None:
        url, profile = (getattr(context.get_parameter_source(name), "name", "") for name in ("url", "profile"))
        call(options(**parsed, profile_first=(url, profile) == ("ENVIRONMENT", "COMMANDLINE")))

    own = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    command.__signature__ = inspect.Signature([own, *(declared or parameters(*options.__mro__))])  # type: ignore[attr-defined]  # what Typer reads
    lines = examples.splitlines()
    epilog = "".join((f"Example{'s' * (len(lines) > 1)}:\n", *(f"  {line}\n" for line in lines)))
    text = text or inspect.getdoc(options) or ""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, cls=PlainCommand, help=text, epilog=epilog, context_settings=CONTEXT)(command)
    built = cast("PlainCommand", typer.main.get_command(app))
    built.listed = listed
    built.params.sort(key=lambda param: param.param_type_name != "argument")  # help begins with them
    return built


def number(name: str, kind: type[int] | type[float], low: float | None, high: float | None, text: str | float) -> float:
    """Return the value of an option; whole numbers are written as heights are. Raises UsageError outside the bounds."""
    from chainq.heights.bounds import HIGHEST, parse_height  # not before a command runs: help has no use for it

    if not isinstance(text, str):  # a default
        return text
    least, most = -HIGHEST if low is None else low, HIGHEST if high is None else high
    try:
        value = kind(text) if kind is float or text.startswith("-") else parse_height(text)
        if least <= value <= most:
            return value
    except (UsageError, ValueError):
        pass
    sort = "whole number" if kind is int else "number"
    raise UsageError(f"invalid {name} {quoted(text, 40)}: expected a {sort} from {least:g} to {most:.16g}")


def _bounds(low: float | None, high: float | None) -> str:
    """Return the bounds of a number in words; empty for none but 0.

    >>> _bounds(1, 64), _bounds(0.01, None), _bounds(0, None)
    ('1 to 64', 'at least 0.01', '')
    """
    return f"{low} to {high}" if high is not None else f"at least {low}" if low else ""


def _completion(name: str) -> Callable[[typer.Context, str], list[str]]:
    """Return what offers the values of a parameter to a shell."""

    def complete(context: typer.Context, incomplete: str) -> list[str]:
        from chainq.cli.complete import values

        return values(str(context.info_name), name, incomplete)

    return complete


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
    info = copy(declared.info)
    if not getattr(info, "is_flag", None) and kind is not bool:
        info.autocompletion = _completion(name)
    whole = kind in (int, int | None)
    if whole or info.min is not None:
        base, low, high = (int if whole else float), info.min, info.max
        info.parser, info.min, info.max = partial(number, (info.param_decls or [name])[0], base, low, high), None, None
        bounds = _bounds(low, high)
        info.help = f"{info.help}  [{bounds}]" if bounds else info.help
    annotation = Annotated[kind, info]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=declared.default, annotation=annotation)
