"""`chainq owned` with --checkpoint and --follow: a wallet that watches, and the file of its records.

`CHAINQ_KILLS` says how many runs are killed at random moments (5 of them here, or that number).
"""

import json
import os
import random
import re
import signal
import threading

import pytest

from chainq.demo.fork import Fork
from harness.account import fresh_records
from harness.jobs import FIRST, Job, said
from harness.program import Program, finish
from harness.search import some
from harness.services import serving
from harness.wallet import PLAIN, VARIABLE, Holding, fresh_key, key_file, transitions

pytest.importorskip("aleo")

KILLS = int(os.environ.get("CHAINQ_KILLS", "5"))
SOON = ("--follow", "--interval", "0.01", "--lag", "0")


def due(service: Holding, start: int = FIRST) -> list[str]:
    """The transitions of the planted records up to the tip."""
    return [transition for _, transition, _ in service.planted(start, service.tip + 1)]


def test_later_runs_add_what_is_new(chainq: Program) -> None:
    """Each record is in the file once; the checkpoint and its lock hold neither key nor address."""
    key = fresh_key()
    service = Holding(fresh_records(key.address, 12), FIRST + 15, first=FIRST, apart=4)
    with serving(service) as url:
        job = Job(chainq, url, "owned", "-w", "1", "--decrypt", "--start", str(FIRST), "--dialect", "auto")
        for _ in range(3):
            said(job(env={VARIABLE: key.text}), 0)
            assert transitions(job.out.read_bytes().splitlines()) == due(service)
            service.tip += 16
    assert len(due(service)) > 8
    kept = job.kept.read_text()
    assert f'"next": {service.tip - 15}' in kept
    for secret in (key.text, key.scalar, key.address):
        assert secret not in kept


def test_a_first_run_without_records_says_so(chainq: Program) -> None:
    """With the address, by which one sees a mistyped key; later runs, which most often find nothing, say nothing."""
    key, other = fresh_key(), fresh_key()
    service = Holding(fresh_records(other.address, 2), FIRST + 20, first=FIRST)
    with serving(service) as url:
        job = Job(chainq, url, "owned", "-w", "1", "--start", str(FIRST), "--view-key-file", key_file(chainq.home, key))
        said(job(), 0, f": none is of {key.address}; check that ", "; later runs read new blocks\n")
        service.tip += 5
        said(job(), 0)


def test_a_checkpoint_belongs_to_its_keys(chainq: Program) -> None:
    """The same keys in another order are the same; others are refused, and neither is named."""
    mine, yours, other = (fresh_key() for _ in range(3))
    service = Holding(fresh_records(mine.address, 2), FIRST + 20, first=FIRST)
    with serving(service) as url:
        job = Job(chainq, url, "owned", "-w", "1", "--start", str(FIRST), "--view-key-file")
        words = job.words
        for keys, none in (((mine, yours), (f"none is of {yours.address};",)), ((yours, mine), ())):
            job.words = (*words, key_file(chainq.home, *keys))
            said(job(), 0, *none)
        job.words = (*words, key_file(chainq.home, mine, other))
        ran = job()
    said(ran, 2, "was made with another view key")
    assert not [key for key in (mine, yours, other) if key.address in ran.err or key.text in ran.err]


def test_salts_differ(chainq: Program) -> None:
    """Two checkpoints of one key do not show that they are of one key."""
    key = fresh_key()
    owners = []
    with serving(Holding([], 20)) as url:
        for place in ("a", "b"):
            job = Job(chainq, url, "owned", "-w", "1", "--start", "0", place=place)
            said(job(env={VARIABLE: key.text}), 0, f"none is of {key.address};")
            owners.append(json.loads(job.kept.read_bytes())["query"]["owner"])
    assert owners[0] != owners[1]
    assert not set(owners[0].split(":")) & set(owners[1].split(":"))


@pytest.mark.parametrize("number", some([signal.SIGINT, signal.SIGTERM], signal.SIGTERM))
def test_a_wallet_that_watches(chainq: Program, number: int) -> None:
    """Each new record is there as soon as its block is; a signal ends the run with a resume line."""
    key = fresh_key()
    service = Holding(fresh_records(key.address, 12), FIRST + 10, first=FIRST)
    with serving(service) as url:
        process = chainq.start(
            *("owned", "--start", str(FIRST), "--records", "--columns", "height", *SOON, "--dialect", "auto"),
            url=url,
            env={VARIABLE: key.text},
        )
        assert process.stdout is not None
        for height, _, _ in service.planted(FIRST, FIRST + 60):
            service.tip = max(service.tip, height)
            assert json.loads(process.stdout.readline()) == {"height": height}
        process.send_signal(number)
        ran = finish(process)
    said(ran, -number, "stopped by", "resume with --start ", "--follow")


def killed_somewhere(job: Job, service: Holding, dice: random.Random, env: dict[str, str]) -> bool:
    """Start a run on a growing chain and kill it after some call, or at a moment that no call marks."""
    until, moment = len(service.received) + dice.randrange(1, 30), threading.Event()

    def hook(method: str) -> None:
        if method == "latest/block":
            service.tip += dice.choice((1, 7, 20))
        if len(service.received) >= until:
            moment.set()

    service.hook = hook
    process = job.start(*(SOON if dice.random() < 0.5 else ()), env=env)
    while process.poll() is None and not moment.wait(0.01):
        if dice.random() < 0.01:
            break
    process.kill()
    ran = finish(process)
    service.hook = lambda _: None
    assert ran.code in (0, -signal.SIGKILL), ran.err
    return ran.code != 0


@pytest.mark.search
def test_killed_at_random_moments(chainq: Program) -> None:
    """Runs on a growing chain, killed at any moment, leave each record once; with fresh keys each time."""
    key, dice = fresh_key(), random.Random("owned")  # noqa: S311  # seeded on purpose
    service = Holding(fresh_records(key.address, 200), FIRST, first=FIRST)
    env, killed = {VARIABLE: key.text}, 0
    with serving(service) as url:
        job = Job(chainq, url, "owned", "--start", str(FIRST), "--records", "-w", "2", "--page-size", "100")
        while killed < KILLS:
            killed += killed_somewhere(job, service, dice, env)
        said(job(env=env), 0)
    assert transitions(job.out.read_bytes().splitlines()) == due(service)
    assert sorted(path.name for path in job.folder.iterdir()) == ["kept", "kept.lock", "out"]


def test_a_reorg_is_noticed(chainq: Program) -> None:
    """As for every range command: a recorded block that is another one now is exit code 9."""
    key = fresh_key()
    service = Holding(fresh_records(key.address, 4), FIRST + 40, first=FIRST)
    with serving(service) as url:
        job = Job(chainq, url, "owned", "-w", "1", "--start", str(FIRST), *PLAIN)
        said(job(env={VARIABLE: key.text}), 0)
        service.change(Fork(service.chain, FIRST + 30))
        service.tip += 5
        ran = job(env={VARIABLE: key.text})
        said(ran, 9, "reorg: block ", "goes back far enough")
        needed = re.search(r"--rewind (\d+) goes", ran.err)
        assert needed
        assert 11 <= int(needed[1]) <= 41
        assert job("--rewind", needed[1], env={VARIABLE: key.text}).code == 0


def test_malformed_rows_end_a_run_once(chainq: Program) -> None:
    """All else is written and recorded; the next run has nothing to say of them."""
    key = fresh_key()
    good, bad, more = fresh_records(key.address, 3)
    service = Holding([good, bad._replace(nonce_x="1"), more], FIRST + 50, first=FIRST)
    with serving(service) as url:
        job = Job(chainq, url, "owned", "--start", str(FIRST), "--dialect", "auto", *PLAIN)
        ran = job(env={VARIABLE: key.text})
        assert ran.code == 6
        assert "1 malformed row" in ran.err
        service.tip += 40
        said(job(env={VARIABLE: key.text}), 0)
    first, _, third, *_ = due(service)
    assert transitions(job.out.read_bytes().splitlines()) == [first, third]
