"""`Client.owned`: what the command prints, as Python values."""

from typing import Any, cast

import pytest

from chainq import Client, IncompleteError, UsageError
from chainq.wallet.examine import Examiner
from harness.servers.services import serving
from harness.wallet.account import fresh_records
from harness.wallet.wallet import PUBLISHED, Holding, fresh_key

pytest.importorskip("aleo")


@pytest.mark.search
def test_rows_of_several_keys_with_their_records() -> None:
    """Heights are numbers, as the service sends them; the plaintext is that of the SDK."""
    mine, yours = fresh_key(), fresh_key(1)
    records = [record for key in (mine, yours) for record in fresh_records(key.address, 2)]
    service = Holding(records, 400, first=100)
    with serving(service) as url, Client(url) as client:
        rows = list(client.owned([mine.text, yours.text], 100, 300, decrypt=True))
        last = list(client.owned(yours.text, 100, 300, records=True, reverse=True, limit=1))
        tail = list(client.owned(yours.text, last=250, workers=2))
    due = [(height, transition) for height, transition, _ in service.planted(100, 300)]
    assert [(row["height"], row["transition_id"]) for row in rows] == due
    assert [row["owner"] for row in rows] == [mine.address] * 2 + [yours.address] * 2
    assert all(f"owner: {row['owner']}.private" in row["plaintext"] for row in rows)
    assert [(row["amount"], row["token_id"]) for row in rows] == [(1_000_000, None), (2_000_000, None)] * 2
    assert [(row["height"], "plaintext" in row) for row in last] == [(due[-1][0], False)]
    assert [row["transition_id"] for row in tail] == [rows[3]["transition_id"]] * (due[3][0] > 150)


def test_malformed_rows_raise_after_the_last_row() -> None:
    """What can be compared is there."""
    key = fresh_key()
    good, bad = fresh_records(key.address, 2)
    service = Holding([bad._replace(nonce_x="1"), good], 200, first=100)
    with serving(service) as url, Client(url) as client:
        rows = client.owned(key.text, 100, 150)
        (_, malformed, _), (_, owned, _) = service.planted(100, 150)
        assert next(rows)["transition_id"] == owned
        with pytest.raises(
            IncompleteError, match=rf"1 faulty record: output [0-9]+ of transition {malformed} is malformed"
        ):
            next(rows)


def test_an_error_names_the_first_faults_only() -> None:
    """Five, and how many more there are; each has a warning, up to five."""
    warned: list[str] = []
    examiner = Examiner([], cast("Any", None), warned.append)
    for number in range(7):
        examiner.report((f"au1{number}", number), "is wrong")
    named = [f"output {number} of transition au1{number} is wrong" for number in range(5)]
    assert warned == named
    with pytest.raises(IncompleteError, match=rf"7 faulty records: {'; '.join(named)}; and 2 more; report it"):
        examiner.check()


@pytest.mark.parametrize("view_key", ["AViewKey1x", b"AViewKey1", [], ["APrivateKey1x"], [PUBLISHED.text, 5]])
def test_what_is_no_key_is_not_repeated(view_key: object) -> None:
    """A UsageError, at once."""
    with Client("demo:") as client, pytest.raises(UsageError) as raised:
        client.owned(view_key, 0, 5)  # type: ignore[arg-type]  # on purpose
    assert "Key1x" not in str(raised.value)
    assert "AViewKey1ccEt" not in str(raised.value)
