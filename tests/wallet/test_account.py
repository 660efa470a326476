"""Records that tests put together are such as the SDK decrypts."""

import pytest

from harness.account import fresh_records
from harness.wallet import PUBLISHED, fresh_key

sdk = pytest.importorskip("aleo").mainnet


def test_ciphertexts_decrypt_to_what_they_were_made_of() -> None:
    """For its owner; for no other key. The nonce and the owner of the row are those of the ciphertext."""
    key, other = fresh_key(), fresh_key()
    for number, record in enumerate(fresh_records(key.address, 8), 1):
        ciphertext = sdk.RecordCiphertext.from_string(record.record_ciphertext)
        assert str(ciphertext) == record.record_ciphertext
        plaintext = ciphertext.decrypt(sdk.ViewKey.from_string(key.text))
        assert (plaintext.microcredits, str(plaintext.owner).split(".")[0]) == (number * 1_000_000, key.address)
        assert not ciphertext.is_owner(sdk.ViewKey.from_string(other.text))
        if number < 8:
            assert str(ciphertext.nonce) == f"{record.nonce_x}group"
        else:
            assert (record.nonce_x, record.nonce_y) == ("", "")
            assert record.owner_x == str(sdk.Address.from_string(key.address).to_field()).removesuffix("field")


def test_the_planted_records_are_those_of_the_published_key() -> None:
    """What the sample chain holds without the SDK is what the SDK reads."""
    from chainq.demo.planted import PUBLISHED as RECORDS

    view_key = sdk.ViewKey.from_string(PUBLISHED.text)
    assert str(view_key.address) == PUBLISHED.address
    amounts = [
        sdk.RecordCiphertext.from_string(record.record_ciphertext).decrypt(view_key).microcredits for record in RECORDS
    ]
    assert amounts == [number * 1_000_000 for number in range(1, len(RECORDS) + 1)]
