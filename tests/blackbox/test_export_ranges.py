"""The range of chainq export: what is to be written, with and without one, and what is said of it."""

import json
import shutil

import pytest

from harness.lake import Lake, export
from harness.program import Program, Servers
from harness.services import Moving, serving

pytest.importorskip("duckdb")


def test_without_a_range_an_export_of_the_whole_chain_begins_anew_where_it_was_to(
    chainq: Program, server: Servers
) -> None:
    """Its first partition is gone or was never finished: what was recorded at its beginning counts."""
    url, words = server("--tip", "399"), ("export", "blocks", "--to", "lake", "-w", "1")
    failed = chainq(*words, "0:", "--partition", "100", url=server("--tip", "399", "--fault", "missing-height:350"))
    assert failed.code == 6, failed.err
    lake = chainq.home / "lake"
    shutil.rmtree(lake / "blocks/start=000000000")
    for receipt in (lake / "_chainq/receipts/blocks").glob("000000000-*"):
        receipt.unlink()
    assert [json.loads(row)["start"] for row in chainq(*words, "--dry-run", url=url).rows] == [0, 300]


def test_a_repair_that_fails_says_what_is_left(chainq: Program, lake: Lake) -> None:
    """The same command would begin again with what it has repaired."""
    service = Moving(400)
    with serving(service) as url:
        words = ("records", "100:300", "--partition", "50", "-w", "1", "--retries", "0")
        assert export(chainq, url, *words).code == 0
        before = {path: path.stat().st_ino for path in lake.files() if path.suffix == ".parquet"}

        def fail(_: str) -> None:
            if sum(path.exists() and path.stat().st_ino != inode for path, inode in before.items()) >= 2:
                raise ConnectionError

        service.hook = fail
        ran = export(chainq, url, *words, "--repair", "all")
    assert ran.code != 0
    said = "2 of 4 partitions written; the same command would repair these again; the rest is heights 200-299"
    assert said in ran.err
