"""Plaintexts as the network writes them."""

import pytest

from chainq.wallet.shown import Amount, Style, amount_in, members_of, shown_plaintext

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


@pytest.mark.parametrize(
    ("text", "program", "style", "amount", "token"),
    [
        (RECORD, "token_registry.aleo", Style.TEXT, b'"%d"' % (2**128 - 1), b'"7field"'),
        (RECORD, "token_registry.aleo", Style.PYTHON, b"%d" % (2**128 - 1), b'"7field"'),
        ("{ microcredits: 5u64 }", "credits.aleo", Style.TEXT, b'"5"', b"null"),
        ("{ data: 5u64 }", "a.aleo", Style.PYTHON, b"null", b"null"),
    ],
)
def test_an_amount_is_a_number_in_python_alone(
    text: str, program: str, style: Style, amount: bytes, token: bytes
) -> None:
    """As of balance: jq and others round numbers above 2**53; what a record lacks is null."""
    added = shown_plaintext(text, program, style)
    assert (bytes(added["amount"]), bytes(added["token_id"])) == (amount, token)
