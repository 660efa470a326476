"""The file of an index, whatever is in it."""

import io
from typing import Any

import pytest

from chainq.stored.index import open_index


class Holding:
    """A store whose files have some content."""

    def __init__(self, content: bytes) -> None:
        self.file = io.BytesIO(content)

    def source(self, _: object) -> io.BytesIO:
        return self.file


@pytest.mark.parametrize("content", [b"", b"chainq index 1\r\n" + bytes(20), b"chainq index 2\r\n" + b"\xff" * 20])
def test_an_index_that_cannot_be_used_is_closed(content: bytes) -> None:
    """One of an older version, or a damaged one, of which the head alone is read."""
    store: Any = Holding(content)
    assert open_index(store, "calls") is None
    assert store.file.closed
