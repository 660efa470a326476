"""The kernel of proofs: whatever is requested of whatever server, what it calls proved is the truth.

`CHAINQ_EXAMPLES=100000 pytest tests/planning/test_evidence.py` tries more.
"""

import os
from collections import Counter

import pytest
from msgspec import Raw

from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange
from chainq.planning.conservation import Conservation
from chainq.planning.evidence import Evidence
from chainq.planning.exchange import Due, DueRequest, Grade, Located, RowsRequest
from chainq.rows.sorting import Page
from harness.monkey import COMMANDS, SERVERS, monkey
from harness.promises import BEYOND_ORDER_WITHOUT_HEIGHTS, promised

EXAMPLES = int(os.environ.get("CHAINQ_EXAMPLES", "2000"))
SEEDS = max(1, EXAMPLES // len(SERVERS))
ENOUGH = 50  # seeds, among which each kind lets the kernel prove something
ACCUSED = {
    "heights as text in every second row",  # rows are compared as bytes: an error where one comes otherwise
    "each page reversed",  # pages of one row are in order, and others then contradict that
}
CHANGING = {"moving tip", "lagging replica", "late rows"}
"""Servers where full blocks and rows may contradict each other, for one replica has more than another."""


def row(height: int, number: int = 0) -> Raw:
    """A row, which names its height for those who read it."""
    return Raw(f"[{height},{number}]".encode())


def key(row: Raw) -> tuple[str, ...]:
    """What identifies it elsewhere."""
    return (bytes(row).decode(),)


def names(rows: list[Raw]) -> list[tuple[str, ...]]:
    """What identifies each row."""
    return list(map(key, rows))


def page(*heights: int, ordered: bool = True, as_text: bool = False) -> Page:
    """A row at each of these heights; a second one at the same height is another row."""
    rows = [row(height, heights[:place].count(height)) for place, height in enumerate(heights)]
    return Page(rows, list(heights), ordered, as_text)


def bare(*heights: int) -> Page:
    """The same without heights."""
    return page(*heights)._replace(heights=[])


def due(start: int, end: int, *heights: int, **more: object) -> Due:
    """What full blocks say: a row at each of these heights."""
    return Due(HeightRange(start, end), dict(zip(map(key, page(*heights).rows), heights, strict=True)), **more)  # type: ignore[arg-type]


def evidence(heights: bool = True, **more: object) -> Evidence:
    """Evidence without any; of rows without heights, that they are in order was seen before."""
    found = Evidence(heights=heights, names=names, **more)  # type: ignore[arg-type]
    found.order.seen = not heights
    return found


def see(found: Evidence, start: int, end: int, shown: Page, number: int = 0) -> None:
    """Take in a response to a request for heights."""
    found.see(RowsRequest(HeightRange(start, end), 100, number), shown)


def proved(found: Evidence, start: int, end: int, *, reverse: bool = False) -> tuple[int, int, str, list[str]] | None:
    """The heights, the grade and the rows of a proof."""
    proof = found.prove(HeightRange(start, end), reverse=reverse)
    return None if proof is None else (*proof.heights.edges, str(proof.grade), [bytes(r).decode() for r in proof.rows])


def test_a_row_beyond_proves_the_heights_below_it_and_not_its_own() -> None:
    """The last height may be cut."""
    found = evidence()
    see(found, 10, 30, page(12, 12, 20))
    assert proved(found, 10, 30) == (10, 20, "order", ["[12,0]", "[12,1]"])
    assert proved(found, 13, 15) == (13, 15, "order", [])
    assert proved(found, 20, 30) is None
    assert proved(found, 10, 20, reverse=True) == (10, 20, "order", ["[12,0]", "[12,1]"])
    assert proved(found, 10, 21, reverse=True) is None
    assert found.reach(10, 30) == 20


@pytest.mark.parametrize("heights", [True, False])
def test_pages_above_0_and_empty_responses_prove_nothing(*, heights: bool) -> None:
    """A hidden cap may lie before the pages."""
    found = evidence(heights)
    see(found, 10, 30, page(12, 20) if heights else bare(12, 20), 1)
    see(found, 10, 30, page() if heights else bare())
    assert proved(found, 10, 30) is None


def test_the_longest_proof_of_the_best_grade_is_given() -> None:
    """Order before another method, and that before belief."""
    found = evidence()
    see(found, 40, 50, page(41, 45))
    found.believe(HeightRange(10, 40), [row(12), row(20), row(35)], [12, 20, 35])
    assert proved(found, 10, 40) == (10, 40, "belief", ["[12,0]", "[20,0]", "[35,0]"])
    assert proved(found, 21, 39) == (21, 39, "belief", ["[35,0]"])
    found.witness(due(10, 30, 12, 20))
    assert proved(found, 10, 30) == (10, 12, "witness", [])
    see(found, 12, 13, page(12))
    assert proved(found, 10, 30) == (10, 20, "witness", ["[12,0]"])
    see(found, 10, 14, page(12))
    assert proved(found, 11, 30) == (11, 12, "order", [])
    see(found, 10, 30, page(12, 20))
    assert proved(found, 11, 30) == (11, 20, "order", ["[12,0]"])


def test_blocks_are_complete_where_they_are_shown() -> None:
    """Each height has one, so order is not needed; a gap ends what is proved, in both directions."""
    found = evidence(linked=True)
    see(found, 0, 9, page(1, 2, 3, 5, 6, ordered=False))
    assert proved(found, 1, 9) == (1, 4, "order", ["[1,0]", "[2,0]", "[3,0]"])
    assert proved(found, 0, 7, reverse=True) == (5, 7, "order", ["[5,0]", "[6,0]"])
    assert proved(found, 0, 9) is None
    assert proved(found, 4, 9) is None


def test_rows_out_of_order_switch_the_first_rule_off() -> None:
    """For what came before, and what comes after."""
    found = evidence()
    see(found, 0, 9, page(1, 5))
    assert proved(found, 0, 9) is not None
    see(found, 0, 9, page(1, 5, 7, ordered=False))
    assert proved(found, 0, 9) is None
    assert not found.order.usable
    see(found, 0, 9, page(1, 5))
    assert proved(found, 0, 9) is None


def test_heights_may_be_ordered_as_text_until_order_is_seen_to_be_numeric() -> None:
    """ "1", "10" and "11" come before "9": 9 before 10 shows that it is not so."""
    found = evidence()
    see(found, 1, 30, page(1, 10, 12))
    assert proved(found, 1, 30) is None
    assert proved(found, 10, 30) == (10, 12, "order", ["[10,0]"])
    assert proved(found, 0, 12, reverse=True) == (10, 12, "order", ["[10,0]"])
    see(found, 1, 30, page(1, 7, 9, 10, 12))
    assert proved(found, 1, 30) == (1, 12, "order", ["[1,0]", "[7,0]", "[9,0]", "[10,0]"])


def test_of_heights_ordered_as_text_those_with_as_many_digits_are_proved() -> None:
    """Whatever was believed to be numeric before is taken back."""
    found = evidence()
    see(found, 0, 200, page(9, 10, 120))
    assert found.order.numeric
    see(found, 0, 200, page(7, 9, 10, 11, 100, 101, ordered=False, as_text=True))
    assert found.order.usable
    assert not found.order.numeric
    assert proved(found, 0, 200) == (0, 9, "order", ["[7,0]"])
    assert proved(found, 9, 200) is None
    assert proved(found, 10, 200) == (10, 11, "order", ["[10,0]"])
    assert proved(found, 100, 200) == (100, 101, "order", ["[100,0]"])


def test_after_forgetting_other_responses_take_their_place() -> None:
    """Only those that overlap the heights are dropped."""
    found = evidence()
    see(found, 0, 5, page(1, 3))
    see(found, 5, 9, page(6, 8))
    found.forget(HeightRange(0, 5))
    assert proved(found, 0, 5) is None
    assert proved(found, 5, 9) == (5, 8, "order", ["[6,0]"])
    see(found, 0, 5, page(1, 2, 3))
    assert proved(found, 0, 5) == (0, 3, "order", ["[1,0]", "[2,0]"])
    found.forget(HeightRange(4, 6))
    assert proved(found, 0, 5) is None
    assert proved(found, 5, 9) is None


def test_a_row_that_was_shown_must_be_among_those_that_are_printed() -> None:
    """Also if the response that showed it is forgotten: one without it would only have to come twice."""
    kept = Conservation(with_heights=True, reverse=False)
    kept.see(HeightRange(0, 5), page(1, 3))
    kept.check(HeightRange(0, 4), page(1, 2, 3).rows, [1, 2, 3])
    with pytest.raises(IncompleteError, match="heights 0-3: 2 rows that responses showed are not among those"):
        kept.check(HeightRange(0, 4), page(2).rows, [2])


def test_forgotten_rows_without_heights_may_lie_elsewhere() -> None:
    """Where others lie may rest on what was wrong: all of it is forgotten."""
    found = evidence(heights=False)
    see(found, 0, 5, bare(1, 3))
    see(found, 10, 20, bare(12))
    found.forget(HeightRange(0, 5))
    see(found, 5, 9, bare(3))
    see(found, 20, 30, bare(12))
    with pytest.raises(IncompleteError, match="heights 20-29: a row of these heights is at none of them, by other"):
        see(found, 10, 20, bare(12))


def test_rows_of_one_height_show_no_order() -> None:
    """They may be the first page of a list that begins with the newest rows; what others show decides."""
    found = evidence()
    see(found, 10, 30, page(29, 29))
    assert proved(found, 10, 30) is None
    see(found, 40, 50, page(41, 45))
    assert proved(found, 10, 30) == (10, 29, "order", [])


def test_rows_that_another_method_locates_prove_nothing_once_its_order_is_broken() -> None:
    """Neither those of before, nor those that come then."""
    found = Evidence(heights=False, names=names)
    for order in (
        Located([], []),
        Located([key(row(8)), key(row(7))], [8, 7], ordered=False),
        Located([key(row(7))], [7]),
    ):
        found.locate(DueRequest(HeightRange(10, 30), located=True), Located([key(row(29))], [29]))
        see(found, 10, 30, bare(29))
        assert proved(found, 10, 30) is None
        found.locate(DueRequest(HeightRange(0, 10), located=True), order)
    assert not found.order.usable


def test_what_rested_on_the_order_of_another_method_is_dropped() -> None:
    """What it named, and where rows lie."""
    found = evidence(heights=False)
    see(found, 10, 30, bare(12, 20))
    found.locate(DueRequest(HeightRange(10, 30), located=True), Located([key(row(12)), key(row(20))], [12, 20]))
    assert proved(found, 10, 30) == (10, 20, "order", ["[12,0]"])
    found.locate(DueRequest(HeightRange(0, 9), located=True), Located([key(row(5))] * 2, [5, 1], ordered=False))
    assert proved(found, 10, 30) is None
    assert found.known_row(11) is None
    see(found, 20, 30, bare(12))


def test_a_page_above_0_proves_nothing_where_rows_are_located() -> None:
    """Rows before it may be missing."""
    found = evidence(heights=False)
    see(found, 10, 30, bare(12, 20), 1)
    found.locate(DueRequest(HeightRange(15, 30), located=True), Located([key(row(20)), key(row(29))], [20, 29]))
    assert proved(found, 10, 20) is None


def test_what_was_believed_is_held_against_what_comes_later() -> None:
    """A further row there contradicts it, with heights or without."""
    for heights, later in ((True, page(4)), (False, bare(4))):
        found = evidence(heights)
        found.believe(HeightRange(3, 6), [row(3)], [3])
        see(found, 3, 4, page(3) if heights else bare(3))
        with pytest.raises(IncompleteError, match="two responses differ"):
            see(found, 4, 6, later)
        found.forget(HeightRange(4, 6))
        see(found, 4, 6, later)
        assert proved(found, 3, 6) is None


@pytest.mark.parametrize("heights", [True, False])
def test_a_row_with_other_bytes_is_a_contradiction(*, heights: bool) -> None:
    """Where another method says that it is the same row."""
    found = Evidence(heights=heights, names=lambda rows: [("5",) for _ in rows])
    found.witness(Due(HeightRange(3, 6), {("5",): 5}))
    see(found, 3, 6, page(5) if heights else bare(5))
    with pytest.raises(IncompleteError, match="a row differs between responses"):
        see(found, 4, 6, Page([Raw(b"[5, 0]")], [5] if heights else []))


# Rows without heights


def test_rows_that_two_responses_show_divide_them() -> None:
    """They lie in the heights of both; rows below them are those of the first one alone."""
    found = evidence(heights=False)
    see(found, 100, 120, bare(101, 105, 112))
    assert proved(found, 100, 110) is None
    see(found, 110, 130, bare(112, 125))
    assert proved(found, 100, 110) is None  # row 105 may be one that the second response lacks
    see(found, 120, 140, bare(125))
    assert proved(found, 100, 110) == (100, 110, "order", ["[101,0]", "[105,0]"])
    assert proved(found, 100, 130) == (100, 110, "order", ["[101,0]", "[105,0]"])
    assert proved(found, 110, 130) == (110, 120, "order", ["[112,0]"])
    assert proved(found, 120, 130) is None
    assert proved(found, 90, 110, reverse=True) == (100, 110, "order", ["[101,0]", "[105,0]"])
    assert proved(found, 90, 110) is None
    assert found.known_row(100) == (100, 120)
    assert found.known_row(101) == (110, 120)


def test_rows_without_heights_prove_nothing_before_their_order_is_seen() -> None:
    """One response must show a row that is known to lie below a later one; which response does not matter."""
    found = Evidence(heights=False, names=names)
    see(found, 100, 120, bare(101, 105, 112))
    see(found, 110, 130, bare(112, 125))
    assert found.prove(HeightRange(100, 110)) is None
    found.witness(due(112, 113, 112))
    assert found.prove(HeightRange(100, 112)) is None
    see(found, 120, 140, bare(125))
    assert proved(found, 100, 112) == (100, 112, "order", ["[101,0]", "[105,0]"])


def test_a_row_that_lies_across_an_edge_proves_nothing_there() -> None:
    """It may be on either side."""
    found = evidence(heights=False)
    see(found, 100, 160, bare(101, 125, 145))
    see(found, 140, 160, bare(145))
    found.witness(due(145, 146, 145))
    assert proved(found, 120, 160) is None
    assert proved(found, 100, 120) is None
    for _ in range(2):
        found.prove(HeightRange(100, 160))
        see(found, 140, 160, bare(145))
    assert proved(found, 100, 140) == (100, 140, "order", ["[101,0]", "[125,0]"])


def test_rows_without_heights_across_a_power_of_ten_wait_for_a_numeric_order() -> None:
    """Located rows on both sides show it; till then no other response is told by what such a one holds."""
    found = evidence(heights=False)
    see(found, 5, 15, bare(6, 8, 12))
    see(found, 10, 30, bare(12, 20))
    found.witness(due(8, 9, 8))
    assert proved(found, 5, 15) is None
    found.witness(due(12, 13, 12))
    assert proved(found, 5, 15) == (5, 12, "order", ["[6,0]", "[8,0]"])
    assert proved(found, 10, 30) == (10, 13, "order", ["[12,0]"])


@pytest.mark.parametrize("heights", [True, False])
def test_rows_that_cannot_be_distinguished_are_a_contradiction(*, heights: bool) -> None:
    """Once another method names them."""
    found = evidence(heights)
    found._names = lambda rows: [("same",)] * len(rows)
    see(found, 5, 9, page(6, 6) if heights else bare(6, 8))
    with pytest.raises(IncompleteError, match="heights 5-8: two rows of a response have the same identity"):
        found.witness(Due(HeightRange(5, 9), {("same",): 6}))


def test_a_narrower_response_takes_the_place_of_a_wider_one() -> None:
    """From the same height on; not where it is empty, or wider, or begins elsewhere."""
    for start, end, shown, replaced in (
        (0, 5, bare(1), True),
        (0, 5, bare(), False),
        (0, 12, bare(1), False),
        (1, 5, bare(1), False),
    ):
        found = evidence(heights=False)
        see(found, 0, 9, bare(1, 8))
        see(found, start, end, shown)
        found.witness(due(8, 9, 8))
        assert (proved(found, 0, 9) is None) == replaced


def test_a_full_block_outranks_the_order_of_another_method() -> None:
    """`records` that leave out the rows of `start` say nothing any more; else they would prove what they left out."""
    found = evidence(heights=False)
    for end in (120, 130):
        found.locate(
            DueRequest(HeightRange(104, end), located=True), Located([key(row(105)), key(row(112))], [105, 112])
        )
    see(found, 104, 130, bare(105, 112))
    with pytest.raises(IncompleteError, match="height 104: other methods differ"):
        found.witness(due(104, 105, 104))
    found.forget(HeightRange(104, 130))
    assert found.missing(HeightRange(104, 112)) == (1, [104])
    with pytest.raises(IncompleteError, match="height 104: other methods differ"):
        found.locate(
            DueRequest(HeightRange(104, 120), located=True), Located([key(row(105)), key(row(112))], [105, 112])
        )
    assert proved(found, 104, 130) is None


def test_a_later_page_of_the_other_method_shows_where_rows_lie_and_names_none() -> None:
    """Like pages above 0 of the method itself."""
    found = evidence(heights=False)
    request = DueRequest(HeightRange(104, 120), located=True, page=1)
    found.locate(request, Located([key(row(105)), key(row(112))], [105, 112]))
    assert not found.due(104)
    assert found.known_row(106) == (112, 113)


# Rule 2


@pytest.mark.parametrize("heights", [True, False])
def test_a_height_is_complete_when_all_that_is_due_was_shown(*, heights: bool) -> None:
    """In whatever response, and on whatever page."""
    shown = page if heights else bare
    found = evidence(heights)
    found.witness(due(5, 9, 5, 5, 7))
    assert proved(found, 5, 9) is None
    see(found, 5, 6, shown(5), 3)
    assert proved(found, 5, 9) is None
    see(found, 5, 6, Page([row(5, 1)], [5] if heights else []), 1)
    assert proved(found, 5, 9) == (5, 7, "witness", ["[5,0]", "[5,1]"])
    assert proved(found, 5, 9, reverse=True) == (8, 9, "witness", [])
    assert proved(found, 6, 7) == (6, 7, "witness", [])
    see(found, 7, 8, shown(7))
    assert proved(found, 5, 12) == (5, 9, "witness", ["[5,0]", "[5,1]", "[7,0]"])
    assert proved(found, 0, 9, reverse=True) == (5, 9, "witness", ["[5,0]", "[5,1]", "[7,0]"])
    assert found.missing(HeightRange(5, 9)) == (3, [])
    assert [said.heights.end for said in found.due(5)] == [9]
    assert not found.due(9)


@pytest.mark.parametrize("first", ["rows", "due"])
def test_a_row_that_is_not_due_is_a_contradiction(first: str) -> None:
    """Or one at another height, whichever came first."""
    for said in (due(3, 6), Due(HeightRange(3, 6), {key(row(4)): 5})):
        found = evidence()
        with pytest.raises(IncompleteError, match="height 4: a row is not in the block at that height"):
            for step in ("rows", "due") if first == "rows" else ("due", "rows"):
                see(found, 4, 5, page(4)) if step == "rows" else found.witness(said)


@pytest.mark.parametrize("heights", [True, False])
@pytest.mark.parametrize("first", ["rows", "due"])
def test_a_due_row_that_is_missing_where_all_were_shown_is_a_contradiction(first: str, *, heights: bool) -> None:
    """But not where the server may leave it out."""
    for strict in (True, False):
        found = evidence(heights)

        def steps(found: Evidence = found, strict: bool = strict) -> None:
            for step in ("rows", "due") if first == "rows" else ("due", "rows"):
                if step == "due":
                    found.witness(due(3, 6, 3, 4, kinds={} if strict else {key(row(4)): ("of fees",)}))
                else:
                    see(found, 3, 9, (page if heights else bare)(3, 8))
            found.witness(Due(HeightRange(8, 9), {key(row(8)): 8}))
            found.prove(HeightRange(3, 9))

        if strict:
            with pytest.raises(IncompleteError, match="height 4: a row that another method has is not listed"):
                steps()
        else:
            steps()
            assert proved(found, 3, 9) == (3, 8, "order", ["[3,0]"])
        assert [not said.kinds for said in found.due(4)] == [strict]
        assert not found.due(6)


def test_a_response_is_held_against_what_is_due_at_once() -> None:
    """Before anything is proved with it."""
    found = evidence()
    found.witness(due(3, 6, 3, 4))
    with pytest.raises(IncompleteError, match="height 4: a row that another method has is not listed"):
        see(found, 3, 9, page(3, 8))


def test_a_full_block_shows_where_rows_without_heights_lie() -> None:
    """Also of responses that proved nothing before."""
    found = evidence(heights=False)
    see(found, 100, 130, bare(101, 105, 112))
    assert proved(found, 100, 130) is None
    found.witness(due(104, 113, 105, 112))
    assert proved(found, 100, 112) == (100, 112, "order", ["[101,0]", "[105,0]"])


def test_a_full_block_names_its_hash() -> None:
    """Rows of another one are a contradiction."""
    found = evidence(block_hash=lambda _: "a")
    see(found, 3, 7, page(4))
    with pytest.raises(IncompleteError, match="height 4: a row is of block a, but the block is b"):
        found.witness(Due(HeightRange(6, 7), {}, hashes={4: "b"}))


@pytest.mark.parametrize("first", ["rows", "hashes"])
def test_rows_of_another_block_are_a_contradiction(first: str) -> None:
    """Where both name a hash, and at that height."""
    for name, known, wrong in (
        ("a", {4: "b"}, True),
        ("a", {4: "a", 5: "b"}, False),
        ("", {4: "b"}, False),
        ("a", {4: ""}, False),
    ):
        found = evidence(block_hash=lambda _, name=name: name)

        def steps(found: Evidence = found, known: dict[int, str] = known) -> None:
            for step in ("rows", "hashes") if first == "rows" else ("hashes", "rows"):
                see(found, 3, 7, page(4)) if step == "rows" else found.know_hashes(known)

        if wrong:
            with pytest.raises(IncompleteError, match="height 4: a row is of block a, but the block is b"):
                steps()
        else:
            steps()


# What questions ask of it


def test_the_lowest_known_row_may_be_one_that_another_method_names() -> None:
    """Where rows carry no heights, of which little else is known."""
    found = evidence(heights=False)
    see(found, 20, 30, bare(22))
    found.witness(Due(HeightRange(5, 9), {key(row(6)): 6, key(row(8)): 8}, shown={key(row(12)): 12}))
    assert [found.known_row(start) for start in (0, 6, 7, 9, 13)] == [(6, 7), (6, 7), (8, 9), (12, 13), (20, 30)]
    assert found.known_row(21) is None


def test_the_widest_request_that_showed_a_row_at_its_far_end() -> None:
    """Of rows without heights, where they lie at least."""
    found = evidence()
    see(found, 10, 30, page(12, 20))
    see(found, 10, 90, page(12))
    assert found.widest == 11
    found = evidence(heights=False)
    see(found, 100, 160, bare(101, 145))
    see(found, 140, 160, bare(145))
    found.prove(HeightRange(100, 160))
    assert found.widest == 41


# What was handed on


def test_what_was_given_is_dropped() -> None:
    """Responses, witnesses and beliefs below; what is above in part is kept."""
    found = evidence()
    see(found, 0, 5, page(1, 3))
    see(found, 2, 20, page(3, 12, 19))
    found.witness(due(0, 4, 1, 3))
    found.believe(HeightRange(0, 5), [], [])
    found.given(HeightRange(0, 10), reverse=False)
    assert found.known_row(0) == (3, 4)
    assert proved(found, 0, 5) is None
    assert proved(found, 10, 20) == (10, 19, "order", ["[12,0]"])
    assert found.missing(HeightRange(0, 4)) == (0, [])


def test_in_reverse_responses_above_are_dropped_but_for_an_edge() -> None:
    """The next responses may reach into it, and must agree."""
    found = evidence()
    see(found, 10, 90, page(11, 42, 47))
    see(found, 50, 90, page(80, 85))
    found.witness(due(60, 64))
    found.believe(HeightRange(70, 75), [], [])
    found.given(HeightRange(40, 90), reverse=True, edge=5)
    assert proved(found, 80, 90) is None
    assert proved(found, 60, 64) is None
    assert proved(found, 70, 75) is None
    with pytest.raises(IncompleteError, match="height 43: two responses differ"):
        see(found, 30, 45, page(42, 43))


def test_given_rows_without_heights_keep_what_their_responses_have() -> None:
    """A response that was given in part is kept whole; one that is dropped takes what is known of its rows along."""
    found = evidence(heights=False)
    see(found, 100, 120, bare(101, 112))
    see(found, 110, 130, bare(112, 125))
    see(found, 120, 140, bare(125))
    found.given(HeightRange(100, 115), reverse=False)
    assert proved(found, 110, 130) == (110, 120, "order", ["[112,0]"])
    found.given(HeightRange(100, 120), reverse=False)
    see(found, 200, 220, bare(101))
    with pytest.raises(IncompleteError):
        see(found, 300, 320, bare(112))
    found.given(HeightRange(100, 130), reverse=False)
    see(found, 300, 320, bare(112))


def test_only_what_is_believed_from_the_edge_on_is_given() -> None:
    """Rows before it would be left out."""
    found = evidence()
    found.believe(HeightRange(5, 8), [row(6)], [6])
    assert proved(found, 0, 9) is None
    assert proved(found, 5, 9) == (5, 8, "belief", ["[6,0]"])
    assert proved(found, 0, 8, reverse=True) == (5, 8, "belief", ["[6,0]"])


def test_believed_rows_without_heights_are_given_whole() -> None:
    """Which of them lie where nobody knows."""
    found = evidence(heights=False)
    found.believe(HeightRange(10, 20), [row(12)], [])
    assert proved(found, 10, 30) == (10, 20, "belief", ["[12,0]"])
    assert proved(found, 10, 15) is None
    assert proved(found, 11, 30) is None


# Whatever is requested


@pytest.mark.parametrize("kind", SERVERS)
def test_nothing_but_the_truth_is_proved(kind: str) -> None:
    """A monkey asks. Of servers that keep the assumptions no proof is wrong, and the kernel accuses none of them."""
    proofs: Counter[str] = Counter()
    for seed in range(SEEDS):
        command = COMMANDS[seed % len(COMMANDS)]
        seen = monkey(seed, kind, command)
        if promised(kind, command):
            proofs += seen.proofs
            assert not seen.wrong, (seed, command, seen.wrong)
            assert not seen.contradictions or kind in ACCUSED | CHANGING, (seed, command, seen.contradictions)
    proves = kind != "page 0 empty" and any(promised(kind, each) for each in COMMANDS)
    assert proofs[Grade.ORDER] or not proves or SEEDS < ENOUGH


@pytest.mark.parametrize("kind", BEYOND_ORDER_WITHOUT_HEIGHTS)
def test_what_order_cannot_show_is_listed_for_a_reason(kind: str) -> None:
    """Servers that break the assumption and look sound. A kind that cannot be wrong any more leaves the list."""
    assert any(
        monkey(seed, kind, command).wrong or monkey(seed, kind, command).contradictions
        for command in dict.fromkeys(COMMANDS)
        if not promised(kind, command)
        for seed in range(300)
    )
