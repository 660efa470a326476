"""`chainq owned --unspent` and `--spent`: which records are left, by the tags in the full blocks up to the tip."""

import json
import re
from typing import Any

import pytest

from chainq.demo.bodies import Bodies
from harness.account import fresh_records
from harness.program import Program, Servers, one_line
from harness.search import some
from harness.services import serving
from harness.wallet import PUBLISHED, VARIABLE, Holding, Key, fresh_key, key_file, tagged

pytest.importorskip("aleo")

RANGE = ("--start", "0", "--end", "80")
TIP = 105


def holding(key: Key, spent: tuple[int, ...], count: int = 6) -> Holding:
    """A service with so many records of a key; those with these numbers are spent, 20 heights later or some more."""
    made = fresh_records(key.address, count)
    records = [tagged(key, one) if at in spent else one for at, one in enumerate(made)]
    return Holding(records, TIP, first=0)


def rows(
    chainq: Program, service: Holding, key: Key, *options: str, range_: tuple[str, ...] = RANGE
) -> list[dict[str, Any]]:
    """The rows of a run of `owned` that succeeds, with few columns unless all are wanted."""
    few = () if "--records" in options else ("--columns", "transition_id,spent_height,spent_transaction")
    with serving(service) as url:
        ran = chainq(
            "owned", *range_, *options, *few, "-w", "1", "--view-key-file", key_file(chainq.home, key), url=url
        )
    assert (ran.code, ran.err) == (0, "")
    return [json.loads(row) for row in ran.rows]


@pytest.mark.parametrize("more", [(), ("--records",)], ids=["ownership", "records"])
def test_spent_and_unspent_records(chainq: Program, more: tuple[str, ...]) -> None:
    """Together they are all records of the key, in order; each says what spends it."""
    key = fresh_key()
    service = holding(key, (1, 4))
    every = [transition for _, transition, _ in service.planted(0, 80)]
    assert len(every) == 6
    unspent = rows(chainq, service, key, "--unspent", *more)
    spent = rows(chainq, service, key, "--spent", *more)
    both = rows(chainq, service, key, "--spent", "--unspent", *more)
    assert [row["transition_id"] for row in both] == every
    assert unspent == [both[number] for number in (0, 2, 3, 5)]
    assert spent == [both[number] for number in (1, 4)]
    for row in unspent:
        assert (row["spent_height"], row["spent_transaction"]) == (None, None)
    for row in spent:
        block = Bodies(service.chain).block(row["spent_height"])
        (spender,) = (one for one in block["transactions"] if one["transaction"]["id"] == row["spent_transaction"])
        assert any(one.tag in json.dumps(spender) for one in service.chain.planted.values() if one.tag)


def test_a_spend_beyond_the_range_counts_up_to_the_tip(chainq: Program) -> None:
    """The last record of the range is spent above it; at a lower tip it is not spent yet."""
    key = fresh_key()
    service = holding(key, (5,))
    *_, (last, _, _) = service.planted(0, 80)
    end = ("--end", str(last + 1))  # the later one of two options counts
    (row,) = rows(chainq, service, key, "--spent", *end)
    assert row["spent_height"] > last + 1
    service.tip = row["spent_height"] - 1
    assert rows(chainq, service, key, "--spent", *end) == []
    assert len(rows(chainq, service, key, "--unspent", *end)) == 6


def test_reverse_and_limit(chainq: Program) -> None:
    """`--limit` counts the rows that are printed."""
    key = fresh_key()
    service = holding(key, (1, 4))
    forward = rows(chainq, service, key, "--unspent")
    assert rows(chainq, service, key, "--unspent", "--reverse") == forward[::-1]
    assert rows(chainq, service, key, "--unspent", "--limit", "3") == forward[:3]


@pytest.mark.parametrize(
    "command",
    some(["owned --unspent", "owned --spent", "owned --spent --unspent", "balance"], "owned --spent --unspent"),
)
def test_many_full_blocks_are_announced(chainq: Program, command: str) -> None:
    """Before the first call, a line says which heights and how many calls, and what reads fewer, but not with -q."""
    key = fresh_key()
    service = holding(key, ())
    service.tip = service.chain.tip = 10_300
    first = service.planted(0, 80)[0][0]

    def refuse(method: str) -> None:
        if method == "getChainBlocks":
            raise ConnectionError

    service.hook = refuse
    name, *options = command.split()
    words = (name, *options, "--dialect", "chain", "--retries", "0", "--view-key-file", key_file(chainq.home, key))
    range_ = RANGE if name == "owned" else ()
    with serving(service) as url:
        ran = chainq(*words, *range_, url=url)
        quiet = chainq(*words, *range_, "-q", url=url) if name == "owned" else None  # a balance reads for seconds
    told = ran.err.splitlines()[0]
    reader = "chainq balance" if name == "balance" else " with ".join(sorted(options, reverse=True))
    ways = "with --checkpoint FILE a stopped run resumes, --end" if name == "balance" else "--as-of"
    heights = rf"heights ({first if name == 'owned' else '[0-9]+'})-10300"
    assert re.fullmatch(
        rf"chainq: warning: {reader} reads the full blocks of {heights}, up to [0-9,]+ calls; "
        rf"{ways} HEIGHT reads fewer, --lake DEST requests fewer",
        told,
    ), told
    assert quiet is None or "reads the full blocks" not in quiet.err


def test_spends_as_of_a_block(chainq: Program) -> None:
    """--as-of reads no block above it: what is spent later is unspent. It must hold the range, and be in the chain."""
    key = fresh_key()
    service = holding(key, (1, 5))
    *_, (top, _, _) = service.planted(0, 80)
    end = ("--end", str(top + 1))
    first, last = (row["spent_height"] for row in rows(chainq, service, key, "--spent", *end))
    assert top < last - 1
    every = rows(chainq, service, key, "--spent", "--unspent", "--as-of", str(last - 1), *end)
    assert [row["spent_height"] for row in every] == [None, first, None, None, None, None]
    assert len(rows(chainq, service, key, "--spent", "--as-of", str(last), *end)) == 2
    assert rows(chainq, service, key, "--spent", "--unspent", "--as-of", str(last - 1), range_=(":",)) == every
    ten, *others = (
        [row["transition_id"] for row in rows(chainq, service, key, "--unspent", "--as-of", str(top), range_=range_)]
        for range_ in ((f"{top - 9}:{top + 1}",), ("--last", "10"))
    )
    assert ten == [one for height, one, _ in service.planted(top - 9, top + 1)] and others == [ten]
    below = rows(chainq, service, key, "--spent", "--unspent", "--as-of", "-46", range_=("--start", "0"))
    assert [row["transition_id"] for row in below] == [one for height, one, _ in service.planted(0, 61)]
    words = ("owned", *RANGE, "-w", "1", "--view-key-file", key_file(chainq.home, key))
    for options, said in (
        (
            ("--unspent", "--as-of", "75"),
            "--as-of 75 is below the end of the range, height 79; end the range before height 76",
        ),
        (("--unspent", "--as-of", "106"), "--as-of 106 is above the tip, 105"),
        (("--as-of", "100"), "--as-of needs --spent or --unspent"),
        (("--spent", "--as-of", "x"), "invalid height 'x'"),
    ):
        called: list[str] = []
        service.hook = called.append
        with serving(service) as url:
            ran = chainq(*words, *options, "--csv", url=url)
            assert (said in one_line(ran, 2), ran.out) == (True, b"")
        assert not {"records/isOwner", "getChainBlocks"}.intersection(called)  # before anything is read


def test_reading_ends_when_all_is_spent(chainq: Program) -> None:
    """A record is spent once: after the block that spends the last of them, none is requested."""
    key = fresh_key()
    service = holding(key, tuple(range(6)))
    service.tip = service.chain.tip = 20_000
    words = ("owned", *RANGE, "--dialect", "chain", "-j", "1", "-w", "1", "--view-key-file", key_file(chainq.home, key))
    with serving(service) as url:
        ran = chainq(*words, "--spent", "-q", url=url)
        assert (ran.code, len(ran.rows)) == (0, 6)
        assert chainq(*words, "--unspent", "-q", url=url).out == b""
    starts = [json.loads(body)["params"]["start"] for body in service.received if b"getChainBlocks" in body]
    assert max(starts) < 2_000


def test_nothing_owned_reads_no_block(chainq: Program) -> None:
    """A wallet without records needs no tags; the address of its key is named."""
    key = fresh_key()
    service = Holding([], TIP)
    words = ("--unspent", "--dialect", "chain", "-w", "1", "--view-key-file", key_file(chainq.home, key))
    with serving(service) as url:
        ran = chainq("owned", *RANGE, *words, url=url)
    assert (ran.code, ran.out) == (0, b"")
    assert f": none is of {key.address}; check that this is" in ran.err
    assert len(ran.err.splitlines()) == 1
    assert not any(b"ChainBlocks" in body and b'"end":%d' % (TIP + 1) in body for body in service.received)


@pytest.mark.parametrize("name", ["--spent", "--unspent"])
@pytest.mark.parametrize("other", [("--checkpoint", "kept"), ("--follow",)], ids=["checkpoint", "follow"])
def test_rows_that_would_change_are_not_kept(chainq: Program, name: str, other: tuple[str, ...]) -> None:
    """A row that is written cannot become spent; the message names the command that can."""
    message = one_line(chainq("owned", *RANGE, name, *other, url="demo:"), 2)
    assert f"{name} cannot be combined with --checkpoint or --follow" in message
    assert "chainq balance" in message


def test_an_owned_record_that_no_block_has_is_a_contradiction(chainq: Program) -> None:
    """Its ownership row is there, its output is not: a block that was replaced meanwhile, or a server that is wrong."""
    key = fresh_key()
    service = holding(key, ())
    planted = service.chain.planted
    first = min(planted)
    original = service.chain.ownership_rows

    def moved(height: int, positions: Any) -> list[dict[str, Any]]:
        found = original(height, positions)
        for row in found:
            if row["owner_x"] == planted[first].owner_x:
                row["output_index"] += 7
        return found

    service.chain.ownership_rows = moved  # type: ignore[method-assign]
    with serving(service) as url:
        ran = chainq("owned", *RANGE, "--unspent", "--view-key-file", key_file(chainq.home, key), url=url)
    assert ran.code == 6


@pytest.mark.parametrize("options", some([("--spent",), ("--unspent", "--reverse")], ("--spent",)))
def test_a_record_without_an_ownership_row(chainq: Program, server: Servers, options: tuple[str, ...]) -> None:
    """The full blocks of the range show it, as they do for a balance; blocks above the range are not compared."""
    url, env = server("--tip", "140", "--plant", "lost-ownership:116"), {VARIABLE: PUBLISHED.text}
    ran = chainq("owned", ":117", "-w", "1", *options, url=url, env=env)
    assert ran.code == 6
    assert "records/isOwner height 116: the service lists fewer records than the full block has; owned rows" in ran.err
    assert chainq("owned", ":30", "-w", "1", *options, url=url, env=env).code == 0
