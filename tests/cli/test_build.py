"""Numbers of options: how they are written, and their bounds."""

import pytest

from chainq.cli.build import number
from chainq.errors import UsageError


@pytest.mark.parametrize("text", [str(2**53 + 1), "1" * 400, "-1", "x", "1.5", ""])
def test_what_is_no_whole_number_in_its_bounds(text: str) -> None:
    """Nor what a float or a JavaScript server cannot hold."""
    with pytest.raises(UsageError, match=rf"^invalid --limit .*: expected a whole number from 0 to {2**53}$"):
        number("--limit", int, 0, None, text)


def test_numbers_as_they_are_written() -> None:
    """Whole ones as heights are; a default is one already."""
    assert [number("-n", int, 1, 2000, text) for text in ("1K", "1_500", "1.5K", 7)] == [1000, 1500, 1500, 7]
    assert (number("--seed", int, None, None, "-3"), number("--interval", float, 0.01, None, "0.5")) == (-3, 0.5)
    for text in ("nan", "0", "inf"):
        with pytest.raises(UsageError, match=r"expected a number from 0.01 to"):
            number("--interval", float, 0.01, None, text)
