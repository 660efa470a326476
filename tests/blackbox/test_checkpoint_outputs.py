"""--checkpoint: output files that fill up, vanish, shrink, or are named in another way."""

import json
import os
from pathlib import Path

import pytest

from harness.jobs import FIRST, Job, lines, said
from harness.program import Program
from harness.services import Moving, Serve
from harness.truth import Truth


@pytest.mark.parametrize(
    ("start", "words"),
    [(0, ("blocks",)), (2300, ("records", "--csv", "--page-size", "50"))],
    ids=["blocks", "records"],
)
def test_7_a_full_disk(start: int, words: tuple[str, ...], chainq: Program, serve: Serve) -> None:
    """On a full disk: exit 7, how far it came, whole rows in the file; with room again the next run completes it."""
    url = serve(Moving(FIRST))
    whole = Job(chainq, url, *words, "--start", str(start), place="undisturbed")
    said(whole(), 0)
    due = whole.out.read_bytes()
    job, before = Job(chainq, url, *words, "--start", str(start)), -1
    for share in (0.4, 0.4, 0.9):
        ran = job.capped(int(len(due) * share))
        said(ran, 7, str(job.out), "File too large", f"resumes at height {job.next}")
        came = job.out.read_bytes()
        assert came == due[: len(came)]
        assert came.endswith(b"\n") or not came
        assert len(came) == json.loads(job.kept.read_bytes())["positions"][-1]["length"] >= before
        before = len(came)
    assert before > 0
    said(job(), 0)
    assert job.out.read_bytes() == due


def test_7_a_checkpoint_that_cannot_be_written(chainq: Program, truth: Truth, serve: Serve) -> None:
    """When only the checkpoint is out of room: exit 7 and says so; it stays valid, and rows are repeated, not lost."""
    service = Moving(0)
    service.hook = lambda method: setattr(service, "tip", service.tip + (method == "latest/block"))
    job = Job(chainq, serve(service), "blocks")
    ran = job.capped(1000, "--follow", "--interval", "0.01", "-q", out="")
    at = job.next
    said(ran, 7, f"checkpoint {job.kept}", "File too large", f"resumes at height {at}")
    assert ran.rows == truth.rows("blocks", 0, len(ran.rows))
    assert 0 < at <= len(ran.rows)
    service.hook = lambda _: None
    again = job(out="")
    assert again.rows == truth.rows("blocks", at, service.tip + 1)
    assert sorted(job.files()) == ["kept"]


def test_7_places_that_cannot_be_written(chainq: Program, serve: Serve) -> None:
    """A checkpoint or an output below a file: exit 7 and the name, and no call."""
    service = Moving(5)
    url = serve(service)
    job = Job(chainq, url, "blocks")
    below = Job(chainq, url, "blocks")
    below.kept = Path("/dev/null/kept")
    ran = below()
    said(ran, 7, "/dev/null/kept")
    assert not job.out.exists()
    said(job(out="/dev/null/out"), 7, "/dev/null/out")
    assert not service.calls
    said(job(), 0)
    assert job.out.read_bytes().count(b"\n") == 6


def test_7_a_device_without_room(chainq: Program, full_device: Path, serve: Serve) -> None:
    """An output that takes no byte: exit 7 and its name, and the checkpoint stays where it was."""
    job = Job(chainq, serve(Moving(5)), "blocks")
    said(job(out=str(full_device)), 7, str(full_device), "No space left")
    assert job.next == 0
    said(job(), 0)
    assert job.out.read_bytes().count(b"\n") == 6


def test_6_an_output_that_lost_rows(chainq: Program, truth: Truth, serve: Serve) -> None:
    """An output shorter than recorded is exit 6, with both lengths; one that is gone is a new file, with a warning."""
    service = Moving(9)
    job = Job(chainq, serve(service), "blocks")
    said(job(), 0)
    whole, kept = job.out.read_bytes(), job.files()["kept"]
    service.tip = 12
    job.out.write_bytes(whole[:-1])
    said(job(), 6, f"{len(whole)} bytes of {job.out} are recorded, and it has {len(whole) - 1}")
    assert job.files() == {"out": whole[:-1], "kept": kept}
    job.out.unlink()
    said(job(), 0, f"{job.out} gets the rows from height 10 on")
    assert job.out.read_bytes() == lines(truth.rows("blocks", 10, 13))


@pytest.mark.parametrize("flag", ["--jsonl", "--csv"])
def test_another_output_gets_the_rows_from_there_on(flag: str, chainq: Program, serve: Serve) -> None:
    """Moved to another -o, the next rows go there, after what it holds; the old file stays as it is."""
    service = Moving(9)
    job = Job(chainq, serve(service), "blocks", flag, "--columns", "height")
    said(job(), 0)
    old, other = job.out.read_bytes(), job.folder / "other"
    service.tip = 11
    said(job(out=str(other)), 0, f"{other} gets the rows from height 10 on, and {job.out} has the earlier ones")
    service.tip = 12
    said(job(out=str(other)), 0)
    rows = [f"{height}\r\n" if flag == "--csv" else f'{{"height":"{height}"}}\n' for height in range(10, 13)]
    assert job.out.read_bytes() == old
    assert other.read_bytes().decode() == ("height\r\n" if flag == "--csv" else "") + "".join(rows)


@pytest.mark.parametrize("between", ["a file", "standard output"])
def test_2_an_earlier_output_is_refused(between: str, chainq: Program, truth: Truth, serve: Serve) -> None:
    """It lacks the heights that were written elsewhere since: exit 2, no call, no file touched; a new file is fine."""
    service = Moving(9)
    job = Job(chainq, serve(service), "blocks")
    said(job(), 0)
    last = str(job.folder / "other") if between == "a file" else ""
    service.tip = 12
    said(job(out=last), 0, f"{last or between} gets the rows from height 10 on, and {job.out} has the earlier ones")
    service.tip, before, calls = 15, job.files(), len(service.calls)
    ran = job()
    said(ran, 2, f"{job.out} has rows already, and checkpoint {job.kept} does not record how far they go")
    assert (job.files(), len(service.calls)) == (before, calls)
    job.out.unlink()
    said(job(), 0, f"{job.out} gets the rows from height 13 on", *([f"{last} has the earlier ones"] if last else []))
    assert job.out.read_bytes() == lines(truth.rows("blocks", 13, 16))


def test_another_name_of_the_same_file(chainq: Program, truth: Truth, serve: Serve) -> None:
    """A file by its relative and its absolute name is one file. Names are bytes, also such as are not UTF-8."""
    service = Moving(4)
    job = Job(chainq, serve(service), "blocks")
    name = os.fsdecode(b"caf\xe9")
    for service.tip, out in ((4, name), (6, f"{chainq.home}/{name}")):
        said(job(out=out), 0)
    assert (chainq.home / name).read_bytes() == lines(truth.rows("blocks", 0, 7))


def test_2_a_first_run_appends_to_nothing(chainq: Program, truth: Truth, serve: Serve) -> None:
    """A file with content of its own is left alone, also where its checkpoint is gone, without a call; an empty one is
    fine."""
    service = Moving(4)
    job = Job(chainq, serve(service), "blocks")
    job.out.write_bytes(b"")
    said(job(), 0)
    job.kept.unlink()
    service.calls.clear()
    said(
        job("-q"), 2, f"{job.out} has rows already, and checkpoint {job.kept} does not record how far", "another output"
    )
    assert (job.files(), service.calls) == ({"out": lines(truth.rows("blocks", 0, 5))}, [])
