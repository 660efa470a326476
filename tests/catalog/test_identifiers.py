"""Arguments are checked before any call: IDs and addresses by checksum, names, URLs and headers by form."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chainq.catalog import bech32, identifiers
from chainq.config import values
from chainq.demo.chain import Chain
from chainq.errors import UsageError
from chainq.text.sanitize import mask_url

CHAIN = Chain()
ID = CHAIN.transaction_id(640, 1)
ADDRESS = CHAIN.addresses[0]
bounded = settings(max_examples=150, deadline=None, derandomize=True, database=None)

# The test vectors of BIP 173 and BIP 350. The bound of 90 characters is not applied here: the service's IDs are longer.
VALID = {
    "BIP 173": [
        "A12UEL5L",
        "a12uel5l",
        "an83characterlonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1tt5tgs",
        "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw",
        "11qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqc8247j",
        "split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w",
        "?1ezyfcl",
    ],
    "BIP 350": [
        "A1LQFN3A",
        "a1lqfn3a",
        "an83characterlonghumanreadablepartthatcontainsthetheexcludedcharactersbioandnumber11sg7hg6",
        "abcdef1l7aum6echk45nj3s0wdvt2fg8x9yrzpqzd3ryx",
        "11llllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllludsr8",
        "split1checkupstagehandshakeupstreamerranterredcaperredlc445v",
        "?1v759aa",
    ],
}
INVALID = {
    "\x201nwldj5": "prefix",
    "\x7f1axkwrx": "prefix",
    "\x801eym55h": "prefix",
    "pzry9x0s0muk": "prefix",
    "1pzry9x0s0muk": "prefix",
    "x1b4n0q5v": "'b'",
    "li1dgmt3": "short",
    "de1lg7wt\xff": "'\xff'",
    "A1G7SGD8": "checksum",
    "10a06t8": "prefix",
    "1qzzfhee": "prefix",
    "\x201xj0phk": "prefix",
    "\x7f1g6xzxy": "prefix",
    "\x801vctc34": "prefix",
    "qyrz8wqd2c9m": "prefix",
    "1qyrz8wqd2c9m": "prefix",
    "y1b0jsk6g": "'b'",
    "lt1igcx5c0": "'i'",
    "in1muywd": "short",
    "mm1crxm3i": "'i'",
    "au1s5cgom": "'o'",
    "M1VUXWEZ": "checksum",
    "16plkw9": "prefix",
    "1p2gdwpf": "prefix",
}


@pytest.mark.parametrize("text", [text for texts in VALID.values() for text in texts])
def test_the_valid_vectors_of_the_standards_pass(text: str) -> None:
    """Bech32 and bech32m are both accepted."""
    assert bech32.fault(text) == ""


@pytest.mark.parametrize(("text", "said"), INVALID.items())
def test_the_invalid_vectors_of_the_standards_do_not(text: str, said: str) -> None:
    """Each invalid vector is refused, for the reason that the standard gives."""
    assert said in bech32.fault(text)


@pytest.mark.parametrize(
    "text", ["", "1", "at1", "at", "a1", "AT12uEL5L", ID.upper()[:5] + ID[5:], ID[:5] + ID[5:].upper()]
)
def test_mixed_case_and_fragments_are_refused(text: str) -> None:
    """Upper and lower case may not stand in one text (BIP 173), and a fragment has no checksum."""
    assert bech32.fault(text)


def test_one_case_throughout_is_fine() -> None:
    """A text all in upper case is the same text (BIP 173)."""
    assert bech32.fault(ID.upper(), prefix="at") == ""


@bounded
@given(st.integers(0, 60), st.sampled_from(bech32.ALPHABET))
def test_a_typo_in_an_id_is_always_found(place: int, character: str) -> None:
    """One wrong character anywhere is found, and the message calls it a checksum where it is one."""
    typo = ID[:place] + character + ID[place + 1 :]
    if typo == ID:
        assert identifiers.transaction_id(typo) == ID
        return
    with pytest.raises(UsageError) as caught:
        identifiers.transaction_id(typo)
    if place > 2:
        assert "checksum" in str(caught.value)


@bounded
@given(st.integers(3, 59))
def test_two_characters_that_changed_places_are_found(place: int) -> None:
    """Neighbours that were swapped do not pass."""
    swapped = ID[:place] + ID[place + 1] + ID[place] + ID[place + 2 :]
    if swapped != ID:
        with pytest.raises(UsageError, match="checksum"):
            identifiers.transaction_id(swapped)


@pytest.mark.parametrize(
    "text", [ID[:-1], ID + "q", ID[:30] + ID[31:], ID[1:], " " + ID, ID + "\n", ID.replace("at1", "at")]
)
def test_an_id_that_was_cut_or_padded_is_found(text: str) -> None:
    """A character too few or too many, or white space, does not pass."""
    with pytest.raises(UsageError):
        identifiers.transaction_id(text)


def test_an_id_has_the_prefix_at() -> None:
    """A block hash or an address in place of a transaction ID is told by its prefix."""
    assert identifiers.transaction_id(ID) == ID
    for text, prefix in ((CHAIN.block_hash(5), "ab"), (ADDRESS, "aleo"), (CHAIN.transition_id(640, 1, 0), "au")):
        with pytest.raises(UsageError, match=f"prefix is '{prefix}'"):
            identifiers.transaction_id(text)


def test_an_address_may_have_any_prefix() -> None:
    """Addresses use the network's own prefix, so any will do; the checksum must fit."""
    assert identifiers.address(ADDRESS) == ADDRESS
    assert identifiers.address("abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw")
    with pytest.raises(UsageError, match="checksum"):
        identifiers.address(ADDRESS[:-1] + ("q" if ADDRESS[-1] != "q" else "p"))


def test_a_message_is_harmless_and_says_the_way_out() -> None:
    """The message shows what was written without control characters, and names --no-check."""
    with pytest.raises(UsageError, match="--no-check") as caught:
        identifiers.transaction_id("at1\x1b[2J")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("text", ["credits.aleo", "token_registry.aleo", "a.b", "A1_.x9"])
def test_program_ids(text: str) -> None:
    """A program ID is a name and a network, both identifiers."""
    assert identifiers.program(text) == text


@pytest.mark.parametrize(
    "text",
    ["", "credits", "credits.", ".aleo", "1a.aleo", "_a.aleo", "a.b.c", "a b.aleo", "a-b.aleo", "a.aleo\n", "é.aleo"],
)
def test_what_is_no_program_id(text: str) -> None:
    """Anything else is refused."""
    with pytest.raises(UsageError):
        identifiers.program(text)


@pytest.mark.parametrize("text", ["transfer_public", "x", "Hello2"])
def test_function_names(text: str) -> None:
    """A function name is an identifier."""
    assert identifiers.function(text) == text


@pytest.mark.parametrize("text", ["", "2x", "_x", "a-b", "a.b", "a b", "a\n", "é"])
def test_what_is_no_function_name(text: str) -> None:
    """Anything else is refused."""
    with pytest.raises(UsageError):
        identifiers.function(text)


@pytest.mark.parametrize(
    "text",
    [
        "demo:",
        "http://127.0.0.1:8545",
        "https://example.org/v1/rpc?key=x",
        "http://[::1]:80/",
        "https://u:p@host/",
        "HTTP://Host/",
    ],
)
def test_urls(text: str) -> None:
    """http and https URLs with a host, and demo:, pass as they are."""
    assert identifiers.url(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "demo",
        "DEMO:x",
        "127.0.0.1:8545",
        "ftp://host/",
        "file:///etc/passwd",
        "http://",
        "http:///path",
        "http:/host",
        "//host/",
        "http://ho st/",
        "http://host:0/",
        "http://host:65536/",
        "http://host:x/",
        "http://[::1/",
        "http://h\n/",
    ],
)
def test_what_is_no_url(text: str) -> None:
    """Anything else is refused."""
    with pytest.raises(UsageError, match="URL"):
        identifiers.url(text)


def test_a_refused_url_shows_no_password() -> None:
    """User name and password stay out of the message."""
    with pytest.raises(UsageError) as caught:
        identifiers.url("ftp://someone:hunter2@host/?key=hunter3")
    assert "hunter" not in str(caught.value)
    assert "someone" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://host/v2/0123456789abcdef0123456789abcdef", "https://host/v2/***"),
        ("https://host/6f1c2d3e-0000-4000-8000-000000000000/rpc", "https://host/***/rpc"),
        ("https://host/api/v2/mainnet", "https://host/api/v2/mainnet"),
        ("https://host/a-path-of-words-that-is-long/", "https://host/a-path-of-words-that-is-long/"),
        ("https://me:hunter2@host:1/?key=x=y&b", "https://***@host:1/?key=***&***"),
        ("https://host/rpc;token=hunter2/x", "https://host/rpc;***/x"),
        ("http://me:hunter2@[bad/v1?k=x", "***@"),
        ("http://[bad/v1?k=x", "***"),
        ("https://me:hunter2@host]/x", "***@host"),
        ("me:hunter2@host:1?k=x", "***@host:1"),
        ("localhost:8545", "localhost:8545"),
    ],
)
def test_a_url_is_shown_without_what_may_be_secret(url: str, shown: str) -> None:
    """Nor what looks like a key in its path, where many chain services want it."""
    assert mask_url(url) == shown


@pytest.mark.parametrize("name", ["Content-Length", "transfer-encoding"])
def test_headers_that_frame_a_call_are_refused(name: str) -> None:
    """What HTTP computes from the body cannot be given: another value would break the call."""
    with pytest.raises(UsageError, match=name):
        values.header(f"{name}: 3")


def test_headers() -> None:
    """A header is a name and a value; space around them goes, a colon may stand in the value."""
    assert values.header("X-Key: a:b ") == ("X-Key", "a:b")
    assert values.header("X-Key:") == ("X-Key", "")


@pytest.mark.parametrize(
    "text", ["", "X", ": v", "X Y: v", "X: a\r\nY: hunter2", "X: hunter2\x00", "X: hünter2", "Ü: v"]
)
def test_what_is_no_header(text: str) -> None:
    """What cannot stand in a header is refused, and its value is not repeated."""
    with pytest.raises(UsageError) as caught:
        values.header(text)
    assert "unter2" not in str(caught.value)
