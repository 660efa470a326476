"""The command line as data, read from the live app: what man pages, completions and docs/reference.md are written from.

A new command or option reaches all of them without a change here.
"""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar, cast

import typer

from chainq.catalog.methods import BY_COMMAND, Method
from chainq.cli.commands import app
from chainq.cli.help import MORE

# What Typer adds to a help text in brackets, and the same as a sentence.
_NOTES = {
    r"x>=(.+)": "At least {}.",
    r"(.+)<=x<=(.+)": "From {} to {}.",
    r"default: (.+)": "Default: {}.",
    r"env var: (.+)": "Environment variable: {}.",
    r"required": "",
}


class Param(NamedTuple):
    """An option or an argument.

    `names`: of an option, the long ones first; empty for an argument. `metavar`: empty for a switch. `text`: its help;
    `said`: help with defaults and bounds. `many`: it can be repeated. `shown`: an argument as usage has it.
    """

    names: tuple[str, ...]
    metavar: str
    text: str
    said: str
    heading: str
    many: bool
    shown: str


class Command(NamedTuple):
    """A command. `paragraphs`: its help; `examples`: lines that work as written; `method`: None for helpers."""

    name: str
    heading: str
    purpose: str
    paragraphs: tuple[str, ...]
    examples: tuple[str, ...]
    arguments: tuple[Param, ...]
    options: tuple[Param, ...]
    method: Method | None

    @property
    def usage(self) -> str:
        """Return the command with its arguments."""
        return " ".join(("chainq", self.name, *(argument.shown for argument in self.arguments)))


Headed = TypeVar("Headed", Param, Command)


class Program(NamedTuple):
    """The whole program: its own examples and options, and the commands in the order of `--help`."""

    examples: tuple[str, ...]
    options: tuple[Param, ...]
    commands: tuple[Command, ...]

    @property
    def shares(self) -> dict[tuple[str, ...], list[Param]]:
        """Return every option once, by the names of the commands that have it in the same form."""
        having: dict[Param, list[str]] = {}
        for command in self.commands:
            for option in command.options:
                having.setdefault(option, []).append(command.name)
        shares: dict[tuple[str, ...], list[Param]] = {}
        for option, names in having.items():
            shares.setdefault(tuple(names), []).append(option)
        return shares


def by_heading(items: Iterable[Headed]) -> dict[str, list[Headed]]:
    """Return commands or options by heading."""
    under: dict[str, list[Headed]] = {}
    for item in items:
        under.setdefault(item.heading, []).append(item)
    return under


def read() -> Program:
    """Return the program as it is now."""
    group = cast("Any", typer.main.get_command(app))
    context = group.make_context("chainq", [], resilient_parsing=True)
    built = {name: group.get_command(context, name) for name in group.list_commands(context)}
    commands = (_command(name, group, one, context) for name, one in built.items() if not one.hidden)
    return Program(_examples(group), _params("", group, context, "option"), tuple(commands))


def _command(name: str, group: Any, built: Any, context: Any) -> Command:
    heading, purpose, _ = group.catalogue[name]
    paragraphs = tuple(" ".join(part.split()) for part in (built.help or "").split("\n\n"))
    arguments, options = (_params(name, built, context, kind) for kind in ("argument", "option"))
    return Command(name, heading, purpose, paragraphs, _examples(built), arguments, options, BY_COMMAND.get(name))


def _examples(built: Any) -> tuple[str, ...]:
    """Return the indented lines at the end of a help page."""
    return tuple(line[2:] for line in (built.epilog or "").splitlines() if line.startswith("  "))


def _params(command: str, built: Any, context: Any, kind: str) -> tuple[Param, ...]:
    own = type(context)(built, info_name=command, parent=context)
    params = [(param, param.get_help_record(own)) for param in built.get_params(own) if param.param_type_name == kind]
    return tuple(_param(param, record[1].replace(MORE, " ")) for param, record in params if record)


def _param(param: Any, record: str) -> Param:
    text, extras = re.fullmatch(r"(.*?)\s*((?:\[[^][]*\]\s*)*)", record).groups()  # type: ignore[union-attr]
    option = param.param_type_name == "option"
    metavar = "" if option and param.is_flag else str(param.metavar or param.type.name.upper())
    plain = metavar if option else re.sub(r"^\[([^][]*)\]$", r"\1", metavar)
    repeated = "Can be repeated." if option and param.multiple else ""
    return Param(
        tuple(sorted((*param.opts, *param.secondary_opts), key=lambda name: name[:2] != "--")) if option else (),
        plain,
        text,
        " ".join(filter(None, (text, *map(_sentence, re.findall(r"[^][; ][^][;]*", extras)), repeated))),
        "Other" if not option or param.rich_help_panel is None else param.rich_help_panel,
        bool(repeated) or param.nargs == -1,
        plain if param.required else f"[{plain}]",
    )


def _sentence(note: str) -> str:
    found = ((sentence, re.fullmatch(pattern, note)) for pattern, sentence in _NOTES.items())
    return next((sentence.format(*match.groups()) for sentence, match in found if match), f"{note.capitalize()}.")
