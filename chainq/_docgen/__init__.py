"""Writes man/, completions/ and what of README.md and pyproject.toml follows from the live app.

`python -m chainq._docgen` rewrites all of it; with `--check` it only lists what is stale. No other part of
chainq imports this package.
"""

from pathlib import Path

from chainq._docgen import bash, fish, zsh
from chainq._docgen.pages import pages
from chainq._docgen.reference import reference
from chainq._docgen.surface import Program, read

COMMAND = "python -m chainq._docgen"
COMPLETIONS = {
    "chainq.bash": "share/bash-completion/completions/chainq",
    "_chainq": "share/zsh/site-functions/_chainq",
    "chainq.fish": "share/fish/vendor_completions.d/chainq.fish",
}
README_MARKS = ("<!-- reference:begin -->", "<!-- reference:end -->")
WHEEL_MARKS = (f"# shared-data:begin, by {COMMAND}", "# shared-data:end")


class DocsError(Exception):
    """A file that cannot be written, because its marks are missing."""


def root() -> Path:
    """The folder of the project: the one that holds the package `chainq` and its pyproject.toml."""
    return Path(__file__).resolve().parents[2]


def generated(program: Program) -> dict[str, str]:
    """The files that are written as a whole: path below the project's folder to text."""
    scripts = {"chainq.bash": bash.script(program), "_chainq": zsh.script(program), "chainq.fish": fish.script(program)}
    return {
        **{f"man/{name}": text for name, text in pages(program).items()},
        **{f"completions/{name}": text for name, text in scripts.items()},
    }


def shared_data(program: Program) -> str:
    """Where a wheel puts each file below its prefix, as lines of pyproject.toml."""
    manual = {f"man/{name}": f"share/man/man{name[-1]}/{name}" for name in sorted(pages(program))}
    scripts = {f"completions/{name}": place for name, place in COMPLETIONS.items()}
    return "\n".join(f'"{source}" = "{place}"' for source, place in {**manual, **scripts}.items())


def between(text: str, marks: tuple[str, str], new: str, name: str) -> str:
    """`text` with what stands between the marks replaced. Raises DocsError where they do not stand there once each."""
    begin, end = marks
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise DocsError(f"{name} lacks the marks {begin!r} and {end!r}, once each and in this order")
    return f"{text[: text.index(begin)]}{begin}\n{new}\n{text[text.index(end) :]}"


def texts(folder: Path) -> dict[str, str]:
    """All files as they should be. Raises DocsError."""
    program = read()
    due = generated(program)
    for name, marks, new in (
        ("README.md", README_MARKS, f"\n{reference(program)}\n"),
        ("pyproject.toml", WHEEL_MARKS, shared_data(program)),
    ):
        due[name] = between((folder / name).read_text("utf-8"), marks, new, name)
    return due


def stale(folder: Path) -> list[str]:
    """The files that are missing, differ from what they should be, or stand there and belong to no command any more."""
    due = texts(folder)
    wrong = [name for name, text in due.items() if _read(folder / name) != text]
    return wrong + [name for name in _written(folder) if name not in due]


def write(folder: Path) -> list[str]:
    """Rewrite what is stale; its names."""
    due, wrong = texts(folder), stale(folder)
    for name in wrong:
        place = folder / name
        if name in due:
            place.parent.mkdir(exist_ok=True)
            place.write_text(due[name], "utf-8", newline="\n")
        else:
            place.unlink()
    return wrong


def _read(place: Path) -> str | None:
    return place.read_text("utf-8") if place.exists() else None


def _written(folder: Path) -> list[str]:
    """The files that stand in the folders that are ours."""
    return sorted(
        str(place.relative_to(folder)) for part in ("man", "completions") for place in (folder / part).glob("*")
    )
