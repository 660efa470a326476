"""Rows of a hostile size take time in proportion to it: the bounds are far above that, and far below its square."""

import io
import json
import time
from collections.abc import Sequence

import pytest
from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.formats import registry
from chainq.formats.protocol import MAX_UNKNOWN, OutputSpec
from chainq.text.width import wrap

FIELDS = 200_000
BYTES = 4_000_000
LISTS = ("table", "csv", "tsv", "text", "jsonl", "json", "parquet")


def cost(name: str, rows: Sequence[str], warned: list[str], *, single: bool = False) -> float:
    """Return the seconds of processor time that a format takes for rows of records, once it is loaded."""
    make = registry.load(name)
    spec = OutputSpec("records", BY_COMMAND["records"].columns, single=single, terminal=True, warn=warned.append)
    make(io.BytesIO(), spec).write([Raw(b'{"height":"5"}')])
    writer = make(io.BytesIO(), spec)
    began = time.process_time()
    writer.write([Raw(row.encode()) for row in rows])
    writer.close()
    return time.process_time() - began


@pytest.mark.parametrize("name", LISTS)
def test_a_row_with_200_000_unknown_fields(name: str) -> None:
    """It takes seconds and not minutes, and a few warnings and not one for each field."""
    row = json.dumps({"height": "5", **{f"field_{number}": number for number in range(FIELDS)}})
    warned: list[str] = []
    assert cost(name, [row, row], warned) < 60
    assert cost(name, [row], [], single=True) < 60
    assert len(warned) == (MAX_UNKNOWN + 1 if name in ("csv", "tsv", "text", "parquet") else 0)


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize(
    "value",
    ["x" * BYTES, "\u6f22" * (BYTES // 3), "\x1b\n" * (BYTES // 8)],
    ids=["text", "wide", "controls"],
)
def test_a_value_of_megabytes(name: str, value: str) -> None:
    """Long text, wide characters and control characters: in seconds, as a row of a list and as the only object."""
    row = json.dumps({"height": "5", "program_id": value, "of_this_server": value})
    for single in (False, True):
        assert cost(name, [row], [], single=single) < 60


def test_megabytes_are_wrapped_in_linear_time() -> None:
    """A number of four million digits loses none, and takes no minute."""
    began = time.process_time()
    lines = wrap("7" * BYTES, 20)
    assert time.process_time() - began < 60
    assert (len(lines), len("".join(lines))) == (BYTES // 20, BYTES)
