"""Blocks linked by hash."""

import pytest
from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.errors import IncompleteError
from chainq.planning.links import Links
from harness.truth import raw


def test_links_are_read_whatever_a_hash_is() -> None:
    """Hashes that are numbers are compared like strings, and one that is missing breaks the chain."""
    rows = raw(['{"block_hash":1,"previous_hash":null}', '{"block_hash":"b","previous_hash":1}'])
    Links(BY_COMMAND["blocks"]).check(rows, [0, 1])
    with pytest.raises(IncompleteError, match="block 1 names nothing"):
        Links(BY_COMMAND["blocks"]).check([rows[0], Raw(b'{"block_hash":"b"}')], [0, 1])
