"""Blocks: their links by hash, and the tip as the service facade keeps it."""

import time
from contextlib import nullcontext

import pytest

from chainq.catalog.methods import BY_COMMAND
from chainq.errors import IncompleteError, StaleError
from chainq.fetching.blocks import Tip, check_age
from chainq.fetching.links import Links
from chainq.fetching.service import Service
from chainq.options import ServiceOptions
from harness.running.program import DIALECT
from harness.running.truth import raw
from harness.servers.services import Moving, serving


@pytest.mark.parametrize(
    ("below", "above", "words"),
    [
        ('"block_hash":1,"previous_hash":null', '"block_hash":"b","previous_hash":1', ""),
        ('"block_hash":1,"previous_hash":null', '"block_hash":"b"', "block 1 names nothing"),
        ('"block_hash":null,"previous_hash":"z"', '"block_hash":"b","previous_hash":null', "block 0 is without a hash"),
    ],
)
def test_links_are_read_whatever_a_hash_is(below: str, above: str, words: str) -> None:
    """Hashes that are numbers are compared like strings, and one that is missing breaks the chain."""
    with pytest.raises(IncompleteError, match=words) if words else nullcontext():
        Links(BY_COMMAND["blocks"]).check(raw([f"{{{below}}}", f"{{{above}}}"]), [0, 1])


@pytest.mark.parametrize("reverse", [False, True])
def test_links_hold_between_chunks(*, reverse: bool) -> None:
    """The first block of a chunk is linked to the last one of the chunk before."""
    rows = raw([f'{{"block_hash":"{n}","previous_hash":"{n - 1}"}}' for n in range(1, 5)])
    heights = [1, 2, 3, 4]
    if reverse:
        rows, heights = rows[::-1], heights[::-1]
    links = Links(BY_COMMAND["blocks"], reverse)
    links.check(rows[:2], heights[:2])
    links.check(rows[2:], heights[2:])
    with pytest.raises(IncompleteError, match="as its previous block"):
        links.check(rows[1:2], heights[1:2])


def test_a_long_run_keeps_nothing_of_each_tip() -> None:
    """Hundreds of polls of a growing chain leave the time of one block in memory, that of the tip."""
    moving = Moving(5)
    with serving(moving) as url, Service(ServiceOptions(url, dialect=DIALECT)) as service:
        for moving.tip in range(5, 200):
            assert service.blocks.tip(refresh=True).height == moving.tip
        assert len(service.blocks._times) == 1


@pytest.mark.parametrize(("ahead", "stale"), [(60, False), (7 * 3600, True)])
def test_a_tip_in_the_future_is_not_fresh(ahead: int, stale: bool) -> None:
    """A clock may be a minute ahead; if it is hours, the age of the tip is unknown."""
    tip = Tip(5, time=int(time.time()) + ahead)
    with pytest.raises(StaleError, match=r"block 5 is .* in the future") if stale else nullcontext():
        check_age(tip, 600)
