"""The installed program as a process: run to its end, started, and `chainq serve` on loopback sockets."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple, TypeVar

from harness.forked import BEGINNING, Forked

T = TypeVar("T")
ROOT = Path(__file__).parents[2]  # of the project
# The dialect that the sample servers speak and the program is told: the suite is run in both.
DIALECT = os.environ.get("CHAINQ_TEST_DIALECT", "chain")
# Runs are forked from a process that has loaded chainq, which costs a tenth of a new interpreter. CHAINQ_TEST_EXEC=1
# starts the installed script each time, and so does a run whose environment says something to Python itself. Where
# libraries of the system do not bear to be forked (macOS), nothing is.
FORKS = sys.platform == "linux" and not os.environ.get("CHAINQ_TEST_EXEC")
LONGEST = 300  # seconds that any run of the program may take before it counts as hanging, on a machine with other work


class Ran(NamedTuple):
    """How a run of the program ended."""

    code: int
    out: bytes
    err: str

    @property
    def rows(self) -> list[bytes]:
        """The lines of stdout; the last one must be whole."""
        assert self.out == b"" or self.out.endswith(b"\n"), f"stdout ends inside a line: {self.out[-80:]!r}"
        return self.out.split(b"\n")[:-1]


def installed() -> str:
    """The program as a user gets it: the script that the installer wrote."""
    beside = Path(sys.executable).with_name("chainq")
    found = str(beside) if beside.exists() else shutil.which("chainq")
    assert found, "chainq is not installed"
    return found


class Program:
    """Runs the installed program as a process, in an environment of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.config = home / "config" / "chainq" / "config.toml"
        self.path = installed()
        self.forks = FORKS

    def environment(self, env: dict[str, str] | None = None) -> dict[str, str]:
        """Nothing of the caller's own settings, proxies or CHAINQ_*."""
        return {
            "PATH": os.environ.get("PATH", ""),
            "LANG": "C.UTF-8",
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "XDG_CACHE_HOME": str(self.home / "cache"),
            **(env or {}),
        }

    @contextmanager
    def executed(self) -> Iterator[None]:
        """Fork no run: for tests of the children of a run, and of what the system shows of them."""
        self.forks = False
        try:
            yield
        finally:
            self.forks = FORKS

    def start(
        self,
        *args: str,
        url: str | None = None,
        env: dict[str, str] | None = None,
        stdout: int | IO[bytes] = subprocess.PIPE,
        stdin: int | IO[bytes] = subprocess.DEVNULL,
    ) -> subprocess.Popen[bytes]:
        """Start a run and leave it to the caller; stderr is a pipe."""
        where = [] if url is None else ["--url", url]
        if url not in (None, "demo:") and args[0] != "rpc" and "--dialect" not in args:
            where += ["--dialect", DIALECT]
        line, environment = [self.path, *args, *where], self.environment(env)
        if self.forks and not any(name.startswith("PYTHON") for name in env or ()):
            return Forked(line, environment, self.home, stdin, stdout)
        if first := environment.get(BEGINNING):
            environment["PYTHONPATH"] = str(Path(first).parent)
        return subprocess.Popen(
            line,
            env=environment,
            cwd=self.home,
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            bufsize=0,  # so that a line can be read and the rest left to `finish`
        )

    def __call__(
        self, *args: str, url: str | None = None, env: dict[str, str] | None = None, stdin: bytes | None = None
    ) -> Ran:
        """Run the program to its end; `url` stands last, as --url."""
        process = self.start(*args, url=url, env=env, stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE)
        return finish(process, stdin)


def finish(process: subprocess.Popen[bytes], stdin: bytes | None = None) -> Ran:
    """Read all that a started run still says, and wait for its end."""
    try:
        out, err = process.communicate(stdin, timeout=LONGEST)
    except BaseException:
        process.kill()
        process.communicate()
        raise
    return Ran(process.returncode, out, err.decode())


def one_line(ran: Ran, code: int) -> str:
    """The message of a run that ended in `code`: one line, for this program, with nothing of Python in it."""
    assert ran.code == code, (ran.code, ran.err)
    assert ran.err.startswith("chainq")
    assert ran.err.endswith("\n")
    assert ran.err.count("\n") == 1, ran.err
    assert "Traceback" not in ran.err
    assert ran.err[:-1].isprintable(), ran.err
    return ran.err


def side_by_side(jobs: Iterable[Callable[[], T]]) -> list[T]:
    """Do independent jobs two at a time, for tests that take many short runs; their results in order."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda job: job(), jobs))


class Servers:
    """Starts `chainq serve` with switches. `servers(...)` keeps one for each set of switches until the session ends."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._kept: dict[tuple[str, ...], tuple[str, subprocess.Popen[bytes]]] = {}

    def __call__(self, *switches: str) -> str:
        """The URL of a server with these switches. It is shared, so they must not depend on a count of calls."""
        if switches not in self._kept:
            self._kept[switches] = self._open(switches)
        return self._kept[switches][0]

    @contextmanager
    def own(self, *switches: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
        """A server of the caller's own: its URL and its process, which may be killed."""
        url, process = self._open(switches)
        try:
            yield url, process
        finally:
            self._close(process)

    def stop(self) -> None:
        """Stop all that are kept."""
        for _, process in self._kept.values():
            self._close(process)

    def _open(self, switches: tuple[str, ...]) -> tuple[str, subprocess.Popen[bytes]]:
        process = self._program.start("serve", "--port", "0", "--dialect", DIALECT, *switches)
        assert process.stdout is not None
        url = process.stdout.readline().decode().strip()
        if not url.startswith("http://127.0.0.1:"):
            raise AssertionError(f"chainq serve gave no URL but {url!r}: {finish(process).err}")
        return url, process

    @staticmethod
    def _close(process: subprocess.Popen[bytes]) -> None:
        process.terminate()
        ended = finish(process)
        assert "Traceback" not in ended.err, ended.err
