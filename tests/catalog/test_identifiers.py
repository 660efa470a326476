"""Arguments are checked before any request: IDs and addresses by checksum, names and URLs by form."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chainq.catalog import bech32, identifiers
from chainq.demo.chain import Chain
from chainq.errors import UsageError

CHAIN = Chain()
ID = CHAIN.transaction_id(640, 1)
ADDRESS = CHAIN.addresses[0]
bounded = settings(max_examples=150, deadline=None, derandomize=True, database=None)


@bounded
@given(st.integers(0, 60), st.sampled_from(bech32.ALPHABET))
def test_a_typo_in_an_id_is_always_found(place: int, character: str) -> None:
    """A wrong character anywhere, or two neighbours that changed places, are found by the checksum where it is one."""
    typo = ID[:place] + character + ID[place + 1 :]
    swapped = ID[:place] + ID[place : place + 2][::-1] + ID[place + 2 :]
    for text in {typo, swapped} - {ID}:
        with pytest.raises(UsageError) as caught:
            identifiers.transaction_id(text)
        if place > 2:
            assert "checksum" in str(caught.value)
    assert identifiers.transaction_id(ID) == identifiers.transaction_id(ID.upper()) == ID


@pytest.mark.parametrize(
    ("check", "texts"),
    [
        (identifiers.address, [ADDRESS, "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw"]),  # any network's prefix
        (identifiers.program, ["credits.aleo", "token_registry.aleo", "a.b", "A1_.x9"]),
        (identifiers.function, ["transfer_public", "x", "Hello2"]),
        (identifiers.url, ["demo:", "http://127.0.0.1:8545", "https://example.org/v1/rpc?key=x", "http://[::1]:80/"]),
        (identifiers.url, ["https://u:p@host/", "HTTP://Host/", "http://a./", "http://127.1/"]),
        (identifiers.url, ["http://a-b.c_d/", "http://b\u00fccher.example/", "http://xn--a.example/"]),
    ],
)
def test_what_passes_as_it_is(check: Callable[[str], str], texts: list[str]) -> None:
    """Whether there is such a host, its lookup will show."""
    assert [check(text) for text in texts] == texts


@pytest.mark.parametrize(
    ("check", "words", "texts"),
    [
        (
            identifiers.transaction_id,
            "transaction ID",
            [ID[:-1], ID + "q", ID[:30] + ID[31:], ID[1:], f" {ID}", f"{ID}\n"],
        ),
        (identifiers.transaction_id, "invalid transaction ID", ["at1\x1b[2J", ID.replace("at1", "at")]),
        (identifiers.transaction_id, "expected at1", [CHAIN.block_hash(5), ADDRESS]),
        (identifiers.transaction_id, r"AViewKey1\*\*\*'", ["AViewKey1mSnpFFC8Mj4fXbK5YiWgZ3mjiV8CxA79bYNa8ymUpTrw"]),
        (identifiers.address, "checksum", [ADDRESS[:-1] + ("q" if ADDRESS[-1] != "q" else "p")]),
        (
            identifiers.program,
            "invalid program ID",
            ["", "credits", "credits.", ".aleo", "1a.aleo", "_a.aleo", "a.b.c", "a b.aleo"],
        ),
        (identifiers.program, "invalid program ID", ["a.b.c", "a b.aleo", "a-b.aleo", "a.aleo\n", "é.aleo"]),
        (identifiers.function, "invalid function name", ["", "2x", "_x", "a-b", "a.b", "a b", "a\n", "é"]),
        (identifiers.url, "URL", ["", "demo", "DEMO:x", "demo:x", "http://", "http:///path", "//host/"]),
        (identifiers.url, "URL", ["http://ho st/", "http://[::1/", "http://h\n/", "http://a\\@b/", "http://a:80:80/"]),
        (
            identifiers.url,
            "URL",
            ["http://a..b/", "http://.a/", "http://\u2024/", "http://\u3002/", "http://a:\u00b2/"],
        ),
        (identifiers.url, "URL", [f"http://{'a' * 64}/", f"http://{'a.' * 130}/"]),
        (identifiers.url, "URL", ["ftp://someone:hunter2@host/?key=hunter3"]),
        (
            identifiers.url,
            "invalid URL .*: expected http://127.0.0.1:8545, ",
            [
                "https://me:hunter2@[::1]:0/x",
                "localhost:8545",
                "127.0.0.1:8545",
                "nohost.invalid",
                "http:/someone:hunter2@host",
                "ftp://host.example",
            ],
        ),
    ],
)
def test_what_is_refused(check: Callable[[str], str], words: str, texts: list[str]) -> None:
    """The message says what it is or what is expected, and repeats no control character and no secret."""
    for text in texts:
        with pytest.raises(UsageError, match=words) as caught:
            check(text)
        assert str(caught.value).isprintable()
        assert "hunter" not in str(caught.value)


def test_ids_and_addresses_are_sent_in_lower_case() -> None:
    """Upper case is the same ID (BIP 173), but servers compare texts. White space around a URL is not part of it."""
    assert identifiers.address(ADDRESS.upper()) == ADDRESS
    for url in (" http://h:1", "http://h:1/x\r", "demo: \n"):
        assert identifiers.url(url) == url.strip()
