"""Finds the column that a name means, and the columns that a wrong name may have meant."""

from collections.abc import Iterable
from difflib import get_close_matches

from chainq.catalog.methods import Column, Kind


def known_column(name: str, columns: Iterable[Column]) -> Column | None:
    """Return the column of that name, None if there is none; `a[].b` is `b` of each item of the array `a`."""
    known = {column.path: column for column in columns}
    if name in known:
        return known[name]
    array, brackets, _ = name.partition("[]")
    inside = brackets and array in known and known[array].kind is Kind.DATA
    return Column(name, "unknown") if inside else None


def meant(name: str, columns: Iterable[Column]) -> str:
    """Return up to three columns that a name may mean, ` (did you mean a or b?)`; else the columns that there are."""
    paths = [column.path for column in columns]
    found = _near(name, paths)
    return f" (did you mean {' or '.join(found)}?)" if found else f"; the columns are {', '.join(paths)}"


def _near(name: str, paths: list[str]) -> list[str]:
    """Return paths that are near: by their last part, else by likeness; case does not matter."""
    folded, lower = {path.lower(): path for path in paths}, name.lower()
    ends = [path for path in paths if path.lower() == lower or path.lower().endswith(f".{lower}")]
    if ends:
        return ends[:3]
    lasts = {path.lower().rpartition(".")[2]: path for path in reversed(paths)}
    alike = [folded[found] for found in get_close_matches(lower, folded, 3, 0.5)]
    return alike or [lasts[found] for found in get_close_matches(lower, lasts, 3, 0.7)]
