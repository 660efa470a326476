"""What errors of the Python API say: options by their names on the command line, methods by the name called."""

from collections.abc import Callable
from typing import Any

import pytest

from chainq import Client, UsageError
from harness.running.sample import VIEW_KEY

ADDRESS = "aleo1lfv4jy6y9ahjtc257lugevza7xn0460c94zxdyr3n2fqqmdpm7aq7mntrd"
CALLS: list[tuple[Callable[..., Any], str]] = [
    (lambda client: client.blocks(5, last=3), "--last cannot be combined with --start, --end, --since or --until"),
    (lambda client: client.blocks(last=5, since=5.0), "--last cannot be combined with"),
    (lambda client: client.records(start=5, since="2h"), "--start cannot be combined with --since"),
    (lambda client: client.blocks(7, 5), "the range starts at 7, after its end 5"),
    (lambda client: client.transaction("at1x"), "invalid transaction ID"),
    (lambda client: client.transaction(f"at1{'q' * 58}"), "checksum"),
    (lambda client: client.program_transactions("credits", "mint"), "invalid program ID 'credits'"),
    (lambda client: client.program_transactions("credits.aleo", "mint", newest=True), "newest needs limit"),
    (lambda client: client.blocks(since="soon"), "soon"),
    (lambda client: client.blocks(until=float("nan")), "invalid until nan"),
    (lambda client: client.blocks(since=1685667600000), "invalid since 1685667600000: expected seconds since 1970"),
    (lambda client: client.records(end="100X"), "invalid height '100X': expected a whole number such as"),
    (
        lambda client: client.records(0, 10, program=[]),
        "a filter is an empty list, so no row can pass it; None is no filter",
    ),
    (lambda client: list(client.blocks(0, 5).chunks(0)), "invalid number of rows: expected an int from 1"),
    (lambda client: client.block("AViewKey1ccEt8A2Ryva5rxn"), "invalid height 'AViewKey1***'"),
]


@pytest.mark.parametrize(("call", "words"), CALLS)
def test_messages_name_what_was_wrong(call: Callable[[Client], Any], words: str) -> None:
    """Bounds by the options of the command line, and arguments of a wrong type by their keyword."""
    with Client("demo:") as client, pytest.raises(UsageError) as caught:
        call(client)
    assert words in str(caught.value)


@pytest.mark.parametrize("height", [-1, 2**53 + 1, 10**5000, 1.5, None, float("nan"), [1], range(5, 7)], ids=type)
def test_heights_that_cannot_be(height: Any) -> None:
    """A height that is negative, too high or neither int nor str is a UsageError."""
    with Client("demo:") as client:
        calls: list[Callable[[], object]] = [lambda: client.block(height), lambda: client.transactions(height)]
        if height is not None:
            calls += [lambda: client.blocks(last=height), lambda: client.blocks(0, 9, limit=height)]
        if height not in (None, -1):  # a negative bound counts back from the tip
            calls += [lambda: client.records(height, 5), lambda: client.records(0, height)]
        for call in calls:
            with pytest.raises(UsageError, match="invalid "):
                call()


SETTINGS: dict[str, list[Any]] = {
    "url": ["nonsense", "http://127.0.0.1:99999/"],
    "dialect": ["french"],
    "timeout": [0, float("nan"), "30"],
    "retries": [-1],
    "rate": [-1.0, True],
    "concurrency": [0, 65],
    "headers": [{"X Key": "5"}, {"X-Key": "a\r\nb"}],
    "cert": ["/nope"],
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_that_cannot_be(name: str) -> None:
    """A setting that is too small, too large or unknown is a UsageError, before any request."""
    for url in ("http://127.0.0.1:1/", "https://127.0.0.1:1/"):
        for value in SETTINGS[name]:
            settings: dict[str, Any] = {"url": url, name: value}
            with pytest.raises(UsageError, match=r"invalid|unknown|header|expected|cert"):
                Client(**settings)


@pytest.mark.parametrize(
    ("url", "headers", "place"),
    [(f"http://127.0.0.1:9/{VIEW_KEY}", {}, "--url"), ("demo:", {"X": VIEW_KEY}, "--header")],
)
def test_a_key_in_the_url_or_a_header_is_not_sent(url: str, headers: dict[str, str], place: str) -> None:
    """The error says where it is, and does not repeat it."""
    with pytest.raises(UsageError, match=rf"contains a private or view key; .* from {place}\b") as refused:
        Client(url, headers=headers)
    assert VIEW_KEY[9:] not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("blocks", lambda client: client.blocks(5, 6, wrong=3)),
        ("records", lambda client: client.records(wrong=["height"])),
        ("transactions", lambda client: client.transactions(672, wrong="id > 5")),
        ("address_transactions", lambda client: client.address_transactions(ADDRESS, wrong=3)),
        ("batches", lambda client: client.batches("records", wrong=3)),
        ("__init__", lambda _: Client("demo:", wrong=3)),  # type: ignore[call-arg]
    ],
)
def test_an_unknown_keyword_names_the_method(name: str, call: Callable[[Client], Any]) -> None:
    """A typing mistake is found when the method is called."""
    with Client("demo:") as client, pytest.raises(TypeError) as caught:
        call(client)
    assert str(caught.value).endswith(f"{name}() got an unexpected keyword argument 'wrong'")
