"""Data sets read back without the program: their files, the receipts in them, and their rows as texts."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from chainq.lake.data_set import PartitionSpec, parse_entry
from harness.running.program import Program, Ran

parquet = pytest.importorskip("pyarrow.parquet")

Texts = dict[str, str]
DATA = "authority.subdag.subdag"  # an object whose keys are data: JSON text
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Partition(NamedTuple):
    """A partition as it lies there: its name, the receipt in its metadata with the facts of the name in it, and its
    rows, each value as a text."""

    name: str
    receipt: dict[str, Any]
    rows: list[Texts]


class Lake:
    """A data set in a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def files(self) -> dict[Path, bytes]:
        """All files."""
        return {path: path.read_bytes() for path in self.root.rglob("*") if path.is_file()}

    def file(self, command: str, start: int) -> Path:
        """The only file of a partition."""
        return file_of(self.root, command, start)

    def read(self, name: str) -> bytes:
        """A file."""
        return (self.root / name).read_bytes()

    def names(self, command: str) -> list[str]:
        """The names of all files below the folder of a command."""
        return sorted(str(path.relative_to(self.root)) for path in (self.root / command).rglob("*") if path.is_file())

    def partitions(self, command: str) -> Iterator[Partition]:
        """All partitions of a command; nothing else may be there."""
        for name in self.names(command):
            if "/_" in name:  # readers skip it
                continue
            assert parse_entry(name), name
            yield partition(name, self.root / name)

    def receipts(self, command: str) -> list[dict[str, Any]]:
        """The receipts in the metadata of all partitions."""
        return [one.receipt for one in self.partitions(command)]

    def rows(self, command: str) -> list[Texts]:
        """All rows of a command."""
        return [row for one in self.partitions(command) for row in one.rows]

    @property
    def stray(self) -> list[str]:
        """Files that no reader should see, and no run should leave."""
        new = self.root / "_new"
        return sorted(path.name for path in new.iterdir()) if new.exists() else []


def file_of(root: Path, command: str, start: int) -> Path:
    """The only file of a partition."""
    (found,) = (root / PartitionSpec(command, start, start).folder).iterdir()
    return found


def partition(name: str, file: Any) -> Partition:
    """A Parquet file read back."""
    with parquet.ParquetFile(file) as opened:
        metadata = opened.metadata.metadata
        found = opened.read().to_pylist()
    receipt = json.loads(metadata[b"chainq"])
    entry = parse_entry(receipt["name"])
    assert entry, receipt
    facts = {**entry.spec._asdict(), "tip": entry.tip, "rows": entry.rows}
    return Partition(name, {**receipt, **facts}, texts(found))


def texts(found: list[dict[str, Any]]) -> list[Texts]:
    """Rows that were read from Arrow in the same form as those of `due`."""
    for row in found:
        if certificates := row.get(DATA):
            row[DATA] = json.loads(certificates, parse_float=Decimal)
    rows = [{key: _text(value) for key, value in row.items() if value is not None} for row in found]
    return [_whole(row) for row in rows]


def due(rows: Sequence[bytes]) -> list[Texts]:
    """Rows of the service in the same form: each leaf by its dotted path, without nulls."""
    return [_flat(json.loads(row, parse_float=Decimal)) for row in rows]


def export(chainq: Program, url: str, *words: str, to: str = "lake") -> Ran:
    """Run `chainq export` into a folder of the test's own, with one worker."""
    return chainq("export", *words, "--to", to, "-w", "1", "-q", url=url)


def jsonl_sha256(program: Program, url: str, command: str, start: int, end: int) -> str:
    """The SHA-256 of what the program prints for a range."""
    ran = program(command, "--start", str(start), "--end", str(end), "--jsonl", url=url)
    assert ran.code == 0, ran.err
    return hashlib.sha256(ran.out).hexdigest()


def _text(value: Any) -> str:
    """A value of a file as the service would have sent it."""
    if isinstance(value, datetime):
        return str(int((value - EPOCH).total_seconds()))
    return _dumped(value) if isinstance(value, list | dict) else str(value)


def _whole(row: Texts) -> Texts:
    """A row with what stands in `extra` in its place."""
    extra = json.loads(row.pop("extra", "{}"), parse_float=Decimal)
    return {**row, **_flat(extra)}


def _flat(value: Mapping[str, Any], path: str = "") -> Texts:
    found: Texts = {}
    for key, inner in value.items():
        if isinstance(inner, dict) and f"{path}{key}" != DATA:
            found |= _flat(inner, f"{path}{key}.")
        elif isinstance(inner, list | dict):
            found[path + key] = _dumped(inner)
        elif inner is not None:
            found[path + key] = str(inner)
    return found


def _dumped(value: Any) -> str:
    return json.dumps(_leaves(value), sort_keys=True)


def _leaves(value: Any) -> Any:
    """A nested value with texts for its leaves and without nulls; what a struct keeps in `other` is in its place."""
    if isinstance(value, dict):
        other = json.loads(value.get("other") or "{}", parse_float=Decimal)
        members = {**{key: inner for key, inner in value.items() if key != "other"}, **other}
        return {key: _leaves(inner) for key, inner in members.items() if inner is not None}
    return list(map(_leaves, value)) if isinstance(value, list) else str(value)
