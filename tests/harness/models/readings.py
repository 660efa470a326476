"""Files of JSON texts and of what is read from each, a line each: `"12K" => 12000`, `"Q" => error: no such height`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chainq.errors import UsageError


def readings(file: Path, read: Callable[[Any], object], errors: type[Exception] = UsageError) -> str:
    """The lines of a file, each with what is read now; an error of that class is its message."""
    lines = []
    for line in file.read_text("utf-8").splitlines():
        text = line.rpartition(" => ")[0]
        try:
            found = f"{read(json.loads(text))}"
        except errors as error:
            found = f"error: {error}"
        lines.append(f"{text} => {found}\n")
    return "".join(lines)
