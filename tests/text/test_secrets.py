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
    monkeypatch.setattr(sanitize, "_sent", set())


URL = "https://someone:hunter%2F3@127.0.0.1/v1/k3y-of-mine?token=abc%2Bdef"
CREDENTIALS = "c29tZW9uZTpodW50ZXIvMw=="  # someone:hunter/3
PLAIN = {"Accept": "application/json", "X-Network": "mainnet", "X-Version": "2"}


@pytest.mark.parametrize(
    ("url", "headers", "said", "shown"),
    [
        *(("http://h/", {"X-Key": SENT}, f"before ({text}) after", "before (***) after") for text in ENCODED.values()),
        (URL, {}, "Cannot POST /v1/k3y-of-mine?token=abc%2Bdef", "Cannot POST /v1/***?token=***"),
        (URL, {}, "token abc+def", "token ***"),
        (URL, {}, "user someone, password hunter/3", "user ***, password ***"),
        (URL, {}, f"authorization: Basic {CREDENTIALS}", "authorization: Basic ***"),
        (URL, {}, "someone:hunter%2F3@127.0.0.1", "***@127.0.0.1"),
        (URL, {}, "no one knows someones name, nor api v1", "no one knows someones name, nor api v1"),
        (
            "http://h/",
            {"Authorization": f"Basic {CREDENTIALS}"},
            f"{CREDENTIALS} is unknown",
            "***== is unknown",
        ),
        ("http://h/", {"Authorization": "Bearer abcdefgh.1234"}, "token abcdefgh.1234", "token ***"),
        ("http://h/", {"Cookie": "sid=0123456789; lang=en"}, "0123456789, lang=en", "***, lang=en"),
        ("http://h/rpc/v1", PLAIN, "application/json of mainnet, version 2", "application/json of mainnet, version 2"),
    ],
)
def test_what_was_sent_is_masked(url: str, headers: dict[str, str], said: str, shown: str) -> None:
    """A header in any encoding, a token without its scheme, each of several cookies.

    Of a URL user name, password, keys in the path and in the query, but no words of such paths, and no part of a word;
    nor what a header accepts, a word or a digit: messages would be unreadable.
    """
    keep_secret(url, headers)
    assert mask_sent(said) == shown


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
