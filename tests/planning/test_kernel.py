"""The kernel: what its rules prove, and what they refuse to. Rows are written as their heights."""

import os
from collections import Counter
from collections.abc import Sequence

import pytest
from msgspec import Raw

from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange
from chainq.planning.conservation import Conservation
from chainq.planning.exchange import Due, Grade, Key, RowsRequest
from chainq.planning.kernel import (
    Kinds,
    Named,
    Order,
    Proved,
    believed,
    by_height,
    by_order,
    by_witness,
    check_meeting,
    compare,
    demote,
)
from chainq.rows.sorting import Page
from harness.models.monkey import COMMANDS, SERVERS, monkey
from harness.models.search import some
from harness.running.promises import BEYOND_ORDER, promised

EXAMPLES = int(os.environ.get("CHAINQ_EXAMPLES", "2000"))
SEEDS = max(20, EXAMPLES // 50)


def row(height: int, number: int = 0) -> Raw:
    return Raw(b'{"height":%d,"number":%d}' % (height, number))


def page(*heights: int, ordered: bool = True, as_text: bool = False) -> Page:
    """A response with a row at each of these heights; of a height that comes again, another one."""
    rows = [row(height, heights[:at].count(height)) for at, height in enumerate(heights)]
    return Page(rows, list(heights), ordered, as_text)


def names(rows: Sequence[Raw]) -> list[Key]:
    return [(bytes(one).decode(),) for one in rows]


def order(*pages: Page) -> Order:
    """What responses have shown of the order; by default that it is numeric."""
    known = Order()
    for one in pages or (page(9, 10),):
        if one.ordered:
            known.note(one)
        else:
            known.refute(one)
    return known


def request(start: int, end: int, number: int = 0) -> RowsRequest:
    return RowsRequest(HeightRange(start, end), 100, number)


def edges(proof: Proved | None) -> tuple[int, int] | None:
    return proof and proof.heights.edges


def due(start: int, end: int, *heights: int, kinds: tuple[str, ...] = ()) -> Due:
    """Another method names the rows of `page(*heights)`."""
    at = dict(zip(names(page(*heights).rows), heights, strict=True))
    return Due(HeightRange(start, end), at, kinds=dict.fromkeys(at, kinds) if kinds else {})


def named(said: Due, *shown: Page, kinds: Kinds | None = None) -> Named:
    """What is due, and what responses for the same heights have shown of it."""
    made = Named(said, names, kinds or Kinds())
    for one in shown:
        made.see(said.heights, one)
    return made


def test_a_row_beyond_proves_the_heights_below_it_and_not_its_own() -> None:
    """The last height may be cut."""
    proof = by_order(request(10, 30), page(12, 12, 20), order())
    assert proof == Proved(HeightRange(10, 20), page(12, 12).rows, [12, 12], Grade.ORDER)
    assert by_order(request(20, 30), page(20, 20), order()) is None


def test_pages_above_0_and_empty_responses_prove_nothing() -> None:
    """A hidden cap may lie before the pages."""
    assert by_order(request(10, 30, 1), page(12, 20), order()) is None
    assert by_order(request(10, 30), page(), order()) is None


def test_rows_of_one_height_show_no_order() -> None:
    """They may be the first page of a list that begins with the newest rows; what others show decides."""
    assert by_order(request(10, 30), page(29, 29), order(page(29, 29))) is None
    assert edges(by_order(request(10, 30), page(29, 29), order(page(12, 20)))) == (10, 29)


def test_rows_out_of_order_switch_the_first_rule_off() -> None:
    """For all that comes after."""
    assert by_order(request(0, 9), page(1, 5), order(page(1, 5), page(1, 5, ordered=False))) is None


def test_nothing_is_proved_from_a_height_on_whose_rows_come_late() -> None:
    """Those of a block that was stored again."""
    assert edges(by_order(request(10, 30), page(12, 20), order(), {5, 15})) == (10, 15)
    assert by_order(request(10, 30), page(12, 20), order(), {10}) is None


def test_heights_may_be_ordered_as_text_until_order_is_seen_to_be_numeric() -> None:
    """ "1", "10" and "11" come before "9": 9 before 10 shows that it is not so, 1 before 10 does not."""
    assert edges(by_order(request(1, 30), page(1, 5, 10, 12), order(page(1, 2), page(1, 10)))) == (1, 5)
    assert by_order(request(7, 30), page(10, 12), order(page(1, 2))) is None
    assert edges(by_order(request(7, 30), page(10, 12), order(page(1, 9, 10)))) == (7, 12)
    assert edges(by_order(request(0, 200), page(0, 3, 10, ordered=False, as_text=True), order(page(1, 2)))) == (0, 3)


def test_an_order_as_text_takes_numeric_order_back() -> None:
    """Of many rows it also shows that heights are in order at all; of a few it may be so by chance."""
    text = page(*range(10, 20), 2, ordered=False, as_text=True)
    assert (order(page(9, 10), text).numeric, order(page(9, 10), text).usable) == (False, True)
    assert (order(text).seen, order(page(10, 9, ordered=False, as_text=True)).seen) == (True, False)


def test_blocks_are_complete_as_far_as_they_adjoin() -> None:
    """Each height has one; a gap ends what is proved."""
    assert edges(by_height(request(1, 9), page(1, 2, 3, 5, 6, ordered=False))) == (1, 4)
    assert by_height(request(0, 9), page(1, 2)) is None


def test_a_height_is_complete_when_all_that_is_due_was_shown() -> None:
    """In whatever response, and on whatever page; up to the first height that lacks one."""
    said = due(3, 9, 4, 4, 6)
    assert edges(by_witness(named(said, page(4)))) == (3, 4)
    assert edges(by_witness(named(said, page(4, 4)))) == (3, 6)
    whole = by_witness(named(said, page(4, 6), page(4, 4)))
    assert whole == Proved(HeightRange(3, 9), page(4, 4, 6).rows, [4, 4, 6], Grade.WITNESS)


def test_a_row_that_is_not_due_is_a_contradiction() -> None:
    """Or one at another height, with a height of its own or without, or with other bytes."""
    for said, shown in (
        (due(3, 9, 4), page(5)),
        (Due(HeightRange(3, 9), {names([row(5)])[0]: 4}), page(5)),
        (due(3, 9, 4), Page([row(5)], [])),
    ):
        with pytest.raises(IncompleteError, match="a row is not in the block"):
            named(said, shown)
    wide = Named(due(3, 9, 4, 7), names, Kinds())
    with pytest.raises(IncompleteError, match="heights 3-5: a row is not in the block"):
        wide.see(HeightRange(3, 6), Page([row(7)], []))
    same = Named(Due(HeightRange(3, 9), {("x",): 4}), lambda rows: [("x",)] * len(rows), Kinds())
    same.see(same.heights, page(4))
    with pytest.raises(IncompleteError, match="a row differs"):
        same.see(same.heights, Page([row(4, 1)], [4]))


def test_an_ordered_proof_is_held_against_what_is_due() -> None:
    """At the heights that both have."""
    proof = by_order(request(0, 30), page(4, 8, 20), order())
    assert proof is not None
    assert compare(proof, named(due(3, 6, 4))) == []
    with pytest.raises(IncompleteError, match="height 5: a row that another method has is not listed"):
        compare(proof, named(due(3, 6, 4, 5)))
    with pytest.raises(IncompleteError, match="height 4: a row is not in the block"):
        compare(proof, named(due(3, 6)))


def test_late_heights_prove_nothing_by_themselves() -> None:
    """They only end what a row proves: a page without rows, or without one that sorts alike, still proves nothing."""
    assert by_order(request(200, 260), page(), order(), late=[250]) is None
    assert by_order(request(95, 200), page(101, 105), order(page(3, 5)), late=[107]) is None
    proof = by_order(request(200, 260), page(205, 258), order(), late=[250])
    assert proof is not None
    assert (proof.heights.edges, proof.row_heights) == ((200, 250), [205])


def test_rows_of_kinds_that_a_service_may_not_list_are_due_once_it_lists_them() -> None:
    """Of a program that it does not know they leave their heights to belief, until several heights show that, and a row
    of another program that it lists any."""
    proof = by_order(request(0, 30), page(20), order())
    assert proof is not None
    kinds = Kinds()
    for height in (2, 3, 4):
        assert compare(proof, named(due(0, 9, height, kinds=("of a.aleo",)), kinds=kinds)) == [height]
    kinds.note(["of b.aleo"])
    assert compare(proof, named(due(0, 9, 5, kinds=("of a.aleo",)), kinds=kinds)) == []
    assert compare(proof, named(due(0, 9, 3, kinds=("of fees", "of b.aleo")), kinds=Kinds())) == []
    kinds = Kinds()
    named(due(0, 9, 3, kinds=("of a.aleo",)), page(3), kinds=kinds)
    with pytest.raises(IncompleteError, match="is not listed"):
        compare(proof, named(due(0, 9, 4, kinds=("of a.aleo",)), kinds=kinds))


def test_a_proof_is_cut_and_demoted_by_heights() -> None:
    """Each part has its rows."""
    proof = believed(HeightRange(0, 9), page(1, 4, 4, 8).rows, [1, 4, 4, 8])
    assert proof.cut(4, 20) == Proved(HeightRange(4, 9), page(4, 4, 8).rows, [4, 4, 8], Grade.BELIEF)
    parts = demote(proof._replace(grade=Grade.ORDER), [4])
    assert [(part.heights.edges, len(part.rows), part.grade) for part in parts] == [
        ((0, 4), 1, Grade.ORDER),
        ((4, 5), 2, Grade.BELIEF),
        ((5, 9), 1, Grade.ORDER),
    ]


def test_neighbors_agree_where_they_meet() -> None:
    """In their rows, at the heights that both have."""
    below = believed(HeightRange(0, 9), page(1, 8).rows, [1, 8])
    check_meeting(below, believed(HeightRange(8, 20), page(8, 15).rows, [8, 15]))
    with pytest.raises(IncompleteError, match="height 8: two responses differ"):
        check_meeting(below, believed(HeightRange(8, 20), page(15).rows, [15]))


def test_a_row_that_was_shown_must_be_among_those_that_are_printed() -> None:
    """Whatever proves the others; not one of heights that were printed before."""
    kept = Conservation(reverse=False)
    kept.see(page(1, 3))
    assert (kept.lowest(HeightRange(2, 9)), kept.lowest(HeightRange(4, 9))) == (3, None)
    kept.check(believed(HeightRange(0, 3), page(1).rows, [1]))
    with pytest.raises(IncompleteError, match="a row that a response showed is not among"):
        kept.check(believed(HeightRange(0, 5), page(1).rows, [1]))
    kept.print(HeightRange(0, 4))
    kept.check(believed(HeightRange(0, 5), page(1).rows, [1]))


@pytest.mark.parametrize("kind", some(SERVERS, *[*SERVERS][::6]))
def test_nothing_but_the_truth_is_proved(kind: str) -> None:
    """A monkey asks. Of servers that keep the assumptions no proof is wrong, and the kernel accuses none of them."""
    proofs: Counter[str] = Counter()
    for seed in range(SEEDS):
        command = COMMANDS[seed % len(COMMANDS)]
        if promised(kind, command):
            seen = monkey(seed, kind, command)
            proofs += seen.proofs
            assert not seen.wrong, (seed, seen.wrong)
            assert not seen.contradictions or kind not in ("honest", "row cap", "byte cap"), (seed, seen.contradictions)
    assert proofs["order"] or not promised(kind, "records")


@pytest.mark.parametrize("kind", sorted(BEYOND_ORDER))
def test_what_order_cannot_show_is_listed_for_a_reason(kind: str) -> None:
    """Servers that break the assumption and look sound. A kind that cannot be wrong any more leaves the list."""
    assert any(
        monkey(seed, kind, command).wrong or monkey(seed, kind, command).contradictions
        for seed in range(200)
        for command in ("records", "blocks")
    )
