"""Runs programs and pipelines, and says what they took: whole processes, start-up included, children too."""

import hashlib
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

LONGEST = 300  # seconds that one run may take
PATIENCE = 600  # seconds after which a row has had enough runs, if it has had LEAST of them
LEAST = 3
CHAINQ = str(Path(sys.executable).with_name("chainq"))

Pipeline = Sequence[Sequence[str]]


class Took(NamedTuple):
    """Seconds by the clock, seconds of processor time (user and system), and the most memory of a process in MB."""

    wall: float
    cpu: float
    memory: float


def environment() -> dict[str, str]:
    """Nothing that would change what is measured: no settings of chainq's, no proxies, and compiled modules kept."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "TMPDIR")}
    return {**kept, "XDG_CONFIG_HOME": "/nonexistent", "NO_PROXY": "127.0.0.1"}


def run(pipeline: Pipeline, output: Path | None = None) -> Took:
    """Run the commands of a pipeline, what the last one writes going to a file or nowhere.

    Raises RuntimeError where one fails, or has not ended in time.
    """
    began = time.monotonic()
    processes: list[subprocess.Popen[bytes]] = []
    with (output or Path(os.devnull)).open("wb") as sink:
        before = None
        for place, command in enumerate(pipeline):
            last = place == len(pipeline) - 1
            process = subprocess.Popen(
                command,
                stdin=before or subprocess.DEVNULL,
                stdout=sink if last else subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment(),
            )
            if before:
                before.close()
            before = process.stdout
            processes.append(process)
    watch = threading.Timer(LONGEST, _kill, [processes])
    watch.start()
    cpu = memory = 0.0
    try:
        for command, process in zip(pipeline, processes, strict=True):
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)  # so that Popen does not look for it again
            cpu += used.ru_utime + used.ru_stime
            memory = max(memory, used.ru_maxrss / 1024)
            if process.returncode:
                raise RuntimeError(f"{' '.join(command)[:200]} ended with {process.returncode}")
    finally:
        watch.cancel()
        for process in processes:
            if process.returncode is None:
                process.kill()
                process.wait()
    return Took(time.monotonic() - began, cpu, memory)


def _kill(processes: "Sequence[subprocess.Popen[bytes]]") -> None:
    for process in processes:
        process.kill()


def interleaved(jobs: Sequence[Callable[[], Took]], runs: int) -> list[list[Took]]:
    """Do the jobs in turn, so often: what the machine does beside them meets all alike."""
    began = time.monotonic()
    taken: list[list[Took]] = [[] for _ in jobs]
    for done in range(runs):
        if done >= LEAST and time.monotonic() - began > PATIENCE:
            break
        for job, took in zip(jobs, taken, strict=True):
            took.append(job())
    return taken


class Spread(NamedTuple):
    """What several runs gave: the median, the least and the most."""

    median: float
    least: float
    most: float

    def over(self, factor: float) -> "Spread":
        """Return `factor` divided by each: rates in place of times."""
        return Spread(factor / self.median, factor / self.most, factor / self.least)


def spread(found: Iterable[float]) -> Spread:
    """Return the spread of numbers."""
    sorted_ = sorted(found)
    return Spread(statistics.median(sorted_), sorted_[0], sorted_[-1])


def ratio(ours: Sequence[Took], theirs: Sequence[Took]) -> tuple[Spread, float]:
    """What each of our runs took against theirs beside it: by the clock, and the median in processor time."""
    pairs = list(zip(ours, theirs, strict=True))
    return (
        spread(our.wall / their.wall for our, their in pairs),
        statistics.median(our.cpu / max(their.cpu, 1e-6) for our, their in pairs),
    )


def digest(path: Path) -> tuple[int, str]:
    """Lines of a file, and a hash of all that is in it."""
    found, lines = hashlib.sha256(), 0
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            found.update(piece)
            lines += piece.count(b"\n")
    return lines, found.hexdigest()


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def heading(first: str) -> None:
    """Print the head of a table of ratios."""
    say(f"| {first} | compared with | median | least to most | target |\n|---|---|---|---|---|")


def line(ours: str, theirs: str, found: Spread, target: str = "", words: str = "") -> str:
    """Return a row of a table of ratios."""
    digits = 1 if found.median >= 2 else 2
    spread = "" if found.least == found.most else f"{found.least:.{digits}f} to {found.most:.{digits}f}"
    said = " ".join([f"{found.median:.{digits}f}", words]).strip()
    return f"| {ours} | {theirs} | {said} | {spread} | {target} |"
