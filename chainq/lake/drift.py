"""Fields that a service sent before and sends no longer: their columns are null from then on, which nobody would see.

Fields that are new or of another type are in `extra`, and the writer of a partition says so (`formats/arrow_rows.py`).
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from chainq.stored.opened import opened
from chainq.stored.receipt import Entry
from chainq.stored.store import Store


def no_longer_sent(store: Store, entries: Sequence[Entry], written: Sequence[Entry]) -> Iterator[str]:
    """Yield a warning for the first partition of a table that was written and has no values in columns of the one
    before it. Raises IncompleteError for a damaged file."""
    new = {entry.spec for entry in written}
    for before, after in pairwise(sorted(entry for entry in entries if entry.rows)):
        if after.spec in new and before.spec not in new:
            if lost := sorted(_filled(store, before) - _filled(store, after)):
                names = ", ".join(lost)
                yield f"{after.spec.command}: no values of {names} from height {after.spec.start} on"
            return


def _filled(store: Store, entry: Entry) -> set[str]:
    """Return the columns of a partition that have a value, by the counts of nulls in its footer."""
    filled = set()
    with opened(store, entry) as (file, _):
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group)
            for number in range(rows.num_columns):
                column = rows.column(number)
                counted = column.statistics
                if "." not in column.path_in_schema and counted is not None and counted.null_count != rows.num_rows:
                    filled.add(column.path_in_schema)
    return filled - {"extra"}
