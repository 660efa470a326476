"""What one thread freed is used by others: the C library is told once, and only where nobody else decides it."""

import ctypes
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from chainq.cli.report import LARGE as LEAST
from chainq.cli.report import Reporter
from chainq.process import arenas
from chainq.transport.base import Report

SMALL = Report("records/all", "", LEAST - 1, 0.1, 1, "ok", rows=3)
LARGE = SMALL._replace(size=LEAST)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[int, int]]]:
    """What the C library is told."""
    found: list[tuple[int, int]] = []
    library = SimpleNamespace(mallopt=lambda *words: found.append(words))
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    arenas.share_arenas.cache_clear()
    yield found
    arenas.share_arenas.cache_clear()


def test_a_large_response_has_threads_share(told: list[tuple[int, int]]) -> None:
    """At the first one, and not before: loading ctypes takes time."""
    reporter = Reporter()
    reporter.call(SMALL)
    assert told == []
    reporter.call(LARGE)
    reporter.call(LARGE)
    assert told == [(-8, 2)]


def test_the_environment_has_the_last_word(told: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    """With MALLOC_ARENA_MAX nothing is changed, and a C library without arenas is no error."""
    monkeypatch.setenv("MALLOC_ARENA_MAX", "4")
    Reporter().call(LARGE)
    assert told == []
    monkeypatch.delenv("MALLOC_ARENA_MAX")
    arenas.share_arenas.cache_clear()
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace())
    Reporter().call(LARGE)
