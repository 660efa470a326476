"""Numbers of options: how they are written, and their bounds."""

import pytest

from chainq.cli.build import number
from chainq.errors import UsageError


def test_numbers_as_they_are_written() -> None:
    """Whole ones as heights are; a default is one already. What a JavaScript server cannot hold is refused."""
    assert [number("-n", int, 1, 2000, text) for text in ("1K", "1_500", "1.5K", 7)] == [1000, 1500, 1500, 7]
    assert (number("--seed", int, None, None, "-3"), number("--interval", float, 0.01, None, "0.5")) == (-3, 0.5)
    assert number("--limit", int, 0, None, str(2**53)) == 2**53
    with pytest.raises(UsageError, match=rf"^invalid --limit .*: expected a whole number from 0 to {2**53}$"):
        number("--limit", int, 0, None, "1" * 400)
