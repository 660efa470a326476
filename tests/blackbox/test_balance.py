"""`chainq balance` against a wallet's own book, on a chain that grows, is reorganized, and indexes late.

`CHAINQ_STEPS`, `CHAINQ_RECORDS` and `CHAINQ_STRIDE` say how long the wallet of the search lives, what it begins with,
and how many blocks pass without it between two steps; `CHAINQ_KILLS` how many runs are killed.
"""

import csv
import io
import json
import os
import re
import signal
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from chainq.demo.faults import NO_FAULTS, Faults
from harness.program import LONGEST, Program, Ran, Servers, finish, one_line
from harness.search import some
from harness.services import FULL_BLOCKS, Moving, held, serving
from harness.wallet import PUBLISHED, VARIABLE, Key, fresh_key, key_file

pytest.importorskip("aleo")

from harness.bank import Bank, checked
from harness.ledger import Wallet

FIRST = 2_400
STEPS, RECORDS = int(os.environ.get("CHAINQ_STEPS", "5")), int(os.environ.get("CHAINQ_RECORDS", "8"))
STRIDE, KILLS = int(os.environ.get("CHAINQ_STRIDE", "4")), int(os.environ.get("CHAINQ_KILLS", "5"))


def lived(chainq: Program, service: Bank, wallet: Wallet, steps: int, records: int, acts: int = 3) -> None:
    """Let a wallet live, and compare the balance after each step; every third step takes blocks back."""
    file = chainq.home / "keys"
    file.write_text(wallet.key_text)
    file.chmod(0o600)
    dialect = (
        "--dialect",
        "aleo" if service._methods is not None and "aleoTransaction" in service._methods else "chain",
    )
    words = (
        "balance",
        str(file),
        "--start",
        str(FIRST),
        "--json",
        "--checkpoint",
        str(chainq.home / "kept"),
        *dialect,
        "-w",
        "1",
    )
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
        ran = chainq("owned", f"{since}:", "--unspent", "--view-key-file", str(file), *dialect, "-w", "1", url=url)
    assert ran.code == 0, ran.err
    assert len(ran.rows) == sum(held.height >= since for held in wallet.left())


@pytest.mark.parametrize(
    "faults", some([NO_FAULTS, Faults("late-records:6")], Faults("late-records:6")), ids=["whole", "late"]
)
def test_the_balance_is_that_of_the_wallet(chainq: Program, faults: Faults) -> None:
    """Records received, split, joined, sent on, and used for fees, also of rejected transactions; with reorgs."""
    wallet = Wallet(2, FIRST, "small")
    lived(chainq, Bank(wallet, faults=faults), wallet, 3, 2, 2)


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
def test_killed_at_random_moments(chainq: Program) -> None:
    """A run that is killed at some call leaves a checkpoint from which the next one ends at the wallet's book."""
    wallet = Wallet(1, FIRST, "killed")
    service = Bank(wallet)
    env = {VARIABLE: str(wallet.private[0].view_key)}
    words = ("balance", "--start", str(FIRST), "--json", "--checkpoint", str(chainq.home / "kept"))
    killed = 0
    with serving(service) as url:
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


def balance(chainq: Program, *words: str, url: str, code: int = 0) -> Ran:
    """A run with the published key."""
    ran = chainq("balance", *words, "-w", "1", url=url, env={VARIABLE: PUBLISHED.text})
    assert ran.code == code, ran.err
    return ran


@pytest.fixture(scope="module")
def other() -> Key:
    """The second of two keys; it owns nothing."""
    return fresh_key()


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, server: Servers, other: Key) -> Callable[..., Ran]:
    """Runs a balance of one key or of two as of block 149. A checkpoint has it, so that blocks are read once."""
    program = Program(tmp_path_factory.mktemp("kept"))
    files = [key_file(program.home, PUBLISHED), str(program.home / "second")]
    Path(files[1]).write_text(other.text)
    Path(files[1]).chmod(0o600)

    def run(*words: str, keys: int = 1, columns: int | None = None) -> Ran:
        words = ("balance", *files[:keys], "--checkpoint", f"of-{keys}", *words, "-w", "1")
        ran = program(*words, url=server("--tip", "149"), env={"COLUMNS": str(columns)} if columns else None)
        assert ran.code == 0, ran.err
        return ran

    return run


def test_a_service_without_any_ownership_rows_near_the_tip(chainq: Program, server: Servers) -> None:
    """The balance ends before the first such block, and the next run continues there."""
    kept = ("--checkpoint", str(chainq.home / "kept"), "--start", "200", "--json")
    lagging = server("--tip", "300", "--fault", "ownership-behind:5")
    for _ in range(2):
        ran = balance(chainq, *kept, url=lagging)
        assert json.loads(ran.out)["height"] == 295
        assert "; the balance is as of block 295\n" in one_line(ran, 0)
    watch = ("balance", "--start", "200", "--json", "--watch", "--interval", "0.01", "-w", "1")
    process = chainq.start(*watch, url=lagging, env={VARIABLE: PUBLISHED.text})
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["height"] == 295
    process.terminate()
    assert finish(process).code == -signal.SIGTERM


@pytest.mark.parametrize("lag", some([20, 1_300], 1_300))
def test_a_service_that_lags_far_behind_with_ownership_rows(chainq: Program, server: Servers, lag: int) -> None:
    """The balance is printed, also if it ends before the blocks that are always read in full, and the code is 6."""
    url = server("--tip", "1400", "--fault", f"ownership-behind:{lag}")
    ran = balance(chainq, "--start", "70", "--json", url=url, code=6)
    ends = 1_400 - lag
    assert json.loads(ran.out)["height"] == ends
    assert f"; the balance ends at block {ends}; run the command again later; chainq verify {ends + 1} shows" in ran.err


@pytest.mark.parametrize(
    ("words", "height", "hint"),
    [
        (("balance", "--start", "200", "--json"), 219, "; the balance ends at block 219; run the command again later"),
        (("balance", "--start", "250", "--json"), None, ", though the tip is 300; run the command again later\n"),
        (("owned", "0:100", "--unspent"), None, "; run the command again later, or with a lower --as-of HEIGHT"),
    ],
)
def test_a_service_that_lags_far_behind_with_blocks(
    chainq: Program, server: Servers, words: tuple[str, ...], height: int | None, hint: str
) -> None:
    """As with ownership rows; the options of commands that print blocks are not offered."""
    url = server("--tip", "300", "--fault", "lag-blocks:60")
    ran = chainq(*words, "-w", "1", url=url, env={VARIABLE: PUBLISHED.text})
    assert (ran.code, json.loads(ran.out)["height"] if ran.out else None) == (6, height)
    assert hint in ran.err
    assert "--no-verify" not in ran.err


def test_a_stopped_run_says_where_the_next_one_goes_on(chainq: Program) -> None:
    """With a checkpoint, also if nothing is recorded yet; without one, how it would."""
    for words, said in (
        (("--checkpoint", "kept"), "; the next run reads from block 0 on"),
        (("0:",), "; nothing was recorded: with --checkpoint FILE a stopped run resumes"),
        (("0:", "--watch"), ""),
        (("--end", "3000"), ""),
    ):
        service = Moving(5_000)
        begun, go = held(service, FULL_BLOCKS.__contains__)
        with serving(service, go) as url:
            process = chainq.start("balance", "-w", "1", *words, url=url, env={VARIABLE: PUBLISHED.text})
            assert begun.wait(LONGEST)
            process.terminate()
            assert finish(process).err.endswith(f"stopped by SIGTERM{said}\n")


def test_a_table(kept: Callable[..., Ran]) -> None:
    """A person sees credits, and the block."""
    table = kept().out.decode().splitlines()
    assert table[1].split() == ["credits.aleo", "2", "3.000000", "credits", "1", "1.000000", "credits"]
    assert table[2].startswith("as of block 149, 2023-06-01 00:")


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
        service.tip, service.calls = service.tip + 100, 0
        assert checked(chainq(*words, url=url, env=env), wallet) == service.tip
        assert service.calls <= 12
        service.calls = 0
        assert checked(chainq(*words, url=url, env=env), wallet) == service.tip
        assert service.calls <= 2
        other = chainq(*words, url=url, env={VARIABLE: fresh_key().text})
    assert chainq(*words, "--retries", "0", url=url, env=env).code == 4
    status = chainq("status", str(kept), "--max-age", "1h")
    assert (
        f"/kept: balance up to block {service.tip}, 0 blocks below tip {service.tip} at the last success, "
        in status.out.decode()
    )
    assert " ago, 1 view key, 1 record, 1 unspent\nlast error, " in status.out.decode()
    assert status.code == 0
    assert kept.stat().st_mode & 0o777 == 0o600
    text = kept.read_text()
    for secret in (str(key.view_key), str(key.address), str(key.view_key.to_scalar()).removesuffix("scalar")):
        assert secret not in text
    assert "was made with another view key" in one_line(other, 2)


def test_watch_prints_a_line_for_each_change(chainq: Program) -> None:
    """The first is the table; a signal ends the run."""
    wallet = Wallet(1, FIRST, "watch")
    service = Bank(wallet)
    wallet.receive(5_000_000)
    service.tip = wallet.height
    with serving(service) as url:
        process = chainq.start(
            *("balance", "--start", str(FIRST), "--watch", "--interval", "0.01"),
            url=url,
            env={VARIABLE: str(wallet.private[0].view_key)},
        )
        assert process.stdout is not None
        first = [process.stdout.readline().decode() for _ in range(3)]
        wallet.receive(2_000_000)
        service.tip = wallet.height
        line = process.stdout.readline().decode()
        process.terminate()
        process.communicate()
    assert "5.000000 credits" in first[1]
    assert line.startswith(f"as of block {wallet.height}, ")
    assert line.endswith(": credits.aleo 7.000000 credits in 2 unspent records\n")


def test_a_record_that_is_not_genuine_is_left_out(chainq: Program) -> None:
    """The balance is printed, and the run ends with 6."""
    wallet = Wallet(1, FIRST, "altered")
    wallet.receive(5_000_000)
    wallet.receive(9_000_000)
    one, two = wallet.chain.owned_rows
    rows = wallet.chain.owned_rows
    rows[one] = rows[one]._replace(output_id=rows[two].output_id)
    with serving(Bank(wallet)) as url:
        env = {VARIABLE: str(wallet.private[0].view_key)}
        ran = chainq("balance", "--start", str(FIRST), "--json", url=url, env=env)
    assert ran.code == 6
    assert json.loads(ran.out)["totals"][0]["unspent"] == "9000000"
    assert "the balance is not exact: 1 record left out: output " in ran.err


@pytest.mark.search
def test_a_long_range_without_records_is_read_by_ownership_rows_alone(chainq: Program) -> None:
    """Full blocks are read from the first record on."""
    wallet = Wallet(1, FIRST + 1_050, "late")  # the book is recorded every 1,000 heights
    wallet.receive(5_000_000)
    service = Bank(wallet)
    env = {VARIABLE: str(wallet.private[0].view_key)}
    with serving(service) as url:
        checked(chainq("balance", "--start", str(FIRST), "--json", url=url, env=env), wallet)


def test_rows_per_program_and_token(chainq: Program, kept: Callable[..., Ran]) -> None:
    """A line of json has every digit; csv and jsonl have its totals, each with the block that they are as of."""
    whole = json.loads(kept("--json").out)
    assert whole["height"] == 149
    assert whole["totals"] == [
        {
            "owner": PUBLISHED.address,
            "program_id": "credits.aleo",
            "token_id": None,
            "records": 2,
            "received": "3000000",
            "unspent_records": 1,
            "unspent": "1000000",
        }
    ]
    as_of = {name: whole[name] for name in ("height", "block_hash", "timestamp")}
    due = [as_of | total for total in whole["totals"]]
    assert [json.loads(row) for row in kept("--jsonl").rows] == due
    table = csv.DictReader(io.StringIO(kept("--csv").out.decode()))
    assert [*table] == [{name: "" if value is None else str(value) for name, value in row.items()} for row in due]
    for form, head in (("--jsonl", b""), ("--csv", ",".join(due[0]).encode() + b"\r\n")):
        ran = balance(chainq, "--end", "9", form, url="demo:")  # before the first record
        assert ran.out == head
        assert f"no records of {PUBLISHED.address}" in one_line(ran, 0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["wallet.key", "0:500", "--end", "9"], "the range 0:500 cannot be combined with --start or --end"),
        (["0:5", "wallet.key", "5:9"], "the range 0:5 cannot be combined with another"),
        (["-100:"], "counts from the tip; balance needs a height"),
        (["--interval", "3"], "--interval needs --watch"),
        (["--end", "9", "--watch"], "--end cannot be combined with --watch or --checkpoint"),
        (["--start", "9", "--end", "9"], "no heights from 9 to 9: --end is exclusive"),
        (["--start", "9", "--end", "5"], "no heights from 9 to 5: --end is below --start"),
        (["--start", "-500"], "--start -500 counts from the tip; balance needs a height"),
        (["--end", "latest"], "--end latest counts from the tip; balance needs a height"),
        (["--csv", "--json"], "--json and --csv cannot be combined"),
        (["--network", "devnet"], "unknown network"),
    ],
)
def test_usage_errors(chainq: Program, words: list[str], message: str) -> None:
    """They come before a key is read, and before any request."""
    assert message in one_line(chainq("balance", *words, url="demo:"), 2)


@pytest.mark.parametrize("command", ["balance", "owned"])
def test_keys_and_a_range_in_any_order(chainq: Program, tmp_path: Path, command: str) -> None:
    """Without a range, what is unspent would take many thousands of calls: how to ask for that is said."""
    file = tmp_path / "my key"
    file.write_text(f"{PUBLISHED.text}\n")
    file.chmod(0o600)
    words = (command, str(file), "-w", "1", *(["--unspent"] if command == "owned" else ["--json"]))
    line = one_line(chainq(*words, url="demo:"), 2)
    assert "would read heights 0-3000000, up to 156,002 calls; pass 0: for the whole chain, or a range" in line
    as_of = ["--as-of", "149"] if command == "owned" else []
    ran = [chainq(*order, *as_of, url="demo:") for order in ((*words, "0:150"), (command, "0:150", *words[1:]))]
    assert ran[0].rows
    assert [(one.code, one.out) for one in ran] == [(0, ran[0].out)] * 2, ran


def test_nothing_is_printed_that_is_not_known(chainq: Program, tmp_path: Path) -> None:
    """An export of blocks alone says nothing of records: not that there are none."""
    lake = str(tmp_path / "lake")
    assert chainq("export", "blocks", "0:20", "--to", lake, url="demo:").code == 0
    assert balance(chainq, url=lake, code=6).out == b""


def test_a_checkpoint_of_another_command_is_refused(chainq: Program, server: Servers) -> None:
    """It is left unchanged, and is not called damaged."""
    url = server("--tip", "9")
    commands = {"balance": [], "blocks": ["-o", "blocks.jsonl"], "verify": [], "owned": ["-o", "owned.jsonl"]}
    env = {VARIABLE: PUBLISHED.text}
    for command, words in commands.items():
        ran = chainq(command, *words, "--checkpoint", command, url=url, env=env)
        assert ran.code == 0, ran.err
    made = {command: (chainq.home / command).read_bytes() for command in commands}
    for one, content in made.items():
        for other, words in commands.items():
            if one != other:
                ran = chainq(other, *words, "--checkpoint", one, url=url, env=env)
                assert f"{one} was made by chainq {one}, not by chainq {other}" in one_line(ran, 2)
        assert (chainq.home / one).read_bytes() == content


def test_a_damaged_checkpoint_is_refused(chainq: Program, tmp_path: Path) -> None:
    """It is left unchanged."""
    kept = tmp_path / "kept"
    kept.write_text('{"chainq": 2}')
    message = one_line(balance(chainq, "--checkpoint", str(kept), url="demo:", code=2), 2)
    assert "is damaged, or not one of balance" in message
    assert kept.read_text() == '{"chainq": 2}'
    named = one_line(balance(chainq, "--checkpoint", "./lost/kept", url="demo:", code=7), 7)  # as typed
    assert "cannot open checkpoint lost/kept: there is no folder " in named


def test_a_checkpoint_of_another_url_is_refused(chainq: Program, server: Servers, tmp_path: Path) -> None:
    """As the checkpoints of other commands do."""
    words = ("--checkpoint", str(tmp_path / "kept"))
    balance(chainq, *words, url=server("--tip", "9"))
    message = one_line(balance(chainq, *words, url="demo:", code=2), 2)
    assert "(url: " in message


def test_several_key_files(kept: Callable[..., Ran], other: Key) -> None:
    """Each total names its owner, whole in a pipe."""
    header, total, without, *_ = kept(keys=2).out.decode().splitlines()
    assert total.split()[:2] == [PUBLISHED.address, "credits.aleo"]
    narrow = kept(keys=2, columns=100).out.decode()
    assert f"\n{PUBLISHED.address[:8]}\N{HORIZONTAL ELLIPSIS}" in narrow
    whole = kept("--no-trunc", keys=2, columns=100)
    assert whole.out.decode().startswith(header)
    assert header.split()[:2] == ["owner", "program"]
    assert without == f"no records of {other.address}"
    found = json.loads(kept("--json", keys=2).out)
    assert found["owners"] == sorted([PUBLISHED.address, other.address])


@pytest.mark.parametrize("columns", some([60, 80, 100, 200], 60, 100))
@pytest.mark.parametrize("several", some([False, True], True))
def test_a_balance_fits_the_line(several: bool, columns: int, kept: Callable[..., Ran]) -> None:
    """Numbers and abbreviated addresses are never broken; a row that is too wide is lines of fields."""
    text = kept(keys=2 if several else 1, columns=columns).out.decode()
    assert all(len(line.split()) == 1 for line in text.splitlines() if len(line) > columns), text
    for value in ("credits.aleo", "3.000000 credits", "1.000000 credits"):
        assert text.count(value) == 1
    table = re.search(r"(?m)^(owner +)?program +records +received +unspent records +unspent$", text)
    assert bool(table) is (columns >= (100 if several else 80))


def test_what_bounds_leave_out_is_said(chainq: Program, server: Servers) -> None:
    """Records below `--start`, and that `--end` is above the tip."""
    ran = balance(chainq, "--start", "115", "--end", "130", url=server("--tip", "120"))
    assert ran.err == "chainq: warning: the end 130 is not reached: the tip is 120\n"
    assert ran.out.decode().splitlines()[2].endswith("; records before block 115 are not counted")
    found = json.loads(balance(chainq, "--start", "115", "--json", url=server("--tip", "120")).out)
    assert (found["start"], found["height"]) == (115, 120)


def test_a_key_without_records(chainq: Program) -> None:
    """There is no table then, and the block is named all the same."""
    key = fresh_key()
    ran = chainq("balance", key_file(chainq.home, key), "--end", "50", url="demo:")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.decode().startswith(
        f"no records of {key.address}; check that this is your address (a mistyped key has another one) and the right "
        "network\nas of block 49, "
    )
