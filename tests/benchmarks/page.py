"""Puts tables from standard input into docs/performance.md, in place of those with the same headings.

    python tests/benchmarks/calls.py | python tests/benchmarks/page.py

Tables with the same headings are taken in their order. Nothing is written where there are more or fewer of them than
the page has, or where one has fewer rows: rows of a run with `--only` are pasted by hand.
"""

import sys
from itertools import groupby
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"


def blocks(text: str) -> list[list[str]]:
    """Return the lines of a text, those of each table in a list of their own."""
    return [list(lines) for _, lines in groupby(text.split("\n"), lambda line: line.startswith("|"))]


def replaced(page: str, tables: list[list[str]]) -> str:
    """Return the page with these tables. Raises ValueError where they do not fit it."""
    parts = blocks(page)
    for heading in dict.fromkeys(table[0] for table in tables):
        new = [table for table in tables if table[0] == heading]
        places = [place for place, part in enumerate(parts) if part[0] == heading]
        if len(new) != len(places):
            raise ValueError(f"{len(new)} tables, where the page has {len(places)}: {heading}")
        for place, table in zip(places, new, strict=True):
            if len(table) < len(parts[place]):
                raise ValueError(f"{len(table) - 2} rows, where the page has {len(parts[place]) - 2}: {heading}")
            parts[place] = table
    return "\n".join(line for part in parts for line in part)


def main() -> None:
    """Replace, and show what was read."""
    text = sys.stdin.read()
    sys.stdout.write(text)
    try:
        PAGE.write_text(replaced(PAGE.read_text(), [part for part in blocks(text) if part[0].startswith("|")]))
    except ValueError as reason:
        sys.exit(f"docs/performance.md was left unchanged: {reason}")


if __name__ == "__main__":
    main()
