"""--checkpoint: runs that go on where the last one ended, lose nothing and repeat nothing, however they ended.

The service is in this process, so that the tests move its tip, swap its chain and kill runs at calls and steps of their
choice. `CHAINQ_KILLS` says how many runs are killed at random moments (63).
"""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

import pytest
from conftest import Program, Ran, Truth, difference, finish, side_by_side

from chainq.demo.answers import Answers
from chainq.demo.chain import Chain
from chainq.demo.faults import NO_FAULTS, Faults
from chainq.demo.server import DemoServer
from chainq.demo.service import Reply, Service

KILLS = int(os.environ.get("CHAINQ_KILLS", "63"))
ADDRESSES = Truth().chain.addresses
FIRST = 2400  # the first height of most tests: none of the next thousands holds more than 40 rows of a kind


class Moving(Service):
    """The sample service, its tip and its chain in the hands of the test; `hook` is called as each call arrives."""

    def __init__(self, tip: int, chain: Chain | None = None, faults: Faults = NO_FAULTS) -> None:
        super().__init__(chain or Chain(), faults, newest=lambda: self.tip)
        self.tip = tip
        self.calls: list[str] = []
        self.hook: Callable[[str], None] = lambda _: None

    def swap(self, chain: Chain) -> None:
        """Answer for another chain from now on."""
        self.chain, self._answers = chain, Answers(chain, NO_FAULTS, shuffle=True)

    def answer(self, body: bytes) -> Reply:
        """As the service does, with the call written down first."""
        method = json.loads(body)["method"] if body else ""  # a killed run may send half a request
        self.calls.append(method)
        self.hook(method)
        return super().answer(body)


class Fork(Chain):
    """The sample chain up to a height, and other block hashes from there on."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self._fork, self._branch = at, Chain(seed=7)

    def block_hash(self, height: int) -> str:
        """The hash of a block, the other chain's from the fork on."""
        return self._branch.block_hash(height) if height >= self._fork else super().block_hash(height)


@contextmanager
def serving(service: Service) -> Iterator[str]:
    """The URL of a service on a socket."""
    server = DemoServer(service, "127.0.0.1", 0)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Job:
    """One question with a checkpoint and an output file, in a folder of its own."""

    def __init__(self, program: Program, url: str, *words: str, place: str = "job") -> None:
        self.program, self.url, self.words = program, url, words
        self.folder = program.home / place
        self.folder.mkdir(exist_ok=True)
        self.kept, self.out = self.folder / "kept", self.folder / "out"

    def line(self, *more: str, out: str | None = None) -> list[str]:
        """The arguments of a run; `out` "" writes to standard output."""
        file = str(self.out) if out is None else out
        return [*self.words, *more, "--checkpoint", str(self.kept), *(["-o", file] if file else []), "--url", self.url]

    def start(self, *more: str, out: str | None = None, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start a run."""
        return self.program.start(*self.line(*more, out=out), env=env)

    def __call__(self, *more: str, out: str | None = None, env: dict[str, str] | None = None) -> Ran:
        """Run to the end."""
        return finish(self.start(*more, out=out, env=env))

    def capped(self, size: int, *more: str, out: str | None = None) -> Ran:
        """Run to the end where no file may grow beyond `size` bytes."""
        return capped(self.program, size, *self.line(*more, out=out))

    @property
    def next(self) -> int:
        """The height that the checkpoint has come to."""
        height: int = json.loads(self.kept.read_bytes())["marks"][-1]["next"]
        return height

    def files(self) -> dict[str, bytes]:
        """All files of the folder but the lock."""
        return {path.name: path.read_bytes() for path in self.folder.iterdir() if path.suffix != ".lock"}


def capped(program: Program, size: int, *words: str, stdout: int | IO[bytes] = subprocess.PIPE) -> Ran:
    """Run to the end where no file may grow beyond `size` bytes, as on a disk that fills up."""
    limit = f"import resource as r; r.setrlimit(r.RLIMIT_FSIZE, ({size}, {size}))"
    code = f"import os, sys; {limit}; os.execv(sys.argv[1], sys.argv[1:])"
    line = [sys.executable, "-c", code, program.path, *words]
    environment, home = program.environment(), program.home
    return finish(subprocess.Popen(line, env=environment, cwd=home, stdout=stdout, stderr=subprocess.PIPE))


def lines(rows: Sequence[bytes]) -> bytes:
    """Rows as jsonl."""
    return b"".join(row + b"\n" for row in rows)


def said(ran: Ran, code: int, *words: str) -> None:
    """Check the end of a run: its code, and one line on stderr that holds the words (none for no words)."""
    assert ran.code == code, (ran.code, ran.err)
    assert ran.err.count("\n") == bool(words), ran.err
    assert all(word in ran.err for word in words), ran.err
    assert "Traceback" not in ran.err


# --- kill -9

KILLED = [
    ("blocks",),
    ("blocks", "--csv"),
    ("records", "--page-size", "100"),
    ("records", "--page-size", "100", "--csv"),
    ("transitions", "--page-size", "60", "--columns", "height,transition_id"),
    ("transitions", "--page-size", "60", "--columns", "height,transition_id", "--csv"),
    ("ownership", "--page-size", "100"),
    ("ownership", "--page-size", "100", "--csv"),
    ("address-transactions", ADDRESSES[0]),
]
UNORDERED = ("ownership", "address-transactions")  # rows without height or id: a multiset


def killed_somewhere(job: Job, service: Moving, dice: random.Random) -> bool:
    """Start a run, and kill it after some call or some growth of its output; False where it ended before that."""
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
    process = job.start(*(("--follow", "--interval", "0.01") if follow else ()))
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
        vouched = json.loads(job.kept.read_bytes())["marks"][-1]["length"]
        assert vouched <= job.out.stat().st_size
    return ran.code != 0


@pytest.mark.parametrize("words", KILLED, ids=[" ".join(words)[:28] for words in KILLED])
def test_killed_at_random_moments(words: tuple[str, ...], chainq: Program, truth: Truth) -> None:
    """Runs on a growing chain, killed at any moment, end in the very bytes of an undisturbed run."""
    dice, wanted = random.Random(" ".join(words)), -(-KILLS // len(KILLED))  # noqa: S311  # seeded on purpose
    service = Moving(FIRST)
    with serving(service) as url:
        job = Job(chainq, url, *words, "--start", str(FIRST), "-j", "2")
        killed = runs = 0
        while killed < wanted:
            killed, runs = killed + killed_somewhere(job, service, dice), runs + 1
            assert runs < 3 * wanted + 10, "most runs ended before they could be killed"
        said(job(), 0)
        whole = Job(chainq, url, *words, "--start", str(FIRST), place="undisturbed")
        said(whole(), 0)
    due, came = whole.out.read_bytes(), job.out.read_bytes()
    if words[0] in UNORDERED:
        assert Counter(came.splitlines()) == Counter(due.splitlines())
    else:
        assert came == due
    if "--csv" not in words and "--columns" not in words:  # whole rows as jsonl: the chain's own
        groups = truth.groups(words[0], FIRST, service.tip + 1, words[1] if words[0] == UNORDERED[1] else "")
        assert difference(came.split(b"\n")[:-1], groups) == ""


ASSASSIN = '''
"""Kills its process before the step that KILL_AT counts, or in the middle of it where it is a write."""
import os, signal
left = int(os.environ["KILL_AT"])
def arm(name):
    real = getattr(os, name)
    def armed(*args, **more):
        global left
        left -= 1
        if left == 0:
            if name == "write":
                real(args[0], bytes(args[1])[: len(args[1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **more)
    setattr(os, name, armed)
for name in ("open", "write", "fsync", "ftruncate", "replace"):
    arm(name)
'''


def assassin(program: Program) -> Callable[[int], dict[str, str]]:
    """The environment in which a run dies at its n-th step on the file system."""
    folder = program.home / "assassin"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(ASSASSIN)
    return lambda step: {"PYTHONPATH": str(folder), "KILL_AT": str(step)}


def test_killed_at_each_step(chainq: Program) -> None:
    """Killed before each step on the file system in turn, and in the middle of each write: the bytes are the same."""
    service, deadly = Moving(FIRST + 40), assassin(chainq)
    with serving(service) as url:
        service.hook = lambda method: setattr(service, "tip", service.tip + (method == "latest/block"))
        job = Job(chainq, url, "records", "--csv", "--start", str(FIRST))
        for step in range(1, 25):
            assert job("--follow", "--interval", "0.01", env=deadly(step)).code == -signal.SIGKILL
        service.hook = lambda _: None
        said(job(), 0)
        whole = Job(chainq, url, "records", "--csv", "--start", str(FIRST), place="undisturbed")
        said(whole(), 0)
    assert job.out.read_bytes() == whole.out.read_bytes()


def test_killed_runs_leave_no_litter(chainq: Program) -> None:
    """What a killed run leaves beside the checkpoint is gone after the next run: a thousand kills fill no folder."""
    service, deadly = Moving(FIRST), assassin(chainq)
    with serving(service) as url:
        service.hook = lambda method: setattr(service, "tip", service.tip + (method == "latest/block"))
        job = Job(chainq, url, "blocks", "--start", str(FIRST))
        for step in range(4, 12):
            assert job("--follow", "--interval", "0.01", env=deadly(step)).code == -signal.SIGKILL
        service.hook = lambda _: None
        said(job(), 0)
    assert sorted(path.name for path in job.folder.iterdir()) == ["kept", "kept.lock", "out"]


def test_stdout_loses_nothing(chainq: Program, truth: Truth) -> None:
    """On stdout a killed run's rows come again only where the checkpoint did not move past them; none is lost."""
    service, deadly = Moving(FIRST + 3), assassin(chainq)
    service.hook = lambda method: setattr(service, "tip", service.tip + 2 * (method == "latest/block"))
    with serving(service) as url:
        job, at, moved = Job(chainq, url, "blocks", "--start", str(FIRST)), FIRST, 0
        for step in [*range(5, 22), 0]:
            ran = job(*(("--follow", "--interval", "0.01") if step else ()), out="", env=deadly(step))
            assert ran.code == (-signal.SIGKILL if step else 0), ran.err
            came = ran.out.split(b"\n")[:-1]
            assert came == truth.rows("blocks", at, at + len(came))
            after = job.next if job.kept.exists() else FIRST
            assert after - at <= len(came)
            at, moved = after, moved + (after > at)
    assert moved > 3
    assert at == service.tip + 1


# --- one at a time, one question


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
        said(ran, 75, "another run holds the checkpoint", str(job.kept))
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
        said(other(out=str(job.out)), 75, "another run appends to", str(job.out))
        ran = chainq("records", "--end", "3", "-o", str(job.out), url=url)  # would replace what the first goes on with
        said(ran, 75, "another run appends to", str(job.out))
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
        said(linked(out=""), 75, "another run holds the checkpoint")
        first.kill()
        finish(first)
        service.tip = 7
        said(linked(), 0)
    assert linked.kept.is_symlink()
    assert (job.next, job.out.read_bytes()) == (8, lines(truth.rows("blocks", 0, 8)))


def test_7_an_output_file_that_is_replaced(chainq: Program) -> None:
    """A file that is moved away under a run ends it: what it writes from then on would be lost."""
    service = Moving(5)
    with serving(service) as url:
        job = Job(chainq, url, "blocks")
        first = job.start("--follow", "--interval", "0.05", "-v")
        assert first.stderr is not None
        while not (job.kept.exists() and job.next == 6):
            assert first.stderr.readline()
        job.out.rename(job.folder / "moved")
        job.out.write_bytes(b"")
        service.tip = 7
        ran = finish(first)
    assert ran.code == 7
    assert "was replaced" in ran.err


@pytest.mark.parametrize("out", ["c", "c.lock", "./c"])
def test_2_a_checkpoint_that_is_the_output(out: str, chainq: Program, nowhere: str) -> None:
    """One file cannot be both: refused before any call, and nothing is written."""
    said(chainq("records", "--checkpoint", "c", "-o", out, url=nowhere), 2, "own file")
    assert not (chainq.home / "c").exists()


def test_7_a_file_that_ends_inside_a_line(chainq: Program) -> None:
    """What a killed --follow left is not gone on with: the first row would be glued to it."""
    (chainq.home / "out").write_bytes(b'{"half":1')
    for going in (("--follow", "--limit", "3"), ("--checkpoint", "c")):
        said(chainq("records", "--start", "10", *going, "-o", "out", url="demo:"), 7, "inside a line")
    assert (chainq.home / "out").read_bytes() == b'{"half":1'


def test_rewind_says_where_it_goes_when_rows_come_again(chainq: Program) -> None:
    """Marks are some way apart: on standard output, where nothing is cut back, the user learns what comes twice."""
    words = ("blocks", "--start", "20", "--checkpoint", "c", "--end")
    for end in ("30", "40"):
        said(chainq(*words, end, url="demo:"), 0)
    ran = chainq(*words, "40", "--rewind", "3", url="demo:")
    assert len(ran.rows) == 10
    said(ran, 0, "--rewind 3 from 40 goes to 30")
    said(chainq(*words, "40", "--rewind", "10", url="demo:"), 0)


def test_2_a_checkpoint_that_is_no_file(chainq: Program, nowhere: str) -> None:
    """A device, a FIFO or a folder is no checkpoint: exit 2, and nothing waits for it."""
    os.mkfifo(chainq.home / "fifo")
    for path in ("/dev/full", str(chainq.home / "fifo"), str(chainq.home)):
        said(chainq("blocks", "--checkpoint", path, url=nowhere), 2, "is no file")


def test_2_another_question_is_refused(chainq: Program) -> None:
    """Another command, URL, format, start, address, dialect or choice of columns: exit 2, no call, nothing written."""
    service = Moving(30)
    with serving(service) as url, serving(Moving(30)) as elsewhere:
        job = Job(chainq, url, "address-transactions", ADDRESSES[0], "--start", "3")
        said(job(), 0)
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
            said(ran, 2, "another question", "" if key == "command" else key)
            assert ran.out == b""
        assert job.files() == before
        assert len(service.calls) == calls
        said(job(), 0)  # while the same question goes on
        assert job.next == 41


def test_2_a_broken_checkpoint_is_no_fresh_start(chainq: Program) -> None:
    """A checkpoint that is cut short, empty, strange or not UTF-8: exit 2, what to do, no call; no file is touched."""
    service = Moving(30)
    with serving(service) as url:
        job = Job(chainq, url, "blocks")
        said(job(), 0)
        text = job.kept.read_bytes()
        broken = [text[:end] for end in (0, 1, 20, len(text) // 2, len(text) - 3)]
        broken += [b"\xff\xfe", b"null", b"[]", b"{}\n", b"\0" * 4096, text + b"{}"]
        broken += [text.replace(b'"chainq": 1', b'"chainq": 2'), text.replace(b'"chainq": 1', b'"chainq": 1, "new": 5')]
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
        for (other, before), ran in zip(runs, side_by_side(run[0] for run in runs), strict=True):
            said(ran, 2, "the checkpoint", str(other.kept), "delete it to start over")
            assert ran.out == b""
            assert other.files() == before
        assert len(service.calls) == calls


# --- files that fail


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
            said(ran, 7, str(job.out), "File too large", f"goes on at height {job.next}")
            came = job.out.read_bytes()
            assert came == due[: len(came)]
            assert came.endswith(b"\n") or not came
            assert len(came) == json.loads(job.kept.read_bytes())["marks"][-1]["length"] >= before
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
        ran = job.capped(1000, "--follow", "--interval", "0.01", out="")
        at = job.next
        said(ran, 7, f"the checkpoint {job.kept}", "File too large", f"goes on at height {at}")
        assert ran.rows == truth.rows("blocks", 0, len(ran.rows))
        assert 0 < at <= len(ran.rows)
        service.hook = lambda _: None
        again = job(out="")
    assert again.rows == truth.rows("blocks", at, service.tip + 1)
    assert sorted(job.files()) == ["kept"]


def test_7_places_that_cannot_be_written(chainq: Program) -> None:
    """A checkpoint or an output below a file, or a device without room: exit 7 and the name; nothing moves forward."""
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
        said(job(out="/dev/full"), 7, "/dev/full", "No space left")
        assert job.next == 0
        said(job(), 0)
    assert job.out.read_bytes().count(b"\n") == 6


def test_6_an_output_that_lost_rows(chainq: Program, truth: Truth) -> None:
    """An output shorter than vouched for, or missing: exit 6, both lengths, nothing appended, checkpoint untouched."""
    service = Moving(9)
    with serving(service) as url:
        job = Job(chainq, url, "blocks")
        said(job(), 0)
        whole, kept = job.out.read_bytes(), job.kept.read_bytes()
        service.tip = 12
        job.out.write_bytes(whole[:-1])
        said(job(), 6, f"{job.out} holds {len(whole) - 1} bytes", f"vouches for {len(whole)}")
        assert job.files() == {"out": whole[:-1], "kept": kept}
        job.out.unlink()
        said(job(), 6, f"{job.out} holds 0 bytes", f"vouches for {len(whole)}")
        assert job.kept.read_bytes() == kept
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
        said(job(out=str(other)), 0)
        service.tip = 12
        with other.open("ab") as file:
            file.write(b"half a ro")
        said(job(out=str(other)), 0)
        rows = [f"{height}\r\n" if flag == "--csv" else f'{{"height":"{height}"}}\n' for height in range(10, 13)]
    assert job.out.read_bytes() == old
    assert other.read_bytes().decode() == ("height\r\n" if flag == "--csv" else "") + "".join(rows)


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


def test_rows_are_appended_to_what_was_there(chainq: Program, truth: Truth) -> None:
    """A first run leaves what the output file held before, and so does a run that picks up after a kill."""
    service, deadly = Moving(4), assassin(chainq)
    with serving(service) as url:
        job = Job(chainq, url, "blocks")
        job.out.write_bytes(b"old\n")
        assert job(env=deadly(8)).code == -signal.SIGKILL
        said(job(), 0)
    assert job.out.read_bytes() == b"old\n" + lines(truth.rows("blocks", 0, 5))


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
        said(finish(process), 0)
    assert came == lines(truth.rows("blocks", 0, 5))
    assert job.next == 5


# --- the chain and the service


def fork_truth(at: int, newest: int) -> Truth:
    """The rows of a chain that forks off the sample chain."""
    truth = Truth(newest)
    truth.chain = Fork(at)
    truth._answers = Answers(truth.chain, NO_FAULTS, shuffle=False)
    return truth


@pytest.mark.parametrize("command", ["blocks", "records"])
def test_6_the_chain_changed_and_rewind_mends_it(command: str, chainq: Program) -> None:
    """Another hash at the checkpoint: exit 6, block and hashes; --rewind to before the fork ends in the new truth."""
    service = Moving(100)
    with serving(service) as url:
        job = Job(chainq, url, command)
        lengths = []
        for tip in (100, 200, 300):
            service.tip = tip
            said(job(), 0)
            lengths.append(job.out.stat().st_size)
        fork = Fork(150)
        old = service.chain
        service.swap(fork)
        for service.tip in (300, 301, 310):
            before = job.files()
            said(job(), 6, "block 300", old.block_hash(300), fork.block_hash(300), "--rewind")
            assert job.files() == before
        said(job("--rewind", "10"), 6, "block 200")  # the mark before 291, still after the fork
        assert (job.next, job.out.stat().st_size) == (201, lengths[1])
        said(job("--rewind", "1"), 0)
    assert job.next == 311
    groups = fork_truth(150, 310).groups(command, 0, 311)
    assert difference(job.out.read_bytes().split(b"\n")[:-1], groups) == ""
    with serving(service) as again:
        whole = Job(chainq, again, command, place="undisturbed")
        said(whole(), 0)
    assert job.out.read_bytes() == whole.out.read_bytes()


def test_a_dry_run_shows_where_the_next_run_begins(chainq: Program, tmp_path: Path) -> None:
    """--dry-run begins where the checkpoint stands, and moves nothing; without a checkpoint file at --start."""

    def bounds(*more: str) -> tuple[object, object]:
        ran = chainq("records", "--checkpoint", "c", "-o", "f", "--dry-run", *more, url="demo:")
        said(ran, 0)
        params = json.loads(ran.out.splitlines()[-1])["params"]
        return params["start"], params["end"]

    assert bounds() == (0, "newest+1")
    assert bounds("--start", "2400") == (2400, "newest+1")
    assert list(tmp_path.iterdir()) == []
    for end in ("2405", "2410"):
        said(chainq("records", "--start", "2400", "--checkpoint", "c", "-o", "f", "--end", end, url="demo:"), 0)
    kept = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert bounds("--start", "2400") == (2410, "newest+1")
    assert bounds("--start", "2400", "--lag", "5") == (2410, "newest-4")
    assert bounds("--start", "2400", "--rewind", "1") == (2405, "newest+1")
    said(ran := chainq("records", "--checkpoint", "c", "--start", "2400", "--end", "2403", "--dry-run", url="demo:"), 0)
    assert ran.out == b""  # that is done already
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == kept
    said(chainq("records", "--checkpoint", "c", "-o", "f", "--dry-run", url="demo:"), 2, "another question", "'2400'")


def test_rewind_goes_no_farther_than_the_start(chainq: Program) -> None:
    """--rewind beyond the first height starts over from --start, and leaves what the file held before."""
    service = Moving(40)
    with serving(service) as url:
        job = Job(chainq, url, "blocks", "--start", "20")
        job.out.write_bytes(b"old\n")
        said(job(), 0, "is not empty")
        service.swap(Fork(0))
        said(job("--rewind", "1000000"), 0)
    assert job.out.read_bytes() == b"old\n" + lines(fork_truth(0, 40).rows("blocks", 20, 41))


def test_6_a_block_that_is_gone(chainq: Program) -> None:
    """A block at the checkpoint that the service no longer has is the changed chain too: exit 6, not exit 1."""
    service = Moving(20)
    with serving(service) as url:
        job = Job(chainq, url, "records")
        said(job(), 0)
        before = job.files()
        service.tip = 30
        service._answers = Answers(service.chain, Faults(missing_height=20), shuffle=True)
        said(job(), 6, "block 20", "missing")
    assert job.files() == before


def test_no_verify_records_the_last_blocks_own_hash(chainq: Program) -> None:
    """A batch whose last height is missing (--no-verify) is no reason to call the chain changed in the next run."""
    service = Moving(20, faults=Faults(missing_height=20))
    with serving(service) as url:
        job = Job(chainq, url, "blocks", "--no-verify")
        said(job(), 0)
        assert job.next == 21
        said(job(), 0)


def test_a_service_behind_is_only_behind(chainq: Program, truth: Truth) -> None:
    """A newest block below the checkpoint: exit 0, a warning, nothing written; -q silences it; then it goes on."""
    service = Moving(20)
    with serving(service) as url:
        job = Job(chainq, url, "blocks")
        said(job(), 0)
        before, service.tip = job.files(), 12
        ran = job()
        said(ran, 0, "warning", "behind", "12", "20")
        said(job("-q"), 0)
        assert (ran.out, job.files()) == (b"", before)
        service.tip = 22
        said(job(), 0)
    assert job.out.read_bytes() == lines(truth.rows("blocks", 0, 23))


def test_a_start_above_the_newest_block_waits_for_it(chainq: Program, truth: Truth) -> None:
    """A first run whose --start is still to come writes nothing, claims nothing as written, and goes on from there."""
    service = Moving(5)
    with serving(service) as url:
        job = Job(chainq, url, "blocks", "--start", "8")
        ran = job()
        assert (ran.code, ran.out, "is written" in ran.err) == (0, b"", False), ran.err
        service.tip = 9
        said(job(), 0)
    assert job.out.read_bytes() == lines(truth.rows("blocks", 8, 10))


def test_6_max_age_notices_a_chain_that_stands_still(chainq: Program, truth: Truth) -> None:
    """A newest block older than --max-age is exit 6, also where nothing is new; rows and checkpoint went on before."""
    service = Moving(20)
    with serving(service) as url:
        job = Job(chainq, url, "blocks")
        said(job("--max-age", "36500d"), 0)
        service.tip = 25
        for _ in range(2):
            said(job("--max-age", "10m"), 6, "newest block, 25,", "10m")
            assert job.out.read_bytes() == lines(truth.rows("blocks", 0, 26))
        assert job.next == 26


def test_lag_and_end_bound_every_run(chainq: Program, truth: Truth) -> None:
    """--lag N stays N blocks behind; an --end past the newest block does not carry the checkpoint along."""
    service = Moving(20)
    with serving(service) as url:
        job = Job(chainq, url, "blocks")
        for tip, more, due in [
            (20, ("--lag", "5"), 16),
            (23, ("--lag", "5"), 19),
            (23, ("--lag", "9"), 19),
            (23, ("--end", "100"), 24),
            (30, ("--end", "28"), 28),
            (35, ("--end", "28"), 28),
            (35, ("--end", "1K"), 36),
            (35, ("--lag", "100"), 36),
        ]:
            service.tip = tip
            said(job(*more), 0)
            assert job.next == due
            assert job.out.read_bytes() == lines(truth.rows("blocks", 0, due))


@pytest.mark.parametrize("command", ["blocks", "records", "full-blocks"])
def test_nothing_new_takes_one_call(command: str, chainq: Program) -> None:
    """Nothing new: exit 0, no output, exactly one call, two with --lag; the files stay as they are."""
    service = Moving(20)
    with serving(service) as url:
        job, lagging = Job(chainq, url, command), Job(chainq, url, command, place="lagging")
        said(job(), 0)
        said(lagging("--lag", "3"), 0)
        for kept, more, calls in (
            (job, (), ["latest/block"]),
            (lagging, ("--lag", "3"), ["latest/block", "block"]),
        ):
            before = kept.files()
            service.calls.clear()
            ran = kept(*more)
            assert ran == (0, b"", "")
            assert service.calls == calls
            assert kept.files() == before


# --- the file itself


def test_the_checkpoint_holds_no_secrets(chainq: Program) -> None:
    """User, password, query values and headers of the call are in no file beside the output; another key may follow."""
    service = Moving(20)
    with serving(service) as url:
        place = url.removeprefix("http://")
        job = Job(chainq, f"http://anna:geheim1@{place}?key=geheim2", "blocks", "--header", "X-Token: geheim3")
        said(job(), 0)
        text = job.kept.read_text()
        content: dict[str, Any] = json.loads(text)
        for path in job.folder.iterdir():
            assert not any(secret in path.read_text() for secret in ("geheim", "anna"))
        assert content["asked"]["command"] == "blocks"
        assert content["marks"][-1] == {
            "next": 21,
            "hash": service.chain.block_hash(20),
            "length": job.out.stat().st_size,
        }
        assert len(text) < 4096
        assert text.count("\n") > 10
        service.tip = 22
        renewed = Job(chainq, f"http://bert:geheim4@{place}?key=geheim5", "blocks")
        said(renewed(), 0)
        assert renewed.next == 23


def test_the_checkpoint_moves_chunk_by_chunk_and_is_never_half(chainq: Program) -> None:
    """At every call of a run the checkpoint is whole JSON, vouches for no more than is there, and moves on and on."""
    service, seen = Moving(FIRST + 400), []
    with serving(service) as url:
        job = Job(chainq, url, "records", "--start", str(FIRST), "--page-size", "100", "-j", "1")

        def look(_: str) -> None:
            seen.append((job.kept.read_bytes(), job.out.stat().st_size))

        service.hook = look
        process = job.start()
        read = []
        while process.poll() is None:
            if job.kept.exists():
                read.append(job.kept.read_bytes())
        said(finish(process), 0)
    assert len(seen) == len(service.calls)
    marks = [(json.loads(text)["marks"][-1], size) for text, size in seen]
    heights = [mark["next"] for mark, _ in marks]
    assert heights == sorted(heights)
    assert len(set(heights)) > 5
    assert all(mark["length"] <= size for mark, size in marks)
    assert [text for text in read if json.loads(text)["chainq"] != 1] == []


def test_long_lives_keep_the_checkpoint_small(chainq: Program) -> None:
    """After hundreds of chunks the checkpoint is still a small file."""
    service = Moving(0)
    service.hook = lambda method: setattr(service, "tip", service.tip + (method == "latest/block"))
    with serving(service) as url:
        job = Job(chainq, url, "blocks", "--columns", "height")
        process = job.start("--follow", "--interval", "0.01", out="")
        assert process.stdout is not None
        for _ in range(200):
            assert process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert finish(process).code == -signal.SIGTERM
    assert job.next >= 199
    assert job.kept.stat().st_size < 8192


def test_2_options_that_contradict_a_checkpoint(chainq: Program) -> None:
    """Options that do not go with --checkpoint are exit 2 and named, before any call and any file."""
    wrong = ["--reverse", "--last 5", "--since 2h", "--until 2h", "--limit 5", "--json", "--table", "--format parquet"]
    wrong += ["--max-age soon", "--lag -1", "--rewind 0"]
    service = Moving(5)
    with serving(service) as url:
        job = Job(chainq, url, "blocks")
        for words, ran in zip(wrong, side_by_side(partial(job, *words.split()) for words in wrong), strict=True):
            flag, *value = words.split()
            name = value[-1] if flag in ("--format", "--max-age") else flag.removeprefix("--")
            said(ran, 2, "chainq blocks", name)
    assert (service.calls, job.files()) == ([], {})


def test_2_options_that_need_a_checkpoint(chainq: Program, nowhere: str) -> None:
    """--rewind without --checkpoint, --lag and --max-age without it or --follow: exit 2."""
    lone = (("--rewind", "5"), ("--lag", "5"), ("--max-age", "5m"))
    for words, ran in zip(lone, side_by_side(partial(chainq, "blocks", *w, url=nowhere) for w in lone), strict=True):
        said(ran, 2, words[0], "--checkpoint")
