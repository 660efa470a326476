"""--checkpoint: reorgs, services that fall behind, and where each run begins and ends."""

import json
from itertools import product

import pytest

from chainq.demo.chain import Chain
from chainq.demo.faults import Faults
from chainq.demo.registry import Reply
from harness.jobs import FIRST, Job, lines, said
from harness.program import Program
from harness.search import some
from harness.services import Moving, Serve, fork_truth, heights_of, witnessed
from harness.truth import Truth, difference


@pytest.mark.parametrize("command", ["blocks", "records"])
def test_9_the_chain_changed_and_rewind_mends_it(command: str, chainq: Program, serve: Serve) -> None:
    """Another hash at the checkpoint: exit 9, block and hashes; --rewind to before the fork ends in the new truth."""
    service = Moving(100)
    job = Job(chainq, serve(service), command)
    lengths = []
    for tip in (100, 200, 300):
        service.tip = tip
        said(job(), 0)
        lengths.append(job.out.stat().st_size)
    fork = Chain().forked(150)
    old = service.chain
    service.swap(fork)
    for service.tip in (300, 301, 310):
        before = job.files()
        ran = job()
        said(ran, 9, "block 300", old.block_hash(300), fork.block_hash(300), "--rewind 200 goes back far enough")
        assert "resumes at" not in ran.err
        assert job.files() == before
    said(job("--rewind", "20"), 9, "block 200", "--rewind 100 ")  # the position before 281, still after the fork
    assert "; --rewind 100 goes back far enough" in chainq("status", str(job.kept)).out.decode()
    assert (job.next, job.out.stat().st_size) == (201, lengths[1])
    said(job("--rewind", "100"), 0)
    assert job.next == 311
    groups = fork_truth(150, 310).groups(command, 0, 311)
    assert difference(job.out.read_bytes().split(b"\n")[:-1], groups) == ""
    whole = Job(chainq, serve(service), command, place="undisturbed")
    said(whole(), 0)
    assert job.out.read_bytes() == whole.out.read_bytes()


def test_9_a_reorg_below_all_positions(chainq: Program, serve: Serve) -> None:
    """In another file a checkpoint has no positions from before: no --rewind is advised, since none would help."""
    service = Moving(20)
    job = Job(chainq, serve(service), "blocks")
    said(job(), 0)
    service.tip = 30
    said(job(out=str(job.folder / "other")), 0, "has the earlier ones")
    service.swap(Chain().forked(10))
    ran = job(out=str(job.folder / "other"))
    said(ran, 9, "reorg: block 30 is", "no position before the reorg", "a new checkpoint and a new output file")
    assert "--rewind" not in ran.err
    assert "resumes at" not in ran.err


def test_6_a_reorg_above_the_position_needs_no_rewind(chainq: Program, serve: Serve) -> None:
    """One that comes during a run, above what is recorded: the next run resumes, and the message says only that."""
    service = Moving(20)
    job = Job(chainq, serve(service), "records")
    said(job(), 0)
    service.tip = 40
    service.hook = lambda method: service.swap(Chain().forked(30)) if method == "records/all" else None
    ran = job()
    said(ran, 6, "reorg: block 40 is", "while rows were read; run the command again; the next run resumes at height")
    assert "--rewind" not in ran.err
    said(job(), 0)
    assert job.out.read_bytes() == lines(fork_truth(30, 40).rows("records", 0, 41))


def test_6_rewind_below_a_service_that_is_behind(chainq: Program, serve: Serve) -> None:
    """It removes no rows that the service does not have, also with --follow."""
    service = Moving(FIRST + 40)
    job = Job(chainq, serve(service), "blocks", "--start", str(FIRST))
    said(job(), 0)
    before, service.tip = job.files(), FIRST + 20
    for more in ((), ("--follow", "--interval", "0.02")):
        words = (f"its tip is {FIRST + 20}, but block {FIRST + 40} was there before", "nothing is removed")
        said(job("--rewind", "10", *more), 6, *words)
        assert job.files() == before
    service.tip = FIRST + 40
    said(job("--rewind", "10"), 0)
    assert job.files() == before


def test_rewind_goes_no_farther_than_the_start(chainq: Program, serve: Serve) -> None:
    """--rewind beyond the first height starts over from --start."""
    service = Moving(40)
    job = Job(chainq, serve(service), "blocks", "--start", "20")
    said(job(), 0)
    service.swap(Chain().forked(0))
    said(job("--rewind", "1000000"), 0)
    assert job.out.read_bytes() == lines(fork_truth(0, 40).rows("blocks", 20, 41))


@pytest.mark.parametrize(
    ("command", "seed"),
    some(
        product(["blocks", "records", "ownership"], [2, 3, 5]),
        ("records", 3),
        several=True,
    ),
)
def test_a_replica_that_is_behind_is_no_reorg(
    command: str, seed: int, chainq: Program, truth: Truth, serve: Serve
) -> None:
    """Where every other call goes to a server that is five blocks behind, no run claims a reorg or advises --rewind."""
    service = Moving(60, faults=Faults(f"seed:{seed}", "lag-blocks:5", "lag-rate:0.5"))

    def grow(method: str) -> None:
        service.tip += method == "latest/block"

    service.hook = grow
    job = Job(chainq, serve(service), command)
    for _ in range(12):
        ran = job("--lag", "10")
        assert ran.code in (0, 6), ran.err  # 6: responses contradict each other, and the next run goes on
        assert "reorg" not in ran.err
        assert "--rewind" not in ran.err
    service.hook = lambda _: None
    service.change(service.chain)
    service.tip += 30
    assert job("--lag", "10").code == 0, "the service is up to date again"
    rows = job.out.read_bytes().split(b"\n")[:-1]
    groups = truth.groups(command, 0, job.next)
    assert difference(rows, groups) == ""


class Hiding(Moving):
    """A service that lacks the summaries of some blocks."""

    hidden: tuple[str, ...] = ()

    def respond(self, body: bytes) -> Reply:
        reply = super().respond(body)
        if not self.hidden or json.loads(body)["method"] not in ("block", "getBlocks"):
            return reply
        content = json.loads(reply.body)
        content["result"] = [row for row in content["result"] if row["height"] not in self.hidden]
        return reply._replace(body=json.dumps(content).encode())


def test_6_a_block_that_is_gone(chainq: Program, serve: Serve) -> None:
    """A block at the checkpoint that the service lacks, long after its tip has passed it: exit 6, and both causes."""
    service = Hiding(20)
    job = Job(chainq, serve(service), "records")
    said(job(), 0)
    before = job.files()
    service.tip, service.hidden = 30, ("20", "21")
    ran = job()
    said(ran, 6, "the service is behind, or its chain was reset: it shows no block 20", "later")
    assert "--rewind" not in ran.err
    assert job.files() == before


def test_a_service_behind_is_only_behind(chainq: Program, truth: Truth, serve: Serve) -> None:
    """A newest block below the checkpoint: exit 0, a warning, nothing written; -q silences it; then it goes on."""
    service = Moving(20)
    job = Job(chainq, serve(service), "blocks")
    said(job(), 0)
    before, success = job.files(), json.loads(job.kept.read_bytes())["state"]["success"]
    service.tip = 12
    ran = job()
    said(ran, 0, "warning", "behind", "12", "20")
    said(job("-q"), 0, "behind")
    assert (ran.out, job.files()) == (b"", before)
    state = json.loads(job.kept.read_bytes())["state"]
    assert (state["success"], state["tip"]) == (success, 20)  # no success
    service.tip = 22
    said(job(), 0)
    assert job.out.read_bytes() == lines(truth.rows("blocks", 0, 23))


def test_a_start_above_the_tip_check_waits_for_it(chainq: Program, truth: Truth, serve: Serve) -> None:
    """A first run whose --start is still to come writes nothing, claims nothing as written, and goes on from there."""
    service = Moving(5)
    job = Job(chainq, serve(service), "blocks", "--start", "8")
    ran = job()
    assert (ran.code, ran.out, "is written" in ran.err) == (0, b"", False), ran.err
    service.tip = 9
    said(job(), 0)
    assert job.out.read_bytes() == lines(truth.rows("blocks", 8, 10))


def test_6_max_age_notices_a_chain_that_stands_still(chainq: Program, truth: Truth, serve: Serve) -> None:
    """A newest block older than --max-age is exit 8, also where nothing is new; rows and checkpoint went on before."""
    service = Moving(20)
    job = Job(chainq, serve(service), "blocks")
    said(job("--max-age", "36500d"), 0)
    service.tip = 25
    for _ in range(2):
        said(job("--max-age", "10m"), 8, "block 25 is", "months", "older than --max-age 10m")
        assert (
            "older than --max-age 10m; the chain or the service may have stopped\n"
            in chainq("status", str(job.kept)).out.decode()
        )
        assert job.out.read_bytes() == lines(truth.rows("blocks", 0, 26))
    assert job.next == 26


def test_lag_and_end_bound_every_run(chainq: Program, truth: Truth, serve: Serve) -> None:
    """--lag N stays N blocks behind; an --end past the newest block does not carry the checkpoint along."""
    service = Moving(20)
    job = Job(chainq, serve(service), "blocks")
    for tip, more, due in [
        (20, ("--lag", "5"), 16),
        (23, ("--lag", "5"), 19),
        (23, ("--lag", "9"), 19),
        (23, ("--end", "100"), 24),
        (30, ("--end", "28"), 28),
        (35, ("--end", "28"), 28),
        (35, ("--end", "1K"), 36),
        (35, ("--lag", "100"), 36),
    ]:
        service.tip = tip
        above = more[0] == "--end" and more[1] in ("100", "1K")
        said(job(*more), 0, *([f"is not reached: the tip is {tip}"] if above else []))
        assert job.next == due
        assert job.out.read_bytes() == lines(truth.rows("blocks", 0, due))


@pytest.mark.parametrize("command", ["blocks", "records", "full-blocks"])
def test_nothing_new_takes_one_call(command: str, chainq: Program, serve: Serve) -> None:
    """Nothing new: exit 0, no output, exactly one call, also with --lag; the files stay as they are."""
    service = Moving(20)
    url = serve(service)
    job, lagging = Job(chainq, url, command), Job(chainq, url, command, place="lagging")
    said(job(), 0)
    said(lagging("--lag", "3"), 0)
    for kept, more in ((job, ()), (lagging, ("--lag", "3"))):
        before = kept.files()
        service.calls.clear()
        ran = kept(*more)
        assert ran == (0, b"", "")
        assert service.calls == ["latest/block"]
        assert kept.files() == before


def test_later_runs_request_nothing_beyond_the_tip(chainq: Program) -> None:
    """An end far above the tip, as of a job that runs every hour, costs them no calls."""
    words = ("blocks", "1000:90000", "--checkpoint", "kept.json", "-o", "rows.jsonl", "--dialect", "chain")
    with witnessed(2000) as (url, calls):
        for _ in range(2):
            del calls[:]
            assert chainq(*words, url=url).code == 0
    assert [call for call in calls if any(height > 2000 for height in heights_of(call))] == []
    assert calls
