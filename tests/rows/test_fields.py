"""Values of fields."""

import pytest

from chainq.rows.fields import integer_of


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (b"7", 7),
        (b'"000000000000012"', 12),
        (b'"-0042"', -42),
        (b'"' + b"0" * 99 + b'9"', 9),
        (b'"' + b"0" * 100 + b'9"', None),
        (b'"1 2"', None),
        (b"null", None),
        (None, None),
    ],
)
def test_whole_numbers_are_read_as_servers_write_them(value: bytes | None, number: int | None) -> None:
    """With leading zeros too, up to 100 digits."""
    assert integer_of(value) == number
