"""Remembering which dialect a server speaks."""

import fcntl
import json
import os
from pathlib import Path

import pytest

from chainq.catalog.dialects import DIALECTS
from chainq.catalog.methods import BY_NAME
from chainq.config import dialect_cache
from chainq.demo.chain import Chain
from chainq.demo.service import SampleService
from chainq.fetching.service import Service
from chainq.options import ServiceOptions
from harness.servers.services import serving


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that remembers, in a folder of the test's own; not there yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "chainq" / "dialects.json"


def test_another_run_that_writes_it_is_no_error(cache: Path) -> None:
    """Runs that begin at once, as in a pipe, may meet in the file: what one cannot store, it does without."""
    url = "http://127.0.0.1:9/"
    dialect_cache.remember(url, "aleo")
    with cache.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        dialect_cache.remember(url, "chain")
    assert dialect_cache.remembered(url) == "aleo"


def test_the_file_holds_nothing_of_a_url(cache: Path) -> None:
    """What was found is remembered for each URL, by a hash of it."""
    urls = ["https://u:geheim@h.example/t0ken?key=s3cret", "https://h.example/other"]
    for url, name in zip(urls, DIALECTS, strict=True):
        dialect_cache.remember(url, name)
    assert [dialect_cache.remembered(url) for url in urls] == list(DIALECTS)
    text = cache.read_text()
    assert not any(part in text for part in ("geheim", "example", "t0ken", "s3cret", "http"))
    assert sorted(json.loads(text).values()) == ["aleo", "chain"]
    assert os.listdir(cache.parent) == [cache.name]  # noqa: PTH208  # names are enough


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b'{"k": 7}', b"\xff", b"[" * 100_000, b'{"KEY": "latin"}']
)
def test_a_corrupt_memory_is_ignored_and_mended(cache: Path, content: bytes) -> None:
    """A file that makes no sense costs the calls again, and is whole afterwards."""
    url = "http://h/"
    dialect_cache.remember(url, "aleo")
    key = next(iter(json.loads(cache.read_text())))
    cache.write_bytes(content.replace(b"KEY", key.encode()))
    assert dialect_cache.remembered(url) is None
    dialect_cache.remember(url, "chain")
    assert dialect_cache.remembered(url) == "chain"


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing can be remembered the dialect is found all the same."""
    (tmp_path / "file").write_text("")
    for name, folder in (("XDG_CACHE_HOME", tmp_path / "file"), ("HOME", tmp_path / "file")):
        monkeypatch.setenv("XDG_CACHE_HOME", "relative")
        monkeypatch.setenv(name, str(folder))
        with serving(SampleService(Chain(tip=5), dialect="aleo")) as url, Service(ServiceOptions(url)) as service:
            assert service.dialect.of(BY_NAME["getBlocks"]).name == "aleo"
            assert dialect_cache.remembered(url) is None


def test_a_password_is_not_hashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same server with another one is known; in ~/.cache without XDG_CACHE_HOME."""
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    dialect_cache.remember("http://a:b@i/x", "aleo")
    urls = ("http://i/y", "http://c:d@i/x")
    assert [dialect_cache.remembered(url) for url in urls] == [None, "aleo"]
    assert (tmp_path / ".cache" / "chainq" / "dialects.json").exists()
