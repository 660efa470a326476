"""What a server does not list: a row is lost only if other rows of each of its kinds are there, wherever they are."""

from hypothesis import given
from hypothesis import strategies as st

from chainq.verify.check import Unlisted

kinds = st.lists(st.sampled_from(["of fees", "without inputs", "of a.aleo", "of b.aleo"]), unique=True, min_size=1)


@given(st.lists(st.tuples(st.booleans(), kinds), max_size=30))
def test_a_row_is_lost_if_all_of_its_kinds_are_listed_in_any_order(rows: list[tuple[bool, list[str]]]) -> None:
    """Each missing row is either lost, at once or later, or counted once."""
    unlisted, lost = Unlisted(), list[int]()
    for height, (there, of) in enumerate(rows):
        lost += unlisted.lost([tuple(of)] if there else [], [] if there else [(tuple(of), height)])
    listed = {kind for there, of in rows if there for kind in of}
    due = [height for height, (there, of) in enumerate(rows) if not there and listed.issuperset(of)]
    assert sorted(lost) == due
    assert sum(unlisted.counts.values()) == sum(not there for there, _ in rows) - len(due)
    assert not listed & unlisted.counts.keys()
