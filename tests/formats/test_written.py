"""What formats write of rows, in files that a diff shows. `pytest --update-golden` writes them anew.

A file of `written/` has paragraphs. `# ` says what is promised, and `$ FORMAT COMMAND SETTING…` begins an output:
`columns=A,B` is `--columns`, `width=60` the terminal's, and a word alone a field of `OutputSpec` that is true, or with
`no-` before it false. Each line after `< ` is a row, `< 5:30` stands for rows of the sample chain, and `<` alone ends a
batch. Below stand the lines of the output after `| `, with escapes for what cannot be printed, then warnings and the
error after `! `. Of a Parquet file, the lines are the columns with their types, and what is not null of each row.
"""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND, Column
from chainq.errors import ChainqError
from chainq.formats import protocol
from chainq.formats.protocol import OutputSpec
from chainq.verify.findings import FINDINGS
from harness.running.truth import Truth

parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet needs the extra chainq[parquet]")
FILES = sorted((Path(__file__).parent / "written").glob("*.txt"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_outputs(file: Path, truth: Truth, golden: Callable[[Path, str], None]) -> None:
    """Every output is what it was when its record was made."""
    if file.stem == "chart":
        pytest.importorskip("plotille", reason="charts need the extra chainq[chart]")
    paragraphs = []
    for paragraph in file.read_text().split("\n\n"):
        given = [line for line in paragraph.splitlines() if line.startswith(("#", "$", "<"))]
        paragraphs.append("".join(f"{line}\n" for line in [*given, *_outcome(given, truth)]))
    golden(file, "\n".join(paragraphs))


def _outcome(given: list[str], truth: Truth) -> list[str]:
    """The lines that stand below those of a paragraph."""
    (head,) = (line for line in given if line.startswith("$"))
    name, command, *settings = head.split()[1:]
    out, said = io.BytesIO(), list[str]()
    try:
        writer = protocol.load(name)(out, _spec(command, settings)._replace(warn=said.append))
        batch: list[Raw] = []
        for row in [line[2:] for line in given if line.startswith("<")]:
            start, colon, end = row.partition(":")
            if not row:
                writer.write(batch)
                batch = []
            elif colon and start.isdecimal():
                batch += map(Raw, truth.rows(command, int(start), int(end)))
            else:
                batch.append(Raw(row.encode()))
        writer.write(batch)
        writer.close()
    except ChainqError as error:
        said.append(f"{type(error).__name__}: {error}")
    sent = _read(out.getvalue()) if name == "parquet" else out.getvalue().decode()
    text = "".join(one if one.isprintable() or one == "\n" else ascii(one)[1:-1] for one in sent)
    lines = text.removesuffix("\n").split("\n") if text else []
    if text[-1:] not in ("", "\n"):
        said.insert(0, "(no newline)")
    return [*(f"| {line}".rstrip() for line in lines), *(f"! {line}" for line in said)]


def _read(data: bytes) -> str:
    """The columns of a Parquet file with their types, and of each row what is not null; empty without a footer."""
    if not data.endswith(b"PAR1"):
        return ""
    table = parquet.read_table(io.BytesIO(data))
    types = [f"{field.name} {'nested' if field.type.num_fields else field.type}" for field in table.schema]
    rows = [{name: value for name, value in row.items() if value is not None} for row in table.to_pylist()]
    return "".join(f"{line}\n" for line in [", ".join(types), *(json.dumps(row, default=str) for row in rows)])


def _spec(command: str, settings: list[str]) -> OutputSpec:
    known = FINDINGS.columns if command == "verify" else BY_COMMAND[command].columns
    columns, fields = known, dict[str, Any]()
    for setting in settings:
        field, _, value = setting.partition("=")
        if field == "columns":
            paths = {column.path: column for column in known}
            columns = tuple(paths.get(path, Column(path, "unknown")) for path in value.split(","))
        elif value:
            fields[field] = int(value)
        else:
            fields[field.removeprefix("no-")] = not field.startswith("no-")
    height = None if command == "verify" else BY_COMMAND[command].height
    return OutputSpec(command, columns, selected=columns is not known, height=height, **fields)
