"""What the completion scripts of all shells share: quoting, and which command takes which value."""

from collections.abc import Iterable

from chainq._docgen.surface import Option, Program
from chainq._docgen.values import Kind, Values

HEADER = """\
# Completion of chainq for {name}, written by python -m chainq._docgen; change what it is written from.
# It starts no program and sends no request: everything is in this file, except the profiles of the configuration file.
"""


def quoted(text: str) -> str:
    """Return a word quoted for bash and zsh, without a backslash, which zsh's specifications would read once more."""
    return "'" + text.replace("'", "'\"'\"'") + "'"


def words(values: Iterable[str]) -> str:
    """Return words quoted, with spaces between."""
    return " ".join(map(quoted, values))


def takers(program: Program) -> list[tuple[tuple[str, ...], Option]]:
    """Return the options that take a value, each with the commands that have it in the same form.

    The commands are empty where all commands with an option of these names have the same.
    """
    found = [(commands, option) for commands, options in program.shares.items() for option in options if option.metavar]
    variants: dict[tuple[str, ...], int] = {}
    for options in program.shares.values():
        for option in options:
            variants[option.names] = variants.get(option.names, 0) + 1
    return [(() if variants[option.names] == 1 else commands, option) for commands, option in found]


def positional(program: Program) -> list[tuple[str, int, bool, Values]]:
    """Return the arguments that a shell can offer values for: command, position, whether it is repeated, values."""
    return [
        (command.name, place, argument.many, argument.values)
        for command in program.commands
        for place, argument in enumerate(command.arguments)
        if argument.values.kind is not Kind.NONE
    ]
