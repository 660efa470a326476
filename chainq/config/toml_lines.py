"""Finds the line of a value in a TOML text. `tomllib` reports lines only for texts that it cannot parse.

A statement (a table heading, or a key with its value) is parsed on its own below the heading it belongs to, so the
whole search reads every line once and needs no TOML grammar here. Rejected: parsing ever longer beginnings of the text,
which takes quadratic time.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any

_STATEMENT_END = re.compile("\"\"\"|'''|[]}]")
"""What the last line of a statement of several lines contains."""


def line_of(text: str, keys: Sequence[str]) -> int:
    """Return the line, from 1, of the statement that gives the value at `keys`; 1 if there is none.

    >>> line_of("[profiles.x]\\nurl = 'http://h'\\n", ["profiles", "x", "url"])
    2
    """
    for line, content in _statements(text):
        found: Any = content
        for key in keys:
            found = found.get(key) if isinstance(found, dict) else None
        if found is not None:
            return line
    return 1


def line_of_long_number(text: str) -> int:
    """Return the line, from 1, of the first statement with an integer of more digits than Python converts."""
    return next((line for line, content in _statements(text) if content is None), 1)


def _statements(text: str) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Yield the first line of each statement and its content, from the root; None if it has an integer that is too
    long."""
    heading, first, lines = "", 1, list[str]()
    for number, line in enumerate(text.split("\n"), 1):
        lines.append(line)
        if len(lines) > 1 and not _STATEMENT_END.search(line):
            continue
        statement = "\n".join(lines)
        try:
            yield first, tomllib.loads(f"{heading}\n{statement}\n")
        except tomllib.TOMLDecodeError:
            continue  # it goes on in the next line
        except ValueError:
            yield first, None
        if statement.lstrip().startswith("["):
            heading = statement
        first, lines = number + 1, []
