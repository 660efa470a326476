"""docs/reference.md: each command once, the options that commands share once, variables, configuration, exit codes."""

from collections.abc import Iterable
from textwrap import fill

from chainq import errors
from chainq._docgen import prose
from chainq._docgen.pages import limits, variables
from chainq._docgen.surface import Command, Option, Program
from chainq.catalog.methods import Method

WIDTH = 120
HEAD = """\
# Reference

<!-- Written by python -m chainq._docgen; change what it is written from. -->

Everything that `--help` and the manual pages say, on one page. Tasks are in the [cookbook](cookbook.md)."""


def reference(program: Program) -> str:
    """Return the text of docs/reference.md."""
    parts = [HEAD, "\n".join(_contents(program)), "## Commands"]
    for heading, commands in program.headings.items():
        parts += [f"### {heading}", *(_command(program, command) for command in commands)]
    parts += ["## Options that commands share", *_shared(program)]
    parts += ["## Environment variables", _rows(("variable", "what it does"), _variables(program))]
    parts += ["## Configuration file", *map(_wrapped, (f"`{prose.CONFIG_FILE}`", *prose.CONFIG, *prose.CONFIG_ORDER))]
    keys = ((_code(key), _cell(text)) for key, text in prose.CONFIG_KEYS.items())
    parts += [_rows(("key of a profile", "what it does"), keys), f"```toml\n{prose.CONFIG_EXAMPLE}```"]
    parts += ["## Exit codes", exit_codes(), _wrapped(prose.ENDING)]
    return "\n\n".join(parts) + "\n"


def exit_codes() -> str:
    """Return the exit codes and their meanings as a table in Markdown, for the README too."""
    return _rows(("code", "meaning"), ((code, _cell(text)) for code, text in errors.exit_codes().items()))


def _contents(program: Program) -> list[str]:
    """Return a list of links to the headings."""
    lines = ["- [Commands](#commands)"]
    for heading, commands in program.headings.items():
        links = ", ".join(f"[`{command.name}`](#{_anchor(_usage(command))})" for command in commands)
        lines += [f"  - {heading}: {links}"]
    headings = ("Options that commands share", "Environment variables", "Configuration file", "Exit codes")
    return [*lines, *(f"- [{heading}](#{_anchor(heading)})" for heading in headings)]


def _anchor(heading: str) -> str:
    """Return the anchor that hosts of Markdown give a heading: small letters, hyphens for spaces, no other signs."""
    return "".join(letter for letter in heading.lower().replace(" ", "-") if letter.isalnum() or letter in "-_")


def _usage(command: Command) -> str:
    return " ".join(("chainq", command.name, *(argument.shown for argument in command.arguments)))


def _own(program: Program, command: Command) -> list[Option]:
    """Return the options that only this command has."""
    return [option for commands, options in program.shares.items() if commands == (command.name,) for option in options]


def _command(program: Program, command: Command) -> str:
    parts = [f"#### `{_usage(command)}`"]
    if command.method:
        called = f"{command.paragraphs[0]} Method: `{command.method.name}`."
        parts += [_wrapped(" ".join((called, *limits(command.method))))]
    else:
        parts += map(_wrapped, command.paragraphs)
    if command.arguments:
        parts += ["\n".join(f"- `{argument.metavar}`: {argument.text}" for argument in command.arguments)]
    own = [option for option in _own(program, command) if option.names[0] != "--columns"]
    if own:
        parts += [_rows(("option", "what it does"), ((_names(option), _cell(option.said)) for option in own))]
    if command.examples:
        parts += ["\n".join(("```sh", *command.examples, "```"))]
    if command.method:
        parts += [_columns(program, command.method)]
    return "\n\n".join(parts)


def _columns(program: Program, method: Method) -> str:
    """Return a table of the columns, or the name of the command before that has the same."""
    like = next(other for other in program.commands if other.method and other.method.columns == method.columns)
    if like.method is not method:
        return f"Columns: as for `{like.name}`."
    names = (
        (f"**`{column.path}`**" if column.brief else _code(column.path), _cell(column.type), _cell(column.note))
        for column in method.columns
    )
    return "Columns (a table shows those in bold):\n\n" + _rows(("column", "type", "note"), names)


def _variables(program: Program) -> Iterable[tuple[str, str]]:
    for name, text in variables(program).items():
        yield ", ".join(map(_code, name.split(", "))), _cell(text)


def _wrapped(text: str) -> str:
    return fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _shared(program: Program) -> list[str]:
    """Return tables of the options that several commands have, one for each group, with the commands that have them."""
    groups: dict[str, dict[tuple[str, ...], Option]] = {}
    having: dict[tuple[str, ...], list[str]] = {}
    for commands, options in program.shares.items():
        for option in options:
            if len(commands) > 1 or option.names[0] == "--columns":
                groups.setdefault(option.heading, {}).setdefault(option.names, option)
                having.setdefault(option.names, []).extend(commands)
    parts = []
    for heading, group in groups.items():
        rows = ((_names(option), _cell(option.said), _who(program, having[names])) for names, option in group.items())
        parts += [f"### {'Help' if heading == 'Options' else heading} options"]
        parts += [_rows(("option", "what it does", "commands"), rows)]
    return parts


def _who(program: Program, names: list[str]) -> str:
    """Return the commands, in words where that is shorter."""
    left, words = set(names), []
    for word, group in (
        ("all", [command.name for command in program.commands]),
        ("all methods", [command.name for command in program.commands if command.method]),
        ("range commands", [command.name for command in program.commands if command.method and command.method.ranged]),
    ):
        if left >= set(group):
            left -= set(group)
            words.append(word)
    return ", ".join((*words, *(_code(command.name) for command in program.commands if command.name in left)))


def _rows(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a table in Markdown; cells are escaped already."""
    lines = (f"| {' | '.join(row)} |" for row in (heads, *rows))
    head, *rest = (line.replace("|  |", "| |") for line in lines)
    return "\n".join((head, "|---" * len(heads) + "|", *rest))


def _names(option: Option) -> str:
    names = ", ".join(sorted(option.names, key=len))
    return _code(_cell(f"{names} {option.metavar}".strip()))


def _code(text: str) -> str:
    return f"`{text}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
