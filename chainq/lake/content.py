"""The content hash of a Parquet file: equal for equal rows, however they are divided, compressed or encoded.

The SHA-256 of the jsonl rows in a receipt cannot be recomputed from the file, because types keep values and not the way
a server wrote them. The content hash can, with Arrow and at the speed of SHA-256. It combines one stream per buffer of
each column: lengths or nulls, and values.
"""

import hashlib
from typing import Any


class ContentHash:
    """A hash over record batches or tables of one schema, in order."""

    def __init__(self, pyarrow: Any) -> None:
        self._arrow = pyarrow
        self._streams: dict[str, Any] = {}

    def update(self, table: Any) -> None:
        """Add the rows of a table or a record batch."""
        for name, column in zip(table.schema.names, table.columns, strict=True):
            for chunk in getattr(column, "chunks", [column]):
                self._add(name, chunk)

    def hexdigest(self) -> str:
        """Return the hash of all rows so far."""
        streams = sorted((name, stream.hexdigest()) for name, stream in self._streams.items())
        return hashlib.sha256("\n".join(f"{name}={digest}" for name, digest in streams).encode()).hexdigest()

    def _add(self, path: str, array: Any) -> None:
        from pyarrow import compute

        types = self._arrow.types
        if types.is_list(array.type):
            self._feed(f"{path}#", self._filled(compute.list_value_length(array), b"\xff"))
            self._add(f"{path}[]", compute.list_flatten(array))
        elif types.is_struct(array.type):
            self._feed(f"{path}?", compute.is_valid(array).cast(self._arrow.uint8()))
            for field, inner in zip(array.type, array.flatten(), strict=True):
                self._add(f"{path}/{field.name}", inner)
        elif types.is_string(array.type):
            self._feed(f"{path}#", self._filled(compute.binary_length(array), b"\xff"))
            filled = array.drop_null() if array.null_count else array
            offsets, data = filled.buffers()[1:3]
            if data is not None and len(filled):
                ends = memoryview(offsets).cast("i")
                begin, end = ends[filled.offset], ends[filled.offset + len(filled)]
                self._update(path, data[begin:end])
        else:
            self._feed(f"{path}?", compute.is_valid(array).cast(self._arrow.uint8()))
            self._feed(path, self._filled(array, b"\0"))

    def _filled(self, array: Any, byte: bytes) -> Any:
        """Return an array of numbers whose nulls are replaced by the number of these bytes.

        Not by `pyarrow.scalar`: it loads pandas if that is installed, in a process that is not the program's.
        """
        if not array.null_count:
            return array
        number = self._arrow.py_buffer(byte * (array.type.bit_width // 8))
        return array.fill_null(self._arrow.Array.from_buffers(array.type, 1, [None, number])[0])

    def _feed(self, path: str, array: Any) -> None:
        """Add the values of an array of numbers without nulls."""
        width = array.type.bit_width // 8
        buffer = array.buffers()[1]
        if buffer is not None:
            self._update(path, buffer[array.offset * width : (array.offset + len(array)) * width])

    def _update(self, path: str, data: Any) -> None:
        if len(data):  # a stream without data is none: a table without rows may have chunks or not
            self._streams.setdefault(path, hashlib.sha256()).update(data)
