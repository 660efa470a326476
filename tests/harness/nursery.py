"""A process that has loaded chainq and forks for each run, as a script of the tests: `python -P nursery.py FD`.

Nothing but the imports is shared: each run is a process of its own, with its own arguments, environment, folder,
streams and signals, and ends as the program ends. Requests come over the socket FD as JSON with four descriptors:
stdin, stdout, stderr, and a socket that is told the process id and, at the end, how the run ended. The nursery ends
when the other end of the socket FD is closed.
"""

import contextlib
import importlib
import json
import os
import pkgutil
import signal
import socket
import sys
from typing import Any

# What is loaded by some format only, or writes the documentation, is left to those who need it.
LATER = ("chainq.__main__", "chainq._docgen", "chainq.formats.chart", "chainq.formats.parquet")
RUNS: dict[int, socket.socket] = {}  # by process id: who is told of the end


def load() -> None:
    """Import what runs of every kind import."""
    import chainq

    for module in pkgutil.walk_packages(chainq.__path__, "chainq."):
        if not module.name.startswith(LATER):
            importlib.import_module(module.name)
    for name in ("httpx", "msgspec", "orjson"):
        importlib.import_module(name)


def run(request: dict[str, Any], streams: list[int]) -> None:
    """Be the program, with the arguments, environment, folder and streams of the request."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    for number, name in enumerate(("stdin", "stdout", "stderr")):  # as Python opens them
        old = getattr(sys, name)
        mode, buffering = "w" if number else "r", 1 if number == 2 else -1
        new = open(number, mode, buffering, encoding=old.encoding, errors=old.errors, closefd=False)  # noqa: SIM115
        setattr(sys, name, new)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.argv = request["line"]
    from chainq.__main__ import main

    main()


def start(request: dict[str, Any], streams: list[int], told: socket.socket) -> None:
    """Fork a run, and tell of it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})  # until its end can be told
    child = os.fork()
    if child == 0:
        try:
            run(request, streams)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(1)
    RUNS[child] = told
    told.sendall(b"%d\n" % child)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})


def reap(*_: object) -> None:
    """Tell of the runs that have ended."""
    while RUNS:
        child, status = os.waitpid(-1, os.WNOHANG)
        if not child:
            return
        with RUNS.pop(child) as told, contextlib.suppress(BrokenPipeError):  # a test that failed waits for nothing
            told.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def main() -> None:
    """Serve requests until the other end of the socket is closed."""
    control = socket.socket(fileno=int(sys.argv[1]))
    load()
    signal.signal(signal.SIGCHLD, reap)
    while True:
        message, descriptors, *_ = socket.recv_fds(control, 1 << 20, 4)
        if not message:
            return
        *streams, told = descriptors
        start(json.loads(message), streams, socket.socket(fileno=told))
        for stream in streams:
            os.close(stream)


if __name__ == "__main__":
    main()
