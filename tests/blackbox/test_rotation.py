"""Outputs of runs with a checkpoint that are rotated, as logrotate(8) does: each row is in one file, once."""

import shutil
import signal
import subprocess
from itertools import product

import pytest

from harness.jobs import FIRST, Job, assassin, said
from harness.program import Program, finish
from harness.search import some
from harness.services import Moving, serving

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
def test_rotated_between_runs(command: str, way: str, form: tuple[str, ...], chainq: Program) -> None:
    """The next run goes on at its position in the new file, in silence; csv begins with a header again."""
    service = Moving(FIRST + 40)
    with serving(service) as url:
        job = Job(chainq, url, command, *form, "--start", str(FIRST))
        plain = Job(chainq, url, command, *form, "--start", str(FIRST), place="plain")
        said(job(), 0)
        for number in (9, 8):
            rotate(job, way, number)
            service.tip += 15
            said(job(), 0)
            said(job(), 0)
        said(plain(), 0)
    header = plain.out.read_bytes().partition(b"\n")[0] + b"\n" if form else b""
    parts = [path.read_bytes() for path in (*sorted(job.folder.glob("out.*"), reverse=True), job.out)]
    assert all(part.startswith(header) and len(part) > len(header) for part in parts)
    assert header + b"".join(part.removeprefix(header) for part in parts) == plain.out.read_bytes()


@pytest.mark.parametrize("way", WAYS)
def test_rotated_under_a_run(way: str, chainq: Program) -> None:
    """--follow goes on in the new file from its next poll on."""
    service = Moving(FIRST + 40)
    with serving(service) as url:
        job = Job(chainq, url, "records", "--start", str(FIRST))
        plain = Job(chainq, url, "records", "--start", str(FIRST), place="plain")
        process = job.start("--follow", "--interval", "0.02", "-v")
        assert process.stderr is not None
        for number in (9, 8, 7):
            while not (job.kept.exists() and job.next == service.tip + 1):
                assert process.stderr.readline()
            rotate(job, way, number)
            service.tip += 15
        while job.next != service.tip + 1:
            assert process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        finish(process)
        said(job(), 0)
        said(plain(), 0)
    assert job.out.stat().st_size
    assert whole(job) == plain.out.read_bytes()


def test_rotated_after_a_kill(chainq: Program) -> None:
    """What a killed run wrote beyond its position is removed from the file that was rotated away."""
    service, deadly = Moving(FIRST + 40), assassin(chainq)
    with serving(service) as url:
        job = Job(chainq, url, "records", "--start", str(FIRST))
        plain = Job(chainq, url, "records", "--start", str(FIRST), place="plain")
        said(job(), 0)
        for number, step in enumerate(range(8, 20, 2)):
            service.tip += 20
            job(env=deadly(step))
            rotate(job, "create", 9 - number)
            said(job(), 0)
        said(plain(), 0)
    assert whole(job) == plain.out.read_bytes()


def test_6_a_file_that_is_only_gone(chainq: Program) -> None:
    """Where no file has the rows, nobody rotated it: exit 6, and nothing is written."""
    service = Moving(FIRST + 40)
    with serving(service) as url:
        job = Job(chainq, url, "records", "--start", str(FIRST))
        said(job(), 0)
        text = job.out.read_bytes()
        (job.folder / "out.1").write_bytes(text[:-1] + b" ")
        job.out.unlink()
        service.tip += 3
        said(job(), 6, "and the file is gone; restore")
        (job.folder / "out.1").rename(job.folder / "out.1.gz")
        said(job(), 6, "and the file is gone; restore")
        (job.folder / "out.1").write_bytes(text)
        said(job(), 0)
    assert job.out.stat().st_size


def test_the_stanza_of_the_cookbook(chainq: Program) -> None:
    """logrotate takes it, and the next run goes on."""
    if not shutil.which("logrotate"):
        pytest.skip("logrotate is not installed")
    service = Moving(FIRST + 40)
    with serving(service) as url:
        job = Job(chainq, url, "records", "--start", str(FIRST))
        said(job(), 0)
        stanza = chainq.home / "stanza"
        stanza.write_text(f"{job.out} {{\n    rotate 14\n    delaycompress\n    compress\n    create\n}}\n")
        subprocess.run(["logrotate", "-f", "-s", str(chainq.home / "state"), str(stanza)], check=True)  # noqa: S607
        service.tip += 3
        said(job(), 0)
    assert (job.folder / "out.1").exists()
