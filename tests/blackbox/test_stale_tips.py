"""A service that names an old tip now and then: --end counts, and where it is not reached, the run says so."""

import re

import pytest

from chainq.demo.faults import Faults
from harness.jobs import said
from harness.program import Program, Servers
from harness.search import some
from harness.services import Moving, serving
from harness.truth import Truth, difference


@pytest.mark.parametrize("more", [(), ("--reverse",)], ids=["forward", "reverse"])
@pytest.mark.parametrize("seed", some(range(24), 1, 2, 3))
def test_a_range_that_ends_at_a_stale_tip_says_so(
    seed: int, more: tuple[str, ...], chainq: Program, server: Servers, truth: Truth
) -> None:
    """Two servers behind a URL, one of them 20 blocks behind: all rows, or those up to the tip that a warning names."""
    lagging = ("--fault", "lag-blocks:20", "--fault", "lag-rate:0.6", "--fault", "stale-tip-rate:0.5")
    ran = chainq("records", "150:190", *more, url=server("--tip", "195", *lagging, "--fault", f"seed:{seed}"))
    named = re.search("(?m)the end 190 is not reached: the tip is ([0-9]+)$", ran.err)
    due = truth.rows("records", 150, int(named[1]) + 1 if named else 190)
    if ran.code != 6 and "nothing proves" not in ran.err:
        assert ran.code == 0
        assert named or ran.err == ""
        assert sorted(ran.rows) == sorted(due)
    assert {*ran.rows} <= {*due} or ran.code == 6


@pytest.mark.parametrize("seed", range(6))
def test_rows_near_the_tip_of_replicas_that_are_behind(seed: int, chainq: Program, truth: Truth) -> None:
    """Rows that come and go near the tip are not blamed on `start` alone; below the tip all of them come."""
    with serving(Moving(195, faults=Faults(f"seed:{seed}", "lag-blocks:5", "lag-rate:0.5"))) as url:
        ran = chainq("ownership", "--last", "10", url=url)
        assert ran.code == 0 or "is behind" in ran.err
        assert "--page-size" not in ran.err
        for command in ("ownership", "blocks"):
            said(ran := chainq(command, "--start", "-15", "--end", "-5", url=url), 0)
            assert difference(ran.rows, truth.groups(command, 181, 191)) == ""
