"""The formulas by hashes of the main network, and elements that are none."""

import json
import sys
from pathlib import Path

import pytest

from chainq.errors import UsageError
from chainq.hashes import formulas
from chainq.hashes.check import check_summary
from chainq.hashes.trees import (
    FIELD_ORDER,
    NotAnElementError,
    bech32m,
    element,
    hashes,
    id_text,
    payload,
)

pytest.importorskip("aleo")

MAIN = json.loads((Path(__file__).parent / "main_network.json").read_text())
"""Block 1,203,288 of the main network, as a node shows it: its header, and that of one of its certificates."""
HEADER, BATCH = MAIN["header"], MAIN["batch"]


def test_a_block_hash_of_the_main_network() -> None:
    """By its header alone, also where numbers come as texts of digits, as in summaries."""
    assert check_summary(HEADER).proved
    texts = {name: str(value) for name, value in HEADER.items()}
    assert check_summary(texts).proved
    checked = check_summary({**HEADER, "round": 2414063})
    assert not checked.proved
    assert [wrong.check for wrong in checked.wrong] == ["hash"]


def test_a_header_of_an_older_era_is_not_checked() -> None:
    """A header that lacks a field is counted, and proves nothing."""
    older = {name: value for name, value in HEADER.items() if name != "subdag_root"}
    checked = check_summary(older)
    assert (checked.wrong, checked.proved, checked.skipped.total()) == ([], False, 1)


def test_without_the_sdk_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is named that has it."""
    monkeypatch.delitem(sys.modules, "aleo._aleolib_mainnet", raising=False)
    monkeypatch.setattr("chainq.hashes.sdk.find_spec", lambda _: None)
    with pytest.raises(UsageError, match="recomputing hashes needs the aleo-sdk package") as raised:
        hashes.__wrapped__()
    assert raised.value.hint == "it comes with chainq[hashes] (docs/install.md)"


def test_a_batch_of_the_main_network() -> None:
    """Its ID by author, round, time, committee, transmissions and the certificates before."""
    assert formulas.batch_id(BATCH) == element(BATCH["batch_id"])
    assert formulas.batch_id({**BATCH, "timestamp": 1729056561}) != element(BATCH["batch_id"])


@pytest.mark.parametrize(
    "text",
    [
        "12",
        "field",
        "-1field",
        "01field",
        f"{FIELD_ORDER}field",
        "9" * 90 + "field",
        "ab1",
        "aleo1x",
        None,
        5,
        "١field",
    ],
)
def test_what_is_no_element_is_refused(text: object) -> None:
    """Neither another kind of value nor another way to write one."""
    with pytest.raises(NotAnElementError):
        element(text)


@pytest.mark.parametrize("number", [0, 1, FIELD_ORDER - 1])
def test_an_element_is_the_payload_of_an_id(number: int) -> None:
    """Both ways, and not with one character changed or in capitals."""
    text = id_text("ab", number)
    assert element(text) == number
    assert element(f"{number}field") == number
    for wrong in (text.upper(), text[:-1] + ("q" if text[-1] != "q" else "p"), "at" + text[2:]):
        with pytest.raises(NotAnElementError):
            element(wrong)


@pytest.mark.parametrize("data", [b"", b"\0", b"\1\2\3", bytes(range(66))])
def test_bytes_survive_bech32m(data: bytes) -> None:
    """Whatever their length."""
    assert payload("ciphertext", bech32m("ciphertext", data)) == data


def test_a_ciphertext_of_numbers_that_are_too_large_is_none() -> None:
    """The SDK would take such a number for the one that it leaves when it is divided by FIELD_ORDER."""
    for number in (FIELD_ORDER, 2**256 - 1):
        text = bech32m("ciphertext", b"\1\0" + number.to_bytes(32, "little"))
        with pytest.raises(ValueError, match="is not a ciphertext"):
            formulas.private_id(text)
    assert formulas.private_id(bech32m("ciphertext", b"\1\0" + (FIELD_ORDER - 1).to_bytes(32, "little")))
