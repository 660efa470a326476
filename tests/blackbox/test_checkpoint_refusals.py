"""--checkpoint: one run at a time, with one query: what is refused, and what is left unchanged then."""

import os

import pytest

from chainq.demo.planted import VIEW_KEY
from harness.belief import besides_belief
from harness.jobs import ADDRESSES, Job, lines, said, starting
from harness.program import Program, finish, one_line
from harness.services import Moving, serving
from harness.truth import Truth


def test_75_a_second_run_ends_at_once(chainq: Program, truth: Truth) -> None:
    """While one run holds the checkpoint, another one ends with 75 and one line; after a SIGKILL none is blocked."""
    service = Moving(5)
    with serving(service) as url:
        job = Job(chainq, url, "blocks")
        first = job.start("--follow", "--interval", "0.05", out="")
        assert first.stdout is not None
        for height in range(6):
            assert first.stdout.readline() == truth.block(height) + b"\n"
        service.hook = lambda _: None
        calls = len([call for call in service.calls if call == "getBlocks"])
        ran = job()
        said(ran, 75, "another run is using checkpoint", str(job.kept))
        assert ran.out == b""
        assert not job.out.exists()
        assert calls == len([call for call in service.calls if call == "getBlocks"])
        first.kill()
        finish(first)
        service.tip = 7
        again = job(out="")
    assert (again.code, again.err) == (0, "")
    assert again.rows in (truth.rows("blocks", 6, 8), truth.rows("blocks", 0, 8))


def test_75_two_checkpoints_on_one_file(chainq: Program, truth: Truth) -> None:
    """While one run appends to a file, another one with a checkpoint of its own ends with 75 and leaves it alone."""
    service = Moving(5)
    with serving(service) as url:
        job, other = Job(chainq, url, "blocks"), Job(chainq, url, "records", place="other")
        first = job.start("--follow", "--interval", "0.05", "-v")
        assert first.stderr is not None
        while not (job.kept.exists() and job.next == 6):
            assert first.stderr.readline()
        said(other(out=str(job.out)), 75, "another run is appending to", str(job.out))
        ran = chainq("records", "--end", "3", "-o", str(job.out), url=url)  # would replace what the first goes on with
        said(ran, 75, "another run is appending to", str(job.out))
        first.kill()
        finish(first)
    assert job.out.read_bytes() == lines(truth.rows("blocks", 0, 6))


def test_75_a_checkpoint_by_way_of_a_link(chainq: Program, truth: Truth) -> None:
    """A symbolic link to a checkpoint is the same checkpoint: locked with it, and a link still when the run ends."""
    service = Moving(5)
    with serving(service) as url:
        job = Job(chainq, url, "blocks")
        linked = Job(chainq, url, "blocks")
        linked.kept = job.folder / "link"
        linked.kept.symlink_to("kept")
        first = job.start("--follow", "--interval", "0.05", "-v")
        assert first.stderr is not None
        while not (job.kept.exists() and job.next == 6):
            assert first.stderr.readline()
        said(linked(out=""), 75, "another run is using checkpoint")
        first.kill()
        finish(first)
        service.tip = 7
        said(linked(), 0)
    assert linked.kept.is_symlink()
    assert (job.next, job.out.read_bytes()) == (8, lines(truth.rows("blocks", 0, 8)))


def test_7_an_output_file_that_is_replaced(chainq: Program) -> None:
    """A file that is deleted under a run ends it: what it writes from then on would be lost."""
    service = Moving(5)
    with serving(service) as url:
        job = Job(chainq, url, "blocks")
        first = job.start("--follow", "--interval", "0.05", "-v")
        assert first.stderr is not None
        while not (job.kept.exists() and job.next == 6):
            assert first.stderr.readline()
        service.hook = lambda method: job.out.unlink(missing_ok=True) if method != "latest/block" else None
        service.tip = 7
        ran = finish(first)
    assert ran.code == 7
    assert "was deleted or replaced" in ran.err


@pytest.mark.parametrize("out", ["c", "c.lock", "./c"])
def test_2_a_checkpoint_that_is_the_output(out: str, chainq: Program, nowhere: str) -> None:
    """One file cannot be both: refused before any call, and nothing is written."""
    said(chainq("records", "--checkpoint", "c", "-o", out, url=nowhere), 2, "same file")
    assert not (chainq.home / "c").exists()


def test_2_a_file_that_ends_inside_a_line(chainq: Program) -> None:
    """What a killed --follow left is not gone on with: the first row would be glued to it."""
    (chainq.home / "out").write_bytes(b'{"half":1')
    for going in (("--follow", "--limit", "3"), ("--checkpoint", "c")):
        said(chainq("records", "--start", "10", *going, "-o", "out", url="demo:"), 2, "out has rows already")
    assert (chainq.home / "out").read_bytes() == b'{"half":1'


def test_rewind_says_where_it_goes_when_rows_come_again(chainq: Program) -> None:
    """Positions are some way apart: on standard output, where nothing is cut back, the user learns what comes twice."""
    words = ("blocks", "--start", "20", "--checkpoint", "c", "--end")
    for end in ("30", "40"):
        said(chainq(*words, end, "-q", url="demo:"), 0)
    ran = chainq(*words, "40", "--rewind", "3", url="demo:")
    assert len(ran.rows) == 10
    said(ran, 0, "--rewind 3 goes back to the nearest checkpoint position, height 30")
    said(chainq(*words, "40", "--rewind", "10", url="demo:"), 0)


def test_2_a_checkpoint_that_is_no_file(chainq: Program, nowhere: str) -> None:
    """A device, a FIFO or a folder is no checkpoint: exit 2, and nothing waits for it."""
    os.mkfifo(chainq.home / "fifo")
    for path in ("/dev/null", str(chainq.home / "fifo"), str(chainq.home)):
        said(chainq("blocks", "--checkpoint", path, url=nowhere), 2, "not a regular file")
    said(chainq("blocks", "--checkpoint", "a" * 5000, url=nowhere), 7, "File name too long")


def test_2_another_query_is_refused(chainq: Program) -> None:
    """Another command, URL, format, start, address, dialect or choice of columns: exit 2, no call, nothing written."""
    service = Moving(30)
    with serving(service) as url, serving(Moving(30)) as elsewhere:
        job = Job(chainq, url, "address-transactions", ADDRESSES[0], "--start", "3")
        said(besides_belief(job(), "address-transactions"), 0)
        before, calls = job.files(), len(service.calls)
        asked = ("address-transactions", ADDRESSES[0], "--start", "3")
        others = {
            "command": ("records", "--start", "3"),
            "arguments": ("address-transactions", ADDRESSES[1], "--start", "3"),
            "start": ("address-transactions", ADDRESSES[0], "--start", "4"),
            "format": (*asked, "--csv"),
            "dialect": (*asked, "--dialect", "aleo"),
            "columns": (*asked, "--columns", "transaction_id"),
            "url": asked,
        }
        service.tip = 40
        for key, words in others.items():  # one by one: they share the lock
            ran = Job(chainq, elsewhere if key == "url" else url, *words)()
            expected = (
                ("was made by chainq address-transactions, not by chainq records",)
                if key == "command"
                else ("made with other arguments", f"({key}: {'all then' if key == 'columns' else ''}")
            )
            said(ran, 2, *expected)
            assert ran.out == b""
        assert job.files() == before
        assert len(service.calls) == calls
        said(besides_belief(job(), "address-transactions"), 0)  # while the same query resumes
        assert job.next == 41


def test_2_a_damaged_checkpoint_is_no_fresh_start(chainq: Program) -> None:
    """A checkpoint that is cut short, empty, strange or not UTF-8: exit 2, no call; no file is touched."""
    service = Moving(30)
    with serving(service) as url:
        job = Job(chainq, url, "blocks")
        said(job(), 0)
        text = job.kept.read_bytes()
        broken = [text[:end] for end in (0, 1, 20, len(text) // 2, len(text) - 3)]
        broken += [b"\0" * 4096, text + b"{}"]
        broken += [text.replace(b'"chainq": 3', b'"chainq": 2'), text.replace(b'"chainq": 3', b'"chainq": 3, "new": 5')]
        broken += [text.replace(b'"hash": "a', b'"hash": "\xe9'), text.replace(b'"blocks"', b'"\xff"')]
        broken += [text.replace(b'"next": 31', b'"next": -1'), text.replace(b'"length": ', b'"length": -')]
        assert len(set(broken)) == len(broken)
        assert text not in broken
        calls, runs = len(service.calls), []
        for number, bad in enumerate(broken):
            other = Job(chainq, url, "blocks", place=f"broken{number}")
            other.kept.write_bytes(bad)
            other.out.write_bytes(b"old\n")
            runs.append((other, {"kept": bad, "out": b"old\n"}))
        for other, before in runs:
            ran = other()
            said(ran, 2, "checkpoint", str(other.kept))
            assert ran.out == b""
            assert other.files(state=True) == before
        assert len(service.calls) == calls


@pytest.mark.parametrize("command", ["blocks", "balance"])
def test_2_a_checkpoint_that_is_another_file(command: str, chainq: Program, nowhere: str) -> None:
    """The data of a user: it is left as it is, with no lock beside it, and nobody is told to delete it."""
    if command == "balance":
        pytest.importorskip("aleo")
    file, key = chainq.home / "rows", {"CHAINQ_VIEW_KEY": VIEW_KEY}
    for text in (b"height,hash\n1,ab1\n", b"\xff\xfe", b"null", b"[]", b"{}\n", b'{"height":"1"}\n'):
        file.write_bytes(text)
        message = one_line(chainq(command, "--checkpoint", "rows", url=nowhere, env=key), 2)
        assert message.endswith("rows is not a checkpoint\n")
        assert file.read_bytes() == text
        assert [path.name for path in chainq.home.iterdir() if path.name.startswith("rows")] == ["rows"]


def test_7_a_checkpoint_in_a_folder_that_is_not_there(chainq: Program, nowhere: str) -> None:
    """The message names the checkpoint, and not the lock beside it."""
    line = one_line(chainq("blocks", "--checkpoint", "no/c", url=nowhere), 7)
    folder = chainq.home.resolve() / "no"
    said = f"cannot open checkpoint no/c: there is no folder {folder}\n"
    assert line == f"chainq blocks: {said}"


def test_7_a_file_system_without_locks(chainq: Program) -> None:
    """The checkpoint needs one with locks; the output does not. The message says so."""
    code = "import fcntl\ndef flock(*_): raise OSError(37, 'No locks available')\nfcntl.flock = flock\n"
    words = ("records", "--start", "-5", "--checkpoint", "c", "-o", "out", "--url", "demo:")
    ran = chainq(*words, env=starting(chainq, "lockless", code))
    said(
        ran,
        7,
        "cannot lock",
        "No locks available",
    )
