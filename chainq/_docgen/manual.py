"""The manual in Markdown: a page for each command, from the app, and those of docs/manual/ with lists filled in."""

from collections.abc import Iterable
from pathlib import Path

from chainq import errors
from chainq._docgen import roff
from chainq._docgen.surface import Command, Param, Program, by_heading
from chainq._version import __version__
from chainq.catalog.methods import Method
from chainq.formats import registry

DATE = "2026-11-22"  # of the manual as a whole; not the day of writing, which would change every page every day
FORMATS = (*registry.BUILT_IN, "chart")  # the last one is an entry point, as those of other packages are
SOURCES = Path(__file__).resolve().parents[2] / "docs" / "manual"


def pages(program: Program) -> dict[str, str]:
    """Return all manual pages, by file name: `{"chainq.1": ".TH ..."}`."""
    texts = {path.stem: source(path.stem, program) for path in sorted(SOURCES.glob("*.md"))}
    texts |= {f"chainq-{command.name}.1": _page(command) for command in program.commands}
    return {name: roff.page(name, DATE, f"chainq {__version__}", text) for name, text in texts.items()}


def names(program: Program) -> list[str]:
    """Return the file names of all manual pages, in order."""
    return sorted(
        [*(path.stem for path in SOURCES.glob("*.md")), *(f"chainq-{one.name}.1" for one in program.commands)]
    )


def source(name: str, program: Program) -> str:
    """Return a page of docs/manual/ with a list in the place of each comment."""
    commands = ((_cross(c), c.purpose, f"`{c.method.name}`" if c.method else "") for c in program.commands)
    lists = {
        "commands": rows(("command", "what it does", "method"), commands),
        "options": option_rows(program.options),
        "exit codes": exit_codes(),
        "examples": fence(program.examples),
        "pages": ", ".join(map(_cross, program.commands)),
        "formats": ", ".join(f"`{name}`" for name in FORMATS),
    }
    text = (SOURCES / f"{name}.md").read_text("utf-8")
    for comment, written in lists.items():
        text = text.replace(f"<!-- {comment} -->", written)
    return text


def exit_codes() -> str:
    """Return the exit codes and their meanings as a table."""
    return rows(("code", "meaning"), errors.exit_codes().items())


def parts(command: Command, options: str) -> dict[str, str]:
    """Return what is to be said of a command, by heading, with that text about its options."""
    method, arguments = command.method, ((tag(argument), argument.said) for argument in command.arguments)
    found = {
        "Description": "\n\n".join(command.paragraphs),
        "Arguments": rows(("argument", "what it is"), arguments) if command.arguments else "",
        "Options": options,
        "Columns": _columns(method) if method else "",
        "Examples": fence(command.examples),
    }
    return {heading: text for heading, text in found.items() if text}


def rows(heads: tuple[str, ...], cells: Iterable[tuple[str, ...]]) -> str:
    """Return a table; cells are Markdown in which a bar is not escaped yet."""
    lines = ("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in (heads, *cells))
    head, *rest = (line.replace("|  |", "| |") for line in lines)
    return "\n".join((head, "|---" * len(heads) + "|", *rest))


def fence(lines: Iterable[str]) -> str:
    """Return a block of shell commands."""
    return "\n".join(("```sh", *lines, "```"))


def tag(param: Param) -> str:
    """Return an argument, or an option as in `-o, --output` *FILE*."""
    names = f"`{', '.join(sorted(param.names, key=len))}`" if param.names else ""
    return f"{names} {f'*{param.metavar}*' if param.metavar else ''}".strip()


def option_rows(options: Iterable[Param]) -> str:
    """Return a table of options."""
    return rows(("option", "what it does"), ((tag(option), option.said) for option in options))


def _columns(method: Method) -> str:
    cells = (
        (f"`{column.path}`{' *' if column.brief else ''}", column.type, column.note) for column in method.selectable
    )
    return f"A star marks what is shown {method.starred}.\n\n" + rows(("column", "type", "note"), cells)


def _cross(command: Command) -> str:
    return f"**chainq-{command.name}**(1)"


def _page(command: Command) -> str:
    """Return the page of a command."""
    arguments = (f"*{argument.shown}*" for argument in command.arguments)
    options = (f"## {heading}\n\n{option_rows(group)}" for heading, group in by_heading(command.options).items())
    found = {
        "Name": f"chainq-{command.name} - {command.purpose}",
        "Synopsis": " ".join((f"**chainq {command.name}**", *arguments, "[*OPTIONS*]")),
        **parts(command, "\n\n".join(options)),
        "See also": "**chainq**(1), **chainq**(5), **chainq-formats**(7)",
    }
    return "\n\n".join(f"# {heading}\n\n{text}" for heading, text in found.items())
