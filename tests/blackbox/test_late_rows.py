"""Rows that appear after their block, and replicas that are behind: incremental runs end with every row once.

The tip moves between the runs, and during them. Nothing here waits for a time to pass. `CHAINQ_RUNS` says how many runs
each service sees while it is behind (8); tests/resume/test_rounds_model.py tries many more histories of a service.
"""

import json
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from chainq.demo.faults import NO_FAULTS, Faults
from harness.belief import besides_belief
from harness.jobs import ADDRESSES, FIRST, Job, lines, said
from harness.program import Program, Ran, finish
from harness.search import some
from harness.services import BlocklessMoving, Moving, serving
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
            ended(job())
        service.heal()
        service.tip += 30
        ended(job())
        assert job.next > service.tip - 17
        came = job.out.read_bytes().split(b"\n")[:-1]
        assert difference(came, truth.groups(command, FIRST - 50, job.next)) == ""


@pytest.mark.parametrize(
    ("kind", "steps"), some([("slow", (40,)), ("both", (0, 1, 7))], ("both", (0, 1, 7)), several=True), ids=str
)
def test_standard_output_gets_every_row_once(kind: str, steps: tuple[int, ...], chainq: Program, truth: Truth) -> None:
    """Without a file to cut back, rows that come late follow the others: each comes once, over all runs."""
    with moving(BEHIND[kind], steps, f"stdout {kind} {steps}") as (service, url):
        job, rows = Job(chainq, url, "records", "--start", str(FIRST - 50)), []
        for _ in range(RUNS):
            ended(ran := job(out=""))
            rows += ran.rows
        service.heal()
        service.tip += 30
        ended(ran := job(out=""))
        rows += ran.rows
        due = [row for group in truth.groups("records", FIRST - 50, job.next) for row in group]
        assert Counter(rows) == Counter(due)


@pytest.mark.parametrize(
    ("kind", "out"),
    some([("replica", ""), ("indexer", "out"), *FOLLOWED], *FOLLOWED, several=True),
)
def test_follow_gets_every_row_once(kind: str, out: str, chainq: Program, truth: Truth) -> None:
    """--follow without a checkpoint: a file is cut back and ends in order, a pipe gets late rows after the others."""
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


def unproved(ran: Ran) -> Ran:
    """A run without the warning that its last rows rest on belief, as they do where a service has no full blocks."""
    return besides_belief(ran, "records", due=True)


def test_late_rows_are_told(chainq: Program, truth: Truth) -> None:
    """What came late is a warning with the heights, and with the number of blocks that are left out from then on."""
    service = BlocklessMoving(FIRST, faults=Faults("late-records:1000000"))
    with serving(service) as url:
        words = ("records", "--start", str(FIRST - 5))
        file, pipe = Job(chainq, url, *words), Job(chainq, url, *words, place="pipe")
        said(unproved(file()), 0)
        first = pipe(out="")
        said(unproved(first), 0, "the output is a pipe")
        service.heal()
        service.tip += 2
        late = "5 rows of height 2400 came late"
        said(unproved(file()), 0, f"{late}; from now on runs stay 1 block below the tip")
        second = pipe(out="")
        said(unproved(second), 0, f"{late}, after later ones; from now on runs stay 1 block below the tip")
    whole = truth.groups("records", FIRST - 5, FIRST + 3)
    assert difference(file.out.read_bytes().split(b"\n")[:-1], whole) == ""
    assert Counter([*first.rows, *second.rows]) == Counter(row for group in whole for row in group)
    assert json.loads(file.kept.read_bytes())["lag"] == 1


def test_a_block_without_its_rows_is_left_for_the_next_run(chainq: Program, truth: Truth) -> None:
    """The full block says which rows are due: nothing is written before they are there, so nothing comes late."""
    service = Moving(FIRST, faults=Faults("late-records:1000000"))
    with serving(service) as url:
        job = Job(chainq, url, "records", "--start", str(FIRST - 5))
        said(job(), 0, f"it has block {FIRST}, and not all of its rows; from now on runs stay 1 block below the tip")
        before = truth.groups("records", FIRST - 5, FIRST)
        assert difference(job.out.read_bytes().split(b"\n")[:-1], before) == ""
        service.heal()
        service.tip += 2
        said(job(), 0)
    whole = truth.groups("records", FIRST - 5, FIRST + 2)
    assert difference(job.out.read_bytes().split(b"\n")[:-1], whole) == ""


def test_a_chain_that_ends_is_looked_at_again(chainq: Program, truth: Truth) -> None:
    """--end does not stop the looks: rows of the last heights that come late are written by a run after it."""
    end = FIRST + 30
    service = BlocklessMoving(end - 1, faults=Faults("late-records:1000000"))
    with serving(service) as url:
        job = Job(chainq, url, "records", "--start", str(FIRST), "--end", str(end))
        said(unproved(job()), 0)
        before = job.out.read_bytes()
        service.heal()
        service.tip += 40
        ran = job()
        assert ran.code == 0
        service.calls.clear()
        said(job(), 0)  # and once they are settled, nothing is requested but the tip and the last block
        assert set(service.calls) <= {"latest/block", "block"}
    assert len(before) < job.out.stat().st_size
    assert difference(job.out.read_bytes().split(b"\n")[:-1], truth.groups("records", FIRST, end)) == ""


def test_few_rows_are_no_contradiction(chainq: Program, truth: Truth) -> None:
    """Rows after many heights without any: the heights before them are looked at once more, and the run goes on."""
    found = {name: truth.groups("address-transactions", FIRST, FIRST + 300, name) for name in ADDRESSES[:30]}
    address = next(name for name, groups in found.items() if 3 <= sum(map(len, groups)) <= 5)
    service = Moving(FIRST)
    with serving(service) as url:
        job = Job(chainq, url, "address-transactions", address, "--start", str(FIRST))
        for service.tip in range(FIRST, FIRST + 300, 40):
            said(job(), 0, "nothing proves that these are all rows")
        due = [row for group in truth.groups("address-transactions", FIRST, job.next, address) for row in group]
        assert Counter(job.out.read_bytes().split(b"\n")[:-1]) == Counter(due)
    assert due


def test_6_rows_that_vanish(chainq: Program) -> None:
    """Rows that were written and are missing now are an error, not a silent difference."""
    service = Moving(FIRST)
    with serving(service) as url:
        job = Job(chainq, url, "records", "--start", str(FIRST - 5))
        said(job(), 0)
        before = job.files()
        service.change(service.chain, Faults("empty-rate:1"))
        service.tip += 3
        said(unproved(job()), 0, "the service is behind", "that came before")
        service.tip += 20
        said(unproved(job()), 6, "that came before are missing now", "--rewind 6 writes what it has")
        assert job.files()["out"] == before["out"]
        said(unproved(job("--rewind", "6")), 0)
    assert job.out.read_bytes() == b""
