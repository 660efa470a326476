"""Outputs of runs with a checkpoint that are rotated, as logrotate(8) does: each row is in one file, once."""

import shutil
import signal
import subprocess
from itertools import product

import pytest

from harness.jobs import FIRST, Job, assassin, said
from harness.program import Program, finish
from harness.search import some
from harness.services import Moving, Serve

WAYS = ("create", "copytruncate")


def rotate(job: Job, way: str, number: int) -> None:
    """Give the rows so far another name."""
    other = job.folder / f"out.{number}"
    if way == "create":
        job.out.rename(other)
        job.out.touch()
    else:
        shutil.copy(job.out, other)
        job.out.write_bytes(b"")


def whole(job: Job) -> bytes:
    """The rows of all files in their order, each without a header."""
    files = [*sorted(job.folder.glob("out.*"), reverse=True), job.out]
    return b"".join(path.read_bytes() for path in files)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("command", "form"),
    some(product(["blocks", "records"], [(), ("--csv",)]), ("blocks", ("--csv",)), ("records", ()), several=True),
)
def test_rotated_between_runs(command: str, way: str, form: tuple[str, ...], chainq: Program, serve: Serve) -> None:
    """The next run goes on at its position in the new file, and says so; csv begins with a header again."""
    service = Moving(FIRST + 40)
    url = serve(service)
    job = Job(chainq, url, command, *form, "--start", str(FIRST))
    plain = Job(chainq, url, command, *form, "--start", str(FIRST), place="plain")
    said(job(), 0)
    for number in (9, 8):
        rotate(job, way, number)
        height, service.tip = service.tip + 1, service.tip + 15
        said(job(), 0, f"{job.out} gets the rows from height {height} on")
        said(job(), 0)
    said(plain(), 0)
    header = plain.out.read_bytes().partition(b"\n")[0] + b"\n" if form else b""
    parts = [path.read_bytes() for path in (*sorted(job.folder.glob("out.*"), reverse=True), job.out)]
    assert all(part.startswith(header) and len(part) > len(header) for part in parts)
    assert header + b"".join(part.removeprefix(header) for part in parts) == plain.out.read_bytes()


@pytest.mark.parametrize("way", WAYS)
def test_rotated_under_a_run(way: str, chainq: Program, serve: Serve) -> None:
    """--follow goes on in the new file from its next poll on."""
    service = Moving(FIRST + 40)
    url = serve(service)
    job = Job(chainq, url, "records", "--start", str(FIRST))
    plain = Job(chainq, url, "records", "--start", str(FIRST), place="plain")
    process = job.follow(service.tip + 1)
    for number in (9, 8, 7):
        rotate(job, way, number)
        service.tip += 15
        job.wait(process, service.tip + 1)
    process.send_signal(signal.SIGTERM)
    finish(process)
    said(job(), 0)
    said(plain(), 0)
    assert job.out.stat().st_size
    assert whole(job) == plain.out.read_bytes()


@pytest.mark.search
def test_rotated_after_a_kill(chainq: Program, serve: Serve) -> None:
    """A killed run may leave rows beyond its position in the file that was rotated away: the next run warns of it."""
    service, deadly = Moving(FIRST + 40), assassin(chainq)
    url = serve(service)
    job = Job(chainq, url, "records", "--start", str(FIRST))
    plain = Job(chainq, url, "records", "--start", str(FIRST), place="plain")
    said(job(), 0)
    for number, step in enumerate(range(8, 20, 2)):
        height, service.tip = job.next, service.tip + 20
        killed = job(env=deadly(step)).code == -signal.SIGKILL
        height = job.next
        rotate(job, "create", 9 - number)
        said(job(), 0, f"{job.out} gets the rows from height {height} on", *(["a run was killed"] if killed else []))
    said(plain(), 0)
    due, files = plain.out.read_bytes().splitlines(), [*sorted(job.folder.glob("out.*"), reverse=True), job.out]
    came = [row for file in files for row in file.read_bytes().splitlines() if row in due]  # a kill may cut a row
    assert list(dict.fromkeys(came)) == due


def test_the_stanza_of_the_cookbook(chainq: Program, serve: Serve) -> None:
    """logrotate takes it, and the next run goes on."""
    if not shutil.which("logrotate"):
        pytest.skip("logrotate is not installed")
    service = Moving(FIRST + 40)
    job = Job(chainq, serve(service), "records", "--start", str(FIRST))
    said(job(), 0)
    stanza = chainq.home / "stanza"
    stanza.write_text(f"{job.out} {{\n    rotate 14\n    delaycompress\n    compress\n    create\n}}\n")
    subprocess.run(["logrotate", "-f", "-s", str(chainq.home / "state"), str(stanza)], check=True)  # noqa: S607
    service.tip += 3
    said(job(), 0, "gets the rows from height")
    assert (job.folder / "out.1").exists()
