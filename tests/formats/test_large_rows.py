"""Rows of a hostile size take steps in proportion to it, and not to its square."""

import io
import json
from collections.abc import Sequence

import pytest
from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.formats import protocol
from chainq.formats.protocol import MAX_UNKNOWN, OutputSpec
from chainq.text.width import wrap
from harness.models.steps import linear, steps

FIELDS = 1_000
BYTES = 20_000
LISTS = ("table", "csv", "tsv", "text", "jsonl", "json", "parquet")


def cost(name: str, rows: Sequence[str], warned: list[str], *, single: bool = False) -> int:
    """Return the steps that a format takes for rows of records, once it is loaded."""
    make = protocol.load(name)
    spec = OutputSpec("records", BY_COMMAND["records"].columns, single=single, terminal=True, warn=warned.append)
    make(io.BytesIO(), spec).write([Raw(b'{"height":"5"}')])
    writer = make(io.BytesIO(), spec)

    def write() -> None:
        writer.write([Raw(row.encode()) for row in rows])
        writer.close()

    return steps(write)


@pytest.mark.parametrize("name", LISTS)
def test_a_row_with_many_unknown_fields(name: str) -> None:
    """Twice as many do not cost four times as much, and give a few warnings and not one for each field."""

    def row(fields: int) -> str:
        return json.dumps({"height": "5", **{f"field_{number}": number for number in range(fields)}})

    warned: list[str] = []
    few, many = row(FIELDS), row(2 * FIELDS)
    assert linear(cost(name, [few, few], []), cost(name, [many, many], warned))
    assert linear(cost(name, [few], [], single=True), cost(name, [many], [], single=True))
    assert len(warned) == (MAX_UNKNOWN + 1 if name in ("csv", "tsv", "text", "parquet") else 0)


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize(
    "value",
    ["x" * BYTES, "\u6f22" * (BYTES // 3), "\x1b\n" * (BYTES // 8)],
    ids=["text", "wide", "controls"],
)
def test_a_long_value(name: str, value: str) -> None:
    """Long text, wide characters and control characters, as a row of a list and as the only object."""

    def row(value: str) -> str:
        return json.dumps({"height": "5", "program_id": value, "of_this_server": value})

    for single in (False, True):
        assert linear(cost(name, [row(value)], [], single=single), cost(name, [row(2 * value)], [], single=single))


@pytest.mark.parametrize("name", LISTS)
def test_a_row_of_megabytes(name: str) -> None:
    """Fields and values of megabytes come to an end, where a cost by their square would not."""
    fields = {f"field_{number}": number for number in range(50_000)}
    out = io.BytesIO()
    writer = protocol.load(name)(out, OutputSpec("records", BY_COMMAND["records"].columns))
    writer.write([Raw(json.dumps({"height": "5", **fields, "program_id": "\u6f22\n" * 250_000}).encode())])
    writer.close()
    assert out.getvalue()


def test_long_text_is_wrapped_in_linear_time() -> None:
    """A number of many digits loses none."""
    digits = "7" * BYTES
    lines = wrap(digits, 20)
    assert (len(lines), len("".join(lines))) == (BYTES // 20, BYTES)
    assert linear(steps(lambda: wrap(digits, 20)), steps(lambda: wrap(2 * digits, 20)))
