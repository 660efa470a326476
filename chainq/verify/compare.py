"""What is wrong with one row that differs from the row that is due, field by field. Pure."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from msgspec import Raw

from chainq.catalog.methods import Method
from chainq.formats.arrow_rows import ArrowRows
from chainq.lake.rows import StoredRows
from chainq.rows.fields import array_of, object_of, text_or_none
from chainq.text.sanitize import excerpt
from chainq.verify.findings import Contradiction

Judge = Callable[[str, Any, Any], Iterator[Contradiction]]
"""Yields what is wrong with a row, of that name, in the tables of one row that it and the due one are."""
OWN = ("id", "block_id")
"""Columns that hold row ids, which are each database's own."""
_SHOWN, _FIELDS = 500, 50  # characters of a value, and fields of a row
_PROGRAM = re.compile(r"^program ([^;\s]+);", re.MULTILINE)


def explained(name: str, found: pa.Table, due: pa.Table) -> Iterator[Contradiction]:
    """Yield the fields of a row that its full block has otherwise; what the block does not say is not compared."""
    sides = {
        part: (shown(due[part][0].as_py()), shown(found[part][0].as_py()))
        for part in found.column_names
        if part in due.column_names and due[part][0].is_valid
    }
    kind = sides.get("type", ("", ""))
    if kind[1].lower() in kind[0].split(" or "):  # `Execute` in a list; a rejected transaction may have that of its fee
        sides.pop("type", None)
    wrong = {part: pair for part, pair in sides.items() if pair[0] != pair[1]}
    yield from _altered(name, wrong)


def same(method: Method, *, derived: bool) -> Judge:
    """Return what yields the fields of a row that another source has otherwise: a number and its digits are the same,
    and null equals a missing field."""

    def judge(name: str, found: pa.Table, due: pa.Table) -> Iterator[Contradiction]:
        both = [one for one in found.column_names if one in due.column_names]
        sides = [dict(_leaves(json_rows(method, one.select(both), derived=derived)[0], "")) for one in (due, found)]
        pairs = {part: (sides[0].get(part), sides[1].get(part)) for part in sorted(sides[0].keys() | sides[1].keys())}
        wrong = {part: pair for part, pair in pairs.items() if pair[0] != pair[1]}
        other = method.linked and "block_hash" in wrong  # another block: all of it differs
        yield from _altered(name, {"block_hash": wrong["block_hash"]} if other else wrong)

    return judge


def json_rows(method: Method, table: pa.Table, *, derived: bool = False) -> list[Raw]:
    """Return the rows of a table, which may lack columns, as a service sends them."""
    schema = ArrowRows(method.columns, pa).schema
    for name, kind in zip(schema.names, schema.types, strict=True):
        if name not in table.column_names:
            table = table.append_column(name, pa.nulls(table.num_rows, kind))
    return StoredRows(method, derived=derived).rows(table)


def program_ids(column: Any) -> Any:
    """Return the IDs of programs by their sources; any other text is the ID itself."""
    encoded = column.combine_chunks().dictionary_encode()
    texts = encoded.dictionary.to_pylist()
    named = [found[1] if (found := _PROGRAM.search(text)) else text or None for text in texts]
    return pa.array(named, pa.string()).take(encoded.indices)


def _altered(name: str, wrong: Mapping[str, tuple[str | None, str | None]]) -> Iterator[Contradiction]:
    if wrong:
        few = [*wrong.items()][:_FIELDS]
        due, found = (", ".join(f"{part}={_excerpt(pair[side])}" for part, pair in few) for side in (0, 1))
        yield Contradiction("altered", f"{name}: {due}" if name else due, found)


def _excerpt(value: str | None) -> str:
    return "null" if value is None else excerpt(value, _SHOWN)


def shown(value: Any) -> str:
    """Return a value of a table as a service sends it: times in seconds."""
    return str(int(value.timestamp())) if hasattr(value, "timestamp") else "null" if value is None else str(value)


def _leaves(value: Raw, path: str) -> Iterator[tuple[str, str | None]]:
    """Yield the leaves of a value by path; equivalent values, such as a number and its digits, have the same leaves."""
    opening = bytes(value)[:1]
    if opening == b"{":
        for name, inner in object_of(value).items():
            if path or name not in OWN:
                yield from _leaves(inner, f"{path}.{name}" if path else name)
    elif opening == b"[":
        for number, inner in enumerate(array_of(value)):
            yield from _leaves(inner, f"{path}[{number}]")
    elif leaf := text_or_none(value):  # a cell of csv without text may be either
        yield path, leaf
