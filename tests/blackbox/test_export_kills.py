"""chainq export: workers and coordinators killed at any moment leave whole partitions, and lose nothing.

`CHAINQ_EXPORT_KILLS` says how many processes are killed at random moments (4).
"""

import os
import random
import signal
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from harness.lake import Lake, due
from harness.program import Program, finish
from harness.services import Moving, serving
from harness.truth import Truth

KILLS = int(os.environ.get("CHAINQ_EXPORT_KILLS", "4"))
START, END = 2400, 3200
WORDS = ("export", "records", "blocks", f"{START}:{END}", "--partition", "100", "--to", "lake", "-w", "2", "-q")


def children(process: int) -> list[int]:
    """The worker processes of a run."""
    with suppress(OSError):
        return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    return []


def whole(lake: Lake, truth: Truth) -> None:
    """All that a reader can see is a whole partition with the right rows."""
    for command in ("records", "blocks"):
        for one in lake.partitions(command):
            assert one.rows == due(truth.rows(command, one.receipt["start"], one.receipt["end"])), one.name


@pytest.mark.parametrize("seed", range(KILLS))
def test_kills_at_random_moments(chainq: Program, truth: Truth, seed: int) -> None:
    """A worker that is killed is replaced; after a killed coordinator the next run completes the data set."""
    dice = random.Random(seed)  # noqa: S311
    victim, lake = seed % 2, Lake(chainq.home / "lake")
    service, moment, after = Moving(END + 1000), threading.Event(), dice.randrange(1, 60)

    def hook(_: str) -> None:
        if len(service.calls) > after:
            moment.set()

    service.hook = hook
    with serving(service) as url:
        run = chainq.start(*WORDS, url=url)
        while not moment.wait(0.01) and run.poll() is None:
            pass
        moment.wait(dice.random() * 0.2)  # the moment of death is anybody's guess
        killed = [run.pid] if victim else children(run.pid)[:1]
        for process in killed:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        ran = finish(run)
        whole(lake, truth)
        if victim == 0:
            assert ran.code == 0, ran.err
        again = chainq(*WORDS, url=url)
        assert again.code == 0, again.err
        service.calls.clear()
        assert chainq(*WORDS, url=url).code == 0
    assert len(service.calls) <= 3
    for command in ("records", "blocks"):
        assert lake.rows(command) == due(truth.rows(command, START, END))
        assert len(lake.names(command)) == len(list((lake.root / "_chainq/receipts" / command).iterdir())) == 8
    assert lake.stray == []


def test_workers_end_with_their_coordinator(chainq: Program) -> None:
    """A killed coordinator leaves no process behind, though its workers wait for the service."""
    service, begun, go = holding_back_records()
    with serving(service) as url:
        run = chainq.start(*WORDS, url=url)
        assert begun.wait(60)
        workers = [os.pidfd_open(process) for process in children(run.pid)]
        assert workers
        run.kill()
        finish(run)
        try:
            for worker in workers:
                assert select_ready(worker)
        finally:
            go.set()
            for worker in workers:
                os.close(worker)


def holding_back_records() -> tuple[Moving, threading.Event, threading.Event]:
    """A service, the event that records were requested of it, and the event until which it does not respond to that."""
    service, begun, go = Moving(END), threading.Event(), threading.Event()

    def hook(method: str) -> None:
        if method == "records/all":
            begun.set()
            go.wait(60)

    service.hook = hook
    return service, begun, go


def select_ready(descriptor: int) -> bool:
    """Whether the process of a descriptor ends within a minute."""
    import select

    return bool(select.select([descriptor], [], [], 60)[0])


def test_a_worker_that_dies_at_the_same_partition_again_and_again(chainq: Program) -> None:
    """After three deaths the run ends with 7 and says what may help; the other partitions are there."""
    service, lock = Moving(END), threading.Lock()
    run_id: list[int] = []

    def hook(method: str) -> None:
        with lock:
            if method == "records/all" and run_id:
                for process in children(run_id[0]):
                    with suppress(ProcessLookupError):
                        os.kill(process, signal.SIGKILL)

    with serving(service) as url:
        run = chainq.start("export", "records", f"{START}:{START + 100}", "--to", "lake", "-w", "1", url=url)
        run_id.append(run.pid)
        service.hook = hook
        ran = finish(run)
    assert ran.code == 7, ran.err
    assert "was killed by SIGKILL, 3 times" in ran.err
    assert "lower -w or -j" in ran.err


def test_ctrl_c_ends_all(chainq: Program) -> None:
    """SIGINT ends the run as it ends any command; no temporary file stays, and the lock is free."""
    service, begun, go = holding_back_records()
    with serving(service) as url:
        run = chainq.start(*WORDS, url=url)
        assert begun.wait(60)
        run.send_signal(signal.SIGINT)
        ran = finish(run)
        go.set()
        assert ran.code == -signal.SIGINT, ran.err
        assert "stopped by SIGINT" in ran.err
        assert "run the command again for the rest" in ran.err
        assert Lake(chainq.home / "lake").stray == []
        assert chainq(*WORDS, url=url).code == 0
