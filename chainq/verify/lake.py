"""Verifies what `chainq export` wrote, without a network: receipts, grid, rows, and one command against another.

A listing shows which partitions are there and what their receipts say of them. Then each partition is read once, with
all commands of the same heights side by side, since they are compared with each other.
"""

import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.errors import IncompleteError, UsageError
from chainq.formats.arrow_rows import ArrowRows
from chainq.heights.range import HeightRange
from chainq.lake import data_set
from chainq.lake.content import ContentHash
from chainq.lake.grid import PartitionSpec, parse_name, partition_name, partitions
from chainq.lake.receipt import METADATA_KEY, Entry, Receipt, entry_of, parse_entry
from chainq.lake.store import Listed, Store
from chainq.verify.against import columns_of, compared_names
from chainq.verify.blocks import Texts
from chainq.verify.compare import Contradiction
from chainq.verify.findings import FilesStep, Finding, by_height
from chainq.verify.readers import ParquetRows, tables_of


class Partition(NamedTuple):
    """A partition by the listing: what its receipt says, None without one, and whether its file is there."""

    spec: PartitionSpec
    entry: Entry | None
    size: int | None


def check_packages() -> None:
    """Raise UsageError without the packages that read files."""
    try:
        import numpy
        import pyarrow
    except ImportError:
        raise UsageError("verifying files needs numpy and pyarrow", "pip install 'chainq[parquet]'") from None
    del numpy
    pyarrow.set_memory_pool(pyarrow.system_memory_pool())  # Arrow's own keeps what was freed: 90 MB more


class PartitionRows:
    """The rows of a partition in the form that `against` compares."""

    def __init__(self, spec: PartitionSpec, source: Callable[[], Any], repair: str | None) -> None:
        self.method, self.heights = BY_COMMAND[spec.command], spec.heights
        self.names = compared_names(spec.command, (column.path for column in self.method.columns))
        self._columns = columns_of(self.method, self.names)
        self._file, self._repair = ParquetRows(source, spec.name), repair

    def rows(self) -> Iterator[Texts]:
        """Yield the rows; none of what cannot be read, which was a finding before."""
        return self._file.rows(self._columns)

    def as_rows(self, sent: Sequence[Raw]) -> Iterator[Texts]:
        """Yield rows of a service as they would be in the file."""
        return self._file.as_rows(self._columns, sent)

    def finding(self, height: int | None, contradiction: Contradiction) -> Finding:
        """Return a finding about these rows."""
        at = self.heights.start if height is None else height
        return Finding(at, self.method.command, *contradiction, self._repair)


class Lake:
    """A data set that is to be verified. Raises UsageError where there is none."""

    def __init__(self, store: Store) -> None:
        import pyarrow

        self._arrow, self._store = pyarrow, store
        found = data_set.read(store)
        if found is None:
            raise UsageError(f"{store.label} is not a data set that chainq export wrote", "it has no chainq.json")
        self._grid = found.partition
        self._commands = tuple(found.schemas)
        listing = list(store.listing())
        self._partitions, self._odd = _listed(listing, self._grid)
        self._foreign = [name for name, _ in listing if _is_foreign(name)]

    @property
    def heights(self) -> HeightRange:
        """The heights that the data set spans."""
        return _spanned(partition.spec for partition in self._partitions)

    def uneven(self) -> Iterator[str]:
        """Yield in words which commands of the data set do not span the heights that all of them together do."""
        for command in self._commands:
            spanned = _spanned(one.spec for one in self._partitions if one.spec.command == command)
            if not len(spanned):
                yield f"{command}: no partitions"
            elif spanned != self.heights:
                yield f"{command}: {spanned} only"

    def steps(self) -> Iterator[FilesStep]:
        """Yield what is wrong, partition by partition; all that the listing shows comes first."""
        odd = (self._finding(spec, "receipt", "one receipt", found) for spec, found in self._odd)
        start = self.heights.start
        foreign = (Finding(*_place(name), "foreign", None, name, None) for name in self._foreign)
        whole = sorted([*odd, *foreign, *self._grid_findings()], key=by_height)
        yield FilesStep(HeightRange(start, start), whole, {})
        by_start: dict[int, list[Partition]] = {}
        for partition in self._partitions:
            by_start.setdefault(partition.spec.start, []).append(partition)
        for _, group in sorted(by_start.items()):
            end = max(partition.spec.end for partition in group)
            yield self._verify(HeightRange(group[0].spec.start, end), group)

    def parts(self) -> Iterator[PartitionRows]:
        """Yield the rows of each partition that has a file that can be read, for a comparison."""
        for partition in self._partitions:
            if partition.size is not None:
                source = partial(self._source, Listed(partition.spec.name, partition.size))
                with suppress(IncompleteError):  # not a Parquet file: that was a finding before
                    yield PartitionRows(partition.spec, source, self._repair(partition.spec))

    def _source(self, listed: Listed) -> Any:
        """Return what Arrow reads a file by: its path, or an object that was fetched as a whole, in one request."""
        found = self._store.source(listed)
        return found if isinstance(found, str) else self._arrow.BufferReader(self._store.read(listed.name) or b"")

    # --- the listing

    def _grid_findings(self) -> Iterator[Finding]:
        """Yield gaps, overlaps and partitions off the grid, and those that are not linked to the one before."""
        before: Partition | None = None
        for partition in sorted(self._partitions, key=lambda partition: partition.spec):
            spec = partition.spec
            if spec.start % self._grid or not 0 < len(spec.heights) <= self._grid:
                due = f"at most {self._grid} heights from a multiple of it"
                yield self._finding(spec, "grid", due, f"{spec.heights} in {spec.name}")
            if spec.start % self._grid:
                continue  # it says nothing of its neighbours
            if before is not None and before.spec.command == spec.command:
                if before.spec.end < spec.start:
                    for gap in partitions(spec.command, HeightRange(before.spec.end, spec.start), self._grid):
                        at = max(gap.start, before.spec.end)
                        yield self._finding(gap, "missing", str(HeightRange(at, gap.end)), None, height=at)
                elif before.spec.end > spec.start:
                    yield self._finding(spec, "grid", f"from height {before.spec.end}", f"from height {spec.start}")
                elif before.entry and partition.entry and before.entry.last != partition.entry.previous:
                    due, found = before.entry.last, partition.entry.previous
                    yield self._finding(spec, "link", f"SHA-256 of the previous hash {due}", found)
            before = partition

    # --- the files

    def _verify(self, heights: HeightRange, group: Collection[Partition]) -> FilesStep:
        from chainq.verify.across import check_across

        findings: list[Finding] = []
        rows: dict[str, int] = {}
        kept: dict[str, Any] = {}
        specs = {partition.spec.command: partition.spec for partition in group}
        for partition in group:
            command = partition.spec.command
            kept[command], found = self._opened(partition)
            findings += found
            if kept[command] is None:
                del kept[command]
            else:
                rows[command] = kept[command].num_rows
        for command, height, contradiction in check_across(kept, {name: specs[name].heights for name in kept}):
            findings.append(self._finding(specs[command], *contradiction, height=height))
        return FilesStep(heights, sorted(findings, key=by_height), rows)

    def _opened(self, partition: Partition) -> tuple[Any | None, list[Finding]]:
        """Return what other commands are compared with, None where nothing can be read, and what is wrong."""
        from pyarrow import parquet

        spec, entry = partition.spec, partition.entry
        if partition.size is None:
            return None, [self._finding(spec, "missing", f"{spec.name}", None)]
        findings: list[Finding] = []
        if entry is None:
            findings.append(self._finding(spec, "receipt", f"a receipt of {spec.name}", None))
        elif entry.size != partition.size:
            findings.append(self._finding(spec, "receipt", f"{entry.size} bytes", f"{partition.size} bytes"))
        if spec.start % self._grid:
            return None, findings  # whatever its rows are, it should not be there
        try:
            with parquet.ParquetFile(self._source(Listed(spec.name, partition.size))) as file:
                sealed = (file.metadata.metadata or {}).get(METADATA_KEY.encode())
                own = _receipt(sealed)
                if own is not None and (own.command, own.start) != (spec.command, spec.start):
                    # Not read: each of its rows would be a finding, and each row of other commands that lacks one here.
                    other = partition_name(own.command, own.start)
                    return None, [self._finding(spec, "misplaced", spec.name, other)]
                kept, found = self._read(file, partition, sealed)
        except (self._arrow.ArrowException, OSError) as error:
            shown = str(error).splitlines()[0] if str(error) else type(error).__name__
            return None, [*findings, self._finding(spec, "invalid", "a Parquet file", shown)]
        return kept, findings + found

    def _read(self, file: Any, partition: Partition, sealed: bytes | None) -> tuple[Any | None, list[Finding]]:
        """Read a file, one row group at a time; return the same as `_opened`."""
        from chainq.verify.across import COMPARED
        from chainq.verify.tables import TableCheck

        spec, entry = partition.spec, partition.entry
        method, receipt = BY_COMMAND[spec.command], _receipt(sealed)
        if entry is None and receipt is not None and receipt.end > spec.start:
            spec = spec._replace(end=receipt.end)
        due = ArrowRows(method.columns, self._arrow).schema
        if not file.schema_arrow.equals(due):
            wrong = next((str(one) for one in file.schema_arrow if one not in list(due)), "columns are missing")
            return None, [self._finding(spec, "schema", "the schema of the command", wrong)]
        content, check = ContentHash(self._arrow), TableCheck(method, due.names, spec.heights)
        compared = [name for name in due.names if name.rpartition(".")[2] in {*COMPARED, "previous_hash"}]
        kept: list[Any] = []
        found: list[tuple[int | None, Contradiction]] = []
        for table in tables_of(file):
            content.update(table)
            found += check.take(table)
            # A copy, which does not keep the rest of the row group in memory.
            kept.append(self._arrow.concat_tables([table.select(compared)]).combine_chunks())
        found += check.finish(lambda names: tables_of(file, names))
        narrow = self._arrow.concat_tables([due.empty_table().select(compared), *kept])
        found += [(None, one) for one in self._contradictions(spec, entry, sealed, narrow, content.hexdigest())]
        return narrow, [self._finding(spec, *one, height=height) for height, one in found]

    def _contradictions(
        self, spec: PartitionSpec, entry: Entry | None, sealed: bytes | None, table: Any, content: str
    ) -> Iterator[Contradiction]:
        """Yield where the receipt in a file, the one beside it, its name and the rows contradict each other."""
        receipt = _receipt(sealed)
        if receipt is None:
            yield Contradiction("receipt", "a receipt in the metadata of the file", None)
            return
        said: dict[str, tuple[object, object]] = {
            "end": (spec.end, receipt.end),
            "rows": (receipt.rows, table.num_rows),
        }
        if entry is not None:
            other = entry_of(receipt, entry.size)
            beside = self._store.read(entry.name)
            said["rows in its name"] = (receipt.rows, entry.rows)
            said["hash of the last block in its name"] = (other.last, entry.last)
            said["hash before the first block in its name"] = (other.previous, entry.previous)
            if beside is not None and beside != sealed:
                yield Contradiction("receipt", "the same receipt in the file and beside it", "two receipts")
        if spec.command in ("blocks", "full-blocks") and table.num_rows:
            said["first_hash"] = (receipt.first_hash, table["block_hash"][0].as_py())
            said["last_hash"] = (receipt.last_hash, table["block_hash"][-1].as_py())
            said["previous_hash"] = (receipt.previous_hash, table["previous_hash"][0].as_py())
        for name, (due, found) in said.items():
            if due != found:
                yield Contradiction("receipt", f"{name}: {due}", f"{name}: {found}")
        if content != receipt.content:
            yield Contradiction("content", f"content {receipt.content}", f"content {content}")

    def _finding(
        self, spec: PartitionSpec, check: str, expected: str | None, found: str | None, *, height: int | None = None
    ) -> Finding:
        at = spec.start if height is None else height
        return Finding(at, spec.command, check, expected, found, self._repair(spec))

    def _repair(self, spec: PartitionSpec) -> str | None:
        """Return the command that writes a partition anew; None off the grid, where no export writes."""
        if spec.start % self._grid:
            return None
        heights = f"{spec.start}:{spec.end}"
        return f"chainq export {spec.command} {heights} --to {shlex.quote(self._store.label)} --repair all"


def _spanned(specs: Iterable[PartitionSpec]) -> HeightRange:
    """Return the heights from the first to the last of some partitions, none of none."""
    edges = [(spec.start, spec.end) for spec in specs]
    return HeightRange(min(start for start, _ in edges), max(end for _, end in edges)) if edges else HeightRange(0, 0)


def _is_foreign(name: str) -> bool:
    """Return whether readers of a command's folder take a file for data that is no partition's."""
    folder, *rest = name.split("/")
    return (
        bool(rest) and folder in BY_COMMAND and parse_name(name) is None and not any(part[0] in "._" for part in rest)
    )


def _place(name: str) -> tuple[int | None, str]:
    """Return the first height of the partition in whose folder a file lies, if it does, and the command."""
    command, *rest = name.split("/")
    key = parse_name(f"{command}/{rest[0]}/data.parquet")
    return (key[1] if key else None), command


def _receipt(sealed: bytes | None) -> Receipt | None:
    """Return the receipt in the metadata of a file, None where it cannot be read."""
    try:
        return msgspec.json.decode(sealed or b"null", type=Receipt)
    except msgspec.DecodeError:
        return None


def _listed(listing: Iterable[Listed], grid: int) -> tuple[list[Partition], list[tuple[PartitionSpec, str]]]:
    """Return the partitions of a listing, and those that have more than one receipt, with their number in words."""
    sizes: dict[tuple[str, int], int] = {}
    entries: dict[tuple[str, int], list[Entry]] = {}
    for name, size in listing:
        if (key := parse_name(name)) and key[0] in BY_COMMAND:
            sizes[key] = size
        elif (entry := parse_entry(name)) and entry.spec.command in BY_COMMAND:
            entries.setdefault((entry.spec.command, entry.spec.start), []).append(entry)
    partitions: list[Partition] = []
    odd: list[tuple[PartitionSpec, str]] = []
    for key in sorted(sizes.keys() | entries.keys()):
        found = entries.get(key, [])
        spec = found[0].spec if found else PartitionSpec(*key, key[1] + grid)
        partitions.append(Partition(spec, found[0] if len(found) == 1 else None, sizes.get(key)))
        if len(found) > 1:
            odd.append((spec, f"{len(found)} receipts"))
    return partitions, odd
