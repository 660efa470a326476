"""What the completion scripts of all shells share: quoting, and who takes which value."""

from collections.abc import Iterable

from chainq._docgen.surface import Option, Program
from chainq._docgen.values import Kind, Values

HEADER = """\
# Completion of chainq for {name}, written by python -m chainq._docgen; change what it is written from.
# It starts no program and asks no server: all it knows stands here, but for the profiles of the configuration file.
"""


def quoted(text: str) -> str:
    """A word of bash and zsh that stands for itself, without a backslash, which zsh's specifications read once more."""
    return "'" + text.replace("'", "'\"'\"'") + "'"


def words(values: Iterable[str]) -> str:
    """Quoted words, with spaces between."""
    return " ".join(map(quoted, values))


def takers(program: Program) -> list[tuple[tuple[str, ...], Option]]:
    """The options that take a value, each with the commands that have it just so.

    The commands are empty where every command that has an option of these names has it so.
    """
    found = [(commands, option) for commands, options in program.shares.items() for option in options if option.metavar]
    variants: dict[tuple[str, ...], int] = {}
    for options in program.shares.values():
        for option in options:
            variants[option.names] = variants.get(option.names, 0) + 1
    return [(() if variants[option.names] == 1 else commands, option) for commands, option in found]


def positional(program: Program) -> list[tuple[str, int, bool, Values]]:
    """The arguments that a shell can offer values for: command, place, whether it is repeated, values."""
    return [
        (command.name, place, argument.many, argument.values)
        for command in program.commands
        for place, argument in enumerate(command.arguments)
        if argument.values.kind is not Kind.NONE
    ]
