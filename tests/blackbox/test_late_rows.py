"""Rows that appear after their block, and replicas that are behind: ten blocks below the tip all rows are there.

The tip moves between the runs, and during them. Nothing here waits for a time to pass. `CHAINQ_RUNS` says how many runs
each service sees while it is behind (8); tests/resume/test_rounds_model.py tries many more histories of a service.
"""

import os
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from chainq.demo.faults import Faults
from harness.jobs import FIRST, Job, said
from harness.program import Program
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
