"""Writes from the live app: man/, docs/reference.md, docs/images/, completions/, sessions and exit codes
of the other pages, the types of rows for Python, and the wheel's list of files.

`python -m chainq._docgen` rewrites all of it; with `--check` it only lists what is stale. No other part of
chainq imports this package.
"""

from pathlib import Path

from chainq._docgen.manual import names, pages
from chainq._docgen.reference import reference
from chainq._docgen.row_types import row_types
from chainq._docgen.sessions import images, replayed
from chainq._docgen.surface import Program, read
from chainq._docgen.tables import columns
from chainq.cli.completion import SCRIPTS, script

COMMAND = "python -m chainq._docgen"
REFERENCE = "docs/reference.md"
COMPLETIONS = {
    "chainq.bash": "share/bash-completion/completions/chainq",
    "_chainq": "share/zsh/site-functions/_chainq",
    "chainq.fish": "share/fish/vendor_completions.d/chainq.fish",
}
MARKS = {
    "docs/tables.md": (f"<!-- tables:begin, by {COMMAND} -->", "<!-- tables:end -->"),
    "chainq/client/row_types.py": (f"# types:begin, by {COMMAND}", "# types:end"),
    "pyproject.toml": (f"# shared-data:begin, by {COMMAND}", "# shared-data:end"),
}
"""What the parts that are written begin and end with, in files that are otherwise written by hand."""


class DocsError(Exception):
    """A file that cannot be written, because its marks are missing."""


def root() -> Path:
    """Return the folder of the project: the one that holds the package `chainq` and its pyproject.toml."""
    return Path(__file__).resolve().parents[2]


def generated(program: Program) -> dict[str, str]:
    """Return the files that are written as a whole: path below the project's folder to text."""
    return {
        **{f"man/{name}": text for name, text in pages(program).items()},
        REFERENCE: reference(program),
        **{f"completions/{name}": script(shell) for shell, name in SCRIPTS.items()},
    }


def packaged(program: Program) -> dict[str, str]:
    """Return the files that a wheel installs beside the package, each with its place below the prefix."""
    manual = {f"man/{name}": f"share/man/man{name[-1]}/{name}" for name in names(program)}
    return {**manual, **{f"completions/{name}": place for name, place in COMPLETIONS.items()}}


def texts(folder: Path) -> dict[str, str]:
    """Return all files as they should be, path to text. Raises DocsError."""
    program = read()
    due = generated(program)
    parts = {}
    parts["docs/tables.md"] = columns()
    parts["chainq/client/row_types.py"] = row_types()
    parts["pyproject.toml"] = "\n".join(f'"{name}" = "{place}"' for name, place in packaged(program).items())
    for name, (begin, end) in MARKS.items():
        text = (folder / name).read_text("utf-8")
        if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
            raise DocsError(f"{name} lacks the marks {begin!r} and {end!r}, once each and in this order")
        due[name] = f"{text[: text.index(begin)]}{begin}\n{parts[name]}\n{text[text.index(end) :]}"
    for path in (folder / "README.md", *(folder / "docs").glob("*.md")):
        name = str(path.relative_to(folder))
        if name != REFERENCE:
            due[name] = replayed(due.get(name) or path.read_text("utf-8"))
    return {**due, **images()}


def stale(folder: Path) -> list[str]:
    """Return the names of files that are missing, differ from what they should be, or belong to no command any more."""
    return list(_differing(folder))


def write(folder: Path) -> list[str]:
    """Rewrite what is stale and return its names."""
    wrong = _differing(folder)
    for name, text in wrong.items():
        path = folder / name
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8", newline="\n")
    return list(wrong)


def _differing(folder: Path) -> dict[str, str | None]:
    """Return the stale files, each with the text that it should have; None for one that should not be there."""
    due = texts(folder)
    found = (str(path.relative_to(folder)) for part in ("man", "docs/images") for path in (folder / part).glob("*"))
    names = (*due, *sorted(set(found) - set(due)))
    now = {name: (folder / name).read_text("utf-8") for name in names if (folder / name).exists()}
    return {name: due.get(name) for name in names if due.get(name) != now.get(name)}
