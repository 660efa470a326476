"""--follow: after the newest block, wait and go on as blocks appear, until interrupted.

The test moves the tip and reads what comes out of the pipe: nothing here waits for a time to pass.
"""

import json
import signal
import threading
import time
from collections.abc import Callable

import pytest

from harness.lake.fork import Fork
from harness.running.jobs import Following, Job, capped, lines, said, starting
from harness.running.program import LONGEST, Program, Servers, finish
from harness.running.truth import Truth
from harness.servers.services import FULL_BLOCKS, Moving, Serve

SOON = ("--follow", "--interval", "0.05", "--lag", "0")
CLOCK = '''
"""A wall clock that jumps a day back and forth each time it is read."""
import itertools, time
real, jumps = time.time, itertools.count()
time.time = lambda: real() + (next(jumps) % 3 - 1) * 86400
'''
Follow = Callable[..., Following]


@pytest.fixture
def follow(chainq: Program, serve: Serve) -> Follow:
    """Starts to follow a service: `follow(Moving(5), "blocks", 3)`."""

    def start(service: Moving, command: str, start: int, *more: str) -> Following:
        process = chainq.start(command, "--start", str(start), *SOON, *more, url=serve(service))
        return Following(process, service, command, start)

    return start


def test_rows_come_as_blocks_appear(follow: Follow) -> None:
    """Each new block's row is there at once, also in a pipe; a signal ends it with a resume line that is right."""
    service = Moving(5)
    run = follow(service, "blocks", 3)
    for tip in (5, 6, 9, 20):
        run.up_to(tip)
    run.stopped("resume with --start 21 --follow", number=signal.SIGINT)
    again = follow(service, "blocks", 21)
    again.up_to(29)
    again.stopped("--start 30 --follow", number=signal.SIGTERM)


def test_waiting_takes_one_cheap_call(follow: Follow) -> None:
    """While nothing is new, each look is one call for the newest block, and nothing is written."""
    service, enough = Moving(4), threading.Event()
    run = follow(service, "records", 4)
    run.up_to(4)
    service.hook = lambda _: enough.set() if service.calls[-6:] == ["latest/block"] * 6 else None
    assert enough.wait(LONGEST)
    run.stopped("--start 5")
    first = service.calls.index("records/all")
    assert set(service.calls[first + 1 :]) <= {"latest/block", "records/all", "block", *FULL_BLOCKS}
    assert sum(call in FULL_BLOCKS for call in service.calls) <= 1  # names the rows of the first
    hashes = [call for call in service.calls if call in ("block", "blocks", "getBlocks")]
    assert hashes == ["block"]  # before its records the tip names the last block
    assert service.calls.count("records/all") <= 3  # two looks at the end of the chain prove the first complete


def test_it_goes_on_through_a_restart_of_the_server(chainq: Program, server: Servers) -> None:
    """A server that dies and comes back on its port costs a warning, no row: each comes exactly once."""
    with server.process("--tip", "9") as (url, served):
        port = url.rstrip("/").rpartition(":")[2]
        process = chainq.start("blocks", "--start", "0", "--retries", "0", *SOON, url=url)
        run = Following(process, Moving(9), "blocks", 0)
        run.up_to(9)
        served.kill()
        served.wait()
    assert process.stderr is not None
    assert b"trying again every" in process.stderr.readline()
    with server.process("--tip", "20", "--port", port) as (again, served):
        assert again == url
        run.up_to(20)
        process.send_signal(signal.SIGINT)
        ran = finish(process)
    assert (ran.code, ran.out) == (-signal.SIGINT, b"")
    assert "resume with --start 21 --follow" in ran.err.splitlines()[-1]


def test_a_service_that_falls_behind_is_told_once(follow: Follow) -> None:
    """A newest block that goes back and comes again costs one warning, and no row comes twice."""
    service, looks = Moving(9), threading.Event()
    run = follow(service, "blocks", 0)
    run.up_to(9)
    service.tip, before = 5, len(service.calls)
    service.hook = lambda _: looks.set() if len(service.calls) > before + 5 else None
    assert looks.wait(LONGEST)
    run.up_to(11)
    assert run.stopped(lines=2).count("behind") == 1


def test_9_a_chain_that_changes_under_it(chainq: Program, serve: Serve) -> None:
    """When the block before is another one, it ends with 9 and says so; with a checkpoint --rewind follows on."""
    service = Moving(9)
    job = Job(chainq, serve(service), "blocks")
    run = Following(job.start(*SOON, "-q", out=""), service, "blocks", 0)
    for tip in (9, 10, 11, 12):
        run.up_to(tip)
    while json.loads(job.kept.read_bytes())["positions"][-1]["next"] < 13:
        time.sleep(0.002)
    service.swap(Fork(11))
    ran = finish(run.process)
    said(ran, 9, "block 12", service.chain.block_hash(12), "--rewind 2 goes back far enough, to height 11\n")
    assert ran.out == b""
    again = job.start("--rewind", "2", *SOON, out="")
    assert again.stdout is not None
    for height in (11, 12):
        assert service.chain.block_hash(height).encode() in again.stdout.readline()
    Following(again, service, "blocks", 13).stopped("resumes at height 13")


@pytest.mark.parametrize(("at", "limit"), [(490, 100), (503, None)])
def test_9_a_reorg_without_a_checkpoint(at: int, limit: int | None, follow: Follow) -> None:
    """The hint to resume goes back to the fork, so no row of a block that is gone is kept."""
    back = max(at, 498)
    service, words = Moving(500), () if limit is None else ("--limit", str(limit))
    run = follow(service, "blocks", 498, *words)
    for tip in range(500, 506):
        run.up_to(tip)
    service.swap(Fork(at))
    service.tip = 506
    ran = finish(run.process)
    assert ran.out == b""
    more = "" if limit is None else f" --limit {limit - (back - 498)}"
    due = f"the rows from height {back} on must be discarded", f"resume with --start {back} --follow{more}\n"
    said(ran, 9, "reorg: block 505 is", *due)
    again = follow(service, "blocks", back)
    assert again.process.stdout is not None
    for height in range(back, 507):
        assert service.chain.block_hash(height).encode() in again.process.stdout.readline()
    again.stopped("--start 507 --follow")


def test_a_file_is_appended_to(chainq: Program, truth: Truth, serve: Serve) -> None:
    """--follow -o FILE without a checkpoint begins a new or empty file, and each row is in it at once."""
    service, file = Moving(3), chainq.home / "out"
    file.write_bytes(b"")
    process = chainq.start("blocks", "--start", "0", "-o", "out", *SOON, url=serve(service))
    for service.tip in (3, 4, 8):
        whole = lines(truth.rows("blocks", 0, service.tip + 1))
        while file.stat().st_size < len(whole):
            assert process.poll() is None, finish(process)
            time.sleep(0.002)
        assert file.read_bytes() == whole
    Following(process, service, "blocks", 9).stopped("--start 9 --follow and another -o FILE")
    assert file.read_bytes() == whole


def test_7_a_full_disk_leaves_whole_rows(chainq: Program, truth: Truth, serve: Serve) -> None:
    """Out of room, --follow -o ends with 7 and the place to resume from; neither half a row nor half a header stays."""
    url = serve(Moving(49))
    for flag, size in (("--csv", 100), ("--jsonl", 2000)):
        out = chainq.home / flag
        words = ("blocks", "--start", "0", flag, *SOON, "-o", str(out), "--url", url)
        said(capped(chainq, size, *words), 7, str(out), "File too large", "resume with --start 0 --follow")
        assert out.read_bytes() == b""
    assert len(lines(truth.rows("blocks", 0, 50))) > 2000


def test_141_a_closed_pipe_ends_it_quietly(follow: Follow) -> None:
    """`--follow | head` ends by SIGPIPE at the next row, without a word."""
    run = follow(Moving(3), "blocks", 0)
    run.up_to(3)
    assert run.process.stdout is not None
    assert run.process.stderr is not None
    run.process.stdout.close()
    run.service.tip = 4
    assert run.process.stderr.read() == b""
    run.process.stderr.close()
    assert run.process.wait(LONGEST) == -signal.SIGPIPE


def test_clock_jumps_do_no_harm(chainq: Program, serve: Serve) -> None:
    """With a wall clock that jumps by days, rows and checkpoint are the same."""
    service = Moving(3)
    job = Job(chainq, serve(service), "blocks")
    process = job.start(*SOON, "-q", "--max-age", "36500d", out="", env=starting(chainq, "clock", CLOCK))
    run = Following(process, service, "blocks", 0)
    for tip in range(3, 9):
        run.up_to(tip)
    run.stopped("resumes at height 9")
    assert job.next == 9
