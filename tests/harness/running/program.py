"""The installed program as a process: run to its end, started, and `chainq serve` on loopback sockets."""

import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple, NoReturn
from unittest.mock import patch

from chainq.demo.service import DemoTransport, SampleService, answer
from chainq.fetching.service import IN_PROCESS
from chainq.process.serving import Server
from chainq.transport.base import ExchangeError, Request, Response
from harness.running import inside
from harness.running.inside import LONGEST as LONGEST

ROOT = Path(__file__).parents[3]  # of the project
DIALECT = "chain"  # that the sample servers speak and the program is told
OUTSIDE = ("PYTHON", "_CHAINQ")
"""Begin the names of variables that are for a process of its own: Python reads them, or a shell asks what may follow.
"""


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
    """Runs the program in an environment of its own: to its end within this process, and the installed script as a
    process where a test starts it, and where a run needs one (`OUTSIDE`, `--deadline`) or is one of several at a time.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self.config = home / "config" / "chainq" / "config.toml"
        self.path = installed()
        self.inside = True

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
        """Run each as a process: for tests of the children of a run, and of what the system shows of them."""
        self.inside = False
        try:
            yield
        finally:
            self.inside = True

    @staticmethod
    def line(*args: str, url: str | None = None) -> list[str]:
        """The arguments of a run at a URL."""
        where = [] if url is None else ["--url", url]
        if url not in (None, "demo:") and args[0] != "rpc" and "--dialect" not in args:
            where += ["--dialect", DIALECT]
        return [*args, *where]

    def start(
        self,
        *args: str,
        url: str | None = None,
        env: dict[str, str] | None = None,
        stdout: int | IO[bytes] = subprocess.PIPE,
        stdin: int | IO[bytes] = subprocess.DEVNULL,
    ) -> subprocess.Popen[bytes]:
        """Start a run and leave it to the caller; stderr is a pipe."""
        return subprocess.Popen(
            [self.path, *self.line(*args, url=url)],
            env=self.environment(env),
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
        alone = "--deadline" in args or any(name.startswith(OUTSIDE) for name in env or ())
        if self.inside and not alone and threading.current_thread() is threading.main_thread():
            code, out, err = inside.run(self.line(*args, url=url), self.environment(env), self.home, stdin)
            return Ran(code, out, err.decode())
        process = self.start(*args, url=url, env=env, stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE)
        return finish(process, stdin)

    def shown(self, *args: str, columns: int = 100, url: str | None = "demo:", **env: str) -> str:
        """Run the program on a terminal of that many columns: what it shows, its stderr left out."""
        line, environment = self.line(*args, url=url), self.environment({"TERM": "xterm", **env})
        code, out, err = inside.run(line, environment, self.home, columns=columns)
        assert code == 0, err
        return out.decode().replace("\r\n", "\n")


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


class Servers:
    """Sample servers with the switches of `chainq serve`, in this process: on a socket for programs and `serve`'s own
    tests, and without one for runs within this process. `servers(...)` keeps one for each set of switches."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._kept: dict[tuple[str, ...], str] = {}
        self._open = ExitStack()

    def __call__(self, *switches: str) -> str:
        """The URL of a server with these switches. It is shared, so they must not depend on a count of calls."""
        if switches not in self._kept:
            self._kept[switches] = self._open.enter_context(self.own(*switches))
        return self._kept[switches]

    @contextmanager
    def own(self, *switches: str) -> Iterator[str]:
        """The URL of a server of the caller's own."""
        made: list[Any] = []
        with patch.object(Server, "serve_forever", lambda started, **_: made.extend(started.handler.args)):
            ran = self._program("serve", "--port", "0", "--dialect", DIALECT, *switches)
        assert ran.code == 0, ran.err
        with serving(made[0]) as url:
            yield url

    @contextmanager
    def process(self, *switches: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
        """A server as a process of the caller's own, which may be killed: its URL and the process."""
        process = self._program.start("serve", "--port", "0", "--dialect", DIALECT, *switches)
        assert process.stdout is not None
        url = process.stdout.readline().decode().strip()
        if not url.startswith("http://127.0.0.1:"):
            raise AssertionError(f"chainq serve gave no URL but {url!r}: {finish(process).err}")
        try:
            yield url, process
        finally:
            process.terminate()
            ended = finish(process)
            assert "Traceback" not in ended.err, ended.err

    def stop(self) -> None:
        """Stop all that are kept."""
        self._open.close()


class Inside(DemoTransport):
    """A service in process; what breaks a connection on a socket breaks it here, too."""

    def call(self, request: Request) -> Response:
        """Return the response. Raises ExchangeError for a ConnectionError of the service."""
        try:
            return super().call(request)
        except ConnectionError:
            raise ExchangeError("RemoteProtocolError", "Server disconnected without sending a response.") from None


@contextmanager
def serving(service: SampleService, *released: threading.Event) -> Iterator[str]:
    """The URL of a service, on a socket for programs and without one for runs within this process. `released`: what
    calls may wait for; set at the end, or no server would end."""
    server = Server(partial(answer, service), "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.server_port}/"
    IN_PROCESS[url] = lambda: Inside(service)
    vars(service).pop("_answer", None)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": None}, daemon=True)
    thread.start()  # nothing is polled: a hundred servers would take a core
    try:
        yield url
    finally:
        del IN_PROCESS[url]
        vars(service)["_answer"] = _gone  # to calls that waited: nobody reads what they would compute
        for event in released:
            event.set()
        stopping = threading.Thread(target=server.shutdown)
        stopping.start()
        while stopping.is_alive():
            socket.create_connection(server.socket.getsockname()[:2]).close()  # which wakes the server
            stopping.join(0.05)
        thread.join(LONGEST)
        server.server_close()


def _gone(*_: object) -> NoReturn:
    raise ConnectionError
