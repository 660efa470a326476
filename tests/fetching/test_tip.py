"""The tip as the service facade keeps it."""

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
