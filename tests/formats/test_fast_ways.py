"""csv has a fast path beside an exact one, and parquet reads rows together: both write what rows alone would give."""

import io
from collections.abc import Sequence
from itertools import product

import pytest

from chainq.catalog.methods import BY_COMMAND
from chainq.errors import ChainqError
from chainq.formats import csv, parquet
from chainq.formats.protocol import OutputSpec
from harness.models.search import some
from harness.running.truth import raw

ODD = (
    r'5 "5" "-5" 1.10 1e3 5.0 -0 "05" "+5" 9223372036854775808 "9223372036854775808" null "null" true false "" "x" '
    r'"a,b" "a\nb" "a\"b" "a\rb" "\u0000" "\ud83d\ude00" "\ud800" "é" {"a":[1,{"b":2}]} []'
)
FIELDS = ["height", "id", "record_ciphertext", "timestamp", "of_this_server"]
PLAIN = [f'{{"record_ciphertext":"r{i}","height":{i},"id":"{i}","timestamp":"17{i}"}}' for i in range(600)]


def pairs(field: str, value: str) -> list[list[str]]:
    """Return rows with a value in the first, in the second, twice in one, and beside a row without the field."""
    row, plain = f'{{"{field}":{value}}}', f'{{"{field}":"q","height":7}}'
    return [[row, plain], [plain, row], [f'{{"{field}":{value},"{field}":7}}'], [row, "{}"], [row, PLAIN[3], row]]


def as_csv(rows: Sequence[str], *, fast: bool) -> tuple[object, list[str]]:
    """Return what csv writes, or the error; and its warnings."""
    out, warned = io.BytesIO(), list[str]()
    writer = csv.Csv(out, OutputSpec("records", BY_COMMAND["records"].columns, warn=warned.append))
    writer._flat = fast
    try:
        writer.write(raw(rows))
    except ChainqError as error:
        return (type(error), str(error)), warned
    return out.getvalue(), warned


def as_parquet(rows: Sequence[str], *, fast: bool, selected: bool = False) -> tuple[object, list[str]]:
    """Return the rows of the file, or the error; and the warnings. `fast`: rows are written together, not one by one.

    `selected`: as with `--columns`.
    """
    files = pytest.importorskip("pyarrow.parquet", reason="Parquet needs the extra chainq[parquet]")
    out, warned = io.BytesIO(), list[str]()
    spec = OutputSpec("records", BY_COMMAND["records"].columns, selected=selected, warn=warned.append)
    writer = parquet.Parquet(out, spec)
    try:
        for some in [rows] if fast else [[row] for row in rows]:
            writer.write(raw(some))
        writer.close()
    except ChainqError as error:
        return (type(error), str(error)), sorted(warned)
    return files.read_table(io.BytesIO(out.getvalue())).to_pylist(), sorted(warned)


def as_columns(rows: Sequence[str], *, fast: bool) -> tuple[object, list[str]]:
    """Return what `as_parquet` does with `--columns`."""
    return as_parquet(rows, fast=fast, selected=True)


@pytest.mark.parametrize(
    ("written", "field"),
    some(
        product([as_csv, as_parquet, as_columns], FIELDS),
        *((as_csv, field) for field in FIELDS),
        *((as_parquet, field) for field in ("height", "of_this_server")),
        several=True,
    ),
)
def test_both_paths_write_the_same(written: type, field: str) -> None:
    """An odd value in any place: the same bytes, the same error, the same warning."""
    for value in [*ODD.split(), '" 5"']:
        for rows in pairs(field, value):
            assert written(rows, fast=True) == written(rows, fast=False), rows


@pytest.mark.parametrize("name", [r"a\"b", r"a\\b", r"a\u0007b", r"a\ud800b", "é", ""])
@pytest.mark.parametrize("written", [as_csv, as_parquet], ids=["csv", "parquet"])
def test_a_field_may_have_any_name(written: type, name: str) -> None:
    """A name that JSON writes with escapes may occur in more rows than one batch holds."""
    rows = [f'{row[:-1]},"{name}":1}}' for row in PLAIN]
    assert written(rows, fast=True) == written(rows, fast=False)


def test_plain_rows_take_the_fast_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain rows are written without looking at a single cell in Python."""
    due = as_csv(PLAIN, fast=False)

    def slow(*_: object) -> None:
        raise AssertionError("the slow path was taken")

    monkeypatch.setattr(csv, "text_of", slow)
    assert as_csv(PLAIN, fast=True) == due


def test_an_unknown_field_is_slow_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all rows have an unknown field, csv warns of it once and skips it from then on."""
    out, warned = io.BytesIO(), list[str]()
    writer = csv.Csv(out, OutputSpec("records", BY_COMMAND["records"].columns, warn=warned.append))
    other = raw([row[:-1] + ',"of_this_server":{"a":1}}' for row in PLAIN])
    writer.write(other[:1])

    def slow(*_: object) -> None:
        raise AssertionError("the slow path was taken")

    with monkeypatch.context() as patched:
        patched.setattr(csv, "text_of", slow)
        writer.write(other[1:])
    assert out.getvalue() == as_csv(PLAIN, fast=False)[0]
    writer.write(raw(['{"height":1,"another":2}']))
    assert [said.split()[2] for said in warned] == ["'of_this_server'", "'another'"]
