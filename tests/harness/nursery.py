"""A process that has loaded chainq and forks for each run, as a script of the tests: `python -P nursery.py FD`.

Nothing but the imports and a few constants is shared: each run is a process of its own, with its own arguments,
environment, folder, streams and signals, and ends as the program ends. The worker processes of a run are forked here,
too, so they are not its children. Requests come over the socket FD as JSON with four descriptors:
stdin, stdout, stderr, and a socket that is told the process id and, at the end, how the run ended. The nursery ends
when the other end of the socket FD is closed.

To fork a process takes the longer the more it has loaded: with all packages 30 ms instead of 10. So a nursery forks
another one for the runs that need a group of packages, and passes their requests on.
"""

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from io import BufferedReader, BufferedWriter, FileIO
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.forked import BEGINNING, NURSERY, Forked
else:  # the package `harness` would load pytest
    sys.path.append(str(Path(__file__).parent))
    from forked import BEGINNING, NURSERY, Forked

    sys.path.pop()

# What is loaded by some format only, or writes the documentation, is left to those who need it.
LATER = (
    *("chainq.__main__", "chainq._docgen", "chainq.formats.chart", "chainq.formats.parquet"),
    *("chainq.verify.across", "chainq.verify.checksums", "chainq.verify.tables"),
)
# Packages that take as long to load as a run with such a word takes otherwise; a machine may lack them. What aleo-sdk
# makes at its first calls it makes by threads, which no fork has, and a run that has it made after that would hang. So
# `owned` and `balance` begin with a package that is only loaded; to recompute hashes takes no thread.
HASHES = "chainq.hashes.trees"
GROUPS = {
    ("numpy", "pyarrow.dataset", "pyarrow.parquet", "pyarrow.acero", "obstore", "chainq.verify.across"): {
        *("export", "verify", "sql", "--lake", "--parquet"),
    },
    ("duckdb",): {"sql"},
    ("deltalake",): {"--delta"},
    ("aleo",): {"owned", "balance"},
    ("aleo", HASHES): {"--hashes", "--sealed"},
}
Group = tuple[str, ...]
WORKER = ["-P", "-m", "chainq.process.worker"]
RUNS: dict[int, socket.socket] = {}  # by process id: who is told of the end
OTHERS: dict[Group, socket.socket] = {}  # where runs are requested that need these packages
NURSERIES: list[int] = []  # the process ids of those


class Worker(Forked):
    """A worker process of a run: what `chainq.process.pool` uses of Popen."""

    def __init__(self, line: Sequence[str], *, env: Mapping[str, str], **_: Any) -> None:
        super().__init__(line, env, Path.cwd(), subprocess.PIPE, subprocess.PIPE, subprocess.DEVNULL)
        assert isinstance(self.stdin, FileIO)
        assert isinstance(self.stdout, FileIO)
        self.stdin, self.stdout = BufferedWriter(self.stdin), BufferedReader(self.stdout)

    def kill(self) -> None:
        """End the process, though another thread waits for its end."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


def load() -> None:
    """Import what runs of every kind import."""
    import chainq

    for module in pkgutil.walk_packages(chainq.__path__, "chainq."):
        if not module.name.startswith(LATER):
            importlib.import_module(module.name)
    for name in ("httpx", "msgspec", "orjson", "encodings.idna", "typer._click.decorators"):
        importlib.import_module(name)
    # What is computed once in each process: patterns, commands, shapes of the sample chain. It would take a third
    # of a short run.
    from chainq.catalog.kinds import kind_of
    from chainq.cli.commands import COMMANDS
    from chainq.demo.chain import Chain
    from chainq.text.sanitize import keys_in, mask_url

    mask_url("http://h/")
    keys_in("")
    kind_of("-")
    for _, _, make in COMMANDS.values():
        make()
    Chain().planted_tag((0, 0, 0, 0))
    gc.freeze()  # or a run that looks for garbage would copy all of it


def prepare_hashes() -> None:
    """Have aleo-sdk make the constants of its hash functions, which takes a quarter of a second in each process."""
    from chainq.hashes.trees import hashes

    hashes()
    warnings.simplefilter("ignore", DeprecationWarning)  # of a fork of a process that has threads


def run(request: dict[str, Any], streams: list[int], workers: socket.socket) -> None:
    """Be the program, or a worker of it, with the arguments, environment, folder and streams of the request."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.dup2(workers.detach(), 3, inheritable=False)
    os.closerange(4, os.sysconf("SC_OPEN_MAX"))
    for number, name in enumerate(("stdin", "stdout", "stderr")):  # as Python opens them
        old = getattr(sys, name)
        mode, buffering = "w" if number else "r", 1 if number == 2 else -1
        new = open(number, mode, buffering, encoding=old.encoding, errors=old.errors, closefd=False)  # noqa: SIM115
        setattr(sys, name, new)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    NURSERY.adopt(socket.socket(fileno=3))
    if first := os.environ.get(BEGINNING):
        exec(Path(first).read_text(), {})  # noqa: S102
    if request["line"][1:] == WORKER:
        os.setpgid(0, 0)
        from chainq.process import worker

        worker.main()
    from chainq.process import pool

    vars(pool)["subprocess"] = SimpleNamespace(Popen=Worker, PIPE=subprocess.PIPE, DEVNULL=subprocess.DEVNULL)
    sys.argv = request["line"]
    from chainq.__main__ import main

    main()


def start(request: dict[str, Any], streams: list[int], told: socket.socket, workers: socket.socket) -> None:
    """Fork a run, and tell of it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})  # until its end can be told
    child = os.fork()
    if child == 0:
        try:
            run(request, streams, workers)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(1)
    RUNS[child] = told
    told.sendall(b"%d\n" % child)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})


def needed(line: Sequence[str]) -> list[Group]:
    """The groups of packages that a run needs: by its words, a file, or a data set in the place of a service."""
    places = {after for word, after in pairwise(line) if word == "--url" and not after.startswith(("http", "demo:"))}
    stored = places or any(word.endswith(".parquet") for word in line)
    words = {*line[1:], *(["--lake"] if stored else [])}
    return [group for group, those in GROUPS.items() if those & words]


def other(group: Group, loaded: Sequence[Group]) -> socket.socket:
    """Where runs with another group of packages are requested, of a nursery that is forked with the first one."""
    if group not in OTHERS:
        OTHERS[group], theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
        child = os.fork()
        if child == 0:
            try:
                os.dup2(theirs.detach(), 3, inheritable=False)
                os.closerange(4, os.sysconf("SC_OPEN_MAX"))  # or nobody would see the end of a stream of a run
                for inherited in (*RUNS.values(), *OTHERS.values()):
                    inherited.detach()
                RUNS.clear()
                OTHERS.clear()
                NURSERIES.clear()
                for name in group:
                    with contextlib.suppress(ImportError):
                        importlib.import_module(name)
                if HASHES in group and "aleo" in sys.modules:
                    prepare_hashes()
                gc.freeze()
                serve(socket.socket(fileno=3), [*loaded, group])
            finally:
                os._exit(0)
        NURSERIES.append(child)
        theirs.close()
    return OTHERS[group]


def end() -> None:
    """Wait for the ends of the other nurseries, so that the processor time of their runs is counted with the tests'."""
    for requested in OTHERS.values():
        requested.close()
    for child in NURSERIES:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(child, 0)


def reap(*_: object) -> None:
    """Tell of the runs that have ended."""
    while RUNS:
        try:
            child, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:  # a signal in between ran this function within itself, and it told of the last one
            return
        if not child:
            return
        if child in RUNS:
            with RUNS.pop(child) as told, contextlib.suppress(BrokenPipeError):  # a test that failed waits for nothing
                told.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def serve(control: socket.socket, loaded: Sequence[Group] = ()) -> None:
    """Serve requests until the other end of the socket is closed; `loaded`: groups of packages that are."""
    wanted, workers = socket.socketpair(type=socket.SOCK_SEQPACKET)
    waking, woken = socket.socketpair()  # an end that comes just before `select` waits must not wait with it
    waking.setblocking(False)
    woken.setblocking(False)
    signal.set_wakeup_fd(waking.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, reap)
    while True:
        for asked in select.select([control, wanted, woken], [], [])[0]:
            if asked is woken:
                woken.recv(1 << 16)
                continue
            message, descriptors, *_ = socket.recv_fds(asked, 1 << 20, 4)
            if not message:
                end()
                return
            request = json.loads(message)
            if missing := [group for group in needed(request["line"]) if group not in loaded]:
                socket.send_fds(other(missing[0], loaded), [message], descriptors)
                os.close(descriptors[-1])
            else:
                start(request, descriptors[:3], socket.socket(fileno=descriptors[3]), workers)
            for stream in descriptors[:3]:
                os.close(stream)


def main() -> None:
    """Load what all runs need, and serve requests."""
    control = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)  # which a shell ignores in what it runs in the background
    load()
    serve(control)


if __name__ == "__main__":
    main()
