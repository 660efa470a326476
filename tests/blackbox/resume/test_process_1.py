"""In a container the program is process 1, where the kernel drops a signal that a process sends to itself."""

import os
import shutil
import signal
import subprocess
from itertools import product

import pytest

from harness.models.search import some
from harness.running.kills import children
from harness.running.program import Program, Servers, finish

OWN = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child"]


def allowed() -> bool:
    """Whether a process may have a name space of its own here."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*OWN, "true"], check=False, capture_output=True).returncode == 0


LONG = [("records", "0:3M", "-o", "out"), ("records", "--follow", "--interval", "60"), ("serve", "--port", "0")]
SIGNALS = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT]


@pytest.mark.skipif(not allowed(), reason="a name space of processes is not allowed here")
@pytest.mark.parametrize(
    ("words", "number"),
    some(
        product(LONG, SIGNALS),
        *zip(LONG, SIGNALS, strict=True),
        several=True,
    ),
)
def test_process_1_ends_when_it_is_told(
    words: tuple[str, ...], number: signal.Signals, chainq: Program, server: Servers
) -> None:
    """With 128 and the number of the signal, as a shell would say, and not by the kill that follows a grace period."""
    url = [] if words[0] == "serve" else ["--url", server("--fault", "latency:0.05")]
    process = subprocess.Popen(
        [*OWN, chainq.path, *words, *url, "-v"],
        env=chainq.environment(),
        cwd=chainq.home,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    (process.stdout if words[0] == "serve" else process.stderr).readline()  # it is at work
    (inside,) = children(process.pid)
    os.kill(inside, number)
    ran = finish(process)
    assert ran.code == 128 + number, ran.err


@pytest.mark.skipif(not allowed(), reason="a name space of users is not allowed here")
@pytest.mark.parametrize("home", some(["/dev/null/home", None], None))
def test_a_user_without_a_name_or_a_home(home: str | None, chainq: Program, server: Servers) -> None:
    """As in an image with a read-only root and a number for a user: runs, checkpoints and exports work."""
    env = chainq.environment()
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        env.pop(name)
    env |= {} if home is None else {"HOME": home}
    url = ["--url", server()]
    for words in (
        ["records", "0:5", *url],
        ["records", "--start", "-5", "--checkpoint", "kept", "-o", "out", *url],
        ["status", "kept", "--max-age", "1h"],
        ["export", "blocks", "0:50", "--to", "lake", "-q", *url],
    ):
        line = ["unshare", "--user", "--map-user=54321", chainq.path, *words]
        ran = finish(subprocess.Popen(line, env=env, cwd=chainq.home, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        assert (ran.code, ran.err) == (0, ""), words
