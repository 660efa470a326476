"""Blocks up to an anchor: what breaks the chain is found."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest

pytest.importorskip("aleo")
pytest.importorskip("numpy")

import pyarrow as pa
from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.formats.arrow_rows import ArrowRows
from chainq.hashes.check import HEADER, Checked
from chainq.heights.range import HeightRange
from chainq.verify.findings import Finding, Window
from chainq.verify.hashed import Anchor, HashCheck


def proved(blocks: Sequence[bytes], *, full: bool) -> Iterator[Checked]:
    """All blocks are proved by their own hashes."""
    assert not full
    return (Checked([], True, Counter()) for _ in blocks)


@pytest.mark.parametrize(
    ("heights", "whole"),
    [
        ([5, 6, 7, 8], True),
        ([5, 6, 7, 8, 9], True),
        ([5, 7, 8], False),
        ([6, 7], False),
        ([9], False),
    ],
)
@pytest.mark.parametrize("linked", [True, False])
@pytest.mark.parametrize("at_once", [1, 9])
def test_a_break_below_the_anchor_is_found(
    heights: list[int], whole: bool, linked: bool, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing block, one that names another one as the block before it, and an anchor that no block reaches."""
    made = ArrowRows(BY_COMMAND["blocks"].columns, pa)
    found: list[Finding] = []
    before = {at: f"ab{at - 1 if linked or at != 7 else 0}" for at in heights}
    with HashCheck(Anchor(8, "ab8"), 1) as hashes:
        monkeypatch.setattr(hashes._checks, "check", proved)
        for start in range(0, len(heights), at_once):
            some = heights[start : start + at_once]
            rows = [
                dict.fromkeys(HEADER, "1") | {"height": str(at), "block_hash": f"ab{at}", "previous_hash": before[at]}
                for at in some
            ]
            table = pa.Table.from_batches(made.batches([Raw(json.dumps(row).encode()) for row in rows]))
            found += hashes.findings(Window(HeightRange(some[0], some[-1] + 1), {"blocks": table}, {}))
        found += hashes.ended()
        anchored = "anchored: block 8 is ab8" in hashes.compared
    broken = not whole or (not linked and 7 in heights)
    assert ([one.check for one in found], anchored) == (["anchor"] * broken, not broken)
