"""--checkpoint: one run at a time, with one query: what is refused, and what is left unchanged then."""

import os

from harness.jobs import Job, lines, said, starting
from harness.program import Program, finish
from harness.services import Moving, Serve
from harness.truth import Truth


def test_75_a_second_run_ends_at_once(chainq: Program, truth: Truth, serve: Serve) -> None:
    """While one run holds the checkpoint, another one ends with 75 and one line, also by way of a symbolic link, which
    is a link still when the run ends; after a SIGKILL none is blocked."""
    service = Moving(5)
    job, linked = (Job(chainq, serve(service), "blocks") for _ in range(2))
    linked.kept = job.folder / "link"
    linked.kept.symlink_to("kept")
    first = job.start("--follow", "--interval", "0.05", out="")
    assert first.stdout is not None
    for height in range(6):
        assert first.stdout.readline() == truth.block(height) + b"\n"
    calls = service.calls.count("getBlocks")
    for other in (job, linked):
        said(ran := other(), 75, "another run is using checkpoint", str(other.kept))
        assert (ran.out, job.out.exists()) == (b"", False)
    assert service.calls.count("getBlocks") == calls
    first.kill()
    finish(first)
    service.tip = 7
    again = linked(out="")
    assert (again.code, again.err, linked.kept.is_symlink()) == (0, "", True)
    assert again.rows in (truth.rows("blocks", 6, 8), truth.rows("blocks", 0, 8))


def test_75_two_checkpoints_on_one_file(chainq: Program, truth: Truth, serve: Serve) -> None:
    """While one run appends to a file, another one with a checkpoint of its own ends with 75 and leaves it alone."""
    service = Moving(5)
    job, other = Job(chainq, serve(service), "blocks"), Job(chainq, serve(service), "records", place="other")
    first = job.follow(6)
    said(other(out=str(job.out)), 75, "another run is appending to", str(job.out))
    ran = chainq("records", "--end", "3", "-o", str(job.out), url=job.url)  # would replace what the first goes on with
    said(ran, 75, "another run is appending to", str(job.out))
    first.kill()
    finish(first)
    assert job.out.read_bytes() == lines(truth.rows("blocks", 0, 6))


def test_7_an_output_file_that_is_replaced(chainq: Program, serve: Serve) -> None:
    """A file that is deleted under a run ends it: what it writes from then on would be lost."""
    service = Moving(5)
    job = Job(chainq, serve(service), "blocks")
    first = job.follow(6)
    service.hook = lambda method: job.out.unlink(missing_ok=True) if method != "latest/block" else None
    service.tip = 7
    ran = finish(first)
    assert (ran.code, "was deleted or replaced" in ran.err) == (7, True)


def test_2_a_checkpoint_that_is_no_file(chainq: Program, nowhere: str) -> None:
    """Nothing waits for a FIFO, and a name can be too long."""
    os.mkfifo(chainq.home / "fifo")
    said(chainq("blocks", "--checkpoint", "fifo", url=nowhere), 2, "not a regular file")
    said(chainq("blocks", "--checkpoint", "a" * 5000, url=nowhere), 7, "File name too long")


def test_7_a_file_system_without_locks(chainq: Program) -> None:
    """The checkpoint needs one with locks; the output does not. The message says so."""
    code = "import fcntl\ndef flock(*_): raise OSError(37, 'No locks available')\nfcntl.flock = flock\n"
    words = ("records", "--start", "-5", "--checkpoint", "c", "-o", "out", "--url", "demo:")
    ran = chainq(*words, env=starting(chainq, "lockless", code))
    said(ran, 7, "cannot lock", "No locks available")
