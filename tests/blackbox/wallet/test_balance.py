"""`chainq balance` against a wallet's own book, on a chain that grows, is reorganized, and indexes late.

`CHAINQ_STEPS`, `CHAINQ_RECORDS` and `CHAINQ_STRIDE` say how long the wallet of the search lives, what it begins with,
and how many blocks pass without it between two steps; `CHAINQ_KILLS` how many runs are killed.
"""

import json
import os
import signal
import threading
from functools import partial

import pytest

from chainq.demo.faults import NO_FAULTS, Faults
from harness.models.search import some
from harness.running.program import LONGEST, Program, finish
from harness.servers.services import FULL_BLOCKS, Moving, Serve, held, serving
from harness.wallet.wallet import PUBLISHED, VARIABLE

pytest.importorskip("aleo")

from harness.wallet.bank import Bank, checked
from harness.wallet.ledger import Wallet

FIRST, LATE = 2_400, Faults("late-records:6")
STEPS, RECORDS = int(os.environ.get("CHAINQ_STEPS", "5")), int(os.environ.get("CHAINQ_RECORDS", "8"))
STRIDE, KILLS = int(os.environ.get("CHAINQ_STRIDE", "4")), int(os.environ.get("CHAINQ_KILLS", "5"))


def lived(chainq: Program, service: Bank, wallet: Wallet, steps: int, records: int, acts: int = 3) -> None:
    """Let a wallet live, and compare the balance after each step; every third step takes blocks back."""
    file = chainq.home / "keys"
    file.write_text(wallet.key_text)
    file.chmod(0o600)
    dialect = "aleo" if service._methods is not None and "aleoTransaction" in service._methods else "chain"
    common = ("--dialect", dialect, "-w", "1")
    words = ("balance", str(file), "--start", str(FIRST), "--json", "--checkpoint", str(chainq.home / "kept"), *common)
    for _ in range(records):
        wallet.receive(wallet.dice.randrange(1, 50) * 1_000_000)
    with serving(service) as url:
        for step in range(steps):
            for _ in range(acts):
                wallet.act()
            if step % 3 == 2:
                wallet.undo(max(FIRST + 20, wallet.height - wallet.dice.randrange(1, 60)))
                service.replaced()
                wallet.receive(1_000_000)
            service.tip = wallet.height + wallet.dice.randrange(STRIDE)
            as_of = checked(chainq(*words, url=url), wallet)
            assert as_of == service.tip or "late-records" in service.faults
            wallet.height = service.tip
        service.change(service.chain)
        assert checked(chainq(*words, url=url), wallet) == service.tip
        since = max(FIRST, service.tip - 400)  # of a long life the last part
        ran = chainq("owned", f"{since}:", "--unspent", "--view-key-file", str(file), *common, url=url)
    assert ran.code == 0, ran.err
    assert len(ran.rows) == sum(held.height >= since for held in wallet.left())


@pytest.mark.parametrize("faults", some([NO_FAULTS, LATE], LATE), ids=["whole", "late"])
def test_the_balance_is_that_of_the_wallet(chainq: Program, faults: Faults) -> None:
    """Records received, split, joined, sent on, and used for fees, also of rejected transactions; with reorgs."""
    wallet = Wallet(2, FIRST, "small")
    lived(chainq, Bank(wallet, faults=faults), wallet, 3, 2, 1)


@pytest.mark.search
@pytest.mark.parametrize("dialect", ["chain", "aleo"])
def test_a_long_life(chainq: Program, dialect: str) -> None:
    """The same, longer, in both dialects."""
    wallet = Wallet(3, FIRST, f"long {dialect}")
    lived(chainq, Bank(wallet, dialect), wallet, STEPS, RECORDS)
    assert {"split", "join", "send", "pay", "rejected"} <= {*wallet.done}


def _reached(service: Bank, until: int, moment: threading.Event) -> None:
    if service.calls >= until:
        moment.set()


@pytest.mark.search
def test_killed_at_random_moments(chainq: Program, serve: Serve) -> None:
    """A run that is killed at some call leaves a checkpoint from which the next one ends at the wallet's book."""
    wallet = Wallet(1, FIRST, "killed")
    service = Bank(wallet)
    env = {VARIABLE: str(wallet.private[0].view_key)}
    words = ("balance", "--start", str(FIRST), "--json", "--checkpoint", str(chainq.home / "kept"))
    killed = 0
    url = serve(service)
    while killed < KILLS:
        if killed % 10 == 0:
            wallet.act()
        service.tip = wallet.height = wallet.height + wallet.dice.choice((1, 30, 200))
        until, moment = service.calls + wallet.dice.randrange(1, 20), threading.Event()
        service.hook = partial(_reached, service, until, moment)
        process = chainq.start(*words, url=url, env=env)
        while process.poll() is None and not moment.wait(0.01):
            if wallet.dice.random() < 0.01:
                break
        process.kill()
        killed += finish(process).code == -signal.SIGKILL
        service.hook = lambda: None
        if wallet.dice.random() < 0.3:
            checked(chainq(*words, url=url, env=env), wallet)
    assert checked(chainq(*words, url=url, env=env), wallet) == service.tip


def test_a_stopped_run_says_where_the_next_one_goes_on(chainq: Program) -> None:
    """With a checkpoint, also if nothing is recorded yet."""
    for words, said in (
        (("--checkpoint", "kept"), "; the next run reads from block 0 on"),
        (("0:",), ""),
    ):
        service = Moving(5_000)
        begun, go = held(service, FULL_BLOCKS.__contains__)
        with serving(service, go) as url:
            process = chainq.start("balance", "-w", "1", *words, url=url, env={VARIABLE: PUBLISHED.text})
            assert begun.wait(LONGEST)
            process.terminate()
            assert finish(process).err.endswith(f"stopped by SIGTERM{said}\n")


def test_a_second_run_is_cheap_and_the_checkpoint_holds_no_key(chainq: Program) -> None:
    """A tip 100 blocks further on costs at most 12 calls; the file is for its owner only."""
    wallet = Wallet(1, FIRST, "cheap")
    service = Bank(wallet)
    service.tip = FIRST + 50
    wallet.receive(5_000_000)
    (key,) = wallet.private
    kept = chainq.home / "kept"
    words = ("balance", "--start", str(FIRST), "--json", "--checkpoint", str(kept), "-w", "1")
    env = {VARIABLE: str(key.view_key)}
    with serving(service) as url:
        checked(chainq(*words, url=url, env=env), wallet)
        for tip, most in ((service.tip + 100, 12), (service.tip + 100, 2)):
            service.tip, service.calls = tip, 0
            assert checked(chainq(*words, url=url, env=env), wallet) == tip
            assert service.calls <= most
    assert chainq(*words, "--retries", "0", url=url, env=env).code == 4
    status = chainq("status", str(kept), "--max-age", "1h")
    assert status.code == 0
    assert " ago, 1 row\n" in status.out.decode()
    assert kept.stat().st_mode & 0o777 == 0o600
    text = kept.read_text()
    for secret in (str(key.view_key), str(key.address), str(key.view_key.to_scalar()).removesuffix("scalar")):
        assert secret not in text


def test_a_record_that_is_not_genuine_is_left_out(chainq: Program, serve: Serve) -> None:
    """The balance is printed, and the run ends with 6."""
    wallet = Wallet(1, FIRST, "altered")
    wallet.receive(5_000_000)
    wallet.receive(9_000_000)
    one, two = wallet.chain.owned_rows
    rows = wallet.chain.owned_rows
    rows[one] = rows[one]._replace(output_id=rows[two].output_id)
    url = serve(Bank(wallet))
    env = {VARIABLE: str(wallet.private[0].view_key)}
    ran = chainq("balance", "--start", str(FIRST), "--json", url=url, env=env)
    assert ran.code == 6
    assert json.loads(ran.out)[0]["unspent"] == "9000000"
    assert "1 faulty record, which the balance leaves out: output " in ran.err
