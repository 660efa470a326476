"""The command line as data, read from the live app: commands, options, arguments, and the values they take.

Man pages, completions and docs/reference.md are written from these objects alone, so a new command or option reaches
all of them without a change here.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import typer

from chainq._docgen.values import Values, values_of
from chainq.catalog.methods import BY_COMMAND, Method
from chainq.cli.commands import app

if TYPE_CHECKING:
    from typer._click import Command as Built
    from typer._click import Context, Parameter

    from chainq.cli.help import PlainGroup

_EXTRAS = re.compile(r"(.*?)\s*(?:\[([^\[\]]*)\])?", re.DOTALL)
_AT_LEAST = re.compile(r"x>=(\S+)")
_FROM_TO = re.compile(r"(\S+)<=x<=(\S+)")


@dataclass(frozen=True, slots=True)
class Option:
    """An option: its names, the longest first; `metavar` is empty for a switch.

    `text`: its help; `notes`: what Typer adds, as sentences (default, bounds, environment variable).
    """

    names: tuple[str, ...]
    metavar: str
    text: str
    notes: tuple[str, ...]
    heading: str
    envvar: str
    repeated: bool
    values: Values

    @property
    def said(self) -> str:
        """Return help and notes, as sentences."""
        return " ".join(filter(None, (self.text, *self.notes)))

    @property
    def brief(self) -> str:
        """Return the help in one line without a full stop, for completions."""
        return (self.text or " ".join(self.notes)).rstrip(".")


@dataclass(frozen=True, slots=True)
class Argument:
    """A positional argument."""

    metavar: str
    text: str
    required: bool
    many: bool
    values: Values

    @property
    def shown(self) -> str:
        """Return it as shown in a synopsis."""
        return self.metavar if self.required else f"[{self.metavar}]"


@dataclass(frozen=True, slots=True)
class Command:
    """A command. `paragraphs`: its help; `blocks`: the headed lines after the help; `method`: None for helpers."""

    name: str
    heading: str
    purpose: str
    paragraphs: tuple[str, ...]
    blocks: dict[str, tuple[str, ...]]
    arguments: tuple[Argument, ...]
    options: tuple[Option, ...]
    method: Method | None

    @property
    def examples(self) -> tuple[str, ...]:
        """Return command lines that work as written."""
        return tuple(line for heading, lines in self.blocks.items() if heading.startswith("Example") for line in lines)


@dataclass(frozen=True, slots=True)
class Program:
    """The whole program: its own help and options, and the commands in the order of `--help`."""

    purpose: str
    blocks: dict[str, tuple[str, ...]]
    options: tuple[Option, ...]
    commands: tuple[Command, ...]

    @property
    def headings(self) -> dict[str, list[Command]]:
        """Return the commands by heading."""
        under: dict[str, list[Command]] = {}
        for command in self.commands:
            under.setdefault(command.heading, []).append(command)
        return under

    @property
    def shares(self) -> dict[tuple[str, ...], list[Option]]:
        """Return every option once, by the names of the commands that have it in the same form."""
        having: dict[tuple[tuple[str, ...], str, str, Values], list[tuple[str, Option]]] = {}
        for command in self.commands:
            for option in command.options:
                key = (option.names, option.metavar, option.said, option.values)
                having.setdefault(key, []).append((command.name, option))
        shares: dict[tuple[str, ...], list[Option]] = {}
        for pairs in having.values():
            shares.setdefault(tuple(name for name, _ in pairs), []).append(pairs[0][1])
        return shares

    @property
    def variables(self) -> dict[str, Option]:
        """Return the environment variables that set an option, each with that option."""
        return {option.envvar: option for command in self.commands for option in command.options if option.envvar}


def read() -> Program:
    """Return the program as it is now."""
    group = cast("PlainGroup", typer.main.get_command(app))
    context = group.make_context("chainq", [], resilient_parsing=True)
    commands = []
    for name in group.list_commands(context):
        built = group.get_command(context, name)
        if built is None or built.hidden:
            continue
        heading, purpose, _ = group.catalogue[name]
        commands.append(_command(name, heading, purpose, built, type(context)(built, info_name=name, parent=context)))
    return Program(
        (group.help or "").strip(), blocks(group.epilog or ""), _options("", group, context), tuple(commands)
    )


def _command(name: str, heading: str, purpose: str, built: "Built", context: "Context") -> Command:
    return Command(
        name,
        heading,
        purpose,
        tuple(" ".join(part.split()) for part in (built.help or "").split("\n\n")),
        blocks(built.epilog or ""),
        tuple(_argument(name, param) for param in built.get_params(context) if param.param_type_name == "argument"),
        _options(name, built, context),
        BY_COMMAND.get(name),
    )


def blocks(epilog: str) -> dict[str, tuple[str, ...]]:
    """Return the closing lines of help as `{heading: lines}`; a heading ends in a colon, its lines are indented."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in epilog.splitlines():
        if line.endswith(":") and not line.startswith(" "):
            lines = found.setdefault(line[:-1], [])
        elif line.strip():
            lines.append(line.removeprefix("  "))
    return {heading: tuple(lines) for heading, lines in found.items()}


def _options(command: str, built: "Built", context: "Context") -> tuple[Option, ...]:
    options = []
    for param in built.get_params(context):
        record = param.get_help_record(context)
        if param.param_type_name == "option" and record is not None:
            options.append(_option(command, cast("Any", param), record[1]))
    return tuple(options)


def _option(command: str, param: Any, record: str) -> Option:
    text, extras = re.fullmatch(_EXTRAS, record).groups()  # type: ignore[union-attr]  # the pattern matches any text
    names = sorted((*param.opts, *param.secondary_opts), key=lambda name: not name.startswith("--"))
    metavar = "" if param.is_flag else str(param.metavar or param.type.name.upper())
    return Option(
        tuple(names),
        metavar,
        text.strip(),
        tuple(_note(extra) for extra in extras.split("; ")) if extras else (),
        param.rich_help_panel or "Options",
        param.envvar or "",
        bool(param.multiple),
        values_of(command, param, metavar, text),
    )


def _note(extra: str) -> str:
    """Return one of Typer's additions to a help text as a sentence."""
    if match := _FROM_TO.fullmatch(extra):
        return f"From {match[1]} to {match[2]}."
    if match := _AT_LEAST.fullmatch(extra):
        return f"At least {match[1]}."
    name, _, value = extra.partition(": ")
    if name == "env var":
        return f"Environment variable: {value}."
    return f"{extra[0].upper()}{extra[1:]}."


def _argument(command: str, param: "Parameter") -> Argument:
    given = cast("Any", param)
    metavar = re.sub(r"^\[([^][]*)\]$", r"\1", str(given.metavar or given.name.upper()))
    text = given.help or ""
    values = values_of(command, given, metavar, text)
    return Argument(metavar, text, bool(given.required), given.nargs == -1, values)
