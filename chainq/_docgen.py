"""Writes from the live app: man/, completions/, the README's picture, parts of docs/reference.md and docs/tables.md.

`python -m chainq._docgen` rewrites all of it; with `--check` it only lists what is stale. A part that it writes is
between `<!-- NAME, by python -m chainq._docgen -->` and `<!-- end -->`. No other part of chainq imports this module.

Rejected: click-man and the like, which need Click, while Typer has a copy of its own; docutils, for which the pages
would need another markup.
"""

import io
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from functools import cache
from pathlib import Path
from typing import Any, cast

import typer
from rich.console import Console
from rich.text import Text

from chainq.catalog.methods import BY_COMMAND
from chainq.catalog.tables import DERIVED, TABLES
from chainq.cli.commands import SCRIPTS, app, script
from chainq.errors import exit_codes
from chainq.formats.parquet_types import type_of

COMMAND = "python -m chainq._docgen"
DATE = "2026-11-28"  # of the manual as a whole; not the day of writing, which would change every page every day
ROOT = Path(__file__).resolve().parents[1]
REFERENCE = "docs/reference.md"
SHOWN = "chainq show at12ckvvk59m3pzpfedt8ly9wn6d0hy22peqjg8dxeg7mt3g8wgzg0qcmgnw4"
"""The command in the picture."""
_PART = re.compile(rf"(<!-- ([\w ]+), by {COMMAND} -->\n).*?(<!-- end -->)", re.DOTALL)
_ROFF = {"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti", "…": "...", "—": r"\(em"}

Option = tuple[str, str]
"""The names of an option with its metavar, and its help; of an argument, its metavar and its help."""


def commands() -> dict[str, Any]:
    """Return the commands of Typer that the help lists, in its order."""
    group = cast("Any", typer.main.get_command(app))
    return {name: group.get_command(None, name) for name in group.catalogue}


@cache
def options(command: Any, kind: str = "option") -> tuple[Option, ...]:
    """Return the options of a command as its help has them, or its arguments."""
    context = typer.Context(command)
    return tuple(param.get_help_record(context) for param in command.params if param.param_type_name == kind)


def shared() -> list[Option]:
    """Return the options that several commands have: of those with the same name, the one that most commands have."""
    counts = Counter(one for command in commands().values() for one in options(command))
    first = {_long(option): option for option, _ in reversed(counts.most_common())}
    return [option for option, count in counts.items() if count > 1 and first[_long(option)] == option]


def service() -> set[Option]:
    """Return the options that every command has which reads a service."""
    having = [set(options(command)) for command in commands().values()]
    return set.intersection(*(found for found in having if any("--url" in names for names, _ in found)))


def usage(name: str, command: Any) -> str:
    """Return a command with its arguments."""
    return " ".join(("chainq", name, *(argument for argument, _ in options(command, "argument"))))


def described(name: str, command: Any, common: Collection[Option]) -> dict[str, str]:
    """Return what there is to say of a command, by heading; of the options that it shares with others, the names."""
    found = options(command)
    everywhere = service() if service() <= set(found) else set[Option]()
    own = (*options(command, "argument"), *(option for option in found if option not in common))
    names = [f"`{_long(option)}`" for option in found if option in common and option not in everywhere]
    names += ["the service options"] * bool(everywhere)
    parts = {
        "Description": command.help,
        "Options": listed(own),
        "Shared options": f"Shared: {', '.join(names)}." * bool(names),
        "Columns": ", ".join(f"`{one.path}`" for one in BY_COMMAND[name].columns) if name in BY_COMMAND else "",
        "Examples": "\n".join(("```sh", *map(str.strip, command.epilog.splitlines()[1:]), "```")),
    }
    return {heading: text for heading, text in parts.items() if text}


def listed(rows: Iterable[Option]) -> str:
    """Return a list in Markdown: names with what they mean."""
    return "\n".join(f"- `{name}`: {text}" for name, text in rows)


def _long(option: Option) -> str:
    """Return the long name of an option."""
    return str(re.findall(r"--[\w-]+", option[0])[0])


def _reference() -> str:
    """Return what docs/reference.md says of the commands; manual pages and help add notes, columns and examples."""
    common, lines = shared(), []
    for name, command in commands().items():
        parts = described(name, command, common)
        own = (parts.get(heading, "") for heading in ("Options", "Shared options"))
        lines += [f"### `{usage(name, command)}`", parts["Description"].split("\n\n")[0], *filter(None, own)]
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
    "service options": lambda: listed(one for one in shared() if one in service()),
    "shared options": lambda: listed(one for one in shared() if one not in service()),
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
            lines += [
                ".PP",
                ".RS 4",
                ".EX",
                *(escaped(line) or r"\&" for line in block.splitlines()[1:-1]),
                ".EE",
                ".RE",
            ]
        elif block.startswith("- "):
            pairs = (item.split("`: ", 1) for item in block[2:].split("\n- "))
            lines += [line for tag, text in pairs for line in (".TP", roff(f"{tag}`"), roff(text))]
        else:
            lines += [".PP"] * (not lines[-1].startswith(".SH")) + [roff(block)]
    return "\n".join((*lines, ""))


def man_pages() -> dict[str, str]:
    """Return all manual pages, by path. chainq(1) is docs/reference.md without its last section."""
    group, common = cast("Any", typer.main.get_command(app)), shared()
    text = re.sub("<!--.*?-->\n", "", filled(REFERENCE).split("## Commands")[0])
    pages = {"chainq": {"Name": "chainq - explore the Aleo chain", "Synopsis": "`chainq` COMMAND [OPTIONS]"}}
    pages["chainq"]["Commands"] = listed((f"chainq-{name}", entry[1]) for name, entry in group.catalogue.items())
    pages["chainq"] |= dict(re.findall(r"## (.*)\n\n((?:.|\n(?!## ))*)", text))
    for name, command in commands().items():
        head = {
            "Name": f"chainq-{name} - {group.catalogue[name][1]}",
            "Synopsis": f"`{usage(name, command)}` [OPTIONS]",
        }
        pages[f"chainq-{name}"] = {**head, **described(name, command, common), "See also": "`chainq`(1)"}
    joined = {name: "\n\n".join(f"## {part}\n\n{text}" for part, text in page.items()) for name, page in pages.items()}
    return {f"man/{name}.1": man_page(name, text) for name, text in joined.items()}


def picture() -> str:
    """Return what SHOWN prints on a terminal of 80 columns, as an SVG. Raises CalledProcessError if it fails."""
    environment = {"HOME": os.devnull, "COLUMNS": "80", "FORCE_COLOR": "1", "CHAINQ_URL": "demo:"}
    line = [sys.executable, "-m", *SHOWN.split()]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=True)  # noqa: S603  # as above
    console = Console(record=True, width=80, file=io.StringIO(), color_system="truecolor")
    console.print(Text("$ " + SHOWN, "bold"), Text.from_ansi(done.stdout), sep="\n", soft_wrap=True)
    fonts = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)  # a picture would fetch them from another host
    return fonts.sub("", console.export_svg(title="", unique_id="chainq"))


def due() -> dict[str, str]:
    """Return all files as they should be, path to text."""
    pages = {name: filled(name) for name in (REFERENCE, "docs/tables.md")}
    scripts = {f"completions/{name}": script(shell) for shell, name in SCRIPTS.items()}
    return {**pages, **man_pages(), **scripts, "docs/images/show.svg": picture()}


def main(arguments: list[str]) -> int:
    """Write what is missing, differs, or belongs to no command any more; with `--check`, list it and return 1."""
    texts = due()
    for path in {*(ROOT / "man").glob("*"), *(ROOT / name for name in texts)}:
        name = str(path.relative_to(ROOT))
        if not path.exists() or path.read_text("utf-8") != texts.get(name):
            print(f"{name} is stale; {COMMAND} rewrites it" if arguments else f"wrote {name}")  # noqa: T201  # its output
            if arguments:
                return 1
            path.write_text(texts[name], "utf-8") if name in texts else path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
