"""Refuses an output that would replace what the command reads."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from chainq.errors import UsageError
from chainq.stored.open import path_of
from chainq.text.sanitize import printable

if TYPE_CHECKING:
    from chainq.cli.options import OutputOptions

_WORDS = ("range", "url", "lake")
_LISTS = ("words", "keys", "view_key_file")
_ANOTHER = "name another file for the output"


def check(file: Path, given: "OutputOptions") -> None:
    """Raise UsageError if `file` is one of the files that options and arguments name to read, or part of an export.

    Other links to the same file count. Rows on standard input are read before a file is replaced.
    """
    for name in _read(given):
        with suppress(OSError, ValueError):  # no such file, or a name that is too long
            path = path_of(name) if name[:5].lower() == "file:" else Path(name)
            if _part_of_export(file, path):
                raise UsageError(f"the output {printable(str(file))} is inside the export that is read", _ANOTHER)
            if file.is_file() and path.is_file() and file.samefile(path):
                raise UsageError(f"the output {printable(str(file))} is a file that this command reads", _ANOTHER)


def _read(given: "OutputOptions") -> Iterator[str]:
    """Yield what may name a file or a folder to read."""
    yield from filter(None, (getattr(given, name, None) for name in _WORDS))
    for name in _LISTS:
        yield from map(str, getattr(given, name, None) or ())
    yield from filter(None, (getattr(given, "cert", None) or "").split(":"))
    yield from filter(None, _of_profile(given))


def _of_profile(given: "OutputOptions") -> tuple[str | None, ...]:
    """Return the service and the export that a profile names; nothing if none is used, or it cannot be read."""
    from chainq.config import profiles

    name, url = getattr(given, "profile", None), getattr(given, "url", None)
    if url and not name:
        return ()
    try:
        found = profiles.profile(name, profiles.read())
    except UsageError:  # raised later if the run needs it
        return ()
    return None if url else found.url, found.lake


def _part_of_export(file: Path, folder: Path) -> bool:
    """Return whether a file is where the export in a folder has its own, or where readers take it for data."""
    if not folder.is_dir() or not file.resolve().is_relative_to(root := folder.resolve()):
        return False
    from chainq.catalog.tables import TABLES
    from chainq.stored.data_set import NAME
    from chainq.stored.receipt import FOLDER

    first = file.resolve().relative_to(root).parts[:1]  # empty for the folder itself
    return (root / NAME).is_file() and not {NAME, FOLDER.split("/")[0], *TABLES}.isdisjoint(first)
