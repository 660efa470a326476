"""The table in the completion scripts: every option and argument, its help, and the values that it can have.

The rest of a script is written by hand. This table is the same text for bash, zsh and fish: it calls `_chainq_for` with
commands (none: the program itself), then `_chainq_row` for each of their options and arguments: names or position
(`any`: each one), kind of value (`values.py`; with a plus: can be repeated), help, and words with a note each.

Rejected: Click's completion, which starts Python at each Tab (a tenth of a second); shtab, whose scripts for bash show
no help, complete no lists, and split `--url http://h/` at its colons.
"""

from itertools import chain
from shlex import quote

from chainq._docgen.surface import Param, Program
from chainq._docgen.values import ASKS, Words


def table(program: Program) -> str:
    """Return the table."""
    purposes = tuple((command.name, command.purpose) for command in program.commands)
    lines = ["_chainq_for", *map(_option, program.options), _row("1", "words", "command", purposes)]
    for commands, options in program.shares.items():
        lines += [" ".join(("_chainq_for", *commands)), *map(_option, options)]
    for command in program.commands:
        lines.append(f"_chainq_for {command.name}")
        for place, argument in enumerate(command.arguments, 1):
            kind, words = argument.values
            lines.append(_row("any" if argument.many else str(place), kind, argument.metavar.lower(), words))
        if command.name == ASKS:
            own = {name for option in command.options for name in option.names}
            every = {option.names[0]: option for other in program.commands for option in other.options}
            lines += [_row(name, "flag", option.text, ()) for name, option in every.items() if name not in own]
    return "\n".join(lines)


def _option(option: Param) -> str:
    kind, words = option.values
    return _row(" ".join(option.names), f"{kind}{'+' if option.many else ''}", option.text.rstrip("."), words)


def _row(what: str, kind: str, brief: str, words: Words) -> str:
    """Return a row, quoted for all three shells: they agree on single quotes if there is no backslash."""
    return " ".join(("_chainq_row", *map(quote, (what, kind, brief, *chain.from_iterable(words)))))
