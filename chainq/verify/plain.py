"""Rows of typed files as a server sends them."""

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from typing import Any

from chainq.catalog.nested import OTHER

_PARSED = ("transactions", "ratifications", "authority.subdag.subdag")  # columns that hold JSON


def nested(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a block from a file, whose columns are paths, as an object."""
    block: dict[str, Any] = {}
    for path, value in row.items():
        inner = block
        *outer, name = path.split(".")
        for part in outer:
            inner = inner.setdefault(part, {})
        inner[name] = plain(value)
        if path in _PARSED and isinstance(value, str):
            with suppress(ValueError, RecursionError):
                inner[name] = json.loads(value)
    return block


def plain(value: Any) -> Any:
    """Return a value of a typed file as a server sends it: times in seconds, objects with the members of OTHER."""
    if isinstance(value, datetime):
        return int(value.timestamp())
    if isinstance(value, Decimal):
        return int(value)
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        known = {name: plain(one) for name, one in value.items() if name != OTHER and one is not None}
        return {**known, **json.loads(value.get(OTHER) or "{}")}
    return value
