"""Where a fast way stands beside an exact one, both give the same, whatever the server sent."""

import io
import json
from collections.abc import Sequence

import pytest
from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.errors import AnswerError, ChainqError, IncompleteError
from chainq.formats import csv, parquet
from chainq.formats.protocol import Sheet
from chainq.heights.range import HeightRange
from chainq.planning.links import Links
from chainq.planning.ordering import Arranger

ODD = [
    "5",
    '"5"',
    '"-5"',
    "1.10",
    "1e3",
    "5.0",
    "-0",
    '"05"',
    '" 5"',
    '"+5"',
    "9223372036854775808",
    '"9223372036854775808"',
    "null",
    '"null"',
    "true",
    "false",
    '""',
    '"x"',
    '"a,b"',
    r'"a\nb"',
    r'"a\"b"',
    r'"a\rb"',
    r'"\u0000"',
    r'"\ud83d\ude00"',
    r'"\ud800"',
    '"é"',
    '{"a":[1,{"b":2}]}',
    "[]",
]
FIELDS = ["height", "id", "record_ciphertext", "timestamp", "of_this_server"]
PLAIN = [f'{{"record_ciphertext":"r{i}","height":{i},"id":"{i}","timestamp":"17{i}"}}' for i in range(600)]


def raw(rows: Sequence[str]) -> list[Raw]:
    return [Raw(row.encode()) for row in rows]


def pairs(field: str, value: str) -> list[list[str]]:
    """Rows in which a value stands first, second, twice in one row, and beside a row without the field."""
    row, plain = f'{{"{field}":{value}}}', f'{{"{field}":"q","height":7}}'
    return [[row, plain], [plain, row], [f'{{"{field}":{value},"{field}":7}}'], [row, "{}"], [row, PLAIN[3], row]]


def as_csv(rows: Sequence[str], *, fast: bool) -> tuple[bytes, list[str]]:
    """What csv writes, and what it warns of."""
    out, warned = io.BytesIO(), list[str]()
    writer = csv.Csv(out, Sheet("records", BY_COMMAND["records"].columns, warn=warned.append))
    writer._plain = fast
    writer.write(raw(rows))
    return out.getvalue(), warned


def as_parquet(rows: Sequence[str], *, fast: bool) -> tuple[object, list[str]]:
    """What stands in the file, or the error; and what it warns of."""
    files = pytest.importorskip("pyarrow.parquet", reason="Parquet needs the extra chainq[parquet]")
    out, warned = io.BytesIO(), list[str]()
    writer = parquet.Parquet(out, Sheet("records", BY_COMMAND["records"].columns, warn=warned.append))
    writer._flat = fast
    try:
        writer.write(raw(rows))
        writer.close()
    except ChainqError as error:
        return (type(error), str(error)), sorted(warned)
    return files.read_table(io.BytesIO(out.getvalue())).to_pylist(), sorted(warned)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("written", [as_csv, as_parquet], ids=["csv", "parquet"])
def test_both_ways_write_the_same(written: type, field: str) -> None:
    """An odd value in any place: the same bytes, the same error, the same warning."""
    for value in ODD:
        for rows in pairs(field, value):
            assert written(rows, fast=True) == written(rows, fast=False), rows


@pytest.mark.parametrize("name", [r"a\"b", r"a\\b", r"a\u0007b", r"a\ud800b", "é", ""])
@pytest.mark.parametrize("written", [as_csv, as_parquet], ids=["csv", "parquet"])
def test_a_field_may_have_any_name(written: type, name: str) -> None:
    """A name that JSON writes with escapes, in more rows than one batch holds."""
    rows = [f'{row[:-1]},"{name}":1}}' for row in PLAIN]
    assert written(rows, fast=True) == written(rows, fast=False)


def test_plain_rows_take_the_fast_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows without a trap are written without a cell of theirs being looked at in Python."""
    stray = [row[:-1] + ',"of_this_server":false}' for row in PLAIN]
    due = as_csv(PLAIN, fast=False), as_parquet(PLAIN, fast=False), as_parquet(stray, fast=False)

    def slow(*_: object) -> None:
        raise AssertionError("the slow way was taken")

    monkeypatch.setattr(csv, "text_of", slow)
    monkeypatch.setattr(parquet.Parquet, "_batches", slow)
    assert (as_csv(PLAIN, fast=True), as_parquet(PLAIN, fast=True), as_parquet(stray, fast=True)) == due


def test_a_field_without_a_column_is_slow_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that all have a field of this server's own: csv warns of it, and passes it by from then on."""
    out, warned = io.BytesIO(), list[str]()
    writer = csv.Csv(out, Sheet("records", BY_COMMAND["records"].columns, warn=warned.append))
    stray = raw([row[:-1] + ',"of_this_server":{"a":1}}' for row in PLAIN])
    writer.write(stray[:1])

    def slow(*_: object) -> None:
        raise AssertionError("the slow way was taken")

    with monkeypatch.context() as patched:
        patched.setattr(csv, "text_of", slow)
        writer.write(stray[1:])
    assert out.getvalue() == as_csv(PLAIN, fast=False)[0]
    writer.write(raw(['{"height":1,"another":2}']))
    assert [said.split()[2] for said in warned] == ["of_this_server", "another"]


# --- order

ORDERS = [
    "3",
    "4.0",
    '"8.0"',
    "1e1",
    '"3"',
    "12",
    '"12"',
    '"-1"',
    "null",
    '"b"',
    '"a"',
    "1.5",
    '"007"',
    "99999999999999999999999",
]


@pytest.mark.parametrize("first", ORDERS)
def test_the_order_of_a_height_hangs_on_that_height_alone(first: str) -> None:
    """Rows of a height come in the same order whatever the other heights of the answer hold, and however they came."""
    for second in ORDERS:
        height = [f'{{"height":5,"id":{value},"n":{n}}}' for n, value in enumerate((first, second))]
        alone = Arranger(BY_COMMAND["records"])(raw(height), HeightRange(0, 10))[0]
        for other in ORDERS:
            mixed = raw([f'{{"height":"6","id":{other}}}', height[1], height[0]])
            rows, heights = Arranger(BY_COMMAND["records"])(mixed, HeightRange(0, 10))
            assert heights == [5, 5, 6]
            if json.loads(first) != json.loads(second) and first.strip('"') != second.strip('"'):
                assert rows[:2] == alone, (first, second, other)


@pytest.mark.parametrize("quoted", [False, True])
@pytest.mark.parametrize("command", ["records", "transitions", "blocks", "full-blocks"])
def test_rows_come_in_order(command: str, quoted: bool) -> None:
    """Shuffled rows come by height, newest first where asked for, and inside a height always ascending."""
    method = BY_COMMAND[command]
    each = 1 if method.linked else 30

    def row(height: int, place: int) -> str:
        sent = f'"{height}"' if quoted else str(height)
        if command == "full-blocks":
            return f'{{"header":{{"metadata":{{"height":{sent}}}}}}}'
        order = f'"au1{place:02}"' if command == "transitions" else str(place)
        return f'{{"height":{sent},"{method.order or "n"}":{order}}}'

    due = [[row(height, place) for place in range(each)] for height in range(98, 103)]
    shuffled = [one for group in due for one in group]
    shuffled = [*shuffled[-2::-2], *shuffled[-1::-2]]
    for reverse in (False, True):
        rows, heights = Arranger(method, reverse)(raw(shuffled), HeightRange(98, 103))
        groups = due[::-1] if reverse else due
        assert [bytes(one).decode() for one in rows] == [one for group in groups for one in group]
        assert heights == sorted(heights or [], reverse=reverse)


@pytest.mark.parametrize("odd", ["5", '"x"', "[]", "null"])
def test_what_is_no_object_is_no_row(odd: str) -> None:
    """Something else than an object among the rows is said, wherever it stands."""
    for command in ("records", "ownership", "blocks"):
        for rows in ([PLAIN[5], odd], [odd, PLAIN[5]]):
            with pytest.raises(AnswerError, match="no object"):
                Arranger(BY_COMMAND[command])(raw(rows), HeightRange(0, 10))


@pytest.mark.parametrize("order", ["7", '"7"', '"a"', "null", "1.5"])
def test_a_row_twice_is_seen_in_any_order(order: str) -> None:
    """The same row twice in one answer is an error, two different ones of equal key are not."""
    row, other = (f'{{"height":5,"id":{order},"n":{n}}}' for n in (1, 2))
    filler = '{"height":5,"id":3}'
    for rows in ([row, filler, row], [row, row], [row, other, row, filler]):
        with pytest.raises(IncompleteError, match="twice"):
            Arranger(BY_COMMAND["records"])(raw(rows), HeightRange(0, 10))
    assert len(Arranger(BY_COMMAND["records"])(raw([row, filler, other]), HeightRange(0, 10))[0]) == 3


def test_links_are_read_whatever_a_hash_is() -> None:
    """Hashes that are numbers are compared like strings, and one that is missing breaks the chain."""
    rows = raw(['{"block_hash":1,"previous_hash":null}', '{"block_hash":"b","previous_hash":1}'])
    Links(BY_COMMAND["blocks"]).check(rows, [0, 1])
    with pytest.raises(IncompleteError, match="block 1 names nothing"):
        Links(BY_COMMAND["blocks"]).check([rows[0], Raw(b'{"block_hash":"b"}')], [0, 1])
