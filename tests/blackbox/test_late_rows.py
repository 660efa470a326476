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
from harness.jobs import ADDRESSES, FIRST, Job, lines, said
from harness.program import Program, Ran, finish
from harness.search import some
from harness.services import Moving, serving
from harness.truth import Truth, difference

RUNS = int(os.environ.get("CHAINQ_RUNS", "8"))
BEHIND = {
    "replica": Faults("lag-blocks:1"),
    "some": Faults("lag-blocks:2", "lag-rate:0.4"),
    "indexer": Faults("late-records:9"),
    "slow": Faults("late-records:60"),
    "both": Faults("late-records:30", "lag-blocks:3", "lag-rate:0.5"),
}


FOLLOWED = [("both", ""), ("both", "out")]


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


def ended(ran: Ran) -> None:
    """Check that a run succeeded, or said that responses contradict each other."""
    assert ran.code in (0, 6), ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("command", "kind", "steps"),
    some(
        [
            ("records", "replica", (1,)),
            ("records", "some", (40,)),
            ("records", "slow", (40,)),
            ("records", "both", (0, 1, 7)),
            ("transitions", "slow", (40,)),
            ("blocks", "some", (1,)),
        ],
        ("records", "both", (0, 1, 7)),
        several=True,
    ),
    ids=str,
)
def test_a_file_gets_every_row_once(
    command: str, kind: str, steps: tuple[int, ...], chainq: Program, truth: Truth
) -> None:
    """Cron runs against a service that is behind: once it has caught up, the file holds every row once, in order."""
    with moving(BEHIND[kind], steps, f"{command} {kind} {steps}") as (service, url):
        job = Job(chainq, url, command, "--start", str(FIRST - 50))
        for _ in range(RUNS):
            ended(job("--lag", "10"))
        service.heal()
        service.tip += 30
        said(job("--lag", "10"), 0)
        assert job.next == service.tip - 9
        came = job.out.read_bytes().split(b"\n")[:-1]
        assert difference(came, truth.groups(command, FIRST - 50, job.next)) == ""


@pytest.mark.parametrize(
    ("kind", "steps"), some([("slow", (40,)), ("both", (0, 1, 7))], ("both", (0, 1, 7)), several=True), ids=str
)
def test_standard_output_gets_every_row_once(kind: str, steps: tuple[int, ...], chainq: Program, truth: Truth) -> None:
    """Without a file to cut back, each row comes once, too, over all runs."""
    with moving(BEHIND[kind], steps, f"stdout {kind} {steps}") as (service, url):
        job, rows = Job(chainq, url, "records", "--start", str(FIRST - 50)), []
        for _ in range(RUNS):
            ended(ran := job("--lag", "10", out=""))
            rows += ran.rows
        service.heal()
        service.tip += 30
        ended(ran := job("--lag", "10", out=""))
        rows += ran.rows
        due = [row for group in truth.groups("records", FIRST - 50, job.next) for row in group]
        assert Counter(rows) == Counter(due)


@pytest.mark.parametrize(
    ("kind", "out"),
    some([("replica", ""), ("indexer", "out"), *FOLLOWED], *FOLLOWED, several=True),
)
def test_follow_gets_every_row_once(kind: str, out: str, chainq: Program, truth: Truth) -> None:
    """--follow without a checkpoint writes each row once, to a file and to a pipe."""
    with moving(BEHIND[kind], (0, 1), f"follow {kind} {out}") as (service, url):
        due = [row for group in truth.groups("records", FIRST - 20, FIRST + 61) for row in group]
        limit = ("--limit", str(len(due))) if not out else ()
        words = ("records", "--start", str(FIRST - 20), "--follow", "--interval", "0.01", *limit)
        real, stop = service.hook, FIRST + 60

        def hook(method: str) -> None:
            real(method)
            if service.tip >= stop and service.faults is not NO_FAULTS:
                service.heal()
                service.hook = grow

        def grow(method: str) -> None:
            service.tip += method == "latest/block" and service.tip < stop + 30

        service.hook = hook
        if out:
            file = chainq.home / out
            process = chainq.start(*words, "-o", out, url=url)
            size = len(lines(due))
            while not file.exists() or file.stat().st_size < size or service.tip < stop + 30:
                assert process.poll() is None, finish(process)
                time.sleep(0.002)
            process.terminate()
            finish(process)
            came = file.read_bytes().split(b"\n")[: len(due)]
            assert difference(came, truth.groups("records", FIRST - 20, FIRST + 61)) == ""
        else:
            ran = chainq(*words, url=url)
            assert ran.code == 0, ran.err
            every = Counter(row for group in truth.groups("records", FIRST - 20, FIRST + 100) for row in group)
            assert not Counter(ran.rows) - every
            assert len(ran.rows) == len(due)


def test_a_block_without_its_rows_is_left_for_the_next_run(chainq: Program, truth: Truth) -> None:
    """With --lag 0, too, the full block says which rows are due: nothing is written before they are there."""
    service = Moving(FIRST, faults=Faults("late-records:1000000"))
    with serving(service) as url:
        job = Job(chainq, url, "records", "--start", str(FIRST - 5))
        said(job(), 6, f"{FIRST}")
        before = truth.groups("records", FIRST - 5, FIRST)
        assert difference(job.out.read_bytes().split(b"\n")[:-1], before) == ""
        service.heal()
        service.tip += 2
        said(job(), 0)
    whole = truth.groups("records", FIRST - 5, FIRST + 3)
    assert difference(job.out.read_bytes().split(b"\n")[:-1], whole) == ""


def test_few_rows_are_no_contradiction(chainq: Program, truth: Truth) -> None:
    """Rows after many heights without any are no contradiction."""
    found = {name: truth.groups("address-transactions", FIRST, FIRST + 300, name) for name in ADDRESSES[:30]}
    address = next(name for name, groups in found.items() if 3 <= sum(map(len, groups)) <= 5)
    service = Moving(FIRST)
    with serving(service) as url:
        job = Job(chainq, url, "address-transactions", address, "--start", str(FIRST))
        for service.tip in range(FIRST + 40, FIRST + 300, 40):
            said(job("--lag", "10"), 0, "nothing proves that these are all rows")
        due = [row for group in truth.groups("address-transactions", FIRST, job.next, address) for row in group]
        assert Counter(job.out.read_bytes().split(b"\n")[:-1]) == Counter(due)
    assert due
