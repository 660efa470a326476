"""What the tests stand on: a run that is forked (tests/harness/nursery.py) is like one of the installed script."""

import signal
import subprocess

import pytest

from harness import program as harness
from harness.forked import Forked
from harness.program import LONGEST, Program, finish

pytestmark = pytest.mark.skipif(not harness.FORKS, reason="no run is forked here")


def both(program: Program, *args: str, stdin: int) -> list[subprocess.Popen[bytes]]:
    """The same run twice: forked, and as a user starts it."""
    forked = program.start(*args, stdin=stdin)
    with program.executed():
        executed = program.start(*args, stdin=stdin)
    assert (type(forked), type(executed)) == (Forked, subprocess.Popen)
    return [forked, executed]


@pytest.mark.parametrize(
    "args",
    [
        ("--version",),
        ("records", "--help"),
        ("recods",),
        ("block", "640", "-", "--url", "demo:"),
        ("block", "x", "--url", "demo:"),
        ("records", "--start", "640", "--end", "650", "--csv", "--url", "demo:"),
        ("blocks", "--last", "3", "-o", "out", "--url", "demo:"),
    ],
)
def test_a_forked_run_ends_alike(chainq: Program, args: tuple[str, ...]) -> None:
    """The same exit code, rows and messages, with what stands on standard input."""
    forked, executed = both(chainq, *args, stdin=subprocess.PIPE)
    assert finish(forked, b"641\n") == finish(executed, b"641\n")


def test_a_forked_run_dies_alike(chainq: Program) -> None:
    """A signal ends it, and its reader's end does."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL, None):
        for process in both(chainq, "blocks", "--end", "100K", "--url", "demo:", stdin=subprocess.DEVNULL):
            assert process.stdout is not None
            assert process.stdout.readline()
            if number:
                process.send_signal(number)
            else:
                process.stdout.close()
            assert process.wait(LONGEST) == -(number or signal.SIGPIPE)
            finish(process)
