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


def load() -> None:
    """Import what runs of every kind import."""
    import chainq

    for module in pkgutil.walk_packages(chainq.__path__, "chainq."):
        if not module.name.startswith(LATER):
            importlib.import_module(module.name)
    for name in ("httpx", "msgspec", "orjson"):
        importlib.import_module(name)


def run(request: dict[str, Any]) -> None:
    """Be the program, with the arguments, environment and folder of the request."""
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.argv = request["line"]
    from chainq.__main__ import main

    main()


def watch(request: dict[str, Any], told: socket.socket, streams: list[int]) -> None:
    """Start the run, and tell of its beginning and its end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if child == 0:
        told.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        os.closerange(3, max(streams) + 1)
        try:
            run(request)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(1)
    for stream in streams:
        os.close(stream)
    told.sendall(b"%d\n" % child)
    _, status = os.waitpid(child, 0)
    told.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def reap(*_: object) -> None:
    """Wait for those who watch and are done."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


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
        if os.fork() == 0:
            control.close()
            try:
                watch(json.loads(message), socket.socket(fileno=told), streams)
            finally:
                os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)


if __name__ == "__main__":
    main()
