"""Runs that end early: by a signal, a closed pipe, a dead server, a broken chain.

What stands on stdout is then a whole prefix that ends with a height, and the resume line on stderr gives the rest.
"""

import os
import re
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.running.jobs import capped
from harness.running.program import DIALECT, LONGEST, Program, Ran, Servers, finish
from harness.running.truth import Groups, Truth, difference
from harness.servers.services import Moving, Serve, held, witnessed


@dataclass(frozen=True)
class Run:
    """A run long enough to be stopped, since far more is due than a pipe holds."""

    words: tuple[str, ...]
    start: int
    end: int
    reverse: bool = False

    @property
    def args(self) -> tuple[str, ...]:
        span = ("--start", str(self.start), "--end", str(self.end))
        return (*self.words, *span, "--reverse") if self.reverse else (*self.words, *span)

    def due(self, truth: Truth) -> Groups:
        groups = truth.groups(self.words[0], self.start, self.end)
        return groups[::-1] if self.reverse else groups


RUNS = {
    "blocks": Run(("blocks", "--jsonl"), 0, 2_500),
    "records": Run(("records",), 800, 1_500),
    "records, many of one height": Run(("records",), 777, 1_100),  # first 25,000 rows
    "records, newest first": Run(("records",), 800, 1_500, reverse=True),
}


def begun(process: subprocess.Popen[bytes]) -> bytes:
    """The first line of a run: when it is there, the run has begun to write and the pipe is about to be full."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.endswith(b"\n"), "the run ended before its first row"
    return line


def rest_is_whole(run: Run, ran: Ran, first: bytes, program: Program, url: str, truth: Truth) -> None:
    """Check that the rows of a broken run are a whole prefix as its resume line has it, and that this, followed to the
    letter, gives exactly the rest."""
    said = re.search(r"resume with --start (\d+) --end (\d+)( --reverse)?\n", ran.err)
    assert said, ran.err
    assert ran.err.count("\n") == 1, ran.err
    start, end = int(said[1]), int(said[2])
    assert (said[3] is not None) == run.reverse
    assert run.start == start if run.reverse else run.end == end
    done = run.end - end if run.reverse else start - run.start
    rows = Ran(ran.code, first + ran.out, "").rows
    assert 0 < done < run.end - run.start
    assert difference(rows, run.due(truth)[:done]) == ""
    rest = program(*run.words, *said[0].removeprefix("resume with ").split(), url=url)
    assert (rest.code, rest.err) == (0, "")
    assert difference([*rows, *rest.rows], run.due(truth)) == ""


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("blocks", signal.SIGTERM),
        ("records, many of one height", signal.SIGINT),
        ("records, newest first", signal.SIGHUP),
    ],
)
def test_a_signal_leaves_a_whole_prefix(
    name: str, number: signal.Signals, chainq: Program, server: Servers, truth: Truth
) -> None:
    """Stopped by a signal, the run dies by it with a whole prefix on stdout, and the resume line gives the rest."""
    run = RUNS[name]
    process = chainq.start(*run.args, url=server())
    first = begun(process)
    process.send_signal(number)
    ran = finish(process)
    assert ran.code == -number
    assert "perhaps inside" not in ran.err
    rest_is_whole(run, ran, first, chainq, server(), truth)


def test_143_a_file_is_left_as_it_was(chainq: Program, server: Servers) -> None:
    """Stopped while it writes a file, a run leaves the old one and nothing beside it."""
    folder = chainq.home / "out"
    folder.mkdir()
    (folder / "file").write_bytes(b"old\n")
    words = ("records", "--start", "0", "--end", "1M", "-o", str(folder / "file"), "-v")
    process = chainq.start(*words, url=server())
    assert process.stderr is not None
    assert process.stderr.readline()  # the first call is done
    process.terminate()
    ran = finish(process)
    assert ran.code == -signal.SIGTERM
    assert [(path.name, path.read_bytes()) for path in folder.iterdir()] == [("file", b"old\n")]


@pytest.mark.parametrize("words", [("blocks", "--end", "100K"), ("records", "--end", "50K", "--csv")])
def test_141_a_closed_pipe_ends_the_run_quietly(words: tuple[str, ...], chainq: Program) -> None:
    """`| head -1` ends the run by SIGPIPE, without a word, and long before the range is asked for."""
    with witnessed() as (url, calls):
        process = chainq.start(*words, url=url)
        begun(process)
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        err = process.stderr.read()
        process.stderr.close()
        assert process.wait(timeout=LONGEST) == -signal.SIGPIPE
    assert err == b""
    assert len(calls) <= 25


@pytest.mark.parametrize("words", ["--help", "records --columns help"])
def test_141_help_that_nobody_reads(words: str, chainq: Program) -> None:
    """As of data: exit code 1 would mean that something does not exist."""
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as nobody:  # noqa: PTH123  # a descriptor
        process = chainq.start(*words.split(), stdout=nobody)
        assert process.stderr is not None
        assert process.stderr.read() == b""
        process.stderr.close()
        assert process.wait(timeout=LONGEST) == -signal.SIGPIPE


def test_4_a_server_that_dies_leaves_a_whole_prefix(chainq: Program, server: Servers, truth: Truth) -> None:
    """When the server is killed in mid-run: exit 4, a whole prefix, and a resume line that another server serves."""
    run = RUNS["records"]
    small = ("-j", "1", "--page-size", "200")  # far more are due than a run requests before the pipe is full
    with server.process() as (url, served):
        process = chainq.start(*run.args, *small, "--retries", "0", url=url)
        first = begun(process)
        served.kill()
        served.wait()
        ran = finish(process)
    assert ran.code == 4, ran.err
    rest_is_whole(run, ran, first, chainq, server(), truth)


@pytest.mark.parametrize("words", [("records", "--reverse"), ("records", "--checkpoint", "c")])
def test_7_a_file_behind_stdout_is_cut_back_to_whole_heights(
    words: tuple[str, ...], chainq: Program, server: Servers, truth: Truth
) -> None:
    """Out of room in a file that the shell opened, what stands in it ends with a height, and the resume line fits."""
    span = ("--start", "800", "--end", "900")
    place = chainq.home / "out"
    place.write_bytes(b"old\n")
    url = server()
    with place.open("ab") as out:
        ran = capped(chainq, 64 << 10, *words, *span, "-q", "--url", url, "--dialect", DIALECT, stdout=out)
    assert (ran.code, ran.err.count("\n")) == (7, 1), ran.err
    groups = truth.groups("records", 800, 900)
    said = re.search(r"(?:--start|resumes at height) (\d+)(?: --end (\d+) --reverse)?", ran.err)
    assert said, ran.err
    due = groups[::-1][: 900 - int(said[2])] if said[2] else groups[: int(said[1]) - 800]
    head, *rows = place.read_bytes().splitlines()
    assert head == b"old"
    assert difference(rows, due) == ""


@pytest.mark.parametrize("name", ["parquet", "json"])
def test_no_resume_line_for_what_has_no_parts(name: str, chainq: Program, server: Servers, full_device: Path) -> None:
    """Where a part of a format is of no use, the error says to run the command again, not how to resume."""
    if name == "parquet":
        pytest.importorskip("pyarrow", reason="Parquet needs the extra chainq[parquet]")
    with full_device.open("wb") as full:
        ran = finish(chainq.start("records", "--end", "90", "--format", name, url=server(), stdout=full))
    assert ran.code == 7
    assert f"the {name} output is incomplete; run the command again" in ran.err
    assert "resume" not in ran.err


def test_what_killed_runs_leave_is_removed(chainq: Program, server: Servers, serve: Serve) -> None:
    """The next run with the same output removes the temporary files of runs that were killed, and no others."""
    folder = chainq.home / "outputs"
    folder.mkdir()
    (folder / ".out.mine").write_text("mine")

    def start() -> subprocess.Popen[bytes]:
        service = Moving(5_000)
        begun, go = held(service, lambda _: True)
        process = chainq.start("records", "0:3000", "-o", str(folder / "out"), url=serve(service, go))
        assert begun.wait(LONGEST)  # it has a file of its own
        return process

    living = start()
    for number in (signal.SIGKILL, signal.SIGUSR1):
        process = start()
        process.send_signal(number)
        assert finish(process).code == -number
    assert len([*folder.glob(".out.*.chainq")]) == 2  # each removed what the one before had left
    assert chainq("records", "--start", "0", "--end", "5", "-o", str(folder / "out"), url=server()).code == 0
    assert len([*folder.glob(".out.*.chainq")]) == 1  # of the one that is alive
    living.kill()
    finish(living)
    assert chainq("records", "--start", "0", "--end", "5", "-o", str(folder / "out"), url=server()).code == 0
    assert {path.name for path in folder.iterdir()} == {"out", ".out.mine"}
