"""Files of texts and of what is read from each, one a line: `"12K" => 12000`, `"12Q" => error: expected a height`."""

import json
from collections.abc import Callable
from pathlib import Path

from chainq.errors import UsageError


def readings(file: Path, read: Callable[[str], object]) -> str:
    """The lines of a file, each with what is read now; a usage error is its message."""
    lines = []
    for line in file.read_text("utf-8").splitlines():
        text = line.rpartition(" => ")[0]
        try:
            found = f"{read(json.loads(text))}"
        except UsageError as error:
            found = f"error: {error}"
        lines.append(f"{text} => {found}\n")
    return "".join(lines)
