"""Worker processes: results, errors as they were, deaths, secrets, and that none is left behind."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from queue import Empty
from typing import Any

import pytest

from chainq.errors import UsageError
from chainq.process.pool import Process, WorkerDiedError, Workers
from chainq.process.threads import Pool, in_order
from harness.running import pooled
from harness.running.kills import children, ends
from harness.running.pooled import Bench
from harness.running.program import LONGEST

SECRET = "AViewKey1-of-nobody"  # noqa: S105


pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")

Alive = Callable[[], set[int]]


@pytest.fixture
def alive() -> Alive:
    """Returns the processes that the test has started; zombies count."""
    before = set(children(os.getpid()))
    return lambda: set(children(os.getpid())) - before


@pytest.fixture
def workers() -> Iterator[Workers[Bench]]:
    """A pool whose processes have a secret."""
    with Workers(partial(pooled.make, SECRET)) as made:
        yield made


def test_results_come_in_order_and_processes_are_kept(workers: Workers[Bench], alive: Alive) -> None:
    """As many processes as calls at a time; each makes many. What is sent may be larger than a pipe holds."""
    sizes = [0, 1, 1 << 20, 5, 3 << 20, *range(40)]
    jobs = (partial(workers.call, Bench.length, bytes(size)) for size in sizes)
    assert list(in_order(3, jobs, 6)) == sizes
    ids = set(in_order(3, (partial(workers.call, Bench.process, None) for _ in range(50)), 6))
    assert len(ids) <= 3
    assert ids <= alive()


@pytest.mark.parametrize("error", pooled.ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_is_the_one_that_was_raised(workers: Workers[Bench], error: Exception, alive: Alive) -> None:
    """With all its attributes; another process goes on, and nothing of the one that raised it is left."""
    with pytest.raises(type(error)) as raised:
        workers.call(Bench.fail, error)
    assert type(raised.value) is type(error)
    assert (str(raised.value), vars(raised.value)) == (str(error), vars(error))
    assert workers.call(Bench.length, b"1") == 1
    assert len(alive()) == 1


def test_an_error_that_cannot_travel_says_the_same(workers: Workers[Bench]) -> None:
    """By its class and text; a result or a function that cannot travel is a bug."""
    with pytest.raises(RuntimeError, match="_OtherError: z"):
        workers.call(Bench.fail_privately, "z")
    with pytest.raises(Exception, match="lambda"):
        workers.call(Bench.give_a_lambda, None)
    with pytest.raises(Exception, match="lambda"):
        workers.call(lambda bench, _: bench.secret, None)
    assert workers.call(Bench.length, b"1") == 1


def test_a_process_that_cannot_be_set_up(alive: Alive) -> None:
    """Its error is that of each call; one that ends before it works has died."""
    with Workers(pooled.refuse) as workers:
        for _ in range(2):
            with pytest.raises(UsageError, match="no such thing; install it"):
                workers.call(Bench.process, None)
    with Workers(pooled.leave) as workers, pytest.raises(WorkerDiedError, match="ended with code 4"):
        workers.call(Bench.process, None)
    assert not alive()


@pytest.mark.parametrize(("number", "words"), [(9, "was ended by signal 9"), (0, "ended with code 3")])
def test_a_death_is_reported_and_another_process_takes_the_place(
    workers: Workers[Bench], alive: Alive, number: int, words: str
) -> None:
    """Of which process it was, and how; nothing of it is left."""
    assert workers.call(Bench.length, b"1") == 1
    with pytest.raises(WorkerDiedError, match=f"^a worker process {words}; ") as raised:
        workers.call(Bench.die, number)
    assert (raised.value.number, raised.value.code) == (1, -number or 3)
    assert not alive()
    assert workers.call(Bench.length, b"1") == 1


def test_events_come_before_the_result() -> None:
    """With the process that says them; what a library prints is none of them."""
    heard: list[tuple[int, Any]] = []
    with Workers(partial(pooled.make, SECRET), lambda process, event: heard.append((process.number, event))) as workers:
        assert workers.call(Bench.count, 3) == 3
        assert workers.call(Bench.count, 2) == 2
    assert heard == [(1, 0), (1, 1), (1, 2), (1, 0), (1, 1)]


def test_the_others_are_told_while_they_work() -> None:
    """A process that is in a call hears what another one has said; the one that said it does not."""
    waiting = threading.Semaphore(0)
    said: list[Process] = []

    def hear(process: Process, _: object) -> None:
        said.append(process)
        waiting.release()

    with Workers(partial(pooled.make, SECRET), hear) as workers, closing(Pool[int](2)) as pool:
        for number in range(2):
            pool.submit(number, partial(workers.call, Bench.wait_to_be_told, None))
        assert waiting.acquire(timeout=LONGEST)
        assert waiting.acquire(timeout=LONGEST)
        workers.tell_others(said[1], Bench.tell, None)
        assert pool.wait()[1] is True
        with pytest.raises(Empty):
            pool.wait(0.05)
        workers.tell_others(said[0], Bench.tell, None)
        assert pool.wait()[1] is True


def test_closing_ends_calls_under_way(workers: Workers[Bench], tmp_path: Path, alive: Alive) -> None:
    """The thread that waits for one gets an error, and no process is left, not even as a zombie."""
    with closing(Pool[str](1)) as pool:
        pool.submit("slow", partial(workers.call, Bench.wait, str(tmp_path / "id")))
        while not (tmp_path / "id").exists():
            with pytest.raises(Empty):
                pool.wait(0.02)
        workers.close()
        assert not alive()
        assert isinstance(pool.wait()[1], WorkerDiedError)
    with pytest.raises(RuntimeError, match="have been ended"):
        workers.call(Bench.process, None)


PROGRAM = """
import sys
from functools import partial
from chainq.process import signals
from chainq.process.pool import Workers
from chainq.process.threads import Pool
from harness.running import pooled
signals.install()
try:
    with Workers(partial(pooled.make, "")) as workers:
        pool = Pool(1)
        pool.submit(0, partial(workers.call, pooled.Bench.wait, sys.argv[1]))
        pool.wait()
except signals.Interrupted as interrupted:
    signals.die(interrupted.number)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_the_one_that_started_it(number: int, tmp_path: Path) -> None:
    """However that ends, though the worker is in the middle of a call."""
    file = tmp_path / "id"
    program = subprocess.Popen([sys.executable, "-c", PROGRAM, file], env={"PYTHONPATH": ":".join(sys.path)})
    try:
        while not file.exists():
            with pytest.raises(subprocess.TimeoutExpired):
                program.wait(0.02)
        worker = os.pidfd_open(int(file.read_text()))
        program.send_signal(number)
        assert program.wait(LONGEST) == -number
        assert ends(worker)
        os.close(worker)
    finally:
        program.kill()
        program.wait()
