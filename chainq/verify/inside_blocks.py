"""The outputs and transitions inside of full blocks, as Arrow tables: for a comparison that needs no JSON."""

from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

HEIGHT, CONTENT = "header.metadata.height", "transactions"
"""The columns of full blocks that are needed."""
_TRANSITIONS = (("execution", "transitions"), ("fee", "transition"))
_OUTPUTS = pa.schema(
    {
        "transition_id": pa.string(),
        "transaction_id": pa.string(),
        "height": pa.int64(),
        "index": pa.int64(),
        "type": pa.string(),
    }
)
_CALLS = pa.schema([_OUTPUTS.field(name) for name in ("transition_id", "transaction_id", "height")])


class InsideBlocks:
    """What the full blocks of a partition contain. `whole`: each has a list of transactions, none of another form."""

    def __init__(self) -> None:
        self.whole = True
        self._outputs, self._calls = [_OUTPUTS.empty_table()], [_CALLS.empty_table()]

    @property
    def outputs(self) -> Any:
        """The outputs, with columns of the table `outputs`."""
        return pa.concat_tables(self._outputs)

    @property
    def calls(self) -> Any:
        """The transitions, with columns of the table `calls`."""
        return pa.concat_tables(self._calls)

    def take(self, table: Any) -> None:
        """Add some full blocks."""
        self.whole = self.whole and not table[CONTENT].null_count
        for batch in table.select([HEIGHT, CONTENT]).to_batches():
            rows, confirmed = _flat(batch[CONTENT])
            heights, transactions = batch[HEIGHT].take(rows), compute.struct_field(confirmed, "transaction")
            ids = compute.struct_field(transactions, "id")
            for path in _TRANSITIONS:
                transitions = compute.struct_field(transactions, list(path))
                if pa.types.is_list(transitions.type):
                    rows, transitions = _flat(transitions)
                    self._add(transitions, ids.take(rows), heights.take(rows))
                else:
                    self._add(transitions, ids, heights)

    def _add(self, transitions: Any, transactions: Any, heights: Any) -> None:
        """Add transitions, each with its transaction and height; a null one is the fee of a transaction without one."""
        there = compute.is_valid(transitions)
        transitions, *beside = (array.filter(there) for array in (transitions, transactions, heights))
        columns = [compute.struct_field(transitions, "id"), *beside]
        self._calls.append(pa.Table.from_arrays(columns, schema=_CALLS))
        rows, outputs = _flat(compute.struct_field(transitions, "outputs"))
        parents = rows.to_numpy(zero_copy_only=False)
        index = pa.array(np.arange(len(parents)) - np.searchsorted(parents, parents), pa.int64())
        kinds = compute.struct_field(outputs, "type")
        self._outputs.append(
            pa.Table.from_arrays([*(one.take(rows) for one in columns), index, kinds], schema=_OUTPUTS)
        )


def _flat(lists: Any) -> tuple[Any, Any]:
    """Return the elements of lists, after the number of the list of each."""
    return compute.list_parent_indices(lists), compute.list_flatten(lists)
