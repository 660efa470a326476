"""What one thread freed is used by others: the C library is told once, and only where nobody else decides it."""

import ctypes
from types import SimpleNamespace

import pytest

from chainq.cli.report import LARGE, Reporter
from chainq.process import arenas
from chainq.transport.base import Report


def test_a_large_response_has_threads_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the first one, and not before: loading ctypes takes time. MALLOC_ARENA_MAX has the last word."""
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace(mallopt=lambda *words: told.append(words)))
    for setting, sizes, due in (("4", [LARGE], []), ("", [LARGE - 1], []), ("", [LARGE, LARGE], [(-8, 2)])):
        arenas.share_arenas.cache_clear()
        monkeypatch.setattr("os.environ", {"MALLOC_ARENA_MAX": setting} if setting else {})
        for size in sizes:
            Reporter().call(Report("records/all", "", size, 0.1, 1, "ok", rows=3))
        assert told == due
    arenas.share_arenas.cache_clear()
