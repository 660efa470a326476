"""The reference in the README: each command once, the options that they share once, in Markdown."""

from collections.abc import Iterable
from textwrap import fill

from chainq._docgen.pages import limits, variables
from chainq._docgen.surface import Command, Option, Program
from chainq.catalog.methods import Method

WIDTH = 120


def reference(program: Program) -> str:
    """The text between the README's markers."""
    parts = ["<!-- Written by python -m chainq._docgen; change what it is written from. -->"]
    for heading, commands in program.headings.items():
        parts += [f"### {heading}", *(_command(program, command) for command in commands)]
    parts += ["### Options that commands share", *_shared(program)]
    names = (
        f"| {', '.join(map(_code, name.split(', ')))} | {_cell(text)} |" for name, text in variables(program).items()
    )
    parts += ["### Environment variables", "\n".join(("| variable | what it does |", "|---|---|", *names))]
    return "\n\n".join(parts)


def _own(program: Program, command: Command) -> list[Option]:
    """The options that only this command has."""
    return [option for commands, options in program.shares.items() if commands == (command.name,) for option in options]


def _command(program: Program, command: Command) -> str:
    usage = " ".join(("chainq", command.name, *(argument.shown for argument in command.arguments)))
    parts = [f"#### `{usage}`"]
    if command.method:
        called = f"{command.paragraphs[0]} The method `{command.method.name}`."
        parts += [_wrapped(" ".join((called, "Limits:", *limits(command.method))))]
    else:
        parts += map(_wrapped, command.paragraphs)
    if command.arguments:
        parts += ["\n".join(f"- `{argument.metavar}`: {argument.text}" for argument in command.arguments)]
    if command.method:
        parts += [_columns(program, command.method)]
    own = [option for option in _own(program, command) if option.names[0] != "--columns"]
    if own:
        parts += [_table(own)]
    if command.examples:
        parts += ["\n".join(("```sh", *command.examples, "```"))]
    return "\n\n".join(parts)


def _columns(program: Program, method: Method) -> str:
    """The columns, or the command before that has the same."""
    like = next(other for other in program.commands if other.method and other.method.columns == method.columns)
    if like.method is not method:
        return f"Columns: those of `{like.name}`."
    names = (f"**`{column.path}`**" if column.brief else f"`{column.path}`" for column in method.columns)
    return _wrapped(f"Columns (those of a table by default in bold): {', '.join(names)}.")


def _wrapped(text: str) -> str:
    return fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _shared(program: Program) -> list[str]:
    """Tables of the options that several commands have, a group each, with the commands that have them."""
    groups: dict[str, dict[tuple[str, ...], Option]] = {}
    having: dict[tuple[str, ...], list[str]] = {}
    for commands, options in program.shares.items():
        for option in options:
            if len(commands) > 1 or option.names[0] == "--columns":
                groups.setdefault(option.heading, {}).setdefault(option.names, option)
                having.setdefault(option.names, []).extend(commands)
    parts = []
    for heading, group in groups.items():
        rows = [
            f"| {_names(option)} | {_cell(option.said)} | {_who(program, having[names])} |"
            for names, option in group.items()
        ]
        title = "Help" if heading == "Options" else heading
        parts += [f"**{title}**", "\n".join(("| option | what it does | commands |", "|---|---|---|", *rows))]
    return parts


def _who(program: Program, names: list[str]) -> str:
    """The commands, in words where that is shorter."""
    left, words = set(names), []
    for word, group in (
        ("all", [command.name for command in program.commands]),
        ("all methods", [command.name for command in program.commands if command.method]),
        (
            "all with a range",
            [command.name for command in program.commands if command.method and command.method.ranged],
        ),
    ):
        if left >= set(group):
            left -= set(group)
            words.append(word)
    return ", ".join((*words, *(_code(command.name) for command in program.commands if command.name in left)))


def _table(options: Iterable[Option]) -> str:
    rows = (f"| {_names(option)} | {_cell(option.said)} |" for option in options)
    return "\n".join(("| option | what it does |", "|---|---|", *rows))


def _names(option: Option) -> str:
    names = ", ".join(sorted(option.names, key=len))
    return _code(f"{names} {option.metavar}".strip().replace("|", "\\|"))


def _code(text: str) -> str:
    return f"`{text}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
