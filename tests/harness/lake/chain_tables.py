"""The tables of full blocks, computed from the sample chain without the program, in the form of `harness.lake.lake`."""

import json
from decimal import Decimal
from typing import Any

from harness.lake.lake import Texts, due
from harness.running.truth import Truth

TABLES = ("blocks", "full-blocks", "transactions", "calls", "inputs", "outputs", "finalize", "ratifications")
INTEGERS = tuple(f"{sign}{bits}" for sign in "ui" for bits in (8, 16, 32, 64, 128))
Rows = list[dict[str, Any]]


def table_rows(truth: Truth, table: str, start: int, end: int) -> list[Texts]:
    """The rows of one table, of a height range."""
    full = truth.rows("full-blocks", start, end)
    if table == "full-blocks":
        return due(full)
    blocks = [json.loads(row, parse_float=Decimal) for row in full]
    rows = [row for block in blocks for row in _OF[table](block)]
    return due([json.dumps(row).encode() for row in rows])


def _height(block: dict[str, Any]) -> int:
    return int(block["header"]["metadata"]["height"])


def _blocks(block: dict[str, Any]) -> Rows:
    header = dict(block["header"])
    row = {**header.pop("metadata"), **header}
    return [{**row, "block_hash": block["block_hash"], "previous_hash": block["previous_hash"]}]


def _transactions(block: dict[str, Any]) -> Rows:
    return [
        {
            "height": _height(block),
            "index": one["index"],
            "transaction_id": one["transaction"]["id"],
            "type": one["type"].capitalize(),
            "status": one["status"],
        }
        for one in block["transactions"]
    ]


def _transitions(block: dict[str, Any]) -> list[tuple[dict[str, Any], int, str, dict[str, Any]]]:
    found = []
    for one in block["transactions"]:
        inner = one["transaction"]
        executed = inner.get("execution", {}).get("transitions", [])
        paid = [inner["fee"]["transition"]] if "fee" in inner else []
        kinds = ["execution"] * len(executed) + ["fee"] * len(paid)
        found += [
            (one, place, kind, transition)
            for place, (kind, transition) in enumerate(zip(kinds, executed + paid, strict=True))
        ]
    return found


def _of(block: dict[str, Any], one: dict[str, Any], transition: dict[str, Any]) -> dict[str, Any]:
    """Return what the rows of a transition begin with. `one`: its transaction in the block."""
    return {
        "height": _height(block),
        "transaction_id": one["transaction"]["id"],
        "transition_id": transition["id"],
        "program": transition["program"],
        "function": transition["function"],
    }


def _calls(block: dict[str, Any]) -> Rows:
    return [
        {
            **_of(block, one, transition),
            "transaction_index": one["index"],
            "index": place,
            "kind": kind,
            "status": one["status"],
            "record_inputs": sum(given["type"] == "record" for given in transition["inputs"]),
            **{name: transition[name] for name in ("tpk", "tcm", "scm") if name in transition},
        }
        for one, place, kind, transition in _transitions(block)
    ]


def _values(block: dict[str, Any], side: str) -> Rows:
    return [
        {
            **_of(block, one, transition),
            "index": place,
            **value,
            **typed(value.get("value", "")),
        }
        for one, _, _, transition in _transitions(block)
        for place, value in enumerate(transition[side])
    ]


def typed(value: str) -> dict[str, str]:
    """The type of a literal, and its number."""
    for kind in (*INTEGERS, "field", "group", "scalar"):
        digits = value.removesuffix(kind)
        if digits != value and digits.removeprefix("-").isdigit():
            number = {"value_number": digits} if len(digits.removeprefix("-")) <= 38 else {}
            return {"value_type": kind, **number}
    if value.startswith("aleo1"):
        return {"value_type": "address"}
    return {"value_type": "boolean"} if value in ("true", "false") else {}


def _finalize(block: dict[str, Any]) -> Rows:
    return [
        {"height": _height(block), "transaction_id": one["transaction"]["id"], "position": place, **entry}
        for one in block["transactions"]
        for place, entry in enumerate(one.get("finalize", []))
    ]


def _ratifications(block: dict[str, Any]) -> Rows:
    return [{"height": _height(block), "index": place, **one} for place, one in enumerate(block["ratifications"] or [])]


_OF = {
    "blocks": _blocks,
    "transactions": _transactions,
    "calls": _calls,
    "inputs": lambda block: _values(block, "inputs"),
    "outputs": lambda block: _values(block, "outputs"),
    "finalize": _finalize,
    "ratifications": _ratifications,
}
