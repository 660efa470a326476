"""`chainq owned --decrypt`: who sent a record, and whether it is the record that the network accepted."""

import json
from typing import Any

import pytest

from chainq.demo.planted import Planted
from harness.running.program import Program
from harness.servers.services import Serve, serving
from harness.wallet.account import SENDER, fresh_records
from harness.wallet.wallet import Holding, fresh_key, key_file

pytest.importorskip("aleo")

RANGE = ("--start", "0", "--end", "35", "--decrypt", "--columns", "record_name,sender,plaintext")


def decrypted(chainq: Program, records: list[Planted], key: Any) -> tuple[Any, list[dict[str, Any]]]:
    """The run of `owned --decrypt` on a service with these records, and its rows."""
    with serving(Holding(records, 40, first=0)) as url:
        ran = chainq("owned", *RANGE, "--view-key-file", key_file(chainq.home, key), url=url)
    return ran, [json.loads(row) for row in ran.rows]


def test_the_sender_of_a_record_and_its_name(chainq: Program) -> None:
    """A record of version 1 says who made it, one of version 0 does not; both commitments are recomputed."""
    key = fresh_key()
    ran, rows = decrypted(chainq, fresh_records(key.address, 2), key)
    assert (ran.code, ran.err) == (0, "")
    assert [row["sender"] for row in rows] == [None, SENDER]
    assert [row["record_name"] for row in rows] == ["credits", "credits"]
    assert ["_version: 0u8" in row["plaintext"] for row in rows] == [True, False]


@pytest.mark.parametrize("version", [0, 1])
def test_an_altered_record_is_a_finding(chainq: Program, version: int) -> None:
    """The server shows another amount to the same owner, in both methods: the commitment tells. All rows are printed,
    and the run ends with 6."""
    key = fresh_key()
    records, others = fresh_records(key.address, 4), fresh_records(key.address, 4)
    altered = others[version]._replace(output_id=records[version].output_id)
    ran, rows = decrypted(chainq, [altered, *records[2:]], key)
    assert (ran.code, len(rows)) == (6, 3)
    assert [row["record_name"] for row in rows] == [None, "credits", "credits"]
    warning, error = ran.err.splitlines()
    assert warning.startswith("chainq: warning: output ")
    assert "has a plaintext that its commitment, the id of its output, does not match" in warning
    assert "1 faulty record: " in error


@pytest.mark.parametrize("kept", [(), ("--checkpoint", "kept")])
def test_decrypted_records_are_for_their_owner_alone(chainq: Program, kept: tuple[str, ...], serve: Serve) -> None:
    """A new file has mode 0600, also without plaintexts, as has its checkpoint; a file that exists keeps its mode.

    A warning says if others can read that.
    """
    key, home = fresh_key(), chainq.home
    base = ("owned", "--start", "0", "--end", "20", *kept, "--view-key-file", key_file(home, key), "-o")
    (home / "old.jsonl").touch(0o644)
    url = serve(Holding(fresh_records(key.address, 2), 30, first=0))

    def mode(file: str, *words: str) -> int:
        (home / "kept").unlink(missing_ok=True)
        ran = chainq(*base, file, *words, url=url)
        assert ran.code == 0, ran.err
        assert (home / file).read_bytes()
        return (home / file).stat().st_mode & 0o777

    assert mode("plain.jsonl") == mode("records.jsonl", "--records") == 0o600
    assert mode("columns.jsonl", "--columns", "height,plaintext") == 0o600
    assert mode("new.jsonl", "--decrypt") == 0o600
    assert not kept or (home / "kept").stat().st_mode & 0o077 == 0
    if not kept:
        assert mode("old.jsonl", "--decrypt") == 0o644
        ran = chainq(*base, "old.jsonl", url=url)
        assert "chainq: warning: other users can read 'old.jsonl'; chmod 600 old.jsonl" in ran.err
