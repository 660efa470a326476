"""What is wrong with a query, on one line and at its place."""

import re

from chainq.errors import UsageError
from chainq.text.sanitize import excerpt
from chainq.text.width import width_of

_LONGEST = 300  # characters of an error of DuckDB; a longer one leaves out the functions that it lists


def invalid(error: Exception, query: str) -> UsageError:
    """Return an error of DuckDB about a query. What its caret points to is given as a column of the line as typed."""
    shown = re.sub(r"(?m)^LINE ([0-9]+): (.*)\n( *)\^+ *$", lambda found: _located(found, query), str(error))
    if len(shown) > _LONGEST:
        shown = re.sub(r"\n\s*Candidate (functions|macros):(\n\t.*)*", "", shown)
    if "file system operations are disabled" in shown:
        return UsageError("the query reads a file: expected tables")
    return UsageError(f"the query failed: {excerpt(shown, _LONGEST)}")


def _located(found: "re.Match[str]", query: str) -> str:
    """Return a line of the query, with the column and the word under DuckDB's caret.

    DuckDB shows a part of a long line, and words that chainq put before a query; it counts no cell for a tab.
    """
    number, shown = int(found[1]), found[2]
    indent = len(found[3]) - len(f"LINE {number}: ")
    at = next((at for at in range(len(shown)) if width_of(shown[:at].replace("\t", "")) >= indent), len(shown))
    word = (re.match(r"'[^']*'|\"[^\"]*\"|\w+|\S|", shown[at:]) or [""])[0]
    rest = shown[at:].removesuffix("...")
    line = "".join(query.splitlines()[number - 1 : number])
    if rest and (line.endswith(rest) or line.count(rest) == 1):
        return f"LINE {number}: {line} (column {line.rindex(rest) + 1}: {word})"
    return f"LINE {number}: {shown} (at {word})"
