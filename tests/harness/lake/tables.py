"""Tables drawn in this process at a fixed time, and what may be asked of their text."""

import io
import json
import unicodedata
from collections.abc import Iterable
from typing import Any

from msgspec import Raw
from rich.cells import cell_len

from chainq.catalog.methods import BY_COMMAND
from chainq.formats import table
from chainq.formats.protocol import OutputSpec

WIDTHS = (60, 80, 120, 200)
HASH = "ab1" + "qpzry9x8gf2tvdw0s3jn54khce6mua7l" * 2
FIELD = "592151692088060931686245643009084277517376606075field"
TRANSITION = {
    "id": "au1" + HASH,
    "program": "credits.aleo",
    "function": "fee_public",
    "inputs": [{"type": "public", "value": "263388u64"}, {"type": "public", "value": "10000u64"}],
    "outputs": [{"type": "future", "value": "{\n  program_id: credits.aleo\n}"}, {"type": "record", "id": FIELD}],
}


def spec(command: str, *paths: str, **options: Any) -> OutputSpec:
    columns = tuple(column for column in BY_COMMAND[command].columns if column.path in paths or not paths)
    return OutputSpec(command, columns, selected=bool(paths), **options)


def drawn(spec: OutputSpec, *batches: Iterable[Any]) -> str:
    """What the table shows of rows that come in these batches; rows are values, or JSON texts as they are."""
    out = io.BytesIO()
    writer = table.Table(out, spec)
    for batch in batches:
        writer.write([Raw((row if isinstance(row, str) else dumped(row)).encode()) for row in batch])
    writer.close()
    return out.getvalue().decode()


def dumped(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def harmless(text: str) -> bool:
    return not any(unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for c in text.replace("\n", ""))


def fits(text: str, width: int) -> bool:
    return all(cell_len(line) <= width for line in text.split("\n"))


def nested(paths: dict[str, Any]) -> dict[str, Any]:
    """Values at dotted paths as one object; a path that runs into a value ends there."""
    row: dict[str, Any] = {}
    for path, value in paths.items():
        place, *steps = [row, *path.split(".")]
        for step in steps[:-1]:
            inner = place.setdefault(step, {})
            if not isinstance(inner, dict):
                break
            place = inner
        else:
            place[steps[-1]] = value
    return row
