"""--checkpoint and its files: whose output it is, when a rewind acts, and what is left alone."""

import json
import os
import signal

import pytest

from harness.jobs import FIRST, Job, assassin, lines, said
from harness.program import Program, finish
from harness.services import Moving, Serve, serving
from harness.truth import Truth


def test_2_two_checkpoints_with_one_output(chainq: Program, truth: Truth, serve: Serve) -> None:
    """The second checkpoint is refused, and neither deletes rows of the other: not what a killed run left, which the
    next run of its own checkpoint removes, and not once the first checkpoint is gone."""
    service, deadly = Moving(FIRST), assassin(chainq)
    job, other = (
        Job(chainq, serve(service), name, "--start", str(FIRST - 50), place=name) for name in ("blocks", "records")
    )
    service.hook = lambda method: setattr(service, "tip", service.tip + (method == "latest/block"))
    assert job("--follow", "--interval", "0.01", env=deadly(24)).code == -signal.SIGKILL
    service.hook = lambda _: None
    left = job.out.read_bytes()
    for mend in (job, None):
        said(other(out=str(job.out)), 2, f"{job.out} has rows already, and checkpoint {other.kept} does not record")
        assert job.out.read_bytes() == left
        assert not other.kept.exists()
        if mend:
            said(job(), 0)
            left = job.out.read_bytes()
            job.kept.rename(job.folder / "moved")
    assert left == lines(truth.rows("blocks", FIRST - 50, service.tip + 1))


@pytest.mark.parametrize("kind", ["line removed", "byte added"])
def test_6_a_file_that_was_edited_in_between(kind: str, chainq: Program, serve: Serve) -> None:
    """A file that is shorter, or in which no row ends where it was recorded, is refused before any request."""
    service = Moving(20)
    job = Job(chainq, serve(service), "blocks")
    said(job(), 0)
    text = job.out.read_bytes()
    rows = text.splitlines(keepends=True)
    edited = {
        "line removed": b"".join(rows[:-1]),
        "byte added": text[:-20] + b"x" + text[-20:],
    }[kind]
    job.out.write_bytes(edited)
    service.tip, kept, calls = 25, job.files(), len(service.calls)
    said(job(), 6, str(job.out))
    assert job.files() == kept  # but for the state, which has the error
    assert str(job.out) in json.loads(job.kept.read_bytes())["state"]["error"]
    assert len(service.calls) == calls
    job.out.write_bytes(text)
    said(job(), 0)
    assert job.next == 26


def test_4_rewind_waits_for_the_service(chainq: Program, truth: Truth, serve: Serve) -> None:
    """Runs with --rewind that do not reach the service cut nothing, however many there are."""
    service = Moving(20)
    with serving(service) as url:
        job = Job(chainq, url, "blocks")
        for service.tip in (20, 40, 60):
            said(job(), 0)
    before = job.files()
    for _ in range(3):
        said(job("--rewind", "20", "--retries", "0", "--timeout", "1"), 4, "resumes at height 61")
        assert job.files() == before
    job.url = serve(service)
    job.kept.write_text(job.kept.read_text().replace(url, job.url))
    service.calls.clear()
    said(job("--rewind", "20"), 0)
    assert "getBlocks" in service.calls
    assert job.out.read_bytes() == lines(truth.rows("blocks", 0, 61))


def test_a_pipe_is_warned_of_once(chainq: Program, truth: Truth, serve: Serve) -> None:
    """With --checkpoint to a pipe, also one that -o names, the first run says that rows which the reader does not take
    are lost; -q not, and no file is a pipe."""
    service = Moving(5)
    job, quiet, plain, fifo = (Job(chainq, serve(service), "blocks", place=place) for place in "abcd")
    warning = ("warning: the output is a pipe", "rows that its reader does not take are lost", "-o FILE")
    said(job(out=""), 0, *warning)
    said(quiet("-q", out=""), 0)
    with (chainq.home / "file").open("wb") as file:
        said(finish(chainq.start(*plain.line(out=""), stdout=file)), 0)
    os.mkfifo(fifo.out)
    process = fifo.start()
    assert fifo.out.read_bytes() == lines(truth.rows("blocks", 0, 6))
    said(finish(process), 0, *warning)
    service.tip = 8
    said(job(out=""), 0)


@pytest.mark.parametrize("kind", ["link", "file", "folder"])
def test_the_temporary_file_is_not_followed(kind: str, chainq: Program, serve: Serve) -> None:
    """Whoever can write to the folder cannot make a run write through a link, or read what it writes."""
    job = Job(chainq, serve(Moving(5)), "blocks")
    victim, temporary = chainq.home / "victim", job.folder / ".kept.new"
    victim.write_bytes(b"precious")
    if kind == "folder":
        temporary.mkdir()
    else:
        {"link": temporary.symlink_to, "file": temporary.hardlink_to}[kind](victim)
    ran = job()
    assert victim.read_bytes() == b"precious"
    if kind == "folder":
        said(ran, 7, f"cannot write checkpoint {job.kept}", "resume")
    else:
        said(ran, 0)
        assert (job.next, temporary.exists()) == (6, False)
