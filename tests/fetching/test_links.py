"""Blocks linked by hash."""

import pytest
from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.errors import IncompleteError
from chainq.fetching.links import Links
from harness.truth import raw


def test_links_are_read_whatever_a_hash_is() -> None:
    """Hashes that are numbers are compared like strings, and one that is missing breaks the chain."""
    rows = raw(['{"block_hash":1,"previous_hash":null}', '{"block_hash":"b","previous_hash":1}'])
    Links(BY_COMMAND["blocks"]).check(rows, [0, 1])
    with pytest.raises(IncompleteError, match="block 1 names nothing"):
        Links(BY_COMMAND["blocks"]).check([rows[0], Raw(b'{"block_hash":"b"}')], [0, 1])


def test_a_block_without_a_hash_is_linked_to_nothing() -> None:
    """Not even to a block that names none."""
    rows = raw(['{"block_hash":null,"previous_hash":"z"}', '{"block_hash":"b","previous_hash":null}'])
    with pytest.raises(IncompleteError, match="block 0 is without a hash"):
        Links(BY_COMMAND["blocks"]).check(rows, [0, 1])


@pytest.mark.parametrize("reverse", [False, True])
def test_links_hold_between_chunks(*, reverse: bool) -> None:
    """The first block of a chunk is linked to the last one of the chunk before."""
    rows = raw([f'{{"block_hash":"{n}","previous_hash":"{n - 1}"}}' for n in range(1, 5)])
    heights = [1, 2, 3, 4]
    if reverse:
        rows, heights = rows[::-1], heights[::-1]
    links = Links(BY_COMMAND["blocks"], reverse)
    links.check(rows[:2], heights[:2])
    links.check(rows[2:], heights[2:])
    with pytest.raises(IncompleteError, match="as its previous block"):
        links.check(rows[1:2], heights[1:2])
