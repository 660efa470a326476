"""Hashes of rows: the same for rows that differ in what is a database's own, and for any order of rows."""

from msgspec import Raw

from chainq.verify.witness import _apart, _canonical, row_hash


def test_row_ids_are_no_part_of_a_hash() -> None:
    """Two databases number their rows on their own."""
    one, other = Raw(b'{"id":1,"block_id":7,"height":5}'), Raw(b'{"height":5,"block_id":8,"id":2}')
    assert row_hash("records", one) == row_hash("records", other)
    assert row_hash("records", one) != row_hash("records", Raw(b'{"id":1,"block_id":7,"height":6}'))
    assert row_hash("records", Raw(b'{"a":1,"b":2}')) != row_hash("records", Raw(b'{"a":12}'))


def test_values_that_mean_the_same_are_the_same() -> None:
    """A number and its digits, and objects with their keys in another order; ids inside a row count."""
    one = Raw(b'{"id":1,"a":{"n":5,"m":[18741903340503531150,null,"x"]}}')
    other = Raw(b'{"a":{"m":["18741903340503531150",null,"x"],"n":"5"},"id":2}')
    assert _canonical(one, top=True) == _canonical(other, top=True)
    assert _canonical(Raw(b'{"a":{"id":1}}'), top=True) != _canonical(Raw(b'{"a":{"id":2}}'), top=True)


def test_what_is_shown_is_where_two_rows_part() -> None:
    """Long rows are shown from the field that differs, or by their number."""
    start = ", ".join(f"field_{number}={'x' * 50}" for number in range(5))
    assert _apart([f"{{{start}, status=accepted}}"], [f"{{{start}, status=rejected}}"]) == (
        "status=accepted}",
        "status=rejected}",
    )
    assert _apart([], ["a"]) == ("0 times", "1 times")
