"""A service that names an old tip now and then: --end counts, and where it is not reached, the run says so."""

import re

import pytest

from chainq.demo.faults import Faults
from harness.jobs import said
from harness.program import Program, Servers
from harness.search import some
from harness.services import Moving, serving
from harness.truth import Truth, difference

COMMANDS = ["blocks", "records", "ownership", "transitions"]
STALE = ("--tip", "195", "--fault", "stale-tip-rate:1")  # latest/block always names block 185

BELOW = "if a server is behind, end 10 blocks below the tip (--end -10 or --lag 10)"


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "more", some([(), ("--reverse",), ("--since",)], (), ("--reverse",)), ids=["forward", "reverse", "since"]
)
def test_a_stale_tip_does_not_outrank_the_end(
    command: str, more: tuple[str, ...], chainq: Program, server: Servers, truth: Truth
) -> None:
    """All rows up to --end come, although the tip that the service names is below it."""
    start = ("--since", "2020-01-01") if more == ("--since",) else ("--start", "120", *more)
    ran = chainq(command, *start, "--end", "190", url=server(*STALE))
    assert (ran.code, ran.err) == (0, "")
    groups = truth.groups(command, 0 if more == ("--since",) else 120, 190)
    if more == ("--reverse",):
        assert sorted(ran.rows) == sorted(row for group in groups for row in group)
    else:
        assert difference(ran.rows, groups) == ""


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("more", some([(), ("--reverse",)], ()), ids=["forward", "reverse"])
def test_an_end_that_is_not_reached_is_told(
    command: str, more: tuple[str, ...], chainq: Program, server: Servers, truth: Truth
) -> None:
    """A chain that ends below --end is a warning with the tip that there is, whatever latest/block says."""
    for switches in (STALE, STALE[:2]):
        ran = chainq(command, "--start", "120", "--end", "200", *more, url=server(*switches))
        said(ran, 0, "the end 200 is not reached: the tip is 195")
        assert len(ran.rows) == len(truth.rows(command, 120, 196))


def test_an_end_that_is_reached_takes_no_call_to_know(chainq: Program, server: Servers) -> None:
    """Rows of the last height show that the chain goes so far: nobody asks for the tip."""
    for command in ("blocks", "records", "transitions"):
        ran = chainq(command, "--start", "0", "--end", "190", "-v", url=server("--tip", "195"))
        assert "latest/block" not in ran.err


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
