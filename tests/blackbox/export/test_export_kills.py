"""chainq export: workers and coordinators killed at any moment leave whole partitions, and lose nothing.

How often is in `harness.running.kills`; buckets are in `test_export_s3`.
"""

import os
import signal
import threading
from contextlib import suppress

import pytest

from harness.lake.lake import Lake
from harness.running.kills import END, KILLS, RANGE, START, children, ends, kill_and_resume
from harness.running.program import LONGEST, Program, finish, one_line
from harness.running.truth import Truth
from harness.servers.services import Moving, held, serving

WORDS = ("export", *RANGE, "--to", "lake", "-w", "2", "-q")


@pytest.mark.parametrize("seed", range(KILLS))
@pytest.mark.search
def test_kills_at_random_moments(chainq: Program, truth: Truth, seed: int) -> None:
    """A worker that is killed is replaced; after a killed coordinator the next run completes the data set."""
    lake = Lake(chainq.home / "lake")
    kill_and_resume(chainq, truth, seed, "lake", lake)
    assert lake.stray == []


def test_workers_end_with_their_coordinator(chainq: Program) -> None:
    """A killed coordinator leaves no process behind, though its workers wait for the service."""
    service = Moving(END)
    begun, go = held(service, "records/all".__eq__)
    with serving(service) as url:
        with chainq.executed():
            run = chainq.start(*WORDS, url=url)
        assert begun.wait(LONGEST)
        workers = [os.pidfd_open(process) for process in children(run.pid)]
        assert workers
        run.kill()
        finish(run)
        try:
            for worker in workers:
                assert ends(worker)
        finally:
            go.set()
            for worker in workers:
                os.close(worker)


@pytest.mark.search
def test_a_worker_that_dies_at_the_same_partition_again_and_again(chainq: Program) -> None:
    """After three deaths the run ends with 7 and says what may help."""
    service, lock = Moving(END), threading.Lock()
    run_id: list[int] = []

    def hook(method: str) -> None:
        with lock:
            if method == "records/all" and run_id:
                for process in children(run_id[0]):
                    with suppress(ProcessLookupError):
                        os.kill(process, signal.SIGKILL)

    with serving(service) as url:
        with chainq.executed():
            run = chainq.start("export", "records", f"{START}:{START + 100}", "--to", "lake", "-w", "1", url=url)
        run_id.append(run.pid)
        service.hook = hook
        ran = finish(run)
    assert ran.code == 7, ran.err
    assert "was ended by signal 9, 3 times" in ran.err
    assert "lower -w or -j" in ran.err


@pytest.mark.parametrize(
    ("method", "number", "said"),
    [
        ("records/all", signal.SIGINT, " of 16 partitions written; run the command again for the rest"),
        pytest.param(
            *("latest/block", signal.SIGTERM, "nothing written; run the command again"), marks=pytest.mark.search
        ),
    ],
)
def test_a_signal_ends_all(method: str, number: signal.Signals, said: str, chainq: Program) -> None:
    """A signal ends the run as it ends any command; no temporary file stays, and the lock is free."""
    service = Moving(END)
    begun, go = held(service, method.__eq__)
    with serving(service) as url:
        with chainq.executed():
            run = chainq.start(*WORDS, url=url)
        assert begun.wait(LONGEST)
        run.send_signal(number)
        ran = finish(run)
        go.set()
        line = one_line(ran, -number)
        assert line.startswith(f"chainq export: stopped by {number.name}; ")
        assert line.endswith(f"{said}\n")
        assert Lake(chainq.home / "lake").stray == []
        assert chainq(*WORDS, url=url).code == 0
