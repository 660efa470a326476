"""Secrets are masked in URLs."""

from collections.abc import Callable
from pathlib import Path

from chainq.text.sanitize import mask_url

URLS = Path(__file__).parent / "urls.txt"


def test_a_url_is_shown_without_what_may_be_secret(golden: Callable[[Path, str], None]) -> None:
    """User names, passwords, query values, and what looks like a key in the path are masked."""
    urls = [line.partition(" -> ")[0] for line in URLS.read_text().splitlines()]
    golden(URLS, "".join(f"{url} -> {mask_url(url)}\n" for url in urls))
