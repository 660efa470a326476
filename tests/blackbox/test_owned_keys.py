"""View keys: where `chainq owned` takes them from, and that nobody else gets to see them."""

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chainq.demo.faults import Faults
from harness.account import fresh_records
from harness.kills import children
from harness.program import LONGEST, Program, Servers, finish, one_line
from harness.search import some
from harness.services import serving
from harness.wallet import PLAIN, PUBLISHED, VARIABLE, Holding, Key, fresh_key, key_file, transitions

pytest.importorskip("aleo")
pexpect = pytest.importorskip("pexpect", reason="pexpect types at the prompt")

FEW = ("--start", "110", "--end", "120")  # of the sample chain: one planted record, at 116
WIDE = ("--start", "1000", "--end", "1450")  # enough rows that worker processes start


@pytest.mark.parametrize("mode", some([0o644, 0o640, 0o602], 0o640, 0o602))
def test_a_file_that_others_can_access_is_refused(chainq: Program, server: Servers, mode: int) -> None:
    """Unless the user says that this is meant."""
    file = key_file(chainq.home, PUBLISHED, mode=mode)
    message = one_line(chainq("owned", *FEW, "--view-key-file", file, url=server()), 2)
    assert f"mode {mode:04o}" in message
    assert "--insecure-key-file" in message
    ran = chainq("owned", *FEW, "--view-key-file", file, "--insecure-key-file", url=server())
    assert (ran.code, len(ran.rows)) == (0, 1)
    device = one_line(chainq("owned", *FEW, "--view-key-file", "/dev/null", url=server()), 2)
    assert "there is no view key in /dev/null: expected one a line" in device  # its mode is no advice


@pytest.mark.parametrize("given", [("--view-key-file", "/dev/stdin"), ("--view-key-file", "-"), ("-",)])
def test_a_pipe_is_a_file_too(chainq: Program, server: Servers, given: tuple[str, ...]) -> None:
    """As in `--view-key-file <(pass show wallet)`, and `-` is standard input; messages repeat no key from there."""
    words, file = ("owned", *FEW, *given), given[-1]
    for encoding in ("utf-8-sig", "utf-16"):  # as Notepad and PowerShell write it
        ran = chainq(*words, url=server(), stdin=f"{PUBLISHED.text}\r\n".encode(encoding))
        assert (ran.code, len(ran.rows)) == (0, 1), ran.err
    message = one_line(chainq(*words, url=server(), stdin=f"\n{PUBLISHED.text[:-3]}\n".encode()), 2)
    assert f"{'standard input' if file == '-' else file} line 2 is not a valid view key" in message
    assert PUBLISHED.text[9:20] not in message
    name = "standard input" if file == "-" else file
    assert f"there is no view key in {name}: expected one a line" in one_line(
        chainq(*words, url=server(), stdin=b""), 2
    )


def test_several_files(chainq: Program, server: Servers) -> None:
    """All of them count: the rows of one key are there, in whichever file it is."""
    first, second = key_file(chainq.home, PUBLISHED), chainq.home / "second"
    second.write_text(fresh_key().text)
    second.chmod(0o600)
    for files in ([first, second], [second, first]):
        ran = chainq("owned", *FEW, *(f"--view-key-file={file}" for file in files), url=server())
        assert (ran.code, len(ran.rows)) == (0, 1), ran.err


WRONG = {
    "private key": ("APrivateKey1zkp8CZNn3yeCseEtxuVPbDCwSyhGW6yZKUYKfgXmcpoGPWH", "private key"),
    "a letter of no key": (PUBLISHED.text[:-1] + "l", "not a valid view key"),
    "too short": (PUBLISHED.text[:-3], "not a valid view key"),
    "two keys in a line": (f"{PUBLISHED.text} {PUBLISHED.text}", "more than one view key: expected one a line"),
    "an address": (PUBLISHED.address, "is not a view key: expected one a line, such as AViewKey1"),
    "another network": (
        "BViewKey1ccEt8A2Ryva5rxnKcAbn7wgTaTsb79tzkKHFpeKsm9NX",
        "is not a view key: expected one a line, such as AViewKey1",
    ),
}


@pytest.mark.parametrize(("text", "expected"), WRONG.values(), ids=WRONG)
def test_what_is_no_view_key_is_a_usage_error_that_does_not_repeat_it(
    chainq: Program, server: Servers, text: str, expected: str
) -> None:
    """From a file with the line that is wrong, from the environment by its name."""
    file = key_file(chainq.home, Key(text, "", ""))
    by_file = one_line(chainq("owned", *FEW, "--view-key-file", file, url=server()), 2)
    by_environment = one_line(chainq("owned", *FEW, url=server(), env={VARIABLE: text}), 2)
    assert f"{file} line 3 is " in by_file
    assert f"{VARIABLE} is " in by_environment
    for message in (by_file, by_environment):
        assert expected in message
        assert text[9:20] not in message


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["0:500", "0:5"], "unexpected argument 0:5"),
        (["abc", "0:5"], "cannot read abc: No such file or directory"),
        ([PUBLISHED.address], f"cannot read {PUBLISHED.address}: No such file or directory"),
        (["0", "500"], "unexpected argument 500"),
    ],
)
def test_arguments_that_are_neither_one_range_nor_files(chainq: Program, words: list[str], hint: str) -> None:
    """A second range is refused; anything else is a file of keys."""
    assert hint in one_line(chainq("owned", *words, url="demo:"), 2)


def test_files_of_keys_are_arguments(chainq: Program) -> None:
    """Beside the range, before and after it, as of balance; together with those of --view-key-file. The variable takes
    the lines of such a file, too."""
    file = key_file(chainq.home, PUBLISHED)
    other = chainq.home / "other"
    other.mkdir()
    more = key_file(other, fresh_key())
    due = chainq("owned", "110:120", *PLAIN, url="demo:", env={VARIABLE: PUBLISHED.text})
    assert due.rows
    both = chainq(
        "owned", "110:120", *PLAIN, url="demo:", env={VARIABLE: f"# both\n{fresh_key().text}\n{PUBLISHED.text}\n"}
    )
    assert both.rows == due.rows
    for words in (
        ["110:120", file],
        [file, "110:120"],
        [file, *FEW],
        [more, "110:120", file],
        [more, "110:120", "--view-key-file", file],
    ):
        ran = chainq("owned", *words, *PLAIN, url="demo:")
        assert (ran.code, ran.rows) == (0, due.rows), ran.err
    assert "wrong.key" in one_line(chainq("owned", "110:120", "wrong.key", url="demo:"), 2)


@pytest.mark.parametrize("content", [b"", b"# nothing\n\n", b"\xff\xfe", b"x" * (1 << 20) + b"y"])
def test_a_file_without_keys_is_a_usage_error(chainq: Program, server: Servers, content: bytes) -> None:
    """Empty, of comments, not text, or endless."""
    file = chainq.home / "keys"
    file.write_bytes(content)
    file.chmod(0o600)
    one_line(chainq("owned", *FEW, "--view-key-file", str(file), url=server()), 2)


def test_without_a_key_the_message_says_the_ways(chainq: Program, server: Servers) -> None:
    """There is no terminal to ask on."""
    message = one_line(chainq("owned", *FEW, url=server()), 2)
    assert "--view-key-file FILE" in message
    assert VARIABLE in message


def test_the_prompt_hides_what_is_typed(chainq: Program, server: Servers) -> None:
    """On a terminal; the file and the environment come first."""
    run = pexpect.spawn(
        chainq.path,
        ["owned", *FEW, "--url", server(), "--dialect", "auto", "--jsonl"],
        env=chainq.environment(),
        timeout=LONGEST,
    )
    run.expect_exact("View key (hidden): ")
    run.waitnoecho()
    run.sendline(PUBLISHED.text)
    run.expect(pexpect.EOF)
    run.close()
    shown = run.before.decode()
    assert run.exitstatus == 0, shown
    assert PUBLISHED.text not in shown
    assert PUBLISHED.address in shown


@pytest.mark.parametrize(
    ("typed", "code", "said"),
    some(
        [
            (("",), 2, "no view key was typed"),
            (("oops", PUBLISHED.text[:-1], PUBLISHED.text), 0, "1 row"),
            (("oops", "oops", "oops"), 2, "what you typed is not a view key: expected"),
            (("oops", ""), 2, "no view key was typed"),
        ],
        (("oops", PUBLISHED.text[:-1], PUBLISHED.text), 0, "1 row"),
        (("oops", "oops", "oops"), 2, "what you typed is not a view key: expected"),
        (("oops", ""), 2, "no view key was typed"),
        several=True,
    ),
    ids=["nothing", "right in the end", "never right", "given up"],
)
def test_what_is_no_key_at_the_prompt(
    chainq: Program, server: Servers, typed: tuple[str, ...], code: int, said: str
) -> None:
    """If nothing was typed, it is not called an invalid key. A wrong key is asked for again, twice."""
    words = ["owned", *FEW, "--url", server(), "--dialect", "auto"]
    run = pexpect.spawn(chainq.path, words, env=chainq.environment(), timeout=LONGEST)
    for number, text in enumerate(typed):
        run.expect_exact("try again" if number else "View key (hidden): ")
        if number:
            run.expect_exact("View key (hidden): ")
        run.waitnoecho()
        run.sendline(text)
    run.expect(pexpect.EOF)
    run.close()
    assert (run.exitstatus, said in " ".join(run.before.decode().split())) == (code, True)


def test_without_the_sdk_the_way_to_it_is_said(chainq: Program, server: Servers) -> None:
    """The extra is optional, and only this command needs it."""
    (chainq.home / "none").mkdir()
    (chainq.home / "none" / "aleo.py").write_text("raise ImportError('not installed')\n")
    env = {"PYTHONPATH": str(chainq.home / "none"), VARIABLE: PUBLISHED.text}
    assert "it comes with chainq[wallet] " in one_line(chainq("owned", *FEW, url=server(), env=env), 2)
    assert chainq("ownership", *FEW, url=server(), env=env).code == 0


def test_without_the_sdk_no_key_is_asked_for(chainq: Program) -> None:
    """Nobody types a key for a command that cannot run; no request is sent."""
    (chainq.home / "hidden").mkdir()
    (chainq.home / "hidden" / "sitecustomize.py").write_text("import sys\nsys.modules['aleo'] = None\n")
    env = {"PYTHONPATH": str(chainq.home / "hidden")}
    for command, *range_ in (("owned", *FEW), ("balance",)):
        said = one_line(chainq(command, *range_, url="http://127.0.0.1:9/", env=env), 2)
        assert f"{command} needs the aleo-sdk package" in said
        assert "it comes with chainq[wallet] " in said
        assert "view-key" not in said


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
def test_no_key_leaves_the_process(chainq: Program) -> None:
    """Not in a command line, a file, a request, a log or an environment that a child gets; nor its scalar."""
    key = fresh_key()
    service = Holding(fresh_records(key.address, 16), 3_000)
    secrets = [key.text.encode(), key.text[9:].encode(), key.scalar.encode(), int(key.scalar).to_bytes(32, "little")]
    with serving(service) as url:
        for source in ("file", "environment"):
            env = {VARIABLE: key.text} if source == "environment" else {}
            file = ("--view-key-file", key_file(chainq.home, key)) if source == "file" else ()
            with scanning(chainq, url, *file, "-v", "--decrypt", env=env) as process:
                seen = [
                    Path(f"/proc/{number}/cmdline").read_bytes() for number in (process.pid, *children(process.pid))
                ]
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
@pytest.mark.parametrize("number", some([signal.SIGINT, signal.SIGTERM, signal.SIGKILL], signal.SIGINT, signal.SIGKILL))
def test_workers_end_with_the_run(chainq: Program, number: int) -> None:
    """However it ends: none goes on with a key in its memory."""
    key = fresh_key()
    with (
        serving(Holding(fresh_records(key.address, 4), 3_000)) as url,
        scanning(chainq, url, env={VARIABLE: key.text}) as process,
    ):
        workers = [os.pidfd_open(worker) for worker in children(process.pid)]
        process.send_signal(number)
        ran = finish(process)
        assert ran.code == -number
        for worker in workers:  # readable once the process has ended
            assert select.select([worker], [], [], LONGEST)[0]
            os.close(worker)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_a_worker_that_is_killed_ends_the_run(chainq: Program) -> None:
    """As when memory runs out: rows before it stay, and none is skipped."""
    key = fresh_key()
    service = Holding(fresh_records(key.address, 16), 3_000)
    with (
        serving(service) as url,
        scanning(chainq, url, "--columns", "transition_id", env={VARIABLE: key.text}) as process,
    ):
        for worker in children(process.pid):
            os.kill(worker, signal.SIGKILL)
        ran = finish(process)
    message = one_line(ran, 6)
    assert "a worker process was ended by signal 9" in message
    assert "resume with --start " in message
    due = [transition for _, transition, _ in service.planted(0, 3_000)]
    assert transitions(ran.rows) == due[: len(ran.rows)]


def test_requests_are_those_of_ownership(chainq: Program) -> None:
    """Which rows are somebody's does not show in what is asked for."""
    key = fresh_key()
    bodies = []
    for command, extra in (("owned", ("-w", "1")), ("ownership", ())):
        service = Holding(fresh_records(key.address, 4), 700, Faults())
        with serving(service) as url:
            assert chainq(command, "--start", "0", "--end", "130", *extra, url=url, env={VARIABLE: key.text}).code == 0
        bodies.append(sorted(json.dumps(json.loads(body)["params"]) for body in service.received if b"isOwner" in body))
    assert bodies[0] == bodies[1]
