"""Verifies what `chainq export` wrote, without a network: receipts, grid, rows, and one command against another.

A listing shows which partitions are there and what their receipts say of them. Then each partition is read once, with
all commands of the same heights side by side, since they are compared with each other.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, structs

from chainq.catalog.methods import BY_COMMAND
from chainq.errors import UsageError
from chainq.formats.arrow_rows import ArrowRows
from chainq.heights.range import HeightRange
from chainq.lake.content import ContentHash
from chainq.lake.grid import PartitionSpec, partition_name
from chainq.lake.receipt import METADATA_KEY, Entry, Receipt, entry_of
from chainq.lake.store import Listed, Store
from chainq.verify.against import columns_of, compared_names
from chainq.verify.blocks import Texts
from chainq.verify.compare import Contradiction
from chainq.verify.findings import FilesStep, Finding, by_height
from chainq.verify.listing import Listing, Partition
from chainq.verify.readers import ParquetRows, reason, tables_of, unreadable


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

    unseen = ""  # its receipts show which rows are due

    def __init__(self, store: Store) -> None:
        import pyarrow

        self._arrow, self._store = pyarrow, store
        self.listing = Listing(store)
        self._unreadable: set[str] = set()  # names of files; `steps` finds them

    @property
    def heights(self) -> HeightRange:
        """The heights that the data set spans."""
        return self.listing.heights

    def steps(self) -> Iterator[FilesStep]:
        """Yield what is wrong, partition by partition; all that the listing shows comes first."""
        start = self.heights.start
        yield FilesStep(HeightRange(start, start), self.listing.findings(), {})
        by_start: dict[int, list[Partition]] = {}
        for partition in self.listing.partitions:
            by_start.setdefault(partition.spec.start, []).append(partition)
        for _, group in sorted(by_start.items()):
            end = max(partition.spec.end for partition in group)
            yield self._verify(HeightRange(group[0].spec.start, end), group)

    def parts(self) -> Iterator[PartitionRows]:
        """Yield the rows of each partition that has a file that can be read, for a comparison, after `steps`."""
        for partition in self.listing.partitions:
            if partition.size is not None and partition.spec.name not in self._unreadable:
                source = partial(self._source, Listed(partition.spec.name, partition.size))
                yield PartitionRows(partition.spec, source, self.listing.repair(partition.spec))

    def _source(self, listed: Listed) -> Any:
        """Return what Arrow reads a file by: its path, or an object that was fetched as a whole, in one request."""
        found = self._store.source(listed)
        return found if isinstance(found, str) else self._arrow.BufferReader(self._store.read(listed.name) or b"")

    def _digest(self, partition: Partition) -> str:
        """Return the SHA-256 of a file's bytes."""
        source = self._source(Listed(partition.spec.name, partition.size or 0))
        if not isinstance(source, str):
            return sha256(source.read_buffer()).hexdigest()
        with Path(source).open("rb") as file:
            return file_digest(file, "sha256").hexdigest()

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
            findings.append(self.listing.finding(specs[command], *contradiction, height=height))
        return FilesStep(heights, sorted(findings, key=by_height), rows)

    def _opened(self, partition: Partition) -> tuple[Any | None, list[Finding]]:
        """Return what other commands are compared with, None where nothing can be read, and what is wrong."""
        from pyarrow import parquet

        spec, entry = partition.spec, partition.entry
        if partition.size is None:
            return None, [self.listing.finding(spec, "missing", spec.name, None)]
        findings: list[Finding] = []
        if entry is None:
            findings.append(self.listing.finding(spec, "receipt", f"a receipt of {spec.name}", None))
        elif entry.size != partition.size:
            findings.append(self.listing.finding(spec, "receipt", f"{entry.size} bytes", f"{partition.size} bytes"))
        if spec.start % self.listing.grid:
            return None, findings  # whatever its rows are, it should not be there
        try:
            with parquet.ParquetFile(self._source(Listed(spec.name, partition.size))) as file:
                sealed = (file.metadata.metadata or {}).get(METADATA_KEY.encode())
                own = _receipt(sealed)
                if own is not None and (own.command, own.start) != (spec.command, spec.start):
                    # Not read: each of its rows would be a finding, and each row of other commands that lacks one here.
                    other = partition_name(own.command, own.start)
                    return None, [self.listing.finding(spec, "misplaced", spec.name, other)]
                kept, found = self._read(file, partition, sealed)
        except unreadable() as error:
            self._unreadable.add(spec.name)
            shown = f"{spec.name}: {reason(error)}"
            return None, [*findings, self.listing.finding(spec, "invalid", "a Parquet file", shown)]
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
            return None, [self.listing.finding(spec, "schema", "the schema of the command", wrong)]
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
        found += [
            (None, one)
            for one in self._contradictions(spec, entry, sealed, narrow, content.hexdigest(), self._digest(partition))
        ]
        return narrow, [self.listing.finding(spec, *one, height=height) for height, one in found]

    def _contradictions(
        self, spec: PartitionSpec, entry: Entry | None, sealed: bytes | None, table: Any, content: str, digest: str
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
            sealed_file = _receipt(beside)
            if beside is not None and beside not in (sealed, structs.replace(receipt, file=digest).encode()):
                if sealed_file is None or not sealed_file.file or structs.replace(sealed_file, file="") != receipt:
                    yield Contradiction("receipt", "the same receipt in the file and beside it", "two receipts")
                elif content == receipt.content:
                    yield Contradiction("receipt", f"SHA-256 of the file: {sealed_file.file}", digest)
        if spec.command in ("blocks", "full-blocks") and table.num_rows:
            said["first_hash"] = (receipt.first_hash, table["block_hash"][0].as_py())
            said["last_hash"] = (receipt.last_hash, table["block_hash"][-1].as_py())
            said["previous_hash"] = (receipt.previous_hash, table["previous_hash"][0].as_py())
        for name, (due, found) in said.items():
            if due != found:
                yield Contradiction("receipt", f"{name}: {due}", f"{name}: {found}")
        if content != receipt.content:
            yield Contradiction("content", f"content {receipt.content}", f"content {content}")


def _receipt(sealed: bytes | None) -> Receipt | None:
    """Return the receipt in the metadata of a file, None where it cannot be read."""
    try:
        return msgspec.json.decode(sealed or b"null", type=Receipt)
    except msgspec.DecodeError:
        return None
