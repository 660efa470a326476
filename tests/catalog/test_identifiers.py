"""Arguments are checked before any request: IDs and addresses by checksum, names and URLs by form."""

from pathlib import Path

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
def test_swapped_characters_are_found(place: int) -> None:
    """Two neighbouring characters in the wrong order are an error."""
    swapped = ID[:place] + ID[place + 1] + ID[place] + ID[place + 2 :]
    if swapped != ID:
        with pytest.raises(UsageError, match="checksum"):
            identifiers.transaction_id(swapped)


@pytest.mark.parametrize(
    "text", [ID[:-1], ID + "q", ID[:30] + ID[31:], ID[1:], " " + ID, ID + "\n", ID.replace("at1", "at")]
)
def test_a_truncated_or_padded_id_is_found(text: str) -> None:
    """A character too few or too many, or white space, is an error."""
    with pytest.raises(UsageError):
        identifiers.transaction_id(text)


def test_an_id_has_the_prefix_at() -> None:
    """A block hash or an address in place of a transaction ID is recognised by its prefix."""
    assert identifiers.transaction_id(ID) == ID
    others = (
        (CHAIN.block_hash(5), "a block hash"),
        (ADDRESS, "an address"),
        (CHAIN.transition_id(640, 1, 0), "a transition ID"),
    )
    for text, kind in others:
        with pytest.raises(UsageError, match=f"this is {kind}"):
            identifiers.transaction_id(text)


def test_an_address_may_have_any_prefix() -> None:
    """Addresses use the network's own prefix, so any will do; the checksum must fit."""
    assert identifiers.address(ADDRESS) == ADDRESS
    assert identifiers.address("abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw")
    with pytest.raises(UsageError, match="checksum"):
        identifiers.address(ADDRESS[:-1] + ("q" if ADDRESS[-1] != "q" else "p"))


def test_a_message_is_sanitized() -> None:
    """The message repeats the argument without control characters."""
    with pytest.raises(UsageError, match="invalid transaction ID") as caught:
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
def test_invalid_program_ids(text: str) -> None:
    """Anything else is a usage error."""
    with pytest.raises(UsageError):
        identifiers.program(text)


@pytest.mark.parametrize("text", ["transfer_public", "x", "Hello2"])
def test_function_names(text: str) -> None:
    """A function name is an identifier."""
    assert identifiers.function(text) == text


@pytest.mark.parametrize("text", ["", "2x", "_x", "a-b", "a.b", "a b", "a\n", "é"])
def test_invalid_function_names(text: str) -> None:
    """Anything else is a usage error."""
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
        "file:///a/folder",
    ],
)
def test_urls(text: str) -> None:
    """http and https URLs with a host, demo: and those of an export pass as they are."""
    assert identifiers.url(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "demo",
        "DEMO:x",
        "demo:x",
        "127.0.0.1:8545",
        "ftp://host/",
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
def test_invalid_urls(text: str) -> None:
    """Anything else is a usage error."""
    with pytest.raises(UsageError, match="URL"):
        identifiers.url(text)


def test_a_refused_url_shows_no_password() -> None:
    """User name and password stay out of the message."""
    with pytest.raises(UsageError) as caught:
        identifiers.url("ftp://someone:hunter2@host/?key=hunter3")
    assert "hunter" not in str(caught.value)
    assert "someone" not in str(caught.value)


def test_ids_and_addresses_are_sent_in_lower_case() -> None:
    """Upper case is the same ID (BIP 173), but servers compare texts."""
    assert identifiers.transaction_id(ID.upper()) == ID
    assert identifiers.address(ADDRESS.upper()) == ADDRESS


@pytest.mark.parametrize(
    "host",
    [
        "a..b",
        ".a",
        "a" * 64,
        "a." * 130,
        "\u2024",
        "\u3002",
        "a:0",
        "a:80:80",
        "a:\u00b2",
        "a:65536",
        "[::1",
        "a\\@b",
        "a b",
    ],
)
def test_a_host_that_cannot_be_looked_up_is_found(host: str) -> None:
    """Empty labels, labels and names that are too long, ports that are none."""
    with pytest.raises(UsageError, match="invalid URL"):
        identifiers.url(f"http://{host}/")


@pytest.mark.parametrize("host", ["a:65536", "me:pw@[::1]:0", "127.0.0.1:abc"])
def test_a_wrong_port_is_named(host: str) -> None:
    """Whatever else the URL has."""
    with pytest.raises(UsageError, match=r"invalid URL .*: the port is not a number from 1 to 65535"):
        identifiers.url(f"https://{host}/x")


@pytest.mark.parametrize("url", [" http://h:1", "http://h:1/x\r", "demo: \n"])
def test_white_space_around_a_url_is_not_part_of_it(url: str) -> None:
    """As of a file of variables whose lines end in CR LF."""
    assert identifiers.url(url) == url.strip()


@pytest.mark.parametrize("host", ["a", "a.", "a-b.c_d", "b\u00fccher.example", "xn--a.example", "127.1", "[::1]:8545"])
def test_a_host_that_can_be_looked_up_passes(host: str) -> None:
    """What it is, its lookup will show."""
    assert identifiers.url(f"http://{host}/") == f"http://{host}/"


@pytest.mark.parametrize(
    "text", ["localhost:8545", "nohost.invalid", "http:/someone:hunter2@host", "ftp://host.example", "folder/Sub"]
)
def test_a_url_without_a_scheme_is_refused(text: str) -> None:
    """The error names the forms that are valid, and repeats no secret."""
    with pytest.raises(UsageError, match=r"invalid URL .*: expected http://127.0.0.1:8545, ") as raised:
        identifiers.url(text)
    assert "hunter2" not in str(raised.value)


def test_a_path_that_is_no_folder_says_so(tmp_path: Path) -> None:
    """A path is meant as an export: what is there in its place is said, and not what a URL looks like."""
    (tmp_path / "rows").touch()
    for name, said in (("rows", "it is a file"), ("nothing", "that folder does not exist")):
        with pytest.raises(UsageError) as raised:
            identifiers.url(str(tmp_path / name))
        assert str(raised.value) == f"invalid URL '{tmp_path / name}': {said}"
