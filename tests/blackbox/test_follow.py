"""--follow: after the newest block, wait and go on as blocks appear, until interrupted.

The test moves the tip and reads what comes out of the pipe: nothing here waits for a time to pass.
"""

import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from chainq.demo.chain import Chain
from chainq.demo.fork import Fork
from harness.jobs import FIRST, Job, assassin, capped, lines, said
from harness.program import LONGEST, Program, Servers, finish
from harness.services import FULL_BLOCKS, Moving, serving
from harness.truth import Truth, difference

SOON = ("--follow", "--interval", "0.05", "--lag", "0")
CLOCK = '''
"""A wall clock that jumps a day back and forth each time it is read."""
import itertools, time
real, jumps = time.time, itertools.count()
time.time = lambda: real() + (next(jumps) % 3 - 1) * 86400
'''


def read(process: subprocess.Popen[bytes], count: int) -> list[bytes]:
    """The next lines of a run, as soon as they are there."""
    assert process.stdout is not None
    rows = []
    for _ in range(count):
        line = process.stdout.readline()
        assert line.endswith(b"\n"), finish(process)
        rows.append(line[:-1])
    return rows


def stopped(process: subprocess.Popen[bytes], number: signal.Signals, *words: str) -> None:
    """Stop a run that has nothing left to say: it dies by the signal, with one line that holds the words."""
    process.send_signal(number)
    ran = finish(process)
    assert ran.out == b""
    said(ran, -number, "stopped", *words)


def grown(file: Path, process: subprocess.Popen[bytes], size: int) -> None:
    """Wait until a run has made its file so long."""
    while not file.exists() or file.stat().st_size < size:
        assert process.poll() is None, finish(process)
        time.sleep(0.002)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_rows_come_as_blocks_appear(number: signal.Signals, chainq: Program, truth: Truth) -> None:
    """Each new block's row is there at once, also in a pipe; a signal ends it with a resume line that is right."""
    service = Moving(5)
    with serving(service) as url:
        process = chainq.start("blocks", "--start", "3", *SOON, url=url)
        due = truth.rows("blocks", 0, 30)
        assert read(process, 3) == due[3:6]
        for before, after in ((5, 6), (6, 9), (9, 20)):
            service.tip = after
            assert read(process, after - before) == due[before + 1 : after + 1]
        stopped(process, number, "resume with --start 21 --follow")
        service.tip = 29
        again = chainq.start("blocks", "--start", "21", *SOON, url=url)
        assert read(again, 9) == due[21:30]
        stopped(again, number, "--start 30 --follow")


@pytest.mark.parametrize("command", ["records", "ownership", "transitions", "full-blocks", "blocks"])
def test_every_command_follows(command: str, chainq: Program, truth: Truth) -> None:
    """Every kind of row comes exactly once while the chain grows block by block, also in heights without any."""
    service = Moving(FIRST)
    with serving(service) as url:
        process = chainq.start(command, "--start", str(FIRST), *SOON, url=url)
        groups, came = truth.groups(command, FIRST, FIRST + 13), []
        for step, group in enumerate(groups):
            service.tip = FIRST + step
            came += read(process, len(group))
        assert difference(came, groups) == ""
        process.send_signal(signal.SIGINT)
        ran = finish(process)
    assert (ran.code, ran.out) == (-signal.SIGINT, b"")


def test_csv_has_one_header(chainq: Program) -> None:
    """CSV that follows has its header once, before the first row, on stdout as in a file."""
    service = Moving(0)
    with serving(service) as url:
        process = chainq.start("blocks", "--start", "0", "--csv", "--columns", "height", *SOON, url=url)
        assert read(process, 2) == [b"height\r", b"0\r"]
        for service.tip in range(1, 5):
            assert read(process, 1) == [b"%d\r" % service.tip]
        stopped(process, signal.SIGINT)
        job = Job(chainq, url, "blocks", "--csv", "--columns", "height")
        for service.tip in range(5, 8):
            said(job("--max-age", "1m"), 8, "older than --max-age 1m")
    assert job.out.read_bytes() == b"height\r\n" + b"".join(b"%d\r\n" % height for height in range(8))


def test_waiting_takes_one_cheap_call(chainq: Program, truth: Truth) -> None:
    """While nothing is new, each look is one call for the newest block, and nothing is written."""
    service, enough = Moving(4), threading.Event()
    with serving(service) as url:
        process = chainq.start("records", "--start", "4", *SOON, url=url)
        assert read(process, len(truth.rows("records", 4, 5))) == truth.rows("records", 4, 5)
        service.hook = lambda _: enough.set() if service.calls[-6:] == ["latest/block"] * 6 else None
        assert enough.wait(LONGEST)
        stopped(process, signal.SIGINT, "--start 5")
    first = service.calls.index("records/all")
    assert set(service.calls[first + 1 :]) <= {"latest/block", "records/all", "block", *FULL_BLOCKS}
    assert sum(call in FULL_BLOCKS for call in service.calls) <= 1  # names the rows of the first
    hashes = [call for call in service.calls if call in ("block", "blocks", "getBlocks")]
    assert hashes == ["block"]  # before its records the tip names the last block
    assert service.calls.count("records/all") <= 3  # two looks at the end of the chain prove the first complete


def test_limit_ends_it(chainq: Program, truth: Truth) -> None:
    """--follow --limit N ends by itself with exit 0 after N rows, also in the middle of a height."""
    service = Moving(FIRST)
    with serving(service) as url:
        process = chainq.start("records", "--start", str(FIRST), "--limit", "31", *SOON, url=url)
        due = truth.rows("records", FIRST, FIRST + 30)
        here = len(truth.rows("records", FIRST, FIRST + 1))
        assert 0 < here < 31 < len(due)
        assert read(process, here) == due[:here]
        service.tip = FIRST + 29
        ran = finish(process)
    assert (ran.code, ran.err, ran.rows) == (0, "", due[here:31])


def test_a_note_has_the_rows_that_the_limit_leaves(chainq: Program) -> None:
    """After 3 of 10 rows, 7 are left."""
    with serving(Moving(5)) as url:
        process = chainq.start("blocks", "--start", "3", "--limit", "10", *SOON, url=url)
        read(process, 3)
        stopped(process, signal.SIGINT, "resume with --start 6 --follow --limit 7\n")


def test_it_goes_on_through_a_restart_of_the_server(chainq: Program, server: Servers, truth: Truth) -> None:
    """A server that dies and comes back on its port costs a warning, no row: each comes exactly once."""
    with server.process("--tip", "9") as (url, served):
        port = url.rstrip("/").rpartition(":")[2]
        process = chainq.start("blocks", "--start", "0", "--retries", "0", *SOON, url=url)
        assert read(process, 10) == truth.rows("blocks", 0, 10)
        served.kill()
        served.wait()
    assert process.stderr is not None
    assert b"trying again every" in process.stderr.readline()
    with server.process("--tip", "20", "--port", port) as (again, served):
        assert again == url
        assert read(process, 11) == truth.rows("blocks", 10, 21)
        process.send_signal(signal.SIGINT)
        ran = finish(process)
    assert (ran.code, ran.out) == (-signal.SIGINT, b"")
    assert "resume with --start 21 --follow" in ran.err.splitlines()[-1]


def test_a_service_that_falls_behind_is_told_once(chainq: Program, truth: Truth) -> None:
    """A newest block that goes back and comes again costs one warning, and no row comes twice."""
    service, looks = Moving(9), threading.Event()
    with serving(service) as url:
        process = chainq.start("blocks", "--start", "0", *SOON, url=url)
        assert read(process, 10) == truth.rows("blocks", 0, 10)
        service.tip, before = 5, len(service.calls)
        service.hook = lambda _: looks.set() if len(service.calls) > before + 5 else None
        assert looks.wait(LONGEST)
        service.tip = 11
        assert read(process, 2) == truth.rows("blocks", 10, 12)
        process.send_signal(signal.SIGINT)
        ran = finish(process)
    assert ran.out == b""
    assert ran.err.count("behind") == 1
    assert ran.err.count("\n") == 2


def test_9_a_chain_that_changes_under_it(chainq: Program, truth: Truth) -> None:
    """When the block before is another one, it ends with 6 and says so; with a checkpoint --rewind follows on."""
    service = Moving(9)
    with serving(service) as url:
        job = Job(chainq, url, "blocks")
        process = job.start(*SOON, "-q", out="")
        for height in range(10):
            service.tip = max(9, height)
            assert read(process, 1) == truth.rows("blocks", height, height + 1)
        for service.tip in (10, 11, 12):
            assert read(process, 1) == truth.rows("blocks", service.tip, service.tip + 1)
        service.swap(Fork(Chain(), 11))
        ran = finish(process)
        assert ran.out == b""
        said(ran, 9, "block 12", service.chain.block_hash(12), "--rewind 2 goes back far enough, to height 11\n")
        process = job.start("--rewind", "2", *SOON, out="")
        assert [service.chain.block_hash(h).encode() in row for h, row in zip((11, 12), read(process, 2), strict=True)]
        stopped(process, signal.SIGINT, "resumes at height 13")


@pytest.mark.parametrize(("at", "back"), [(498, 498), (503, 503), (490, 498), (505, 505)])
@pytest.mark.parametrize("limit", [None, 100])
def test_9_a_reorg_without_a_checkpoint(at: int, back: int, limit: int | None, chainq: Program, truth: Truth) -> None:
    """The hint to resume goes back to the fork, so no row of a block that is gone is kept."""
    service, words = Moving(500), () if limit is None else ("--limit", str(limit))
    with serving(service) as url:
        process = chainq.start("blocks", "--start", "-3", *SOON, *words, url=url)
        assert read(process, 3) == truth.rows("blocks", 498, 501)
        for service.tip in range(501, 506):
            assert read(process, 1) == truth.rows("blocks", service.tip, service.tip + 1)
        service.swap(Fork(Chain(), at))
        service.tip = 506
        ran = finish(process)
        assert ran.out == b""
        more = "" if limit is None else f" --limit {limit - (back - 498)}"
        due = f"the rows from height {back} on must be discarded", f"resume with --start {back} --follow{more}\n"
        said(ran, 9, "reorg: block 505 is", *due)
        again = chainq.start("blocks", "--start", str(back), *SOON, url=url)
        rows = read(again, 507 - back)
        assert all(service.chain.block_hash(h).encode() in row for h, row in zip(range(back, 507), rows, strict=True))
        stopped(again, signal.SIGINT, "--start 507 --follow")


def test_8_max_age_ends_it(chainq: Program, truth: Truth) -> None:
    """--follow --max-age ends with 8 when the newest block is too old, after the rows that were due."""
    with serving(Moving(9)) as url:
        ran = chainq("blocks", "--start", "0", *SOON, "--max-age", "1h", url=url)
    said(ran, 8, "block 9 is", "--max-age 1h", "resume with --start 10 --follow")
    assert ran.rows == truth.rows("blocks", 0, 10)


def test_lag_stays_behind(chainq: Program, truth: Truth) -> None:
    """--follow --lag N gives a row only when N blocks stand above it."""
    service = Moving(9)
    with serving(service) as url:
        process = chainq.start("blocks", "--start", "0", "--lag", "4", *SOON, url=url)
        assert read(process, 6) == truth.rows("blocks", 0, 6)
        for tip in range(10, 14):
            service.tip = tip
            assert read(process, 1) == [truth.block(tip - 4)]
        stopped(process, signal.SIGINT, "--start 10")


def test_it_survives_its_own_end(chainq: Program, truth: Truth) -> None:
    """With a checkpoint and a file, killed again and again and started again, it loses and repeats nothing."""
    service, deadly = Moving(FIRST), assassin(chainq)
    with serving(service) as url:
        job = Job(chainq, url, "blocks", "--start", str(FIRST))
        for round_ in range(4):
            process = job.start(*SOON)
            service.tip += 3
            grown(job.out, process, len(lines(truth.rows("blocks", FIRST, service.tip + 1))))
            process.kill()
            finish(process)
            service.hook = lambda method: setattr(service, "tip", service.tip + (method == "latest/block"))
            assert job(*SOON, env=deadly(9 + round_)).code == -signal.SIGKILL
            service.hook = lambda _: None
        process = job.start(*SOON)
        service.tip += 5
        whole = lines(truth.rows("blocks", FIRST, service.tip + 1))
        grown(job.out, process, len(whole))
        stopped(process, signal.SIGTERM, f"resumes at height {service.tip + 1}")
    assert job.out.read_bytes() == whole
    assert job.next == service.tip + 1


def test_a_file_is_appended_to(chainq: Program, truth: Truth) -> None:
    """--follow -o FILE without a checkpoint begins a new or empty file, and each row is in it at once."""
    service, file = Moving(3), chainq.home / "out"
    file.write_bytes(b"")
    with serving(service) as url:
        process = chainq.start("blocks", "--start", "0", "-o", "out", *SOON, url=url)
        for service.tip in (3, 4, 8):
            whole = lines(truth.rows("blocks", 0, service.tip + 1))
            grown(file, process, len(whole))
            assert file.read_bytes() == whole
        stopped(process, signal.SIGINT, "--start 9 --follow and another -o FILE")
    assert file.read_bytes() == whole


@pytest.mark.parametrize("command", ["blocks", "ownership"])
def test_2_a_file_with_rows_needs_a_checkpoint(command: str, chainq: Program, nowhere: str) -> None:
    """How far its rows go is recorded nowhere, and they would be there twice: refused before any request."""
    file = chainq.home / "out.jsonl"
    file.write_bytes(b'{"height":"7"}\n')
    ran = chainq(command, "-o", file.name, *SOON, url=nowhere)
    said(ran, 2, f"{file} has rows already", "use another output file")
    assert file.read_bytes() == b'{"height":"7"}\n'


def test_a_fifo_needs_no_checkpoint(chainq: Program, truth: Truth) -> None:
    """Nothing of an earlier run can be in it."""
    fifo = chainq.home / "out"
    os.mkfifo(fifo)
    with serving(Moving(3)) as url:
        process = chainq.start("blocks", "--start", "0", "--limit", "4", "-o", "out", *SOON, url=url)
        assert fifo.read_bytes() == lines(truth.rows("blocks", 0, 4))
        said(finish(process), 0)


def test_7_a_full_disk_leaves_whole_rows(chainq: Program, truth: Truth) -> None:
    """Out of room, --follow -o ends with 7 and the place to resume from; neither half a row nor half a header stays."""
    due = truth.rows("blocks", 0, 50)
    with serving(Moving(49)) as url:
        for flag, size in (("--csv", 100), ("--jsonl", 2000)):
            out = chainq.home / flag
            words = ("blocks", "--start", "0", flag, *SOON, "-o", str(out), "--url", url)
            said(capped(chainq, size, *words), 7, str(out), "File too large", "resume with --start 0 --follow")
            assert out.read_bytes() == b""
    assert len(lines(due)) > 2000


def test_141_a_closed_pipe_ends_it_quietly(chainq: Program) -> None:
    """`--follow | head` ends by SIGPIPE at the next row, without a word."""
    service = Moving(3)
    with serving(service) as url:
        process = chainq.start("blocks", "--start", "0", *SOON, url=url)
        read(process, 4)
        assert process.stdout is not None
        process.stdout.close()
        service.tip = 4
        assert process.stderr is not None
        assert process.stderr.read() == b""
        process.stderr.close()
        assert process.wait(LONGEST) == -signal.SIGPIPE


@pytest.mark.parametrize("flag", ["-o", "--checkpoint"])
def test_dash_is_standard_output(flag: str, chainq: Program, truth: Truth) -> None:
    """`-o -` is standard output here too, and makes no file of that name; --limit does not wait for a last look."""
    service = Moving(3)
    words = ("--checkpoint", "kept") if flag == "--checkpoint" else ("--follow", "--limit", "4", "--interval", "1000")
    words = (*words, "--lag", "0")
    with serving(service) as url:
        ran = chainq("blocks", "--start", "0", *words, "-o", "-", url=url)
    assert (ran.code, ran.rows) == (0, truth.rows("blocks", 0, 4)), ran.err
    assert not (chainq.home / "-").exists()


def test_clock_jumps_do_no_harm(chainq: Program, truth: Truth) -> None:
    """With a wall clock that jumps by days, rows and checkpoint are the same."""
    folder, service = chainq.home / "clock", Moving(3)
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(CLOCK)
    with serving(service) as url:
        job = Job(chainq, url, "blocks")
        process = job.start(*SOON, "-q", "--max-age", "36500d", out="", env={"PYTHONPATH": str(folder)})
        assert read(process, 4) == truth.rows("blocks", 0, 4)
        for service.tip in range(4, 9):
            assert read(process, 1) == [truth.block(service.tip)]
        stopped(process, signal.SIGINT, "resumes at height 9")
    assert job.next == 9


def test_2_options_that_contradict_it(chainq: Program, nowhere: str) -> None:
    """What cannot go on for ever, or not forward, is exit 2 and named, before any call."""
    wrong = ["--reverse", "--end 9", "--until 2h", "--page 0", "--rewind 3", "--interval 0", "--max-age soon"]
    wrong += ["-o out --json", "-o out --table", "--json", "--format chart"]
    for words in wrong:
        ran = chainq("records", "--follow", *words.split(), url=nowhere)
        *_, flag, value = ("", *words.split())
        name = flag if value[0] in "0123456789" else value
        said(ran, 2, "chainq records", name.removeprefix("--"))
        assert ran.out == b""
    assert not (chainq.home / "out").exists()
