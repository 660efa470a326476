"""`chainq owned` with --checkpoint and --follow: a wallet that watches, and the file of its records."""

import json
import signal

import pytest

from harness.models.search import some
from harness.running.jobs import FIRST, Job, said
from harness.running.program import Program, finish
from harness.servers.services import Serve
from harness.wallet.account import fresh_records
from harness.wallet.wallet import PLAIN, VARIABLE, Holding, fresh_key, key_file, transitions

pytest.importorskip("aleo")

SOON = ("--follow", "--interval", "0.01", "--lag", "0")


def due(service: Holding, start: int = FIRST) -> list[str]:
    """The transitions of the planted records up to the tip."""
    return [transition for _, transition, _ in service.planted(start, service.tip + 1)]


def test_later_runs_add_what_is_new(chainq: Program, serve: Serve) -> None:
    """Each record is in the file once; the checkpoint and its lock hold neither key nor address."""
    key = fresh_key()
    service = Holding(fresh_records(key.address, 12), FIRST + 15, first=FIRST, apart=4)
    job = Job(chainq, serve(service), "owned", "-w", "1", "--decrypt", "--start", str(FIRST), "--dialect", "auto")
    for _ in range(3):
        said(job(env={VARIABLE: key.text}), 0)
        assert transitions(job.out.read_bytes().splitlines()) == due(service)
        service.tip += 16
    assert len(due(service)) > 8
    kept = job.kept.read_text()
    assert f'"next": {service.tip - 15}' in kept
    for secret in (key.text, key.scalar, key.address):
        assert secret not in kept


def test_a_first_run_without_records_says_so(chainq: Program, serve: Serve) -> None:
    """With the address, by which one sees a mistyped key; later runs, which most often find nothing, say nothing. Two
    checkpoints of one key do not show that they are of one key."""
    key, other = fresh_key(), fresh_key(1)
    service = Holding(fresh_records(other.address, 2), FIRST + 20, first=FIRST)
    jobs = [Job(chainq, serve(service), "owned", "-w", "1", "--start", str(FIRST), place=place) for place in "ab"]
    for job in jobs:
        said(job(env={VARIABLE: key.text}), 0, f": no records of {key.address}; check that ")
    service.tip += 5
    said(jobs[0](env={VARIABLE: key.text}), 0)
    one, two = (json.loads(job.kept.read_bytes())["query"]["owner"] for job in jobs)
    assert one != two
    assert not set(one.split(":")) & set(two.split(":"))


def test_a_checkpoint_belongs_to_its_keys(chainq: Program, serve: Serve) -> None:
    """The same keys in another order are the same; others are refused, and neither is named."""
    mine, yours, other = map(fresh_key, range(3))
    service = Holding(fresh_records(mine.address, 2), FIRST + 20, first=FIRST)
    job = Job(chainq, serve(service), "owned", "-w", "1", "--start", str(FIRST), "--view-key-file")
    words = job.words
    for keys, none in (((mine, yours), (f"no records of {yours.address}\n",)), ((yours, mine), ())):
        job.words = (*words, key_file(chainq.home, *keys))
        said(job(), 0, *none)
    job.words = (*words, key_file(chainq.home, mine, other))
    ran = job()
    said(ran, 2, "was made with another view key")
    assert not [key for key in (mine, yours, other) if key.address in ran.err or key.text in ran.err]


@pytest.mark.parametrize("number", some([signal.SIGINT, signal.SIGTERM], signal.SIGTERM))
def test_a_wallet_that_watches(chainq: Program, number: int, serve: Serve) -> None:
    """Each new record is there as soon as its block is; a signal ends the run with a resume line."""
    key = fresh_key()
    service = Holding(fresh_records(key.address, 12), FIRST + 10, first=FIRST)
    process = chainq.start(
        *("owned", "--start", str(FIRST), "--records", "--columns", "height", *SOON, "--dialect", "auto"),
        url=serve(service),
        env={VARIABLE: key.text},
    )
    assert process.stdout is not None
    for height, _, _ in service.planted(FIRST, FIRST + 60):
        service.tip = max(service.tip, height)
        assert json.loads(process.stdout.readline()) == {"height": height}
    process.send_signal(number)
    ran = finish(process)
    said(ran, -number, "stopped by", "resume with --start ", "--follow")


def test_malformed_rows_end_a_run_once(chainq: Program, serve: Serve) -> None:
    """All else is written and recorded; the next run has nothing to say of them."""
    key = fresh_key()
    good, bad, more = fresh_records(key.address, 3)
    service = Holding([good, bad._replace(nonce_x="1"), more], FIRST + 50, first=FIRST)
    job = Job(chainq, serve(service), "owned", "--start", str(FIRST), "--dialect", "auto", *PLAIN)
    ran = job(env={VARIABLE: key.text})
    assert ran.code == 6
    assert "1 faulty record" in ran.err
    service.tip += 40
    said(job(env={VARIABLE: key.text}), 0)
    first, _, third, *_ = due(service)
    assert transitions(job.out.read_bytes().splitlines()) == [first, third]
