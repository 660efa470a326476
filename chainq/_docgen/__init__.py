"""Writes from the live app: man/, completions/, docs/reference.md, docs/images/, the sessions and exit codes of the
other pages, and the wheel's list of files.

`python -m chainq._docgen` rewrites all of it; with `--check` it only lists what is stale. No other part of
chainq imports this package.
"""

from pathlib import Path

from chainq._docgen import bash, fish, zsh
from chainq._docgen.images import images
from chainq._docgen.pages import pages
from chainq._docgen.reference import exit_codes, reference
from chainq._docgen.sessions import replayed
from chainq._docgen.surface import Program, read

COMMAND = "python -m chainq._docgen"
REFERENCE = "docs/reference.md"
COMPLETIONS = {
    "chainq.bash": "share/bash-completion/completions/chainq",
    "_chainq": "share/zsh/site-functions/_chainq",
    "chainq.fish": "share/fish/vendor_completions.d/chainq.fish",
}
README_MARKS = (f"<!-- exit-codes:begin, by {COMMAND} -->", "<!-- exit-codes:end -->")
WHEEL_MARKS = (f"# shared-data:begin, by {COMMAND}", "# shared-data:end")


class DocsError(Exception):
    """A file that cannot be written, because its marks are missing."""


def root() -> Path:
    """Return the folder of the project: the one that holds the package `chainq` and its pyproject.toml."""
    return Path(__file__).resolve().parents[2]


def packaged(program: Program) -> dict[str, str]:
    """Return the files that a wheel installs beside the package: path below the project's folder to text."""
    scripts = {"chainq.bash": bash.script(program), "_chainq": zsh.script(program), "chainq.fish": fish.script(program)}
    return {
        **{f"man/{name}": text for name, text in pages(program).items()},
        **{f"completions/{name}": text for name, text in scripts.items()},
    }


def generated(program: Program) -> dict[str, str]:
    """Return the files that are written as a whole."""
    return {**packaged(program), REFERENCE: reference(program)}


def shared_data(program: Program) -> str:
    """Return where a wheel puts each file below its prefix, as lines of pyproject.toml."""
    manual = {f"man/{name}": f"share/man/man{name[-1]}/{name}" for name in sorted(pages(program))}
    scripts = {f"completions/{name}": place for name, place in COMPLETIONS.items()}
    return "\n".join(f'"{source}" = "{place}"' for source, place in {**manual, **scripts}.items())


def between(text: str, marks: tuple[str, str], new: str, name: str) -> str:
    """Return `text` with the part between the marks replaced. Raises DocsError unless each mark is there once."""
    begin, end = marks
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise DocsError(f"{name} lacks the marks {begin!r} and {end!r}, once each and in this order")
    return f"{text[: text.index(begin)]}{begin}\n{new}\n{text[text.index(end) :]}"


def texts(folder: Path) -> dict[str, str]:
    """Return all files as they should be, path to text. Raises DocsError."""
    program = read()
    due = {**generated(program), **images()}
    for name, marks, new in (
        ("README.md", README_MARKS, f"\n{exit_codes()}\n"),
        ("pyproject.toml", WHEEL_MARKS, shared_data(program)),
    ):
        due[name] = between((folder / name).read_text("utf-8"), marks, new, name)
    for place in (folder / "README.md", *(folder / "docs").glob("*.md")):
        name = str(place.relative_to(folder))
        if name != REFERENCE:
            due[name] = replayed(due.get(name) or place.read_text("utf-8"))
    return due


def stale(folder: Path) -> list[str]:
    """Return the names of files that are missing, differ from what they should be, or belong to no command any more."""
    due = texts(folder)
    wrong = [name for name, text in due.items() if _read(folder / name) != text]
    return wrong + [name for name in _written(folder) if name not in due]


def write(folder: Path) -> list[str]:
    """Rewrite what is stale and return its names."""
    due, wrong = texts(folder), stale(folder)
    for name in wrong:
        place = folder / name
        if name in due:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(due[name], "utf-8", newline="\n")
        else:
            place.unlink()
    return wrong


def _read(place: Path) -> str | None:
    return place.read_text("utf-8") if place.exists() else None


def _written(folder: Path) -> list[str]:
    """Return the files in the folders that hold nothing else."""
    return sorted(
        str(place.relative_to(folder))
        for part in ("man", "completions", "docs/images")
        for place in (folder / part).glob("*")
    )
