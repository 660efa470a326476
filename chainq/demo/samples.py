"""Sample results of methods that have no handler in `results.py`.

`demo:` and `chainq serve` return the one row here for a new method of the catalog, until it has a handler and an entry
in `wire.py`.
"""

from collections.abc import Mapping
from typing import Any

from chainq.demo.chain import Row

SAMPLES: dict[str, list[Row] | Row] = {}
"""Method name -> its result: rows in a list, or one object."""


def sample_result(sample: list[Row] | Row, params: Mapping[str, Any]) -> list[Row] | Row:
    """Return a sample as the result for these parameters: only rows inside a range `start`, `end`, all on page 0."""
    if not isinstance(sample, list):
        return sample
    if params.get("page"):
        return []
    start, end = params.get("start", 0), params.get("end", float("inf"))
    return [row for row in sample if start <= int(row.get("height", start)) < end]
