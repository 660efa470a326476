"""Counts the lines of code of each folder of chainq/, to see where the weight is.

    python tests/benchmarks/lines.py [FOLDER]

A line counts when a token of code is on it, wholly or in part: comments, docstrings and blank lines do not count. A
string that is a statement of its own documents what is before it, and counts as a docstring. Longer lines lower this
count but not that of the tokens, which stands beside it. (Python 3.12 and later see more tokens in an f-string.)
"""

import sys
import tokenize
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2] / "chainq"
APART = ("lake", "wallet")
_LAYOUT = {tokenize.INDENT, tokenize.DEDENT, tokenize.NL, tokenize.COMMENT, tokenize.ENCODING, tokenize.ENDMARKER}


class Count(NamedTuple):
    """Lines with code, tokens of code, and all lines as `wc -l` counts them."""

    code: int = 0
    tokens: int = 0
    all: int = 0

    def plus(self, other: "Count") -> "Count":
        """Return the sum."""
        return Count(self.code + other.code, self.tokens + other.tokens, self.all + other.all)


def count(path: Path) -> Count:
    """Return the count of one file. Raises SyntaxError or tokenize.TokenError for a file that is not Python."""
    lines: set[int] = set()
    tokens = 0
    statement: list[tokenize.TokenInfo] = []
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type in _LAYOUT:
                continue
            if token.type != tokenize.NEWLINE:
                statement.append(token)
                continue
            if any(part.type != tokenize.STRING for part in statement):
                tokens += len(statement)
                lines.update(line for part in statement for line in range(part.start[0], part.end[0] + 1))
            statement = []
    return Count(len(lines), tokens, path.read_bytes().count(b"\n"))


def folders(root: Path) -> dict[str, Count]:
    """Return the sum of each folder directly below `root`, with all that is in it; files of `root` itself under `.`."""
    sums: dict[str, Count] = {}
    for path in sorted(root.rglob("*.py")):
        within = path.relative_to(root).parts
        name = within[0] if len(within) > 1 else "."
        sums[name] = sums.get(name, Count()).plus(count(path))
    return sums


def main(arguments: list[str]) -> None:
    """Print the table."""
    sums = folders(Path(arguments[0]) if arguments else ROOT)
    rows = sorted(sums.items(), key=lambda row: -row[1].code)
    total = elsewhere = Count()
    for name, found in rows:
        total = total.plus(found)
        elsewhere = elsewhere if name in APART else elsewhere.plus(found)
    table = [f"{'folder':30} {'code':>7} {'tokens':>8} {'all':>7}"]
    for name, found in (*rows, ("total", total), (f"total without {' and '.join(APART)}", elsewhere)):
        table.append(f"{name:30} {found.code:7,} {found.tokens:8,} {found.all:7,}")
    sys.stdout.write("\n".join((*table, "")))


if __name__ == "__main__":
    main(sys.argv[1:])
