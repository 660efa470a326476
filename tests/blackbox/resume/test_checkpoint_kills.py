"""--checkpoint: runs killed at any moment lose nothing and repeat nothing.

`CHAINQ_KILLS` says how many runs are killed at random moments (14).
"""

import json
import os
import random
import signal
import threading
import time

import pytest

from harness.models.search import some
from harness.running.jobs import FIRST, Job, assassin, recording, said
from harness.running.program import Program, finish
from harness.running.truth import Truth, difference
from harness.servers.services import Moving, Serve

KILLS = int(os.environ.get("CHAINQ_KILLS", "14"))


KILLED = [
    ("records", "--page-size", "100"),
    ("transitions", "--page-size", "60", "--columns", "height,transition_id", "--csv"),
]


def killed_somewhere(job: Job, service: Moving, dice: random.Random, often: dict[str, str]) -> bool:
    """Start a run, and kill it after some call or some growth of its output; False where it ended before that.

    Every second run has the environment `often`, and records a position after each chunk.
    """
    follow = dice.random() < 0.5
    calls, pause = dice.randrange(8), dice.random() * 0.03
    grown = (job.out.stat().st_size if job.out.exists() else 0) + int(2 ** dice.uniform(0, 14))
    by_calls, seen, moment = dice.random() < 0.7, len(service.calls), threading.Event()

    def hook(method: str) -> None:
        if method == "latest/block":
            service.tip += dice.choice((1, 7, 40))
        if by_calls and len(service.calls) - seen >= calls:
            moment.set()

    service.hook = hook
    words = ("--follow", "--interval", "0.01") if follow else ()
    process = job.start(*words, env=often if dice.random() < 0.5 else None)
    try:
        while process.poll() is None and not moment.wait(0.001):
            if not by_calls and job.out.exists() and job.out.stat().st_size > grown:
                break
        time.sleep(pause)  # the moment of death inside what follows is anybody's guess
    finally:
        process.kill()
        ran = finish(process)
    service.hook = lambda _: None
    assert ran.code in (0, -signal.SIGKILL), ran.err
    if job.kept.exists():
        assert json.loads(job.kept.read_bytes())["positions"][-1]["length"] <= job.out.stat().st_size
    return ran.code != 0


@pytest.mark.parametrize("words", some(KILLED, KILLED[0]), ids=lambda words: " ".join(words)[:28])
def test_killed_at_random_moments(words: tuple[str, ...], chainq: Program, truth: Truth, serve: Serve) -> None:
    """Runs on a growing chain, killed at any moment, end in the very bytes of an undisturbed run."""
    dice, wanted = random.Random(" ".join(words)), -(-KILLS // len(KILLED))  # noqa: S311  # seeded on purpose
    service, often = Moving(FIRST), recording(chainq)
    job = Job(chainq, serve(service), *words, "--start", str(FIRST), "-j", "2")
    killed = runs = 0
    while killed < wanted:
        killed, runs = killed + killed_somewhere(job, service, dice, often), runs + 1
        assert runs < 3 * wanted + 10, "most runs ended before they could be killed"
    check_whole(job, service, truth)


def check_whole(job: Job, service: Moving, truth: Truth) -> None:
    """Run a job to the end, and compare its output with that of an undisturbed run and with the chain."""
    words = job.words[: job.words.index("--start")]
    whole = Job(job.program, job.url, *words, "--start", str(FIRST), place="undisturbed")
    for one in (job, whole):
        assert one().code == 0
    came = job.out.read_bytes()
    assert came == whole.out.read_bytes()
    if words[0] == "records":  # whole rows as jsonl: the chain's own
        assert difference(came.split(b"\n")[:-1], truth.groups("records", FIRST, service.tip + 1)) == ""


@pytest.mark.search
def test_killed_at_each_step(chainq: Program, serve: Serve) -> None:
    """Killed before each step on the file system in turn, and in the middle of each write: the bytes are the same."""
    service, deadly = Moving(FIRST + 40), assassin(chainq)
    url = serve(service)
    service.hook = lambda method: setattr(service, "tip", service.tip + (method == "latest/block"))
    job = Job(chainq, url, "records", "--csv", "--start", str(FIRST))
    for step in range(1, 20):
        assert job("--follow", "--interval", "0.01", env=deadly(step)).code == -signal.SIGKILL
    service.hook = lambda _: None
    said(job(), 0)
    whole = Job(chainq, url, "records", "--csv", "--start", str(FIRST), place="undisturbed")
    said(whole(), 0)
    assert job.out.read_bytes() == whole.out.read_bytes()
    assert sorted(path.name for path in job.folder.iterdir()) == ["kept", "kept.lock", "out"]  # no litter
