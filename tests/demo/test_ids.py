"""IDs of the sample chain: checksums, lengths, and words that can be read back."""

import re

import pytest

from chainq.demo import ids
from harness.sample import CHAIN, HEIGHTS, texts, whole_blocks


def is_bech32m(text: str) -> bool:
    # BIP 350 written out, apart from its limit of 90 characters; data must fill whole bytes with zero padding
    prefix, _, data = text.rpartition("1")
    alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
    values = [alphabet.index(c) for c in data]
    check = 1
    for value in [ord(c) >> 5 for c in prefix] + [0] + [ord(c) & 31 for c in prefix] + values:
        top = check >> 25
        check = (check & 0x1FFFFFF) << 5 ^ value
        for bit, term in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
            check ^= term if top >> bit & 1 else 0
    bits = "".join(f"{value:05b}" for value in values[:-6])
    padding = len(bits) % 8
    return check == 0x2BC830A3 and padding < 5 and not int(bits[len(bits) - padding :] or "0", 2)


def test_every_bech32m_text_of_all_eras_has_a_valid_checksum() -> None:
    found = set()
    for height in HEIGHTS:
        for text in texts(whole_blocks(height, height + 1)):
            if match := re.fullmatch(r"(a[a-z]|sr|aleo|record|ciphertext|proof|sign|verifier)1[a-z0-9]{58,}", text):
                assert is_bech32m(text), text
                found.add(match[1])
    assert found == {"ab", "sr", "at", "au", "aleo", "record", "ciphertext", "proof", "sign"}
    assert is_bech32m(ids.KEY.text(7))
    assert not is_bech32m(CHAIN.addresses[0][:-1] + "q")


def test_ids_have_the_lengths_of_real_ones() -> None:
    assert {len(CHAIN.block_hash(h)) for h in range(-1, 9)} == {61}
    assert len(CHAIN.transaction_id(5, 0)) == len(CHAIN.transition_id(5, 0, 0)) == 61
    assert {len(address) for address in CHAIN.addresses} == {63}


@pytest.mark.parametrize("coder", [ids.TRANSACTION, ids.RECORD, ids.ADDRESS])
def test_a_text_gives_back_its_word_and_nothing_else_does(coder: ids.Coder) -> None:
    for word in (0, 1, 0x0123_4567_89AB_CDEF, ids.WORD):
        text = coder.text(word)
        assert coder.word(text) == word
        assert coder.word(text[:-1] + ("q" if text[-1] != "q" else "p")) is None
        assert coder.word(text[:30] + ("q" if text[30] != "q" else "p") + text[31:]) is None
        assert coder.word(text.upper()) is None
        assert coder.word(text[:9]) is None
        assert coder.word("zz1" + text[3:]) is None


def test_mixing_can_be_undone() -> None:
    for number in (0, 1, 12_345, ids.WORD):
        assert ids.unmix(ids.mix(number, 99), 99) == number


def test_field_and_group_elements_are_decimals_below_the_order() -> None:
    for word in (0, 1, ids.WORD):
        assert ids.field(word).removesuffix("field") == ids.group(word).removesuffix("group")
        assert int(ids.field(word)[:-5]) == ids.element(word) < ids.FIELD_ORDER
