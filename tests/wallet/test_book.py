"""The book of a wallet: totals, marks, and the way back after a reorg."""

import pytest

from chainq.errors import IncompleteError
from chainq.wallet.book import NEAR, Book, Entry, Mark


def entry(height: int, amount: str | None = "5", spent: int | None = None, token: str = "") -> Entry:
    return Entry(0, "credits.aleo", token, amount, f"tag{height}", height, "at1x", spent)


TOKENS = "1field", "2field"


def book(last: int) -> Book:
    """A book that was read up to a height, block by block."""
    found = Book(0)
    for height in range(last + 1):
        found.read(Mark(height, f"ab{height}", height))
        found.thin()
    return found


def test_totals_by_program_and_token() -> None:
    """Records without an amount are counted, and not added up."""
    found = Book(
        0, entries=[entry(1), entry(2, "7", 9), entry(3, None, token=TOKENS[1]), entry(4, "1", token=TOKENS[0])]
    )
    assert [total[2:] for total in found.totals()] == [
        ("", 2, 12, 1, 5),
        ("1field", 1, 1, 1, 1),
        ("2field", 1, None, 1, None),
    ]


def test_marks_are_dense_near_the_end_and_few_below() -> None:
    """So that a short reorg costs few blocks, and a long chain little space."""
    found = book(20_000)
    heights = [mark.height for mark in found.marks]
    assert heights[-NEAR:] == list(range(20_001 - NEAR, 20_001))
    assert NEAR + 20 < len(heights) < NEAR + 150
    assert heights[0] <= 4_096
    assert heights == sorted(set(heights))
    assert found.next == 20_001


@pytest.mark.parametrize("at", [300, 250, 190, 100])
def test_a_reorg_takes_back_what_came_and_what_was_spent(at: int) -> None:
    """Blocks from `at` on are other ones now: what is kept is below it."""
    found = book(300)
    found.entries = [entry(height, spent=height + 60 if height < 241 else None) for height in range(301)]
    forgotten = found.go_back(lambda height: f"ab{height}" if height < at else f"other{height}")
    assert forgotten is not None
    assert forgotten.height == 300
    last = found.next - 1
    assert last < at
    assert found.as_of == Mark(last, f"ab{last}", last)
    assert [one.height for one in found.entries] == list(range(last + 1))
    assert all(one.spent == (one.height + 60 if one.height + 60 <= last else None) for one in found.entries)


def test_nothing_is_forgotten_on_the_same_chain_and_all_on_another() -> None:
    """A chain that shares no recorded block is not this one."""
    found = book(50)
    assert found.go_back(lambda height: f"ab{height}") is None
    assert found.next == 51
    with pytest.raises(IncompleteError, match="none of the recorded blocks up to 50 is on the chain"):
        found.go_back(lambda _: None)


def test_a_lower_tip_is_a_server_that_is_behind_or_another_chain() -> None:
    """The block at that tip tells."""
    found = book(50)
    assert found.may_follow(40, lambda height: f"ab{height}")
    assert not found.may_follow(40, lambda height: f"other{height}")
