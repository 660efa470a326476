"""How much memory rows of a Parquet file take, found before they are decoded.

A column keeps each of its texts once, in a dictionary, and rows refer to it: 45 KB may stand for gigabytes. The number
of values and the longest text tell the most that a column can take; only if that is too much are its texts counted.
What is taken on trust are the sizes of pages in the footer (docs/completeness.md).
"""

from collections.abc import Iterator, Sequence
from typing import Any

from chainq.stored.narrow import damaged
from chainq.stored.store import Listed, Store
from chainq.text.humanize import in_bytes

_FIXED = 16  # bytes of a number at most


def check_decoded(store: Store, file: Listed, footer: Any, columns: Sequence[str], groups: Sequence[int]) -> None:
    """Raise IncompleteError if columns of a row group take more than `store.memory` bytes. Raises errors of Arrow."""
    for number in groups:
        group, need = footer.row_group(number), 0
        for at in range(group.num_columns):
            column = group.column(at)
            path = column.path_in_schema
            if any(path == name or path.startswith(f"{name}.") for name in columns):
                texts = column.physical_type == "BYTE_ARRAY"
                need += column.total_uncompressed_size + (0 if texts else column.num_values * _FIXED)
                if texts and column.num_values * column.total_uncompressed_size > store.memory:
                    need += _texts(store, file, footer, number, path, column.num_values)
        if need > store.memory:
            raise damaged(
                store.label,
                file.name,
                f"row group {number} takes {in_bytes(need)} of memory",
                "raise --max-memory, if you trust whoever made it",
            )


def _texts(store: Store, file: Listed, footer: Any, group: int, path: str, values: int) -> int:
    """Return the bytes that the texts of a column in a row group take; the most that they can take if that fits."""
    from pyarrow import compute

    first = _sizes(store, file, footer, group, path, 1)
    most = values * max((compute.max(sizes).as_py() or 0 for sizes, _ in first), default=0)
    if most <= store.memory:
        return most
    every = _sizes(store, file, footer, group, path, 0)
    return sum(compute.sum(sizes.take(indices)).as_py() or 0 for sizes, indices in every)


def _sizes(store: Store, file: Listed, footer: Any, group: int, path: str, rows: int) -> Iterator[tuple[Any, Any]]:
    """Yield the sizes of the texts in a dictionary, and which of them the values are, of so many rows or all (0)."""
    from pyarrow import compute, parquet, types

    source = store.source(file)
    with parquet.ParquetFile(source, metadata=footer, read_dictionary=[path], buffer_size=1 << 16) as opened:
        for batch in opened.iter_batches(rows or 1 << 16, [group], [path], use_threads=False):
            array = batch.column(0)
            while not types.is_dictionary(array.type):
                array = array.flatten() if types.is_list(array.type) else array.flatten()[0]
            yield compute.binary_length(array.dictionary), array.indices
            if rows:
                return
