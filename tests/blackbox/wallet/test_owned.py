"""`chainq owned` against `chainq serve` and services with chosen records: all of a key's records, and nothing else."""

import json

import pytest

from harness.models.search import some
from harness.running.program import Program
from harness.servers.services import Serve
from harness.wallet.account import fresh_records
from harness.wallet.wallet import PLAIN, PUBLISHED, VARIABLE, Holding, fresh_key, key_file

pytest.importorskip("aleo")

FEW = ("--start", "110", "--end", "120")  # one planted record, at 116


@pytest.mark.parametrize("workers", some(["1", "3"], "3"))
def test_fresh_keys_find_theirs_and_nothing_else(chainq: Program, workers: str, serve: Serve) -> None:
    """Two keys in one pass, records of a third owner between theirs, public owners among them.

    The rows are more than one process compares before it starts others.
    """
    mine, yours, other = keys = [fresh_key(number) for number in range(3)]
    records = [fresh_records(key.address, 8) for key in keys]
    mixed = [record for three in zip(*records, strict=True) for record in three]
    service = Holding(mixed, 1_250, first=1_000, apart=10)
    owner = {record.owner_x: key.address for key, theirs in zip(keys, records, strict=True) for record in theirs}
    due = [(transition, owner[owner_x]) for _, transition, owner_x in service.planted(1_000, 1_251)]
    words = ("owned", "1000:2000", *PLAIN, key_file(chainq.home, mine, yours), "-w", workers)
    ran = chainq(*words, url=serve(service))
    assert (ran.code, ran.err) == (0, "chainq: warning: the end 2000 is not reached: the tip is 1250\n")
    found = [(row["transition_id"], row["owner"]) for row in map(json.loads, ran.rows)]
    assert found == [hit for hit in due if hit[1] != other.address]
    assert len(found) == 16


def test_records_are_joined_byte_for_byte(chainq: Program) -> None:
    """`--records` adds every member of the record's own row, and the order of the columns is that of the header."""
    words, env = ("owned", *FEW, "--records"), {VARIABLE: PUBLISHED.text}
    (row,) = map(json.loads, chainq(*words, url="demo:", env=env).rows)
    (record,) = (
        one
        for one in map(json.loads, chainq("records", *FEW, url="demo:").rows)
        if (one["transition_id"], one["output_index"]) == (row["transition_id"], row["output_index"])
    )
    assert {name: row[name] for name in record} == record
    header = chainq(*words, "--csv", url="demo:", env=env).out.split(b"\r\n")[0].decode().split(",")
    assert (header[0], set(header)) == ("owner", set(row))


def test_a_record_that_does_not_decrypt_is_a_contradiction(chainq: Program, serve: Serve) -> None:
    """The ownership row says that the key owns it, the ciphertext is another's."""
    mine, other = fresh_key(), fresh_key(1)
    (owned,), (foreign,) = fresh_records(mine.address, 1), fresh_records(other.address, 1)
    service = Holding([owned._replace(record_ciphertext=foreign.record_ciphertext)], 200, first=0)
    ran, unread = (
        chainq("owned", "0:10", *more, url=serve(service), env={VARIABLE: mine.text}) for more in (["--records"], PLAIN)
    )
    assert ran.code == 6
    warning, error = ran.err.splitlines()
    assert f"is owned by {mine.address}, but its ciphertext cannot be decrypted by that key" in warning
    assert "1 faulty record: output " in error
    assert len(ran.rows) == len(unread.rows) == 1


def test_limit_and_reverse(chainq: Program, serve: Serve) -> None:
    """`--limit` counts hits, not rows; `--reverse` gives the newest first."""
    key = fresh_key()
    url = serve(Holding(fresh_records(key.address, 2), 200, first=100))
    everything, one, back = (
        chainq("owned", "0:150", "--records", *more, url=url, env={VARIABLE: key.text})
        for more in ((), ("--limit", "1"), ("--reverse",))
    )
    assert len(everything.rows) == 2
    assert one.rows == everything.rows[:1]
    assert back.rows == everything.rows[::-1]


def test_a_member_of_the_plaintext_in_parquet(chainq: Program) -> None:
    """It does not change the other columns."""
    parquet = pytest.importorskip("pyarrow.parquet")
    names = ("plaintext", "amount", "plaintext_json.microcredits")
    for number in (2, 3):
        words = ("owned", *FEW, "--columns", ",".join(names[:number]), "-o", f"{number}.parquet")
        assert chainq(*words, url="demo:", env={VARIABLE: PUBLISHED.text}).code == 0
    (few,), (more,) = (parquet.read_table(chainq.home / f"{number}.parquet").to_pylist() for number in (2, 3))
    assert json.loads(more.pop(names[2])) == "2000000u64"
    assert few == more
