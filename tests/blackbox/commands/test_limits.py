"""The limits of a machine are named for what they are: open files, memory, threads; exit 7 with what to lower."""

import subprocess
from typing import Any

import pytest

from chainq.cli.main import _limit
from harness.models.search import some
from harness.running.jobs import starting
from harness.running.program import Program, Ran, Servers, finish, one_line


def limited(chainq: Program, ulimit: str, *words: str) -> Ran:
    """Run the program to its end under a limit of the shell."""
    line = ["sh", "-c", f'{ulimit}; exec "$@"', "sh", chainq.path, *words]
    environment, home = chainq.environment(), chainq.home
    return finish(subprocess.Popen(line, env=environment, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE))


@pytest.mark.parametrize("files", some([10, 14], 14))
def test_too_many_open_files_in_an_export(chainq: Program, server: Servers, files: int) -> None:
    """No bug in chainq: one sentence that names the limit and what to lower. A later run with more goes on."""
    url = server("--tip", "5000", "--fault", "latency:0.01")
    words = ["export", "blocks", "0:800", "--to", "lake", "--partition", "100", "-w", "8", "-q", "--url", url]
    ran = limited(chainq, f"ulimit -n {files}", *words)
    assert ran.code == 7, ran.err
    assert ran.err.startswith("chainq export: ")
    assert "oo many open files" in ran.err
    assert "bug" not in ran.err
    assert chainq(*words).code == 0


def test_too_many_open_files_of_requests(chainq: Program, server: Servers) -> None:
    """A connection that cannot be opened for want of files is no unreachable service.

    By a socket that cannot be made: so low a limit would keep some installations of Python from starting.
    """
    code = """
import socket
class Refused(socket.socket):
    def __init__(self, *args, **more):
        raise OSError(24, "Too many open files")
socket.socket = Refused
"""
    ran = chainq("block", "5", "--jsonl", "--retries", "0", url=server(), env=starting(chainq, "refusing", code))
    assert "oo many open files" in one_line(ran, 7)
    assert "could not reach" not in ran.err


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "out of memory; lower"),
        (OSError(12, "Cannot allocate memory"), "out of memory; lower"),
        (ImportError("_fs.so: failed to map segment from shared object"), "out of memory; lower"),
        (ImportError("cannot import name 'x'"), ""),
        (OSError(24, "Too many open files"), "too many open files; lower -j or -w"),
        (OSError(23, "Too many open files in system"), "too many open files"),
        (RuntimeError("can't start new thread"), "no more processes or threads; lower"),
        (BlockingIOError(11, "Resource temporarily unavailable"), "no more processes or threads"),
        (OSError(2, "No such file or directory"), "the current folder has been deleted"),
        (OSError(2, "No such file or directory", "a.txt"), ""),
        (RuntimeError("something else"), ""),
    ],
)
def test_what_is_a_limit(error: Any, said: str) -> None:
    """Threads and memory are hard to exhaust in a test: the errors that stand for them are told apart."""
    assert _limit(error).startswith(said)
    assert bool(_limit(error)) == bool(said)
