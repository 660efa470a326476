"""The tip as the service facade keeps it."""

import time
from contextlib import nullcontext

import pytest

from chainq.errors import StaleError
from chainq.fetching.blocks import Tip, check_age
from chainq.fetching.service import Service
from chainq.transport.base import ServiceOptions
from harness.program import DIALECT
from harness.services import Moving, serving


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
