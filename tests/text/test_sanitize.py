"""Secrets are masked in URLs."""

import pytest

from chainq.text.sanitize import mask_url


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
    """User names, passwords, query values, and what looks like a key in the path are masked."""
    assert mask_url(url) == shown
