"""--follow with an output file that another program changes between two polls: never in silence, never a lost row."""

import json
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.models.search import some
from harness.running.jobs import FIRST, Job, lines, said
from harness.running.program import Program, finish
from harness.running.truth import Truth
from harness.servers.services import Moving, Serve

HELD = (FIRST, FIRST + 11)  # heights that are written before the file is changed
GROWN = 5  # blocks after that


class Following(Job):
    """A run that follows the tip, has written HELD, and is up to date with its service."""

    def __init__(self, program: Program, serve: Serve) -> None:
        self.service = Moving(FIRST + 10)
        super().__init__(program, serve(self.service), "blocks", "--start", str(FIRST))
        self.process = self.follow(HELD[1])

    def grow(self) -> None:
        """Add blocks."""
        self.service.tip += GROWN

    def told(self) -> str:
        """Add blocks, let the run write them, and end it; return what it said."""
        self.grow()
        told = self.wait(self.process, HELD[1] + GROWN)
        self.process.send_signal(signal.SIGTERM)
        return told + finish(self.process).err


def edit(out: Path) -> None:
    """As `sed -i 1d` does: a new file of the same name."""
    other = out.with_name("new")
    other.write_bytes(out.read_bytes().partition(b"\n")[2])
    other.rename(out)


def cut(out: Path) -> None:
    with out.open("r+b") as file:
        file.truncate(out.read_bytes().index(b"\n") + 1)


def append(out: Path) -> None:
    with out.open("ab") as file:
        file.write(b"junk\n")


@pytest.mark.parametrize("change", some([edit, cut, append], edit, append))
def test_6_a_file_that_was_changed(change: Callable[[Path], None], chainq: Program, truth: Truth, serve: Serve) -> None:
    """The next poll ends with exit 6 and leaves the file as it is; so does the next run if rows are gone. What was
    appended is taken for the rest of a run that was killed."""
    job = Following(chainq, serve)
    change(job.out)
    left = job.out.read_bytes()
    job.grow()
    ran = finish(job.process)
    assert ran.code == 6, ran.err
    assert f"another program changed {job.out} during the run" in ran.err
    assert "resumes at" not in ran.err
    assert (job.out.read_bytes(), job.next) == (left, HELD[1])
    plain = job()
    if change is not append:
        said(plain, 6, "are recorded, and it has")
        assert (job.out.read_bytes(), job.next) == (left, HELD[1])
        return
    said(plain, 0)
    assert job.out.read_bytes() == lines(truth.rows("blocks", HELD[0], HELD[1] + GROWN))


@pytest.mark.parametrize(("place", "create"), [("other", True), ("old/out", False)])
def test_a_file_that_was_moved(place: str, create: bool, chainq: Program, truth: Truth, serve: Serve) -> None:
    """A warning names the height from which the new file has the rows; each row is in one of them."""
    job = Following(chainq, serve)
    other = job.folder / place
    other.parent.mkdir(exist_ok=True)
    job.out.rename(other)
    if create:
        job.out.touch()
    assert job.told().count(f"{job.out} gets the rows from height {HELD[1]} on") == 1
    said(job(), 0)
    assert other.read_bytes() == lines(truth.rows("blocks", *HELD))
    assert job.out.read_bytes() == lines(truth.rows("blocks", HELD[1], HELD[1] + GROWN))


def test_6_without_a_checkpoint(chainq: Program, serve: Serve) -> None:
    """The run itself knows what it wrote."""
    service = Moving(FIRST + 10)
    out = chainq.home / "out"
    url = serve(service)
    words = ("blocks", "--start", str(FIRST), "--follow", "--interval", "0.02", "--lag", "0", "-v", "-o", str(out))
    process = chainq.start(*words, url=url)
    assert process.stderr is not None
    while not out.exists() or out.read_bytes().count(b"\n") < HELD[1] - HELD[0]:
        assert process.stderr.readline()
    edit(out)
    service.tip += GROWN
    ran = finish(process)
    assert ran.code == 6
    assert "another program changed" in ran.err
    assert f"resume with --start {HELD[1]} --follow and another -o FILE" in ran.err


def test_emptied_in_the_middle_of_a_round(chainq: Program, truth: Truth, serve: Serve) -> None:
    """Between the tip and the rows: `copytruncate` is recognized there, too, and nothing else is written over."""
    job = Following(chainq, serve)

    def rotate(method: str) -> None:
        if method == "getBlocks" and job.out.stat().st_size:
            shutil.copy(job.out, job.folder / "out.1")
            job.out.write_bytes(b"")
            job.service.hook = lambda _: None

    job.service.hook = rotate
    job.told()
    said(job(), 0)
    assert json.loads(job.kept.read_bytes())["positions"][-1]["length"] == job.out.stat().st_size
    assert (job.folder / "out.1").read_bytes() == lines(truth.rows("blocks", *HELD))
    assert job.out.read_bytes() == lines(truth.rows("blocks", HELD[1], HELD[1] + GROWN))
