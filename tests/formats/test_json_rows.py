"""Rows of stored tables as JSON again: they are what was stored."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND

pyarrow = pytest.importorskip("pyarrow")

from chainq.formats.arrow_rows import ArrowRows  # noqa: E402
from chainq.formats.json_rows import JsonRows  # noqa: E402

RECORDS = BY_COMMAND["records"]
TEXTS = st.text(st.characters(codec="utf-8"), max_size=6) | st.sampled_from(['"', "\\", "\n", "\x7f", "ä", ""])
ROWS = st.fixed_dictionaries(
    {"program_id": st.none() | TEXTS, "height": st.integers(0, 2**53).map(str)},
    optional={"function_name": TEXTS, "id": st.integers(0, 2**63 - 1), "timestamp": st.integers(0, 2**33).map(str)},
)


@given(st.lists(ROWS, max_size=5))
def test_both_ways_are_the_same(rows: list[dict[str, object]]) -> None:
    """A row with a field in `extra` does not change the others."""
    writer = JsonRows(RECORDS)

    def read(sent: list[dict[str, object]]) -> list[bytes]:
        texts = [Raw(json.dumps(row).encode()) for row in sent]
        batches = list(ArrowRows(writer.columns, pyarrow).batches(texts))
        found = [bytes(row) for batch in batches for row in writer.rows(batch)]
        assert found == [bytes(row) for batch in batches for row in writer.rows(pyarrow.Table.from_batches([batch]))]
        return found

    together = read(rows)
    assert together == read([*rows, {"height": "1", "other": 1}])[:-1]
    for row, found in zip(rows, map(json.loads, together), strict=True):
        kept = {key: str(value) for key, value in row.items() if value is not None}
        assert {key: str(value) for key, value in found.items() if value is not None} == kept
