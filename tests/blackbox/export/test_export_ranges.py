"""The range of chainq export: what is to be written, with and without one, and what is said of it."""

import json
import shutil

import pytest

from harness.running.program import Program, Servers

pytest.importorskip("duckdb")


def test_without_a_range_an_export_of_the_whole_chain_begins_anew_where_it_was_to(
    chainq: Program, server: Servers
) -> None:
    """Its first partition is gone or was never finished: what was recorded at its beginning counts."""
    url, words = server("--tip", "399"), ("export", "blocks", "--to", "lake", "-w", "1")
    failed = chainq(*words, "0:", "--partition", "100", url=server("--tip", "399", "--fault", "missing-height:350"))
    assert failed.code == 6, failed.err
    shutil.rmtree(chainq.home / "lake/blocks/start=0000000000")
    assert [json.loads(row)["start"] for row in chainq(*words, "--dry-run", url=url).rows] == [0, 300]
