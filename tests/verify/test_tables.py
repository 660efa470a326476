"""Columns of partitions: checksums of many texts at once, and the hash of a table however it is divided."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pa = pytest.importorskip("pyarrow")
np = pytest.importorskip("numpy")

from chainq.catalog import bech32  # noqa: E402  # as below
from chainq.catalog.methods import BY_COMMAND  # noqa: E402
from chainq.demo.ids import BLOCK, RECORD, TRANSITION  # noqa: E402  # as below
from chainq.heights.range import HeightRange  # noqa: E402  # as below
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
