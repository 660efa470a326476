"""Secrets are masked in URLs."""

import pytest

from chainq.text.sanitize import mask_url


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://host/v2/0123456789abcdef0123456789abcdef", "https://host/v2/***"),
        ("https://host/6f1c2d3e-0000-4000-8000-000000000000/rpc", "https://host/***/rpc"),
        ("https://host/api/v2/mainnet", "https://host/api/v2/mainnet"),
        ("https://host/json-rpc/v1.2/testnet3/testnetbeta/", "https://host/json-rpc/v1.2/testnet3/testnetbeta/"),
        ("https://host/v1/hunter2", "https://host/v1/***"),
        ("https://host/k3y/rpc", "https://host/***/rpc"),
        ("https://host/SECRET/rpc", "https://host/***/rpc"),
        ("https://host/qwertzuiop", "https://host/***"),
        ("https://host/abcd-efgh-ijkl-mnop", "https://host/***"),
        ("https://host/v1/12345678", "https://host/v1/***"),
        ("https://host/8453/401", "https://host/8453/401"),
        ("https://host/api%2Fsecret", "https://host/***"),
        ("https://host/rpc-a1b2c3", "https://host/***"),
        ("https://host/rpc/\u0440\u0440\u0441", "https://host/rpc/***"),
        ("https://me:hunter2@host:1/?key=x=y&b", "https://***@host:1/?key=***&***"),
        ("https://host/rpc;token=hunter2/x", "https://host/rpc;***/x"),
        ("http://me:hunter2@[bad/v1?k=x", "***@"),
        ("http://[bad/v1?k=x", "***"),
        ("https://me:hunter2@host]/x", "***@host"),
        ("me:hunter2@host:1?k=x", "***@host:1"),
        ("localhost:8545", "localhost:8545"),
        ("127.0.0.1:8545/rpc", "127.0.0.1:8545/rpc"),
        ("example.org/rpc", "example.org/rpc"),
        ("nohost.invalid", "nohost.invalid"),
        ("nohost.invalid/v1/hunter2", "nohost.invalid/v1/***"),
        ("https://host/v1/transactions", "https://host/v1/transactions"),
        ("folder/Sub", "folder/Sub"),
        ("folder/SUB", "***/***"),
        ("qwertzuiopasdfgh", "***"),
        ("hunter2", "***"),
        ("eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl", "***"),
        ("./Exports/My-Chain", "./Exports/My-Chain"),
        ("/srv/Chain 2024/lake", "/srv/Chain 2024/lake"),
        ("~/Exports", "~/Exports"),
        ("//host.example/Key12345", "//host.example/***"),
        ("/login:pass@host/x", "***@host"),
    ],
)
def test_a_url_is_shown_without_what_may_be_secret(url: str, shown: str) -> None:
    """User names, passwords, query values, and what looks like a key in the path are masked."""
    assert mask_url(url) == shown
