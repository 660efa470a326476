"""Rows of a witness: the same if they differ in what is a database's own, in their order or in the form of a value."""

from msgspec import Raw

from chainq.verify.compare import differences
from chainq.verify.findings import Contradiction


def found(command: str, theirs: list[bytes], ours: list[bytes]) -> list[Contradiction]:
    return [one for _, one in differences(command, 5, map(Raw, theirs), map(Raw, ours))]


def test_row_ids_are_no_difference() -> None:
    """Two databases number their rows on their own."""
    one, other = b'{"id":1,"block_id":7,"height":5}', b'{"height":5,"block_id":8,"id":2}'
    assert found("records", [one], [other]) == []
    assert len(found("records", [one], [b'{"id":1,"block_id":7,"height":6}'])) == 1
    assert len(found("records", [b'{"a":1,"b":2}'], [b'{"a":12}'])) == 1


def test_values_that_mean_the_same_are_the_same() -> None:
    """A number and its digits, and objects with their keys in another order; ids inside a row count."""
    one = b'{"id":1,"a":{"n":5,"m":[18741903340503531150,null,"x"]}}'
    other = b'{"a":{"m":["18741903340503531150",null,"x"],"n":"5"},"id":2}'
    assert found("blocks", [one], [other]) == []
    assert len(found("blocks", [b'{"a":{"id":1}}'], [b'{"a":{"id":2}}'])) == 1


def test_what_is_shown_is_where_two_rows_differ() -> None:
    """The fields that differ, by their paths; or that a row is only on one side, or comes more often."""
    start = b'"transition_id":"au1a","output_index":0,' + b",".join(b'"f%d":"x"' % number for number in range(5))
    one, other = (b"{%s,%s}" % (start, end) for end in (b'"a":[{"b":"yes"}]', b'"a":[{"b":"no"}]'))
    row = "record au1a:0"
    shown = Contradiction("differs", f"witness: {row}: a[0].b=yes", "here: a[0].b=no")
    assert found("records", [one], [other]) == [shown]
    assert found("records", [], [one]) == [Contradiction("differs", None, f"here: {row}")]
    assert found("records", [one, one], [one]) == [Contradiction("differs", f"witness: {row} 2 times", "here: once")]
    assert found("records", [one, other], [other, one]) == []
    for twice in ([one, other], [other, other]):
        assert found("records", twice, [other]) == [Contradiction("differs", f"witness: {row} 2 times", "here: once")]
    assert found("records", [one, one, other], [other, other, one]) == [shown]
