"""The formulas by hashes of the main network, and elements that are none."""

import sys

import pytest

from chainq.errors import UsageError
from chainq.hashes import formulas
from chainq.hashes.check import check_summary
from chainq.hashes.state import StateTree
from chainq.hashes.trees import (
    FIELD_ORDER,
    NotAnElementError,
    bech32m,
    bits_of,
    element,
    hashes,
    id_text,
    merkle_root,
    payload,
)

pytest.importorskip("aleo")

HEADER = {
    "block_hash": "ab1pc83g2v3f9um0n5hy609pmnug4yx8xzfkdjwkuq4nxsxacsdggrqz2tzkj",
    "previous_hash": "ab1psmp9xvezzjpcwtgf054fmynrhdr8wk6xnl5ax0zzszdpsa58vzsxy70lh",
    "previous_state_root": "sr1temsvkutxtaen6emvl70g7qcyds9jz9xk4past23zzuwql7tkurqstwzkc",
    "transactions_root": "672837308598844098066880811329748098775461185733783417762227232818850764801field",
    "finalize_root": "5394502682720460223866679040676485721036134295189100509612669743366229139675field",
    "ratifications_root": "5064237088514230868286190546905537695675171948002961672627655199114230704612field",
    "solutions_root": "4410372902070477360490981487511752120698115024122669404615578376994481946477field",
    "subdag_root": "4068050930681627086278258928590138481735124269446662492160422591928563779502field",
    "network": 0,
    "round": 2414062,
    "height": 1203288,
    "cumulative_weight": 18741903340503531150,
    "cumulative_proof_target": "0",
    "coinbase_target": 35567900716529,
    "proof_target": 8891975179133,
    "last_coinbase_target": 35567900716529,
    "last_coinbase_timestamp": 1729056561,
    "timestamp": 1729056561,
}
"""Block 1,203,288 of the main network, as a node shows it."""

BATCH = {
    "batch_id": "7983661187835694349128436813979024594721029860058172601817395446239722762779field",
    "author": "aleo1wu56llc4eaw08t63944fx7r69f9syneh30zjaykzna8z2wekl5rqem0nad",
    "round": 2414059,
    "timestamp": 1729056560,
    "committee_id": "5607799450220365747440341219014045704854447694770887850255269957972557325543field",
    "transmission_ids": [
        "at1e8qqtxur3fqualq5mt57zteg9h373tks2l0wj989khawkf54zg9qcke9vn.45637030403536908962109923828623389430"
    ],
    "previous_certificate_ids": [
        "2284631317289414437283648911462221461052731136023682797357212744601785827204field",
        "7640149579724504799178648628142014282292963515543852345888340219233552473839field",
        "608273973952282406013871683776384472590760645231149794142228311881221143744field",
        "1616956867154424767034621481372992803149361173663547198705997152850453182900field",
        "3744988224961072246619260975217039311366463770114882060374297741014468138737field",
        "6577718862910080150119947960491238153462480211714925966379827606930918321355field",
        "7760404408778661184630544612168685397816400938918123502180506201791702398307field",
        "5655265469773645344706463922270349025114067095287648525464831887968482188732field",
        "3138565386551440886402212532946913578141017454891471372452086094929027394110field",
        "6992698151059455795368538672954515356271282981084828778017048705614766607184field",
        "3617885063009428594342996352940933716387125768286697098775479836204381242268field",
        "6266548885740113165122662924059163323861750617859160538684049395496797934588field",
        "4367728412536749617228744745675004829164460810922422673367767573375119492712field",
    ],
}
"""The header of one of its certificates."""


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


def test_a_state_tree_has_the_root_of_all_its_leaves() -> None:
    """Kept as a few nodes, it is the tree of `merkle_root`, whatever the number of leaves."""
    tree, leaves = StateTree(), []
    assert tree.root() == 0
    for number in range(1, 70):
        name = id_text("ab", number * 7919**10 % FIELD_ORDER)
        tree.append(name)
        leaves.append(bits_of(element(name)))
        assert tree.root() == merkle_root(leaves, 32)


def test_a_ciphertext_of_numbers_that_are_too_large_is_none() -> None:
    """The SDK would take such a number for the one that it leaves when it is divided by FIELD_ORDER."""
    for number in (FIELD_ORDER, 2**256 - 1):
        text = bech32m("ciphertext", b"\1\0" + number.to_bytes(32, "little"))
        with pytest.raises(ValueError, match="is not a ciphertext"):
            formulas.private_id(text)
    assert formulas.private_id(bech32m("ciphertext", b"\1\0" + (FIELD_ORDER - 1).to_bytes(32, "little")))
