"""--checkpoint: output files that fill up, vanish, shrink, or are named in another way."""

import json
import os
from pathlib import Path

import pytest

from harness.jobs import FIRST, Job, lines, said
from harness.program import Program, finish
from harness.services import Moving, serving
from harness.truth import Truth


@pytest.mark.parametrize(
    ("start", "words"), [(0, ("blocks",)), (2000, ("records", "--csv", "--page-size", "50"))], ids=["blocks", "records"]
)
def test_7_a_full_disk(start: int, words: tuple[str, ...], chainq: Program) -> None:
    """On a full disk: exit 7, how far it came, whole rows in the file; with room again the next run completes it."""
    with serving(Moving(FIRST)) as url:
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


def test_7_a_checkpoint_that_cannot_be_written(chainq: Program, truth: Truth) -> None:
    """When only the checkpoint is out of room: exit 7 and says so; it stays valid, and rows are repeated, not lost."""
    service = Moving(0)
    service.hook = lambda method: setattr(service, "tip", service.tip + (method == "latest/block"))
    with serving(service) as url:
        job = Job(chainq, url, "blocks")
        ran = job.capped(1000, "--follow", "--interval", "0.01", "-q", out="")
        at = job.next
        said(ran, 7, f"checkpoint {job.kept}", "File too large", f"resumes at height {at}")
        assert ran.rows == truth.rows("blocks", 0, len(ran.rows))
        assert 0 < at <= len(ran.rows)
        service.hook = lambda _: None
        again = job(out="")
    assert again.rows == truth.rows("blocks", at, service.tip + 1)
    assert sorted(job.files()) == ["kept"]


def test_7_places_that_cannot_be_written(chainq: Program) -> None:
    """A checkpoint or an output below a file: exit 7 and the name, and no call."""
    service = Moving(5)
    with serving(service) as url:
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


def test_7_a_device_without_room(chainq: Program, full_device: Path) -> None:
    """An output that takes no byte: exit 7 and its name, and the checkpoint stays where it was."""
    with serving(Moving(5)) as url:
        job = Job(chainq, url, "blocks")
        said(job(out=str(full_device)), 7, str(full_device), "No space left")
        assert job.next == 0
        said(job(), 0)
    assert job.out.read_bytes().count(b"\n") == 6


def test_6_an_output_that_lost_rows(chainq: Program, truth: Truth) -> None:
    """An output shorter than recorded, or missing: exit 6, both lengths, nothing appended; the error is recorded."""
    service = Moving(9)
    with serving(service) as url:
        job = Job(chainq, url, "blocks")
        said(job(), 0)
        whole, kept = job.out.read_bytes(), job.files()["kept"]
        service.tip = 12
        job.out.write_bytes(whole[:-1])
        said(job(), 6, f"recorded {len(whole)} bytes", f"{job.out} has {len(whole) - 1}")
        assert job.files() == {"out": whole[:-1], "kept": kept}
        job.out.unlink()
        said(job(), 6, f"recorded {len(whole)} bytes of {job.out}, and the file is gone")
        assert job.files() == {"kept": kept}
        job.out.write_bytes(whole + b'{"half": ')
        said(job(), 0)
    assert job.out.read_bytes() == lines(truth.rows("blocks", 0, 13))


@pytest.mark.parametrize("flag", ["--jsonl", "--csv"])
def test_another_output_gets_the_rows_from_there_on(flag: str, chainq: Program) -> None:
    """Moved to another -o, the next rows go there, after what it holds; the old file stays as it is."""
    service = Moving(9)
    with serving(service) as url:
        job = Job(chainq, url, "blocks", flag, "--columns", "height")
        said(job(), 0)
        old, other = job.out.read_bytes(), job.folder / "other"
        service.tip = 11
        said(job(out=str(other)), 0, f"{other} gets the rows from height 10 on, and {job.out} has the earlier ones")
        service.tip = 12
        with other.open("ab") as file:
            file.write(b"half a ro")
        said(job(out=str(other)), 0)
        rows = [f"{height}\r\n" if flag == "--csv" else f'{{"height":"{height}"}}\n' for height in range(10, 13)]
    assert job.out.read_bytes() == old
    assert other.read_bytes().decode() == ("height\r\n" if flag == "--csv" else "") + "".join(rows)


@pytest.mark.parametrize("between", ["a file", "standard output"])
def test_2_an_earlier_output_is_refused(between: str, chainq: Program, truth: Truth) -> None:
    """It lacks the heights that were written elsewhere since: exit 2, no call, no file touched; a new file is fine."""
    service = Moving(9)
    with serving(service) as url:
        job = Job(chainq, url, "blocks")
        said(job(), 0)
        last = str(job.folder / "other") if between == "a file" else ""
        service.tip = 12
        said(job(out=last), 0, f"{last or between} gets the rows from height 10 on, and {job.out} has the earlier ones")
        service.tip, before, calls = 15, job.files(), len(service.calls)
        ran = job()
        earlier = f"{job.out} contains earlier rows of checkpoint {job.kept}"
        said(ran, 2, earlier, f"later ones went to {last or between}")
        assert (job.files(), len(service.calls)) == (before, calls)
        job.out.unlink()
        said(job(), 0, *([f"{last} has the earlier ones"] if last else []))
    assert job.out.read_bytes() == lines(truth.rows("blocks", 13, 16))


def test_an_output_that_was_renamed_is_the_same_file(chainq: Program, truth: Truth) -> None:
    """Under its new name it is cut back by --rewind and appended to, without a warning."""
    service = Moving(9)
    with serving(service) as url:
        job = Job(chainq, url, "blocks")
        for service.tip in (9, 12):
            said(job(), 0)
        new = job.out.rename(job.folder / "new")
        for service.tip, rewind in ((15, ["--rewind", "2"]), (17, [])):
            said(job(*rewind, out=str(new)), 0)
    assert new.read_bytes() == lines(truth.rows("blocks", 0, 18))


def test_a_checkpoint_warns_of_what_another_output_holds(chainq: Program, truth: Truth) -> None:
    """Also where it had an output before, and where a run did not reach the service; the next run appends silently."""
    service = Moving(9)
    with serving(service) as url:
        job = Job(chainq, url, "blocks")
        said(job(), 0)
    other = job.folder / "other"
    other.write_bytes(b"mine\n")
    said(job("--retries", "0", out=str(other)), 4, "resumes at height 10")
    with serving(service) as job.url:
        job.kept.write_text(job.kept.read_text().replace(url, job.url))
        for service.tip, words in ((12, ["other already has content that is not from this checkpoint"]), (15, [])):
            said(job(out=str(other)), 0, *words)
    assert other.read_bytes() == b"mine\n" + lines(truth.rows("blocks", 10, 16))


def test_an_output_by_another_spelling_is_the_same_file(chainq: Program, truth: Truth) -> None:
    """A file by its relative and its absolute name is one file: what a killed run left is cut off by either."""
    service = Moving(4)
    with serving(service) as url:
        job = Job(chainq, url, "blocks")
        said(job(out="out"), 0)
        out = chainq.home / "out"
        with out.open("ab") as file:
            file.write(truth.block(5)[:100])
        service.tip = 6
        said(job(out=str(out)), 0)
    assert out.read_bytes() == lines(truth.rows("blocks", 0, 7))


def test_2_a_first_run_appends_to_nothing(chainq: Program, truth: Truth) -> None:
    """A file with content of its own is left alone, and no call is made; an empty one is fine."""
    service = Moving(4)
    with serving(service) as url:
        job = Job(chainq, url, "blocks")
        job.out.write_bytes(b"old\n")
        said(job(), 2, f"{job.out} has rows of an earlier run")
        assert (job.out.read_bytes(), service.calls) == (b"old\n", [])
        job.out.write_bytes(b"")
        said(job(), 0)
    assert job.out.read_bytes() == lines(truth.rows("blocks", 0, 5))


def test_a_name_that_is_not_utf8(chainq: Program, truth: Truth) -> None:
    """File names are bytes: an output whose name is not UTF-8 is written and goes on like any other."""
    service = Moving(4)
    with serving(service) as url:
        job = Job(chainq, url, "blocks")
        name = os.fsdecode(bytes(job.folder) + b"/caf\xe9")
        said(job(out=name), 0)
        service.tip = 6
        said(job(out=name), 0)
    assert Path(name).read_bytes() == lines(truth.rows("blocks", 0, 7))


def test_a_pipe_in_the_place_of_the_output(chainq: Program, truth: Truth) -> None:
    """A FIFO as -o is written straight, with a checkpoint as without."""
    with serving(Moving(4)) as url:
        job = Job(chainq, url, "blocks")
        os.mkfifo(job.out)
        process = job.start()
        with job.out.open("rb") as reader:
            came = reader.read()
        said(finish(process), 0, "the output is a pipe", "-o FILE")
    assert came == lines(truth.rows("blocks", 0, 5))
    assert job.next == 5


def test_2_the_checkpoint_is_gone(chainq: Program) -> None:
    """The next run changes nothing and says what to do."""
    with serving(Moving(FIRST + 20)) as url:
        job = Job(chainq, url, "records", "--start", str(FIRST))
        assert job().code == 0
        before = job.out.read_bytes()
        job.kept.unlink()
        said(job("--quiet"), 2, f"{job.out} has rows of an earlier run, and there is no checkpoint")
    assert job.out.read_bytes() == before
    assert not job.kept.exists()


def test_2_the_service_moved(chainq: Program) -> None:
    """A checkpoint of another URL is refused."""
    with serving(Moving(FIRST + 20)) as url, serving(Moving(FIRST + 35)) as moved:
        assert Job(chainq, url, "records", "--start", str(FIRST))().code == 0
        said(
            Job(chainq, moved, "records", "--start", str(FIRST))(),
            2,
            "made with other arguments (url: ",
        )
