"""Writes from the live app: man/, completions/, parts of docs/reference.md and docs/tables.md.

`python -m chainq._docgen` rewrites all of it. A part that it writes is between
`<!-- NAME, by python -m chainq._docgen -->` and `<!-- end -->`. No other part of chainq imports this module.

Rejected: click-man and the like, which need Click, while Typer has a copy of its own; docutils, for which the pages
would need another markup.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, cast

import typer

from chainq.catalog.tables import DERIVED, TABLES
from chainq.cli.commands import SCRIPTS, app, script
from chainq.errors import exit_codes
from chainq.formats.arrow_rows import type_of

COMMAND = "python -m chainq._docgen"
DATE = "2026-11-28"  # of the manual as a whole; not the day of writing, which would change every page every day
ROOT = Path(__file__).resolve().parents[1]
REFERENCE = "docs/reference.md"
_PART = re.compile(rf"(<!-- ([\w ]+), by {COMMAND} -->\n).*?(<!-- end -->)", re.DOTALL)
_ROFF = {"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti", "…": "...", "—": r"\(em"}

Option = tuple[str, str]
"""The names of an option with its metavar, and its help; of an argument, its metavar and its help."""


def commands() -> dict[str, tuple[str, Any]]:
    """Return the purpose of each command that the help lists, in its order, and the command of Typer."""
    group = cast("Any", typer.main.get_command(app))
    return {name: (purpose, build()) for name, (_, purpose, build) in group.catalogue.items()}


def options(command: Any, kind: str = "option") -> list[Option]:
    """Return the options of a command as its help has them, or its arguments."""
    context = typer.Context(command)
    return [param.get_help_record(context) for param in command.params if param.param_type_name == kind]


def shared() -> list[Option]:
    """Return the arguments and options that several commands have."""
    counts = Counter(option for _, command in commands().values() for option in _all(command))
    return [option for option, count in counts.items() if count > 1]


def _all(command: Any) -> list[Option]:
    return [*options(command, "argument"), *options(command)]


def usage(name: str, command: Any) -> str:
    """Return a command with its arguments."""
    return " ".join(("chainq", name, *(argument for argument, _ in options(command, "argument"))))


def listed(rows: Iterable[Option]) -> str:
    """Return a list in Markdown: names with what they mean."""
    return "\n".join(f"- `{name}`: {text}" for name, text in rows)


def _reference() -> str:
    """Return what docs/reference.md says of the commands: their own options, and not those that several have."""
    common, lines = shared(), []
    for name, (_, command) in commands().items():
        own = [option for option in _all(command) if option not in common]
        lines += [f"### `{usage(name, command)}`", command.help.split("\n\n")[0], *filter(None, [listed(own)])]
    return "\n\n".join(lines)


def _columns() -> str:
    """Return the columns of the tables that full blocks fill."""
    import pyarrow

    lines = []
    for table in (TABLES[name] for name in TABLES if name in DERIVED):
        lines += [f"### {table.command}", f"{table.purpose[0].upper()}{table.purpose[1:]}."]
        types = {column: type_of(column, pyarrow).arrow for column in table.columns}
        lines.append(listed((one.path, f"{kind}, {one.note or 'as sent'}") for one, kind in types.items()))
    return "\n\n".join(lines)


PARTS: dict[str, Callable[[], str]] = {
    "exit codes": lambda: listed(exit_codes().items()),
    "shared options": lambda: listed(shared()),
    "commands": _reference,
    "columns": _columns,
}
"""What is written into pages, by its name there."""


def filled(name: str) -> str:
    """Return a page of docs/ with its parts as they are now."""
    return _PART.sub(lambda part: f"{part[1]}\n{PARTS[part[2]]()}\n\n{part[3]}", (ROOT / name).read_text("utf-8"))


def escaped(text: str) -> str:
    """Return text for man(7), with all that is special there escaped, also at the start of a line."""
    line = "".join(_ROFF.get(letter, letter) for letter in text)
    return rf"\&{line}" if line[:1] in (".", "'") else line


def roff(text: str) -> str:
    """Return a paragraph of Markdown for man(7): `code` in bold, of a link its text."""
    text = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", " ".join(text.split()))
    parts = (escaped(part) for part in re.split("`", text))
    return "".join(rf"\fB{part}\fR" if place % 2 else part for place, part in enumerate(parts))


def man_page(name: str, markdown: str) -> str:
    """Return a page of section 1 from Markdown: headings, paragraphs, lists of names and their meanings, code."""
    lines = [rf".\" Written by {COMMAND}.", f'.TH "{escaped(name.upper())}" "1" "{DATE}" "chainq" "chainq manual"']
    for block in re.findall(r"```.*?```|(?:[^\n]+\n?)+", markdown, re.DOTALL):
        if heading := re.fullmatch("## (.*)\n", block):
            lines.append(f'.SH "{heading[1].upper()}"')
        elif block.startswith("```"):
            lines += [".PP", ".EX", *(escaped(line) or r"\&" for line in block.splitlines()[1:-1]), ".EE"]
        elif block.startswith("- "):
            pairs = (item.split("`: ", 1) for item in block[2:].split("\n- "))
            lines += [line for tag, text in pairs for line in (".TP", roff(f"{tag}`"), roff(text))]
        else:
            lines += [".PP"] * (not lines[-1].startswith(".SH")) + [roff(block)]
    return "\n".join((*lines, ""))


def man_pages() -> dict[str, str]:
    """Return all manual pages, by path. chainq(1) is docs/reference.md without its last section."""
    known = commands()
    names = listed((f"chainq-{name}", purpose) for name, (purpose, _) in known.items())
    text = re.sub("<!--.*?-->\n", "", filled(REFERENCE).split("## Commands")[0]).split("\n## ", 1)[1]
    head = "## Name\n\nchainq - explore the Aleo chain\n\n## Synopsis\n\n`chainq` COMMAND [OPTIONS]"
    pages = {"chainq": f"{head}\n\n## Commands\n\n{names}\n\n## {text}"}
    for name, (purpose, command) in known.items():
        examples = "\n".join(map(str.strip, command.epilog.splitlines()[1:]))
        pages[f"chainq-{name}"] = "\n\n".join(
            (
                f"## Name\n\nchainq-{name} - {purpose}",
                f"## Synopsis\n\n`{usage(name, command)}` [OPTIONS]",
                f"## Description\n\n{command.help}",
                f"## Options\n\n{listed(_all(command))}",
                f"## Examples\n\n```sh\n{examples}\n```",
            )
        )
    return {f"man/{name}.1": man_page(name, page) for name, page in pages.items()}


def due() -> dict[str, str]:
    """Return all files as they should be, path to text."""
    pages = {name: filled(name) for name in (REFERENCE, "docs/tables.md")}
    scripts = {f"completions/{name}": script(shell) for shell, name in SCRIPTS.items()}
    return {**pages, **man_pages(), **scripts}


def main() -> None:
    """Write all files, and remove manual pages of commands that are gone."""
    texts = due()
    for page in (ROOT / "man").glob("*"):
        if f"man/{page.name}" not in texts:
            page.unlink()
    for name, text in texts.items():
        (ROOT / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
