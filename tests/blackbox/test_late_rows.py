"""Rows that appear after their block, and replicas that are behind: ten blocks below the tip all rows are there.

The tip moves between the runs, and during them. Nothing here waits for a time to pass. `CHAINQ_RUNS` says how many runs
each service sees while it is behind (8); tests/resume/test_rounds_model.py tries many more histories of a service.
"""

import os
import random
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from chainq.demo.faults import Faults
from harness.jobs import FIRST, Job, said
from harness.program import Program, Servers
from harness.search import some
from harness.services import Moving, Serve, serving
from harness.truth import Truth, difference

RUNS = int(os.environ.get("CHAINQ_RUNS", "8"))
BEHIND = {
    "replica": (Faults("seed:3", "lag-blocks:5", "lag-rate:0.5"), (1,)),
    "indexer": (Faults("late-records:30", "lag-blocks:3", "lag-rate:0.5"), (0, 1, 7)),
}
"""Faults, and by how many blocks the tip moves on at each run."""


@contextmanager
def moving(faults: Faults, steps: tuple[int, ...], seed: str) -> Iterator[tuple[Moving, str]]:
    """A service with faults whose tip moves on by one of `steps` at each run, and now and then during one."""
    dice, service = random.Random(seed), Moving(FIRST, faults=faults)  # noqa: S311  # seeded on purpose

    def hook(method: str) -> None:
        if method == "latest/block":
            service.tip += dice.choice(steps)
        elif dice.random() < 0.1:
            service.tip += 1

    service.hook = hook
    with serving(service) as url:
        yield service, url


@pytest.mark.parametrize("command", ["records", "transitions"])
def test_a_block_without_its_rows_is_left_for_the_next_run(
    command: str, chainq: Program, truth: Truth, serve: Serve
) -> None:
    """With --lag 0, too, the full block says which rows are due: nothing is written before they are there. Of
    transitions the list of earlier blocks shows that the service lists such rows."""
    service = Moving(FIRST, faults=Faults("late-records:1000000"))
    job = Job(chainq, serve(service), command, "--start", str(FIRST - 5))
    for _ in range(2):
        said(job(), 6, f"{FIRST}")
        before = truth.groups(command, FIRST - 5, FIRST)
        assert difference(job.out.read_bytes().split(b"\n")[:-1], before) == ""
        service.tip += 1
    service.heal()
    said(job(), 0)
    whole = truth.groups(command, FIRST - 5, FIRST + 3)
    assert difference(job.out.read_bytes().split(b"\n")[:-1], whole) == ""


@pytest.mark.parametrize("filed", [True, False], ids=["file", "pipe"])
@pytest.mark.parametrize("kind", BEHIND)
def test_every_row_comes_once(kind: str, filed: bool, chainq: Program, truth: Truth) -> None:
    """Cron runs against a service that is behind: once it has caught up, each row has come once, over all runs; in
    order, where there is a file to cut back."""
    with moving(*BEHIND[kind], kind) as (service, url):
        job, rows = Job(chainq, url, "records", "--start", str(FIRST - 50)), list[bytes]()
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
