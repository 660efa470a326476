"""chainq export --engine dask: the same data set, written by a cluster whose workers may die."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from harness.lake.lake import Lake, due
from harness.running.packages import needs
from harness.running.program import LONGEST, Program, Servers, finish, one_line
from harness.running.truth import Truth
from harness.servers.services import Moving, serving

needs("distributed")
WORDS = ("export", "records", "2400:2800", "--partition", "100", "--to", "lake", "--engine", "dask")

CLUSTER = """
import sys
from distributed import Client, LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50) as cluster:
        with Client(cluster) as client:
            print(cluster.scheduler_address, *client.run(__import__("os").getpid).values(), flush=True)
        sys.stdin.read()
"""


@contextmanager
def cluster(chainq: Program) -> Iterator[tuple[str, list[int]]]:
    """A cluster of two workers in processes of their own: its scheduler, and their process ids."""
    script = chainq.home / "cluster.py"
    script.write_text(CLUSTER)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    line = [sys.executable, str(script)]
    with subprocess.Popen(line, env=chainq.environment(), text=True, **pipes) as process:  # type: ignore[call-overload]
        address, *workers = process.stdout.readline().split()
        try:
            yield address, list(map(int, workers))
        finally:
            process.stdin.close()
            process.wait(LONGEST)


@pytest.fixture(autouse=True)
def executed(chainq: Program) -> Iterator[None]:
    """Dask starts processes that outlive a run within the process of the tests, and hold its streams."""
    with chainq.executed():
        yield


@pytest.mark.search
def test_a_cluster_on_this_machine(chainq: Program, server: Servers, truth: Truth) -> None:
    """Without --scheduler a local cluster does it; a rerun has nothing to do and starts none."""
    ran = chainq(*WORDS, "-w", "2", "-v", url=server())
    assert ran.code == 0, ran.err
    assert re.search(r"chainq: [0-9:.]+Z worker tcp://127\.0\.0\.1:", ran.err), ran.err
    lake = Lake(chainq.home / "lake")
    assert lake.rows("records") == due(truth.rows("records", 2400, 2800))
    assert len(lake.names("records")) == 4
    again = chainq(*WORDS, "-w", "2", "-v", url=server())
    assert "0 partitions written, 4 skipped" in again.err
    assert "worker" not in again.err


@pytest.mark.search
def test_a_worker_of_the_cluster_dies(chainq: Program, truth: Truth) -> None:
    """Its partition is done again elsewhere: every partition once, every row right, nothing left over."""
    service, begun = Moving(5000), threading.Event()
    service.hook = lambda method: begun.set() if method == "records/all" else None
    with serving(service) as url, cluster(chainq) as (address, workers):
        run = chainq.start(*WORDS, "--scheduler", address, "-q", url=url)
        assert begun.wait(LONGEST)
        with suppress(ProcessLookupError):
            os.kill(workers[0], signal.SIGKILL)
        ran = finish(run)
    assert ran.code == 0, ran.err
    lake = Lake(chainq.home / "lake")
    assert lake.rows("records") == due(truth.rows("records", 2400, 2800))
    assert len(lake.names("records")) == 4
    assert lake.stray == []


@pytest.mark.search
def test_a_failure_on_a_worker_is_told_as_anywhere(chainq: Program, server: Servers) -> None:
    """The class of the error survives the way back: exit 6, one line."""
    url = server("--fault", "missing-height:2455")
    words = ("export", "blocks", "2400:2600", "--partition", "50", "--to", "lake", "--engine", "dask", "-w", "1", "-q")
    assert "2455" in one_line(chainq(*words, url=url), 6)
