"""`_chainq/index/TABLE`: the heights of rows by a text: IDs, functions, addresses, tags.

There is one file per table. It covers the partitions whose receipts it names; the few others are scanned. An index that
is old, lost or damaged therefore costs only time: a row missing from it is still found.

    magic, number of partitions, number of buckets, CRC-32 of all up to the buckets
    partitions: the first 8 bytes of the SHA-256 of the name of each receipt
    ends of the buckets, in entries
    buckets: hashes of texts, sorted, and their heights, then the CRC-32 of both

Numbers are little-endian and have 64 bits, a CRC-32 has 32. The first bits of a text's hash select its bucket, so a
lookup reads the head and one bucket of about 4 KB.

Rejected: Bloom filters in the files, because a lookup would have to open all files. A sorted Parquet file, because its
unprotected statistics would decide that a row does not exist.
"""

import io
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from hashlib import blake2b, sha256
from pathlib import Path
from struct import Struct
from typing import Any, BinaryIO, NamedTuple
from zlib import crc32

from chainq.stored.opened import heights_in, opened, read_group
from chainq.stored.receipt import Entry
from chainq.stored.store import Listed, Store

FOLDER = "_chainq/index"
INDEXED = {
    "transactions": (("transaction_id",),),
    "calls": (("program", "function"), ("transition_id",)),
    "inputs": (("value",), ("tag",)),
}
"""The tables that are indexed, and the columns of each text that is looked up. Of values only public addresses."""
BEHIND = 32  # partitions that lookups may have to scan before an export rewrites the index

_MAGIC = b"chainq index 2\r\n"  # 1 had neither transition IDs nor tags
_HEAD = Struct("<16sQQI")
_ENTRY, _NUMBER, _CRC = 16, 8, 4  # bytes
_IN_BUCKET = 256  # entries, on average
_MOST = 64 << 20  # bytes that are read at once: a head with two million texts' buckets, or more
_END = 1 << 62  # beyond the end of any file; only parts are read


class Index(NamedTuple):
    """An open index. `covered`: its partitions, sorted; `ends`: the ends of its buckets, in entries."""

    file: BinaryIO
    covered: Sequence[int]
    ends: Sequence[int]

    def heights(self, text: str) -> list[int] | None:
        """Return the heights at which a text occurs, and perhaps others; None if the file is damaged."""
        key = _hash(text)
        bucket = self.bucket(key * len(self.ends) >> 64)
        if bucket is None:
            return None
        return [height for one, height in zip(*bucket, strict=True) if one == key]

    def bucket(self, number: int) -> tuple[Sequence[int], Sequence[int]] | None:
        """Return the hashes of a bucket and their heights, None if the file is damaged."""
        start, end = self.ends[number - 1] if number else 0, self.ends[number]
        head = _HEAD.size + _NUMBER * (len(self.covered) + len(self.ends))
        data = _part(self.file, head + start * _ENTRY + number * _CRC, (end - start) * _ENTRY + _CRC)
        entries = data[:-_CRC]
        if len(entries) != (end - start) * _ENTRY or data[-_CRC:] != _crc(number, entries):
            return None
        numbers = memoryview(entries).cast("Q")
        return numbers[: end - start], numbers[end - start :]

    def covers(self, entry: Entry) -> bool:
        """Return whether the index covers a partition."""
        digest = _digest(entry)
        at = bisect_left(self.covered, digest)
        return at < len(self.covered) and self.covered[at] == digest


def open_index(store: Store, table: str) -> Index | None:
    """Return the index of a table, None if there is none or its head is damaged. The caller closes its file."""
    source = store.source(Listed(f"{FOLDER}/{table}", _END))
    with ExitStack() as unless_usable, suppress(OSError, OverflowError, MemoryError):
        file = Path(source).open("rb") if isinstance(source, str) else source  # noqa: SIM115
        unless_usable.callback(file.close)
        head = _part(file, 0, _HEAD.size)
        magic, partitions, buckets, crc = _HEAD.unpack(head.ljust(_HEAD.size))
        size = _NUMBER * (partitions + buckets)
        numbers = _part(file, _HEAD.size, size) if magic == _MAGIC and size < _END else b""
        if len(numbers) == size and buckets and crc32(numbers, crc32(head[:-_CRC])) == crc:
            unless_usable.pop_all()
            read = memoryview(numbers).cast("Q")
            return Index(file, read[:partitions], read[partitions:])
    return None


def heights_of(store: Store, table: str, entries: Iterable[Entry], text: str) -> Iterator[int]:
    """Yield, once each, all heights at which a text may occur in partitions of a table. Heights from the index come
    first, so that a caller who finds the row there scans no other partition.

    Raises IncompleteError if a file that must be scanned is damaged.
    """
    index = open_index(store, table)
    indexed = index.heights(text) if index else None
    if index is not None:
        index.file.close()
    found = set(indexed or ())
    yield from sorted(found)
    for entry in entries:
        if index is None or indexed is None or not index.covers(entry):
            more = {height for one, height in _occurrences(store, entry) if one == text} - found
            found |= more
            yield from sorted(more)


def keep(store: Store, table: str, entries: Sequence[Entry]) -> None:
    """Rewrite the index of a table if it lacks many of these partitions. Raises IncompleteError, OutputError.

    Entries of replaced partitions stay, because rows are checked when they are read.
    """
    index = open_index(store, table)
    lacking = [entry for entry in entries if index is None or not index.covers(entry)]
    hashes, heights = array("Q"), array("Q")
    if index is not None:
        for number in range(len(index.ends)) if len(lacking) > BEHIND else ():
            bucket = index.bucket(number)
            if bucket is None:
                lacking, hashes, heights = list(entries), array("Q"), array("Q")
                break
            hashes.extend(bucket[0])
            heights.extend(bucket[1])
        index.file.close()
    if len(lacking) <= BEHIND:
        return
    for entry in lacking:
        for text, height in _occurrences(store, entry):
            hashes.append(_hash(text))
            heights.append(height)
    with store.upload() as upload:
        upload.file.write(_encoded(hashes, heights, sorted(map(_digest, entries))))
        upload.publish(f"{FOLDER}/{table}")


def key_of(*names: str) -> str:
    """Return the lookup text for the values of columns that are indexed together."""
    return "/".join(names)


def _encoded(hashes: "array[int]", heights: "array[int]", covered: Sequence[int]) -> bytes:
    import pyarrow

    numbers = (pyarrow.py_buffer(one) for one in (hashes, heights))
    columns = [pyarrow.Array.from_buffers(pyarrow.uint64(), len(hashes), [None, one]) for one in numbers]
    made = pyarrow.table(columns, ["hash", "height"])
    made = made.group_by(["hash", "height"]).aggregate([]).sort_by([("hash", "ascending"), ("height", "ascending")])
    views = [memoryview(column.combine_chunks().buffers()[1]).cast("B").cast("Q") for column in made.columns]
    buckets = len(made) // _IN_BUCKET + 1
    ends, body, at = array("Q"), io.BytesIO(), 0
    for number in range(buckets):
        end = bisect_left(views[0], -(-((number + 1) << 64) // buckets), at, len(made))
        packed = b"".join(column[at:end].tobytes() for column in views)
        body.write(packed + _crc(number, packed))
        ends.append(end)
        at = end
    sizes = array("Q", covered).tobytes() + ends.tobytes()
    head = _HEAD.pack(_MAGIC, len(covered), buckets, 0)[:-_CRC]
    return head + crc32(sizes, crc32(head)).to_bytes(_CRC, "little") + sizes + body.getvalue()


def _occurrences(store: Store, entry: Entry) -> Iterator[tuple[str, int]]:
    """Yield each text of a partition with each of its heights, once."""
    from pyarrow import compute

    keys = INDEXED[entry.spec.command]
    columns = {name for names in keys for name in names}
    where = ["type", "value_type"] if "value" in columns else []
    with opened(store, entry) as (file, _):
        for group in range(file.num_row_groups):
            table: Any = read_group(store, entry, file, group, [*columns, "height", *where])
            heights_in(store, entry, table, "height")
            for names in keys:
                some = table
                if names == ("value",):
                    public = compute.equal(table.column("type"), "public")
                    some = table.filter(compute.and_(public, compute.equal(table.column("value_type"), "address")))
                *texts, heights = (
                    column.to_pylist() for column in some.group_by([*names, "height"]).aggregate([]).columns
                )
                for *parts, height in zip(*texts, heights, strict=True):
                    if None not in parts:
                        yield key_of(*parts), height


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest())


def _digest(entry: Entry) -> int:
    return int.from_bytes(sha256(entry.name.encode()).digest()[:8])


def _crc(number: int, data: bytes) -> bytes:
    return crc32(data, number).to_bytes(_CRC, "little")


def _part(file: BinaryIO, start: int, length: int) -> bytes:
    file.seek(start)
    return file.read(min(max(0, length), _MOST))
