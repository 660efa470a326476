"""Rows that appear after their block, and replicas that are behind: ten blocks below the tip all rows are there.

The tip moves between the runs, and during them. Nothing here waits for a time to pass. `CHAINQ_RUNS` says how many runs
each service sees while it is behind (8); tests/resume/test_rounds_model.py tries many more histories of a service.
"""

import os
import random
import re
from collections import Counter

import pytest

from chainq.demo.faults import Faults
from harness.models.search import some
from harness.running.jobs import FIRST, Job
from harness.running.program import Program, Servers
from harness.running.truth import Truth, difference
from harness.servers.services import Moving, Serve

RUNS = int(os.environ.get("CHAINQ_RUNS", "8"))
BEHIND = {
    "replica": (Faults("seed:3", "lag-blocks:5", "lag-rate:0.5"), (1,)),
    "indexer": (Faults("late-records:30", "lag-blocks:3", "lag-rate:0.5"), (0, 1, 7)),
}
"""Faults, and by how many blocks the tip moves on at each run."""


@pytest.mark.parametrize("filed", [True, False], ids=["file", "pipe"])
@pytest.mark.parametrize("kind", BEHIND)
def test_every_row_comes_once(kind: str, filed: bool, chainq: Program, truth: Truth, serve: Serve) -> None:
    """Cron runs against a service that is behind: once it has caught up, each row has come once, over all runs; in
    order, where there is a file to cut back."""
    faults, steps = BEHIND[kind]
    dice, service = random.Random(kind), Moving(FIRST, faults=faults)  # noqa: S311  # seeded on purpose

    def grow(method: str) -> None:
        service.tip += dice.choice(steps) if method == "latest/block" else dice.random() < 0.1

    service.hook = grow
    job, rows = Job(chainq, serve(service), "records", "--start", str(FIRST - 50)), list[bytes]()
    for number in range(RUNS + 1):
        if number == RUNS:
            service.heal()
            service.tip += 30
        ran = job("--lag", "10", out=None if filed else "")
        assert ran.code in (0, 6), ran.err  # 6: responses contradict each other
        assert "Traceback" not in ran.err
        assert "reorg" not in ran.err
        rows += ran.rows
    assert (ran.code, job.next) == (0, service.tip - 9)
    groups = truth.groups("records", FIRST - 50, job.next)
    if filed:
        assert difference(job.out.read_bytes().split(b"\n")[:-1], groups) == ""
    else:
        assert Counter(rows) == Counter(row for group in groups for row in group)


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
