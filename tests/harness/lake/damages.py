"""What is done to rows, wherever they lie, with the check of `chainq verify` that must tell it; and partitions written
anew with the names and receipts that a liar would give them.

A file of `-o` and a partition of an export take the damages of this table; a service has its own in
`chainq.demo.registry`.
"""

import io
import itertools
import json
import random
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("numpy")

from chainq.formats import parquet as written  # noqa: E402
from chainq.lake.data_set import digest, parse_entry  # noqa: E402
from harness.lake.lake import file_of  # noqa: E402

Row = dict[str, Any]
Rng = random.Random
Change = Callable[[list[Row], Rng], Row]


class Damage(NamedTuple):
    """What is done to the rows of a command, which returns the row that shows it; and the check that must tell it."""

    command: str
    check: str
    change: Change


def inner(rows: list[Row], rng: Rng) -> int:
    """The place of a row that is not at an end, nor next to the first one."""
    return rng.randrange(2, len(rows) - 1)


def lost(rows: list[Row], rng: Rng) -> Row:
    """A row is gone."""
    return rows.pop(inner(rows, rng))


def doubled(rows: list[Row], rng: Rng) -> Row:
    """A row is there twice."""
    at = inner(rows, rng)
    rows.insert(at, dict(rows[at]))
    return rows[at]


def swapped(rows: list[Row], rng: Rng) -> Row:
    """Two rows have changed places."""
    at = inner(rows, rng)
    rows[at - 1], rows[at] = rows[at], rows[at - 1]
    return rows[at]


def far_away(rows: list[Row], _: Rng) -> Row:
    """A copy of the first row at the end: out of order, and twice although far away."""
    rows.append(dict(rows[0]))
    return rows[0]


def taken(column: str, place: int) -> Change:
    """A value is that of another row: of the one before it, the first or the last one."""

    def change(rows: list[Row], rng: Rng) -> Row:
        at = inner(rows, rng)
        rows[at][column] = rows[at - 1 if place == 1 else place][column]
        return rows[at]

    return change


def lower_round(rows: list[Row], rng: Rng) -> Row:
    """A round is lower than that of the block before."""
    row = rows[inner(rows, rng)]
    row["round"] = type(row["round"])(1)
    return row


def mistyped(column: str) -> Change:
    """A character of an ID or a ciphertext is another one."""

    def change(rows: list[Row], rng: Rng) -> Row:
        row = rows[inner(rows, rng)]
        row[column] = other_text(row[column], rng)
        return row

    return change


def other_text(text: str, rng: Rng) -> str:
    """The text with another character near its end."""
    at = len(text) - 1 - rng.randrange(10)
    return text[:at] + ("q" if text[at] != "q" else "p") + text[at + 1 :]


DAMAGES = {
    "lost block": Damage("blocks", "missing", lost),
    "lost record": Damage("records", "missing", lost),
    "lost ownership row": Damage("ownership", "missing", lost),
    "doubled block": Damage("blocks", "doubled", doubled),
    "doubled record": Damage("records", "doubled", doubled),
    "doubled transition": Damage("transitions", "doubled", doubled),
    "doubled ownership row": Damage("ownership", "doubled", doubled),
    "record far away": Damage("records", "doubled", far_away),
    "swapped blocks": Damage("blocks", "order", swapped),
    "broken link": Damage("blocks", "link", taken("previous_hash", 1)),
    "earlier time": Damage("blocks", "time", taken("timestamp", 0)),
    "lower round": Damage("blocks", "round", lower_round),
    "hash of another block": Damage("records", "altered", taken("block_hash", -1)),
    "mistyped record": Damage("records", "checksum", mistyped("transition_id")),
    "mistyped ciphertext": Damage("records", "checksum", mistyped("record_ciphertext")),
    "mistyped transition": Damage("transitions", "checksum", mistyped("transition_id")),
    "mistyped ownership row": Damage("ownership", "checksum", mistyped("transition_id")),
}


def same(table: Any) -> Any:
    """The rows as they are."""
    return table


def changed_rows(change: Callable[[list[Row]], object]) -> Callable[[Any], Any]:
    """A change of rows as one of a table."""

    def changed(table: Any) -> Any:
        rows = table.to_pylist()
        change(rows)
        return pa.Table.from_pylist(rows, table.schema)

    return changed


def rewrite(
    root: Path,
    command: str,
    start: int,
    change: Callable[[Any], Any] = same,
    *,
    forged: bool = True,
    receipt: Mapping[str, Any] | None = None,
    sealed: bool = True,
    cuts: Iterable[int] = (),
    more: Mapping[str, str] | None = None,
) -> None:
    """Write a partition with other rows, into a new file.

    forged:  its name and its receipt agree with it
    receipt: what the receipt says otherwise
    sealed:  whether there is a receipt in the file
    cuts:    the rows at which row groups begin
    more:    metadata beside the receipt
    """
    path = file_of(root, command, start)
    table = change(parquet.read_table(path, partitioning=None))
    seal = parquet.read_metadata(path).metadata[b"chainq"]
    values = json.loads(seal)
    if forged:
        values |= dict(receipt or {})
        entry = parse_entry(values["name"])
        assert entry is not None
        previous, last = digest(values["previous_hash"]), digest(values["last_hash"])
        values["name"] = entry._replace(rows=table.num_rows, previous=previous, last=last).name
        seal = json.dumps(values).encode()
    path.unlink()
    buffer = io.BytesIO()
    with parquet.ParquetWriter(
        buffer, table.schema, compression="zstd", write_page_checksum=True, store_schema=False
    ) as writer:
        for low, high in itertools.pairwise((0, *cuts, table.num_rows)):
            writer.write_table(table[low:high])
        own = {"chainq": seal} if sealed else {}
        writer.add_key_value_metadata({**own, **written.UNSEALED, **(more or {})})
    path = root / values["name"] if forged else path
    path.write_bytes(written.sealed(buffer.getvalue()))
