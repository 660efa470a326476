"""`chainq owned` against `chainq serve` and services with chosen records: all of a key's records, and nothing else."""

import json
from pathlib import Path

import pytest

from chainq.demo.faults import Faults
from chainq.demo.planted import PUBLISHED as RECORDS
from chainq.demo.planted import Planted
from harness.program import Program, Servers, one_line
from harness.search import some
from harness.services import serving
from harness.wallet import PLAIN, PUBLISHED, VARIABLE, Holding, fresh_key, fresh_records, key_file, transitions

pytest.importorskip("aleo")

RANGE = ("--start", "25", "--end", "120")  # two planted records
FEW = ("--start", "110", "--end", "120")  # one planted record, at 116


def test_a_published_key_finds_the_planted_records(chainq: Program, server: Servers) -> None:
    """The sample chain shows hits with no set-up; the key comes from the environment."""
    ran = chainq("owned", *RANGE, *PLAIN, url=server(), env={VARIABLE: PUBLISHED.text})
    assert (ran.code, ran.err, len(ran.rows)) == (0, "", 2)
    assert transitions(ran.rows) == [transition for _, transition, _ in Holding(RECORDS, 770).planted(25, 120)]
    assert {json.loads(row)["owner"] for row in ran.rows} == {PUBLISHED.address}


@pytest.mark.parametrize("workers", some(["1", "3"], "3"))
def test_fresh_keys_find_theirs_and_nothing_else(chainq: Program, workers: str) -> None:
    """Two keys in one pass, records of a third owner between theirs, public owners among them.

    The rows are more than one process compares before it starts others.
    """
    mine, yours, other = keys = [fresh_key() for _ in range(3)]
    records = [fresh_records(key.address, 8) for key in keys]
    service = Holding(
        [record for three in zip(*records, strict=True) for record in three], 1_250, first=1_000, apart=10
    )
    owner = {record.owner_x: key.address for key, theirs in zip(keys, records, strict=True) for record in theirs}
    due = [(transition, owner[owner_x]) for _, transition, owner_x in service.planted(1_000, 1_251)]
    file = key_file(chainq.home, mine, yours)
    with serving(service) as url:
        ran = chainq(
            "owned", "--start", "1000", "--end", "2000", *PLAIN, "--view-key-file", file, "-w", workers, url=url
        )
    assert (ran.code, ran.err) == (0, "chainq: warning: the end 2000 is not reached: the tip is 1250\n")
    found = [(row["transition_id"], row["owner"]) for row in map(json.loads, ran.rows)]
    assert found == [hit for hit in due if hit[1] != other.address]
    assert len(found) == 16


def test_serve_plants_records_of_any_owner(chainq: Program, server: Servers) -> None:
    """`--owner` replaces the published records; the SDK that made them decrypts them."""
    key = fresh_key()
    with server.own("--owner", key.address) as url:
        ran = chainq("owned", *RANGE, "--decrypt", "--view-key-file", key_file(chainq.home, key), url=url)
        none = chainq("owned", *FEW, url=url, env={VARIABLE: PUBLISHED.text})
    assert (ran.code, ran.err, none.code, none.out) == (0, "", 0, b"")
    rows = [json.loads(row) for row in ran.rows]
    assert [row["height"] for row in rows] == [29, 116]
    for number, row in enumerate(rows, 1):
        assert f"owner: {key.address}.private" in row["plaintext"]
        assert f"microcredits: {number}000000u64.private" in row["plaintext"]


def test_records_are_joined_byte_for_byte(chainq: Program, server: Servers) -> None:
    """`--records` adds every member of the record's own row, and the order of the columns is that of the header."""
    arguments = ("--view-key-file", key_file(chainq.home, PUBLISHED))
    ran = chainq("owned", *FEW, "--records", *arguments, url=server())
    (row,) = map(json.loads, ran.rows)
    (record,) = (
        one
        for one in map(json.loads, chainq("records", *FEW, url=server()).rows)
        if one["transition_id"] == row["transition_id"] and one["output_index"] == row["output_index"]
    )
    assert {name: row[name] for name in record} == record
    header = chainq("owned", *FEW, "--records", "--csv", *arguments, url=server()).out.split(b"\r\n")[0].decode()
    assert header.split(",")[0] == "owner"
    assert set(header.split(",")) == set(row)
    listed = chainq("owned", "--columns", "help")
    assert listed.code == 0
    names = [line.split()[0] for line in listed.out.decode().splitlines()[:-2]]
    assert names == [
        *header.split(","),
        "plaintext",
        "plaintext_json",
        "record_name",
        "sender",
        "spent_height",
        "spent_transaction",
        "amount",
        "token_id",
    ]


FAULTS = {
    "rows": Faults(row_cap=50, fail_rate=0.1),
    "no pages": Faults(no_pages=True),
    "repeats": Faults(repeat_pages=True, truncate_rate=0.1),
    "bytes": Faults(byte_cap=40_000, cap_varies=True),
    "heavy": Faults(heavy_rows=300, empty_rate=0.02),
    "sizes": Faults(ignore_page_size=True),
}


@pytest.mark.parametrize("name", some(FAULTS, "rows"))
def test_records_are_found_on_servers_with_faults(chainq: Program, name: str) -> None:
    """Hits, heights and plaintexts come whole, whatever pages show."""
    key = fresh_key()
    service = Holding(fresh_records(key.address, 4), 300, FAULTS[name], first=0)
    with serving(service) as url:
        ran = chainq(
            *("owned", "--start", "0", "--end", "100", "--decrypt", "--columns", "height,transition_id"),
            *("--view-key-file", key_file(chainq.home, key), "--retries", "8"),
            url=url,
        )
    due = [(height, transition) for height, transition, _ in service.planted(0, 100)]
    found = [(row["height"], row["transition_id"]) for row in map(json.loads, ran.rows)]
    assert (ran.code, found) == (0, due), ran.err


def test_a_record_that_does_not_decrypt_is_a_contradiction(chainq: Program) -> None:
    """The ownership row says that the key owns it, the ciphertext is another's."""
    mine, other = fresh_key(), fresh_key()
    (owned,), (foreign,) = fresh_records(mine.address, 1), fresh_records(other.address, 1)
    service = Holding([owned._replace(record_ciphertext=foreign.record_ciphertext)], 200, first=0)
    file = key_file(chainq.home, mine)
    with serving(service) as url:
        ran = chainq("owned", "--start", "0", "--end", "10", "--records", "--view-key-file", file, url=url)
        unread = chainq("owned", "--start", "0", "--end", "10", *PLAIN, "--view-key-file", file, url=url)
    message = one_line(ran, 6)
    assert "cannot be decrypted" in message
    assert mine.address in message
    assert len(unread.rows) == 1


MALFORMED = {
    "half empty": ("", "5", "7"),
    "no point": ("1", "1", "7"),
    "no field element": (str(2**255), "1", "7"),
    "beyond 32 bytes": ("9" * 90, "1", "7"),
    "null": (None, None, "7"),
    "a number": (5, 5, "7"),
    "letters": ("12x", "1", "7"),
    "no owner": ("", "", ""),
    "owner null": ("", "", None),
}


@pytest.mark.parametrize("name", some(MALFORMED, "half empty", "no point", "beyond 32 bytes", "null", "owner null"))
def test_a_malformed_row_is_reported(chainq: Program, name: str) -> None:
    """All others are compared and printed; then the run ends with 6, whatever the row's owner may be."""
    key = fresh_key()
    good, bad = fresh_records(key.address, 2)
    nonce_x, nonce_y, owner_x = MALFORMED[name]
    broken = Planted(bad.record_ciphertext, nonce_x, nonce_y, owner_x)  # type: ignore[arg-type]  # as servers may send
    service = Holding([broken, good], 200, first=0)
    with serving(service) as url:
        ran = chainq(
            "owned", "--start", "0", "--end", "30", *PLAIN, "--view-key-file", key_file(chainq.home, key), url=url
        )
    (_, first, _), (_, second, _) = sorted(service.planted(0, 30), key=lambda row: row[2] == good.owner_x)
    assert (ran.code, transitions(ran.rows)) == (6, [second])
    warning, error = ran.err.splitlines()
    assert warning.startswith("chainq: warning: records/isOwner heights ")
    assert f"transition {first} is malformed: " in warning
    assert error.startswith("chainq owned: records/isOwner: 1 malformed row, ")


def test_limit_and_reverse(chainq: Program) -> None:
    """`--limit` counts hits, not rows; `--reverse` gives the newest first."""
    key = fresh_key()
    words, env = ("owned", "0:25", "--records"), {VARIABLE: key.text}
    with serving(Holding(fresh_records(key.address, 2), 200, first=0)) as url:
        everything, one, back = (
            chainq(*words, *more, url=url, env=env) for more in ((), ("--limit", "1"), ("--reverse",))
        )
    assert len(everything.rows) == 2
    assert one.rows == everything.rows[:1]
    assert back.rows == everything.rows[::-1]


@pytest.mark.parametrize(("name", "code"), [("testnet", 0), ("mainnet", 2), ("devnet", 2)])
def test_the_network_of_the_service_is_checked(chainq: Program, server: Servers, name: str, code: int) -> None:
    """The sample chain has the number of a testnet."""
    ran = chainq("owned", *FEW, "--network", name, url=server(), env={VARIABLE: PUBLISHED.text})
    assert ran.code == code
    if code:
        assert name in one_line(ran, 2)


def test_dry_run_shows_requests_and_no_key(chainq: Program, server: Servers) -> None:
    """What is sent is what `ownership` sends."""
    ran = chainq("owned", *FEW, "--dry-run", url=server(), env={VARIABLE: PUBLISHED.text})
    assert (ran.code, ran.out) == (0, chainq("ownership", *FEW, "--dry-run", url=server()).out)
    for more in ("--jsonl", "--table", "--spent"):
        ran = chainq("owned", "0:9", "--dry-run", more, url=server(), env={VARIABLE: PUBLISHED.text})
        assert (ran.code, ran.err) == (0, "")  # no row was compared
    as_of = chainq("owned", "5:", "--spent", "--as-of", "9", "--dry-run", url=server(), env={VARIABLE: PUBLISHED.text})
    assert as_of.out == chainq("ownership", "5:10", "--dry-run", url=server()).out


def test_a_file_appears_whole(chainq: Program, server: Servers, tmp_path: Path) -> None:
    """`-o` and the formats of other range commands work."""
    for name in ("hits.csv", "hits.json"):
        kind = name.rpartition(".")[2]
        ran = chainq("owned", *FEW, f"--{kind}", "-o", name, url=server(), env={VARIABLE: PUBLISHED.text})
        assert (ran.code, ran.out) == (0, b"")
        assert PUBLISHED.address.encode() in (tmp_path / name).read_bytes()
