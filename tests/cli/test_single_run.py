"""How the first rows of a table are held back."""

import pytest
from msgspec import Raw

from chainq.cli.single_run import BEGINNING_READ, _begun_together
from chainq.query import Batch


@pytest.mark.parametrize(("most_read", "batches"), [(None, 1), (BEGINNING_READ, 2)])
def test_few_rows_of_many_are_below_one_header_in_a_pipe(most_read: int | None, batches: int) -> None:
    """Where nobody watches, however many rows a filter drops before the first ones pass."""
    read = (Batch([Raw(b'{"height":%d}' % height)], scanned=BEGINNING_READ) for height in (1, 2))
    found = list(_begun_together(read, most_read))
    assert [len(found), sum(len(one.rows) for one in found)] == [batches, 2]
