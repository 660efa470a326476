"""Plaintexts as the network writes them."""

import pytest

from chainq.wallet.book import Entry
from chainq.wallet.shown import Amount, Style, amount_in, members_of, shown_plaintext, totals

RECORD = """{
  owner: aleo1abc.private,
  amount: 340282366920938463463374607431768211455u128.private,
  token_id: 7field.private,
  data: { list: [ 1u8.private, 2u8.private ], inner: { flag: true.private } },
  _nonce: 5group.public,
  _version: 1u8.public
}"""


def test_members_keep_their_types_and_digits() -> None:
    """Structs are objects, arrays lists; visibilities are left out."""
    assert members_of(RECORD) == {
        "owner": "aleo1abc",
        "amount": "340282366920938463463374607431768211455u128",
        "token_id": "7field",
        "data": {"list": ["1u8", "2u8"], "inner": {"flag": "true"}},
        "_nonce": "5group",
        "_version": "1u8",
    }
    assert members_of("{}") == {}


@pytest.mark.parametrize("text", ["", "5u64", "[1u8]", "{ a: 1u8", "{ a }", "{ a: [1u8 }", "{ a: }"])
def test_what_is_no_record_has_no_members(text: str) -> None:
    """Nor those of a part of it."""
    assert members_of(text) is None


def test_amounts() -> None:
    """`microcredits` of credits.aleo, and `amount` of others; only of unsigned integers."""
    assert amount_in("token_registry.aleo", members_of(RECORD) or {}) == Amount(
        "token_registry.aleo", "7field", 2**128 - 1
    )
    assert amount_in("credits.aleo", {"microcredits": "5u64"}) == Amount("credits.aleo", "", 5)
    assert amount_in("credits.aleo", {"amount": "5u64"}).amount is None
    others = (amount_in("a.aleo", {"amount": value}).amount for value in ("5u64", "5field", "-5i64", ["5u64"], None))
    assert [*others] == [5, None, None, None, None]


def test_a_plaintext_of_another_shape_is_shown_as_text() -> None:
    """It has no members and no amount."""
    added = shown_plaintext("?{\n}", "x.aleo", Style.TABLE)
    assert {name: bytes(value) for name, value in added.items()} == {
        "plaintext": b'"?{ }"',
        "plaintext_json": b"null",
        "amount": b'"-"',
        "token_id": b"null",
    }


def test_an_amount_is_text_in_other_formats() -> None:
    """As of balance: jq and others round numbers above 2**53; a record without a token has null."""
    added = shown_plaintext(RECORD, "token_registry.aleo", Style.TEXT)
    assert (bytes(added["amount"]), bytes(added["token_id"])) == (b'"%d"' % (2**128 - 1), b'"7field"')
    added = shown_plaintext("{ microcredits: 5u64 }", "credits.aleo", Style.TEXT)
    assert (bytes(added["amount"]), bytes(added["token_id"])) == (b'"5"', b"null")


def test_totals_of_several_tokens() -> None:
    """A line for each program and token; also what is unspent, if it is known what is spent."""
    entries = [
        Entry(owner, program, token, amount, f"tag{number}", number, "at1x", spent)
        for number, (owner, program, token, amount, spent) in enumerate(
            [
                (0, "b.aleo", "1field", "5", 9),
                (0, "credits.aleo", "", "7", 9),
                (1, "b.aleo", "1field", "6", None),
                (0, "a.aleo", "", None, None),
            ]
        )
    ]
    assert totals(entries, spends=False) == [
        "a.aleo: 1 record, -",
        "b.aleo 1field: 2 records, 11",
        "credits.aleo: 1 record, 0.000007 credits",
    ]
    assert totals(entries, spends=True) == [
        "a.aleo: 1 record, -; unspent: 1 record, -",
        "b.aleo 1field: 2 records, 11; unspent: 1 record, 6",
        "credits.aleo: 1 record, 0.000007 credits; unspent: 0 records",
    ]
