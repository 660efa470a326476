"""`chainq owned --unspent` and `--spent`: which records are left, by the tags in the full blocks up to the tip."""

import json
from typing import Any

import pytest

from chainq.demo import bodies
from harness.running.program import Program, one_line
from harness.servers.services import Serve, serving
from harness.wallet.account import fresh_records
from harness.wallet.wallet import Holding, Key, fresh_key, key_file, tagged

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
        block = bodies.block(service.chain, row["spent_height"])
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


def test_spends_as_of_a_block(chainq: Program, serve: Serve) -> None:
    """--as-of reads no block above it: what is spent later is unspent. It is not below the range."""
    key = fresh_key()
    service = holding(key, (1, 5))
    *_, (top, _, _) = service.planted(0, 80)
    end = ("--end", str(top + 1))
    first, last = (row["spent_height"] for row in rows(chainq, service, key, "--spent", *end))
    assert top < last - 1
    every = rows(chainq, service, key, "--spent", "--unspent", "--as-of", str(last - 1), *end)
    assert [row["spent_height"] for row in every] == [None, first, None, None, None, None]
    assert len(rows(chainq, service, key, "--spent", "--as-of", str(last), *end)) == 2
    called: list[str] = []
    service.hook = called.append
    words = ("owned", *RANGE, "--view-key-file", key_file(chainq.home, key), "--unspent", "--as-of")
    assert "--as-of 75 is below the end of the range" in one_line(chainq(*words, "75", url=serve(service)), 2)
    assert not {"records/isOwner", "getChainBlocks"}.intersection(called)  # before anything is read


@pytest.mark.search
def test_reading_ends_when_all_is_spent(chainq: Program, serve: Serve) -> None:
    """A record is spent once: after the block that spends the last of them, none is requested."""
    key = fresh_key()
    service = holding(key, tuple(range(6)))
    service.tip = service.chain.tip = 20_000
    words = ("owned", *RANGE, "--dialect", "chain", "-j", "1", "-w", "1", "--view-key-file", key_file(chainq.home, key))
    url = serve(service)
    ran = chainq(*words, "--spent", "-q", url=url)
    assert (ran.code, len(ran.rows)) == (0, 6)
    assert chainq(*words, "--unspent", "-q", url=url).out == b""
    starts = [json.loads(body)["params"]["start"] for body in service.received if b"getChainBlocks" in body]
    assert max(starts) < 2_000


def test_nothing_owned_reads_no_block(chainq: Program, serve: Serve) -> None:
    """A wallet without records needs no tags; the address of its key is named."""
    key = fresh_key()
    service = Holding([], TIP)
    words = ("--unspent", "--dialect", "chain", "-w", "1", "--view-key-file", key_file(chainq.home, key))
    ran = chainq("owned", *RANGE, *words, url=serve(service))
    assert (ran.code, ran.out) == (0, b"")
    assert f": no records of {key.address}; check that this is" in ran.err
    assert len(ran.err.splitlines()) == 1
    assert not any(b"ChainBlocks" in body and b'"end":%d' % (TIP + 1) in body for body in service.received)


def test_an_owned_record_that_no_block_has_is_a_contradiction(chainq: Program, serve: Serve) -> None:
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
    ran = chainq("owned", *RANGE, "--unspent", "--view-key-file", key_file(chainq.home, key), url=serve(service))
    assert ran.code == 6
