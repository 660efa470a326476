"""Runs with a checkpoint and an output file, and runs on disks that fill up or that are killed at a given step."""

import json
import signal
import subprocess
from collections.abc import Callable, Sequence
from typing import IO

from harness.running.program import Program, Ran, finish
from harness.running.truth import Truth
from harness.servers.services import Moving

FIRST = 2400  # the first height of most tests: none of the next thousands holds more than 40 rows of a kind


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
        place = ["--checkpoint", str(self.kept), *(["-o", file] if file else [])]
        return [
            *self.words,
            *more,
            *place,
            *([] if "--lag" in more else ["--lag", "0"]),
            "--url",
            self.url,
        ]

    def start(self, *more: str, out: str | None = None, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start a run."""
        return self.program.start(*self.line(*more, out=out), env=env)

    def follow(self, until: int) -> subprocess.Popen[bytes]:
        """Start a run that follows the tip, and wait until its checkpoint has come to a height."""
        process = self.start("--follow", "--interval", "0.02", "-v")
        self.wait(process, until)
        return process

    def wait(self, process: subprocess.Popen[bytes], until: int) -> str:
        """Wait until the checkpoint of a run with -v has come to a height; return what it said meanwhile."""
        assert process.stderr is not None
        said = ""
        while not (self.kept.exists() and self.next == until):
            line = process.stderr.readline().decode()
            assert line, said
            said += line
        return said

    def __call__(self, *more: str, out: str | None = None, env: dict[str, str] | None = None) -> Ran:
        """Run to the end."""
        return self.program(*self.line(*more, out=out), env=env)

    def capped(self, size: int, *more: str, out: str | None = None) -> Ran:
        """Run to the end where no file may grow beyond `size` bytes."""
        return capped(self.program, size, *self.line(*more, out=out))

    @property
    def next(self) -> int:
        """The height that the checkpoint has come to."""
        height: int = json.loads(self.kept.read_bytes())["positions"][-1]["next"]
        return height

    def files(self, *, state: bool = False) -> dict[str, bytes]:
        """All files of the folder but the lock; of the checkpoint how the last runs ended only with `state`."""
        found = {path.name: path.read_bytes() for path in self.folder.iterdir() if path.suffix != ".lock"}
        if not state and self.kept.name in found:
            kept = json.loads(found[self.kept.name])
            del kept["state"]
            found[self.kept.name] = json.dumps(kept).encode()
        return found


class Following:
    """A run that follows the tip of a service to a pipe: its rows are compared with those of the chain as they come."""

    def __init__(self, process: subprocess.Popen[bytes], service: Moving, command: str, start: int) -> None:
        self.process, self.service, self.command, self.next = process, service, command, start

    def up_to(self, tip: int, lag: int = 0) -> None:
        """Move the tip, and wait for all rows that are due then."""
        self.service.tip = tip
        assert self.process.stdout is not None
        for row in Truth(tip).rows(self.command, self.next, tip + 1 - lag):
            assert self.process.stdout.readline() == row + b"\n", finish(self.process)
        self.next = tip + 1 - lag

    def stopped(self, *words: str, number: signal.Signals = signal.SIGINT, lines: int = 1) -> str:
        """Stop the run, which has nothing left to say: it dies by the signal, and the last line has the words."""
        self.process.send_signal(number)
        ran = finish(self.process)
        assert (ran.code, ran.out, ran.err.count("\n")) == (-number, b"", lines), ran.err
        assert all(word in ran.err.splitlines()[-1] for word in ("stopped", *words)), ran.err
        return ran.err


def capped(program: Program, size: int, *words: str, stdout: int | IO[bytes] = subprocess.PIPE) -> Ran:
    """Run to the end where no file may grow beyond `size` bytes, as on a disk that fills up."""
    limit = f"import resource as r; r.setrlimit(r.RLIMIT_FSIZE, ({size}, {size}))"
    return finish(program.start(*words, stdout=stdout, env=starting(program, "capped", limit)))


def lines(rows: Sequence[bytes]) -> bytes:
    """Rows as jsonl."""
    return b"".join(row + b"\n" for row in rows)


def said(ran: Ran, code: int, *words: str) -> None:
    """Check the end of a run: its code, and one line on stderr that holds the words (none for no words)."""
    assert ran.code == code, (ran.code, ran.err)
    assert ran.err.count("\n") == bool(words), ran.err
    assert all(word in ran.err for word in words), ran.err
    assert "Traceback" not in ran.err


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
    first = starting(program, "assassin", ASSASSIN)
    return lambda step: {**first, "KILL_AT": str(step)}


def recording(program: Program, seconds: float = 0.0) -> dict[str, str]:
    """The environment in which a run records a position every so many seconds; by default after each chunk."""
    return starting(
        program,
        "recording",
        f"from chainq import tuning\ntuning.FIRST_RECORD_SECONDS = tuning.RECORD_SECONDS = {seconds}\n",
    )


def starting(program: Program, name: str, code: str) -> dict[str, str]:
    """The environment in which a run begins with some code."""
    folder = program.home / name
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(code)
    return {"PYTHONPATH": str(folder)}
