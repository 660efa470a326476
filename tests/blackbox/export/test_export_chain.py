"""chainq export chain: one read of full blocks fills all tables, each with receipts of its own."""

import json
from typing import Any

import pytest

from chainq.demo.chain import Chain
from harness.lake.chain_tables import TABLES, table_rows
from harness.lake.damages import changed_rows, rewrite
from harness.lake.exports import Exports
from harness.lake.fork import Fork
from harness.lake.lake import Lake
from harness.models.search import some
from harness.running.jobs import FIRST
from harness.running.kills import CHAIN, KILLS, kill_and_resume
from harness.running.program import Program, Ran, Servers
from harness.running.truth import Truth
from harness.servers.services import Moving, fork_truth, serving

END = FIRST + 50
WORDS = ("chain", f"{FIRST}:{END}", "--partition", "20")
STARTS = (2400, 2420, 2440)


def export(chainq: Program, url: str, *words: str) -> Ran:
    """Run `chainq export` into a folder of the test's own, with one worker."""
    return chainq("export", *words, "--to", "lake", "-w", "1", url=url)


def test_every_row_of_every_table(chainq: Program, server: Servers, truth: Truth, lake: Lake) -> None:
    """Each table has a file and a receipt for each partition, and holds what the full blocks hold."""
    ran = export(chainq, server(), *WORDS)
    assert ran.code == 0, ran.err
    assert "24 partitions written" in ran.err
    for table in TABLES:
        assert [lake.file(table, start).exists() for start in STARTS]
        assert lake.rows(table) == table_rows(truth, table, FIRST, END), table
        for one in lake.receipts(table):
            assert one["command"] == table
            assert one["first_hash"] == truth.chain.block_hash(one["start"])
            assert one["last_hash"] == truth.chain.block_hash(one["end"] - 1)
            assert one.get("source") == (None if table == "full-blocks" else "full-blocks")
    assert lake.stray == []
    assert sorted(json.loads((lake.root / "chainq.json").read_bytes())["tables"]) == sorted(TABLES)


@pytest.mark.parametrize("start", some([0, 80, 150], 80))
def test_blocks_of_older_eras(chainq: Program, server: Servers, truth: Truth, lake: Lake, start: int) -> None:
    """Fields that only some eras have, such as the signature of a beacon, and null in the place of lists, all come."""
    ran = export(chainq, server(), "chain", f"{start}:{start + 50}", "--partition", "50")
    assert (ran.code, "field" in ran.err) == (0, False), ran.err
    grid = start - start % 50
    for table in TABLES:
        assert lake.rows(table) == table_rows(truth, table, grid, start + 50), table


def test_it_takes_the_calls_of_full_blocks(chainq: Program, lake: Lake) -> None:
    """All tables cost the requests of full blocks alone, give or take three; a rerun at most three."""
    service = Moving(FIRST + 5000)
    with serving(service) as url:
        assert chainq("export", "full-blocks", *WORDS[1:], "--to", "alone", "-w", "1", url=url).code == 0
        alone = list(service.calls)
        service.calls.clear()
        assert export(chainq, url, *WORDS).code == 0
        assert abs(len(service.calls) - len(alone)) <= 3, (service.calls, alone)
        before = lake.files()
        service.calls.clear()
        assert export(chainq, url, *WORDS).code == 0
        assert len(service.calls) <= 3
        assert lake.files() == before


@pytest.mark.parametrize("tables", [["chain"], ["blocks", "full-blocks", "records", "ownership", "transitions"]])
def test_a_comparison_with_the_service_takes_no_more_calls_than_the_export(
    tables: list[str], chainq: Program, lake: Lake
) -> None:
    """verify --full reads what full blocks hold once for all tables, in requests as wide as those of the export."""
    service = Moving(FIRST + 5000)
    with serving(service) as url:
        assert export(chainq, url, *tables, *WORDS[1:]).code == 0
        written = len(service.calls)
        service.calls.clear()
        ran = chainq("verify", str(lake.root), "--full", url=url)
        assert (ran.code, len(service.calls) <= written) == (0, True), ran.err


def test_single_tables(chainq: Program, server: Servers, truth: Truth, lake: Lake) -> None:
    """A table can be exported by its name, beside commands of the service; each table is written once."""
    assert export(chainq, server(), "outputs", "calls", "blocks", *WORDS[1:]).code == 0
    assert {path.name for path in lake.root.iterdir() if path.is_dir()} == {"_new", "blocks", "calls", "outputs"}
    assert lake.rows("calls") == table_rows(truth, "calls", FIRST, END)
    assert lake.rows("blocks")[0]["id"], "by the method of their own, blocks have row ids"
    ran = export(chainq, server(), "records", *WORDS, "calls", "full-blocks")
    assert ran.code == 0, ran.err
    assert "18 partitions written, 9 skipped" in ran.err


def test_what_is_missing_is_written_again(
    chainq: Program, server: Servers, truth: Truth, lake: Lake, exports: Exports
) -> None:
    """A file of one table that is gone: that table alone, of these heights alone."""
    exports.copy("chain", lake.root)
    lake.file("inputs", 2400).unlink()
    lake.file("calls", 2420).unlink()
    lake.file("outputs", 2420).unlink()
    before = lake.files()
    ran = export(chainq, server(), *WORDS)
    assert "3 partitions written, 21 skipped" in ran.err
    after = lake.files()
    others = [path for path in before if path.parent.parent.name not in ("inputs", "calls", "outputs")]
    assert all(after[path] == before[path] for path in others if path.suffix == ".parquet")
    for table in TABLES:
        assert lake.rows(table) == table_rows(truth, table, FIRST, END)
    assert chainq("verify", "lake").code == 0


def test_the_last_partition_grows_and_a_reorg_replaces(chainq: Program, lake: Lake) -> None:
    """Every table follows the tip, and the fork; partitions below it stay."""
    service, trunk = Moving(2435), Chain(tip=2449)
    with serving(service) as url:
        assert export(chainq, url, "chain", "2380:", "--partition", "20").code == 0
        service.tip = 2449
        assert export(chainq, url, "chain", "2380:").code == 0
        for table in TABLES:
            assert [one["end"] for one in lake.receipts(table)] == [2400, 2420, 2440, 2450]
        untouched = lake.file("inputs", 2380).stat().st_mtime_ns
        service.swap(Fork(2410, trunk.tip))
        ran = export(chainq, url, "chain", "2380:")
        assert ran.code == 0, ran.err
        assert "reorg: 24 partitions to replace" in ran.err
    for table in TABLES:
        assert lake.rows(table) == table_rows(fork_truth(2410, 2449), table, 2380, 2450)
    assert lake.file("inputs", 2380).stat().st_mtime_ns == untouched


@pytest.mark.parametrize("seed", range(KILLS))
@pytest.mark.search
def test_kills_at_random_moments(chainq: Program, truth: Truth, lake: Lake, seed: int) -> None:
    """Between any two files and receipts of a read: what can be seen is whole, and the next run completes it."""
    kill_and_resume(chainq, truth, seed, "lake", lake, exported=CHAIN)
    assert lake.stray == []


def test_verify_with_the_service(chainq: Program, server: Servers, exports: Exports) -> None:
    """All tables are compared with the full blocks of the service; another block is one finding."""
    lake = str(exports("chain"))
    ran = chainq("verify", lake, "--full", url=server())
    assert ran.code == 0, ran.err
    assert " with the service\n" in ran.err
    with serving(Moving(2449, Fork(2440, 2449))) as url:
        ran = chainq("verify", lake, "--full", "--jsonl", url=url)
    assert ran.code == 6
    assert {one["command"] for one in map(json.loads, ran.rows)} == {"full-blocks"}, "all of another block differs"


@pytest.mark.parametrize(
    ("table", "column", "told"),
    [
        pytest.param("outputs", "type", {("outputs", "altered")}, marks=pytest.mark.search),
        ("calls", "transaction_id", {("calls", "altered")}),
        pytest.param(
            "calls", "transition_id", {("calls", "missing"), ("calls", "unexpected")}, marks=pytest.mark.search
        ),
    ],
)
def test_verify_compares_lists_with_the_chain(
    chainq: Program, server: Servers, lake: Lake, table: str, column: str, told: set[tuple[str, str]]
) -> None:
    """Records and transitions must be the outputs and calls of the full blocks, although receipts agree with both."""
    assert export(chainq, server(), "records", "ownership", "transitions", *WORDS).code == 0
    ran = chainq("verify", "lake")
    assert ran.code == 0, ran.err
    other = {"type": "public", "transaction_id": "at1other", "transition_id": "au1other"}[column]
    named = {row["transition_id"] for row in lake.rows("transitions")} & {
        row["transition_id"] for row in lake.rows("records")
    }

    def forge(rows: list[dict[str, Any]]) -> None:
        outputs = (row for row in rows if row["transition_id"] in named and row.get("type") in (None, "record"))
        next(outputs)[column] = other

    rewrite(lake.root, table, 2420, changed_rows(forge), forged=False)
    ran = chainq("verify", "lake", "--jsonl")
    assert ran.code == 6
    assert told <= {(one["command"], one["check"]) for one in map(json.loads, ran.rows)}
