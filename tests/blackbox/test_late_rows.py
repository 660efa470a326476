"""Rows that appear after their block, and replicas that are behind: ten blocks below the tip all rows are there.

The tip moves between the runs, and during them. Nothing here waits for a time to pass. `CHAINQ_RUNS` says how many runs
each service sees while it is behind (8); tests/resume/test_rounds_model.py tries many more histories of a service.
"""

import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from chainq.demo.faults import NO_FAULTS, Faults
from harness.jobs import ADDRESSES, FIRST, Job, said
from harness.program import Program, finish
from harness.search import some
from harness.services import Moving, Serve, serving
from harness.truth import Truth, difference

RUNS = int(os.environ.get("CHAINQ_RUNS", "8"))
BEHIND = {
    "replica": Faults("lag-blocks:1"),
    "some": Faults("lag-blocks:2", "lag-rate:0.4"),
    "indexer": Faults("late-records:9"),
    "slow": Faults("late-records:60"),
    "both": Faults("late-records:30", "lag-blocks:3", "lag-rate:0.5"),
}


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


@pytest.mark.parametrize(
    ("kind", "filed"),
    some([("replica", False), ("indexer", True), ("both", False), ("both", True)], ("both", True), several=True),
)
def test_follow_gets_every_row_once(kind: str, filed: bool, chainq: Program, truth: Truth) -> None:
    """--follow without a checkpoint writes each row once, to a file and to a pipe."""
    groups, stop = truth.groups("records", FIRST - 20, FIRST + 31), FIRST + 30
    due = sum(map(len, groups))
    with moving(BEHIND[kind], (0, 1), f"follow {kind} {'out' if filed else ''}") as (service, url):
        real = service.hook

        def hook(method: str) -> None:
            real(method)
            if service.tip >= stop and service.faults is not NO_FAULTS:
                service.heal()
                service.hook = grow

        def grow(method: str) -> None:
            service.tip += method == "latest/block" and service.tip < stop + 30

        service.hook = hook
        words = ("records", "--start", str(FIRST - 20), "--follow", "--interval", "0.01")
        if not filed:
            ran = chainq(*words, "--limit", str(due), url=url)
            assert (ran.code, len(ran.rows)) == (0, due), ran.err
            above = truth.groups("records", FIRST - 20, FIRST + 100)
            assert not Counter(ran.rows) - Counter(row for group in above for row in group)
            return
        process, file = chainq.start(*words, "-o", "out", url=url), chainq.home / "out"
        while not file.exists() or file.read_bytes().count(b"\n") < due or service.tip < stop + 30:
            assert process.poll() is None, finish(process)
            time.sleep(0.002)
        process.terminate()
        finish(process)
        assert difference(file.read_bytes().split(b"\n")[:due], groups) == ""


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


def test_few_rows_are_no_contradiction(chainq: Program, truth: Truth, serve: Serve) -> None:
    """Rows after many heights without any are no contradiction."""
    found = {name: truth.groups("address-transactions", FIRST, FIRST + 300, name) for name in ADDRESSES[:30]}
    address = next(name for name, groups in found.items() if 3 <= sum(map(len, groups)) <= 5)
    service = Moving(FIRST)
    job = Job(chainq, serve(service), "address-transactions", address, "--start", str(FIRST))
    for service.tip in range(FIRST + 40, FIRST + 300, 40):
        said(job("--lag", "10"), 0, "nothing proves that these are all rows")
    due = [row for group in truth.groups("address-transactions", FIRST, job.next, address) for row in group]
    assert Counter(job.out.read_bytes().split(b"\n")[:-1]) == Counter(due)
    assert due


CASES = [
    ("records", "replica", (1,), True),
    ("records", "some", (40,), True),
    ("records", "slow", (40,), True),
    ("records", "slow", (40,), False),
    ("records", "both", (0, 1, 7), True),
    ("records", "both", (0, 1, 7), False),
    ("transitions", "slow", (40,), True),
    ("blocks", "some", (1,), True),
]


@pytest.mark.parametrize(("command", "kind", "steps", "filed"), some(CASES, *CASES[4:6], several=True), ids=str)
def test_every_row_comes_once(
    command: str, kind: str, steps: tuple[int, ...], filed: bool, chainq: Program, truth: Truth
) -> None:
    """Cron runs against a service that is behind: once it has caught up, each row has come once, over all runs; in
    order, where there is a file to cut back."""
    with moving(BEHIND[kind], steps, f"{command} {kind} {steps}") as (service, url):
        job, rows = Job(chainq, url, command, "--start", str(FIRST - 50)), list[bytes]()
        for number in range(RUNS + 1):
            if number == RUNS:
                service.heal()
                service.tip += 30
            ran = job("--lag", "10", out=None if filed else "")
            assert ran.code in (0, 6), ran.err  # 6: responses contradict each other
            assert "Traceback" not in ran.err
            rows += ran.rows
        assert (ran.code, job.next) == (0, service.tip - 9)
    groups = truth.groups(command, FIRST - 50, job.next)
    if filed:
        assert difference(job.out.read_bytes().split(b"\n")[:-1], groups) == ""
    else:
        assert Counter(rows) == Counter(row for group in groups for row in group)
