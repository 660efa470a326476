"""--flatten: jsonl with the dotted keys of csv, every field and every digit of the service in it."""

import csv
import io
import json
from typing import Any

import pytest

from harness.running.program import Program, Servers


def unfolded(value: Any, path: str, data: set[str]) -> dict[str, Any]:
    """The leaves of a row by dotted path; what is below a path of `data` stays whole."""
    if not isinstance(value, dict) or path in data:
        return {path: value}
    return {
        inner: leaf
        for key, one in value.items()
        for inner, leaf in unfolded(one, f"{path}.{key}".lstrip("."), data).items()
    }


@pytest.mark.parametrize(
    "words", [("full-blocks", "670:673"), ("program-transactions", "credits.aleo", "split", "--limit", "9")]
)
def test_flat_rows_have_all_that_was_sent(words: tuple[str, ...], chainq: Program, server: Servers) -> None:
    """The same values as without --flatten, under the names of csv, in its order."""
    url = server()
    nested, flat = chainq(*words, url=url), chainq(*words, "--flatten", url=url)
    header = next(csv.reader(io.StringIO(chainq(*words, "--csv", "-q", url=url).out.decode())))
    assert len(flat.rows) == len(nested.rows) > 0
    for row, sent in zip(map(json.loads, flat.rows), map(json.loads, nested.rows), strict=True):
        assert [*row][: len(header)] == header
        due = unfolded(sent, "", {"authority.subdag.subdag", "authority.signature"})
        assert {key: value for key, value in due.items() if value is not None}.items() <= row.items()
        assert {key for key, value in row.items() if key not in due} <= {key for key in header if row[key] is None}
