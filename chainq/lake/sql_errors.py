"""What is wrong with a query, on one line."""

import re

from chainq.errors import UsageError
from chainq.text.sanitize import excerpt

_LONGEST = 300  # characters of an error of DuckDB; a longer one leaves out the functions that it lists


def invalid(error: Exception) -> UsageError:
    """Return an error of DuckDB about a query on one line, without the caret below what is wrong."""
    shown = re.sub(r"(?m)^ *\^+ *$", "", str(error))
    if len(shown) > _LONGEST:
        shown = re.sub(r"\n\s*Candidate (functions|macros):(\n\t.*)*", "", shown)
    if "file system operations are disabled" in shown:
        return UsageError("the query reads a file: expected tables")
    return UsageError(f"the query failed: {excerpt(shown, _LONGEST)}")
