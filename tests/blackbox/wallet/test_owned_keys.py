"""View keys: where `chainq owned` takes them from, and that nobody else gets to see them."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.models.search import some
from harness.running.jobs import starting
from harness.running.kills import children
from harness.running.program import LONGEST, Program, finish, one_line
from harness.servers.services import Serve
from harness.wallet.account import fresh_records
from harness.wallet.wallet import PUBLISHED, VARIABLE, Holding, fresh_key, key_file, transitions

pytest.importorskip("aleo")
pexpect = pytest.importorskip("pexpect", reason="pexpect types at the prompt")

FEW = ("--start", "110", "--end", "120")  # of the sample chain: one planted record, at 116
WIDE = ("--start", "1000", "--end", "1450")  # enough rows that worker processes start


@pytest.mark.parametrize("mode", [0o640, 0o602])
def test_a_file_that_others_can_access_is_refused(chainq: Program, mode: int) -> None:
    """Also if only a group can read it, or others can only write it."""
    file = key_file(chainq.home, PUBLISHED, mode=mode)
    assert f"mode {mode:04o}" in one_line(chainq("owned", *FEW, "--view-key-file", file, url="demo:"), 2)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"x" * (1 << 20) + b"y"])
def test_a_file_without_keys_is_a_usage_error(chainq: Program, content: bytes) -> None:
    """Not text, or endless."""
    one_line(chainq("owned", *FEW, "-", url="demo:", stdin=content), 2)


TYPED = {
    "a key": (PUBLISHED.text, 0, PUBLISHED.address),
    "nothing": ("", 2, "no view key was typed"),
    "no key": (PUBLISHED.text[:-1], 2, "what you typed is not a valid view key: "),
}


@pytest.mark.parametrize(("typed", "code", "said"), TYPED.values(), ids=TYPED)
def test_the_prompt_hides_what_is_typed(chainq: Program, typed: str, code: int, said: str) -> None:
    """If nothing was typed, it is not called an invalid key."""
    words = ["owned", *FEW, "--url", "demo:", "--jsonl"]
    run = pexpect.spawn(chainq.path, words, env=chainq.environment(), timeout=LONGEST)
    run.expect_exact("View key (hidden): ")
    run.waitnoecho()
    run.sendline(typed)
    run.expect(pexpect.EOF)
    run.close()
    shown = run.before.decode()
    hidden = PUBLISHED.text[:-1] not in shown
    assert (run.exitstatus, said in " ".join(shown.split()), hidden) == (code, True, True), shown


def test_without_the_sdk_the_way_to_it_is_said(chainq: Program) -> None:
    """The extra is optional, and only these commands need it. Nobody types a key for a command that cannot run."""
    env = starting(chainq, "hidden", "import sys\nsys.modules['aleo'] = None\n")
    for command, *range_ in (("owned", *FEW), ("balance",)):
        said = one_line(chainq(command, *range_, url="http://127.0.0.1:9/", env=env), 2)
        assert f"{command} needs the aleo-sdk package" in said
        assert "it comes with chainq[wallet] " in said
        assert "view-key" not in said
    assert chainq("ownership", *FEW, url="demo:", env=env).code == 0


def workers_of(process: int) -> list[int]:
    """The children that execute the program of a worker."""
    return [
        number
        for number in children(process)
        if b"chainq.process.worker" in Path(f"/proc/{number}/cmdline").read_bytes()
    ]


@contextmanager
def scanning(chainq: Program, url: str, *arguments: str, env: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A run whose workers have started: until a child executes its own program, it has the environment of the run."""
    with chainq.executed():
        process = chainq.start("owned", *WIDE, "-w", "2", *arguments, url=url, env=env)
    try:
        while process.poll() is None and len(workers_of(process.pid)) < 2:
            time.sleep(0.02)
        assert process.poll() is None, finish(process)
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
@pytest.mark.parametrize("source", some(["file", "environment"], "environment"))
def test_no_key_leaves_the_process(chainq: Program, serve: Serve, source: str) -> None:
    """Not in a command line, a file, a request, a log or an environment that a child gets; nor its scalar."""
    key = fresh_key()
    service = Holding(fresh_records(key.address, 16), 3_000)
    secrets = [key.text.encode(), key.text[9:].encode(), key.scalar.encode(), int(key.scalar).to_bytes(32, "little")]
    env = {VARIABLE: key.text} if source == "environment" else {}
    file = ("--view-key-file", key_file(chainq.home, key)) if source == "file" else ()
    with scanning(chainq, serve(service), *file, "-v", "--decrypt", env=env) as process:
        seen = [Path(f"/proc/{number}/cmdline").read_bytes() for number in (process.pid, *children(process.pid))]
        seen += [Path(f"/proc/{number}/environ").read_bytes() for number in children(process.pid)]
        assert len(seen) >= 5
        if source == "file":
            seen.append(Path(f"/proc/{process.pid}/environ").read_bytes())
        ran = finish(process)
    assert ran.code == 0, ran.err
    assert key.address.encode() in ran.out
    Path(chainq.home / "keys").unlink(missing_ok=True)
    seen += [path.read_bytes() for path in chainq.home.rglob("*") if path.is_file()]
    seen += [ran.out, ran.err.encode(), *service.received]
    assert not [text for text in seen for secret in secrets if secret in text]
    public = [ran.err.encode(), *service.received]  # the address is in the rows, and nowhere else
    assert not [text for text in public if key.address.encode() in text]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_a_worker_that_is_killed_ends_the_run(chainq: Program, serve: Serve) -> None:
    """As when memory runs out: rows before it stay, and none is skipped."""
    key = fresh_key()
    service = Holding(fresh_records(key.address, 16), 3_000)
    words = ("--columns", "transition_id")
    with scanning(chainq, serve(service), *words, env={VARIABLE: key.text}) as process:
        for worker in children(process.pid):
            os.kill(worker, signal.SIGKILL)
        ran = finish(process)
    message = one_line(ran, 6)
    assert "a worker process was ended by signal 9" in message
    assert "resume with --start " in message
    due = [transition for _, transition, _ in service.planted(0, 3_000)]
    assert transitions(ran.rows) == due[: len(ran.rows)]


def test_requests_are_those_of_ownership(chainq: Program, serve: Serve) -> None:
    """Which rows are somebody's does not show in what is asked for."""
    key, bodies = fresh_key(), []
    for words in (("owned", "0:130", "-w", "1"), ("ownership", "0:130")):
        service = Holding(fresh_records(key.address, 4), 700)
        assert chainq(*words, url=serve(service), env={VARIABLE: key.text}).code == 0
        bodies.append(sorted(json.dumps(json.loads(body)["params"]) for body in service.received if b"isOwner" in body))
    assert bodies[0] == bodies[1]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_key_as_other_systems_write_it(chainq: Program, encoding: str) -> None:
    """As Notepad and PowerShell do."""
    ran = chainq("owned", *FEW, "-", url="demo:", stdin=f"{PUBLISHED.text}\r\n".encode(encoding))
    assert (ran.code, len(ran.rows)) == (0, 1), ran.err
