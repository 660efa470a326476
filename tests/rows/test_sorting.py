"""Rows in the order of heights, whatever order the server sent; the fast way gives what the exact one does."""

import json

import pytest

from chainq.catalog.methods import BY_COMMAND
from chainq.errors import IncompleteError, ResponseError
from chainq.heights.range import HeightRange
from chainq.rows.sorting import Sorter
from harness.running.truth import raw

ORDERS = '3 4.0 "8.0" 1e1 "3" 12 "12" "-1" null "b" "a" 1.5 "007" 99999999999999999999999'


@pytest.mark.parametrize("first", ORDERS.split())
def test_the_order_of_a_height_hangs_on_that_height_alone(first: str) -> None:
    """Rows of a height come in the same order whatever the other heights of the answer hold, and however they came."""
    for second in ORDERS.split():
        height = [f'{{"height":5,"id":{value},"n":{n}}}' for n, value in enumerate((first, second))]
        try:
            alone = Sorter(BY_COMMAND["records"])(raw(height), HeightRange(0, 10))[0]
        except IncompleteError:  # two rows of one id
            assert json.loads(first) == json.loads(second) or first.strip('"') == second.strip('"'), (first, second)
            continue
        for other in ORDERS.split():
            mixed = raw([f'{{"height":"6","id":{other}}}', height[1], height[0]])
            rows, heights, *_ = Sorter(BY_COMMAND["records"])(mixed, HeightRange(0, 10))
            assert heights == [5, 5, 6]
            if json.loads(first) != json.loads(second) and first.strip('"') != second.strip('"'):
                assert rows[:2] == alone, (first, second, other)


@pytest.mark.parametrize("quoted", [False, True])
@pytest.mark.parametrize("command", ["records", "transitions", "blocks", "full-blocks"])
def test_rows_come_in_order(command: str, quoted: bool) -> None:
    """Shuffled rows come by height, and inside a height ascending."""
    method = BY_COMMAND[command]
    each = 1 if method.single else 30

    def row(height: int, place: int) -> str:
        sent = f'"{height}"' if quoted else str(height)
        if command == "full-blocks":
            return f'{{"header":{{"metadata":{{"height":{sent}}}}}}}'
        order = f'"au1{place:02}"' if command == "transitions" else str(place)
        return f'{{"height":{sent},"{method.order or "n"}":{order}}}'

    due = [[row(height, place) for place in range(each)] for height in range(98, 103)]
    shuffled = [one for group in due for one in group]
    shuffled = [*shuffled[-2::-2], *shuffled[-1::-2]]
    rows, heights, ordered, *_ = Sorter(method)(raw(shuffled), HeightRange(98, 103))
    assert [bytes(one).decode() for one in rows] == [one for group in due for one in group]
    assert heights == sorted(heights)
    assert not ordered


@pytest.mark.parametrize("odd", ["5", '"x"', "[]", "null"])
def test_what_is_no_object_is_no_row(odd: str) -> None:
    """Something else than an object among the rows is said, wherever it stands."""
    plain = '{"record_ciphertext":"r5","height":5,"id":"5","timestamp":"175"}'
    for command in ("records", "ownership", "blocks"):
        for rows in ([plain, odd], [odd, plain]):
            with pytest.raises(ResponseError, match="not a JSON object"):
                Sorter(BY_COMMAND[command])(raw(rows), HeightRange(0, 10))


@pytest.mark.parametrize("order", ["7", '"7"', '"a"', "null", "1.5"])
def test_a_row_twice_is_seen_in_any_order(order: str) -> None:
    """The same row twice in one response is an error, and so are two different rows of one id."""
    row, other = (f'{{"height":5,"id":{order},"n":{n}}}' for n in (1, 2))
    filler = '{"height":5,"id":3}'
    for rows in ([row, filler, row], [row, row], [row, other, row, filler]):
        with pytest.raises(IncompleteError, match="twice"):
            Sorter(BY_COMMAND["records"])(raw(rows), HeightRange(0, 10))
    sort = Sorter(BY_COMMAND["records"])
    if order == "null":  # a row without an id is told by its content alone
        assert len(sort(raw([row, filler, other]), HeightRange(0, 10)).rows) == 3
    else:
        with pytest.raises(IncompleteError, match="same id"):
            sort(raw([row, filler, other]), HeightRange(0, 10))
