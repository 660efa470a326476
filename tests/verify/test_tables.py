"""Columns of partitions: checksums of many texts at once, and the hash of a table however it is divided."""

import random
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pa = pytest.importorskip("pyarrow")
np = pytest.importorskip("numpy")

from chainq.lake.content import ContentHash  # noqa: E402  # it needs pyarrow

from chainq.catalog import bech32  # noqa: E402  # as below
from chainq.catalog.methods import BY_COMMAND  # noqa: E402
from chainq.demo.ids import BLOCK, RECORD, TRANSITION  # noqa: E402  # as below
from chainq.heights.range import HeightRange  # noqa: E402  # as below
from chainq.verify.across import check_across  # noqa: E402  # they need numpy
from chainq.verify.tables import TableCheck  # noqa: E402

words = st.integers(0, 2**64 - 1)


def other(text: str, rng: random.Random) -> str:
    """A text with one other character, or one fewer."""
    at = rng.randrange(len(text))
    return text[:at] + str(rng.choice(["", *bech32.ALPHABET, "b", "1", "é"])) + text[at + 1 :]


@given(st.lists(st.tuples(st.sampled_from([BLOCK, TRANSITION, RECORD]), words), max_size=20), st.randoms())
def test_checksums_of_many_are_those_of_each(drawn: list[Any], rng: random.Random) -> None:
    """Texts of several prefixes and lengths, some with a wrong character: found are those that `bech32.fault` finds."""
    texts = [coder.text(word) for coder, word in drawn]
    texts = [other(text, rng) if rng.random() < 0.3 else text for text in texts]
    table = pa.table({"transition_id": pa.array([*texts, None], pa.string())})
    check = TableCheck(BY_COMMAND["records"], table.column_names, HeightRange(5, 6))
    found = [one.found or "" for _, one in check.take(table)]
    head = [text for text in dict.fromkeys(texts) if text.rpartition("1")[0].isalpha() and bech32.fault(text)]
    named = {one.split("=", 1)[1].split(": ")[0] for one in found}
    assert named >= {text for text in head if text[:3] in ("ab1", "au1") or text.startswith("record1")}
    assert all(bech32.fault(text) for text in named)


VALUES = {
    "text": (pa.string(), st.none() | st.text(max_size=5)),
    "number": (pa.int64(), st.none() | st.integers(-(2**63), 2**63 - 1)),
    "amount": (pa.decimal128(38, 0), st.none() | st.integers(-(10**37), 10**37)),
    "list": (
        pa.list_(pa.struct([("a", pa.string()), ("b", pa.list_(pa.int64()))])),
        st.none()
        | st.lists(
            st.none()
            | st.fixed_dictionaries({"a": st.none() | st.text(max_size=3), "b": st.none() | st.lists(st.just(7))}),
            max_size=3,
        ),
    ),
}
rows = st.lists(st.fixed_dictionaries({name: strategy for name, (_, strategy) in VALUES.items()}), max_size=8)
SCHEMA = pa.schema([(name, kind) for name, (kind, _) in VALUES.items()])


def hash_of(table: Any) -> str:
    content = ContentHash(pa)
    content.update(table)
    return content.hexdigest()


@given(rows, st.lists(st.integers(0, 8), max_size=4))
def test_a_hash_depends_on_rows_and_not_on_their_division(values: list[Any], edges: list[int]) -> None:
    """Slices of a table, and its chunks, one after the other give the hash of the table."""
    table = pa.Table.from_pylist(values, SCHEMA)
    content = ContentHash(pa)
    cuts = [0, *sorted(min(edge, len(values)) for edge in edges), len(values)]
    for start, end in pairwise(cuts):
        content.update(table[start:end])
    assert content.hexdigest() == hash_of(table)
    assert hash_of(table.combine_chunks()) == hash_of(table)


@given(rows, rows)
def test_other_rows_have_another_hash(one: list[Any], other: list[Any]) -> None:
    """Tables have one hash only if they are equal: null is not empty, and a value is not in its neighbour."""
    tables = [pa.Table.from_pylist(values, SCHEMA) for values in (one, other)]
    assert (hash_of(tables[0]) == hash_of(tables[1])) == (one == other)


def test_a_transition_in_another_transaction_is_named() -> None:
    """Records and transitions must agree on the transaction and the height of a transition."""
    records = pa.table(
        {"transition_id": ["au1", "au2"], "transaction_id": ["at1", "at2"], "height": [5, 6], "output_index": [0, 0]}
    )
    transitions = pa.table({"transition_id": ["au1", "au2"], "transaction_id": ["at1", "at3"], "height": [5, 6]})
    ((command, height, found),) = check_across({"records": records, "transitions": transitions}, {})
    assert (command, height, found.check) == ("records", 6, "altered")
    assert found.found == "at2 at height 6"
