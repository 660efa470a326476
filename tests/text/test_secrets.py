"""Secrets that were sent are masked in what a server says: as sent, in base64 and percent-encoded."""

import base64
import html
import json
from urllib.parse import quote, quote_plus

import pytest

from chainq.text import sanitize
from chainq.text.sanitize import excerpt, keep_secret, mask_sent

SENT = """Bearer hunter2/+=&"<it's> \\ ende"""
ENCODED = {
    "as sent": SENT,
    "JSON": json.dumps(SENT)[1:-1],
    "JSON with slashes escaped": json.dumps(SENT)[1:-1].replace("/", "\\/"),
    "JSON in JSON": json.dumps(json.dumps(SENT)[1:-1])[1:-1],
    "JSON by numbers": "".join(c if c.isalnum() else f"\\u{ord(c):04X}" for c in SENT),
    "URL": quote(SENT, safe=""),
    "form": quote_plus(SENT),
    "lower-case URL": "".join(c if c.isalnum() else f"%{ord(c):02x}" for c in SENT),
    "URL with all characters encoded": "".join(f"%{octet:02x}" for octet in SENT.encode()),
    "HTML": html.escape(SENT),
    "HTML by numbers": "".join(c if c.isalnum() else f"&#{ord(c):03};" for c in SENT),
    "HTML in HTML": html.escape(html.escape(SENT)).replace("&amp;#x27;", "&#39;"),
    "base64": base64.b64encode(SENT.encode()).decode(),
    "base64 of URLs": base64.urlsafe_b64encode(SENT.encode()).decode().rstrip("="),
}


@pytest.fixture(autouse=True)
def nothing_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """No secrets of other tests."""
    monkeypatch.setattr(sanitize, "_sent", {})


@pytest.mark.parametrize("encoding", list(ENCODED))
def test_a_header_is_masked_in_these_encodings(encoding: str) -> None:
    """Nothing of it is left, and all around it."""
    keep_secret("http://127.0.0.1:8545/", {"X-Key": SENT})
    assert mask_sent(f"before ({ENCODED[encoding]}) after") == "before (***) after"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Cannot POST /v1/k3y-of-mine?token=abc%2Bdef", "Cannot POST /v1/***?token=***"),
        ("token abc+def", "token ***"),
        ("user someone, password hunter/3", "user ***, password ***"),
        ("authorization: Basic c29tZW9uZTpodW50ZXIvMw==", "authorization: Basic ***"),
        ("someone:hunter%2F3@127.0.0.1", "***@127.0.0.1"),
        ("no one knows someones name, nor api v1", "no one knows someones name, nor api v1"),
    ],
)
def test_what_a_url_holds_is_masked(text: str, shown: str) -> None:
    """User name, password, keys in the path and in the query, but no words of such paths, and no part of a word."""
    keep_secret("https://someone:hunter%2F3@127.0.0.1/v1/k3y-of-mine?token=abc%2Bdef", {})
    assert mask_sent(text) == shown


def test_credentials_are_known_in_clear_and_encoded() -> None:
    """Basic authentication by a header: the server decodes it, and may repeat that."""
    keep_secret("http://127.0.0.1/", {"Authorization": "Basic c29tZW9uZTpodW50ZXIvMw=="})
    said = "denied: c29tZW9uZTpodW50ZXIvMw== is someone with hunter/3"
    assert mask_sent(said) == "denied: *** is *** with ***"


def test_parts_of_a_header() -> None:
    """A token without its scheme, and each of several cookies."""
    keep_secret("http://127.0.0.1/", {"Authorization": "Bearer abcdefgh.1234", "Cookie": "sid=0123456789; lang=en"})
    assert mask_sent("token abcdefgh.1234, cookie 0123456789, lang=en") == "token ***, cookie ***, lang=en"


def test_headers_that_are_no_secret() -> None:
    """What a header accepts, a word and a digit are not masked: messages would be unreadable."""
    keep_secret("http://127.0.0.1/rpc/v1", {"Accept": "application/json", "X-Network": "mainnet", "X-Version": "2"})
    said = "expected application/json of mainnet, version 2"
    assert mask_sent(said) == said


def test_an_excerpt_masks_before_it_abbreviates() -> None:
    """Half of a secret would not be known any more."""
    keep_secret("http://127.0.0.1/", {"X-Key": "0123456789" * 20})
    shown = excerpt(f"a{'.' * 50}{'0123456789' * 20}{'.' * 50}z", 40)
    assert "0123" not in shown
    assert len(shown) == 40


def test_text_that_is_made_to_be_slow() -> None:
    """Searching takes no longer for backslashes and zeros without end."""
    keep_secret("http://127.0.0.1/", {"X-Key": "-=-=-=-=-="})
    for piece in ("\\", "&#0", "&amp;", "-=", "%2d"):
        assert mask_sent(piece * 20_000)


def test_only_so_many_requests_are_remembered() -> None:
    """A process that makes clients without end must not become slower without end."""
    for number in range(1000):
        keep_secret("http://127.0.0.1/", {"X-Key": f"hunter-{number:04}"})
    assert mask_sent("hunter-0999 hunter-0000") == "*** hunter-0000"
    assert len(sanitize._sent) == 64
