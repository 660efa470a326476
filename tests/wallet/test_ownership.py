"""The formula on single rows: published vectors, fresh records, and rows that it cannot be applied to."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness.models.readings import readings
from harness.wallet.account import fresh_records
from harness.wallet.wallet import PUBLISHED, fresh_key

pytest.importorskip("aleo")

from chainq.wallet.ownership import Findings, Matcher

# Of the SDK's documentation: the nonce of the record that `PUBLISHED` decrypts, and the owner in its ciphertext
# record1qyqsqpe2szk2wwwq56akkwx586hkndl3r8vzdwve32lm7elvphh37rsyqyxx66trwfhkxun9v35hguerqqpqzqrtjzeu6...
VECTOR = {
    "nonce_x": "3077450429259593211617823051143573281856129402760267155982965992208217472983",
    "nonce_y": "1",
    "owner_x": "1834207652270278169402550588655789457181749575924306382207163166467085576711",
}
OTHER_KEY = "AViewKey1e2WyreaH5H4RBcioLL2GnxvHk5Ud46EtwycnhTdXLmXp"


def match(keys: list[str], *rows: dict[str, Any]) -> Findings:
    return Matcher(keys).match(msgspec.json.encode(rows))


def test_the_published_vector() -> None:
    """Its key owns the row, another does not; with both, the number of the key says whose it is."""
    assert match([PUBLISHED.text], VECTOR) == Findings([(0, 0)], [])
    assert match([OTHER_KEY], VECTOR) == Findings([], [])
    assert match([OTHER_KEY, PUBLISHED.text], VECTOR, VECTOR) == Findings([(0, 1), (1, 1)], [])


@pytest.mark.parametrize("suffix", ["field", "group"])
def test_values_may_carry_their_type(suffix: str) -> None:
    """docs/protocol.md, "Values"."""
    row = {"nonce_x": VECTOR["nonce_x"] + suffix, "nonce_y": "1" + suffix, "owner_x": VECTOR["owner_x"] + "field"}
    assert match([PUBLISHED.text], row) == Findings([(0, 0)], [])


def test_fresh_records_of_several_keys() -> None:
    """Private and public owners; unknown fields and the order of fields say nothing."""
    keys = [fresh_key(number) for number in range(3)]
    rows: list[dict[str, Any]] = []
    due = []
    for number, key in enumerate(keys):
        for record in fresh_records(key.address, 8):
            due.append((len(rows), number))
            rows.append({"owner_x": record.owner_x, "more": 1, "nonce_y": record.nonce_y, "nonce_x": record.nonce_x})
    assert match([key.text for key in keys], *rows) == Findings(due, [])
    assert match([fresh_key(3).text], *rows) == Findings([], [])


def test_a_changed_digit_is_another_row() -> None:
    """`owner_x` off by one belongs to nobody."""
    assert match([PUBLISHED.text], {**VECTOR, "owner_x": VECTOR["owner_x"][:-1] + "2"}) == Findings([], [])


def test_a_malformed_row_is_not_anothers(golden: Callable[[Path, str], None]) -> None:
    """It is reported with what is wrong, and the rows around it are compared."""

    def problem(change: dict[str, Any]) -> str:
        found = match([PUBLISHED.text], VECTOR, {**VECTOR, **change}, VECTOR)
        assert found.owned == [(0, 0), (2, 0)]
        ((place, said),) = found.malformed
        assert place == 1
        return said

    file = Path(__file__).parent / "malformed.txt"
    golden(file, readings(file, problem))
    assert problem({"owner_x": "9" * 5000}) == "owner_x is not a string of decimal digits"


def test_texts_that_are_no_unicode_and_huge_numbers_elsewhere() -> None:
    """A field that the formula does not read can hold anything that JSON allows."""
    row = msgspec.json.encode(VECTOR)[:-1] + rb',"a":"\ud800","b":1e999999,"c":' + b"9" * 5000 + b"}"
    assert Matcher([PUBLISHED.text]).match(b"[" + row + b"]") == Findings([(0, 0)], [])
