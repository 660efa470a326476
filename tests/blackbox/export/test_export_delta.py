"""chainq export --delta: the same files as Delta tables, whose versions are whole runs and never name another file."""

import json
from pathlib import Path

import pytest

from chainq.demo.chain import Chain
from harness.lake.fork import Fork
from harness.lake.lake import Lake, due
from harness.running.program import Program, Ran, Servers, one_line
from harness.running.truth import Truth
from harness.servers.services import Moving, fork_truth, serving

deltalake = pytest.importorskip("deltalake")
duckdb = pytest.importorskip("duckdb")


def export(chainq: Program, url: str, *words: str) -> Ran:
    """Run `chainq export --delta` into a folder of the test's own."""
    return chainq("export", *words, "--to", "lake", "-w", "2", "--delta", url=url)


class Table:
    """A Delta table as its readers see it."""

    def __init__(self, uri: Path | str, version: int | None = None, options: dict[str, str] | None = None) -> None:
        self.table = deltalake.DeltaTable(uri, version=version, storage_options=options)

    @property
    def starts(self) -> list[int]:
        """The partitions in it."""
        return sorted(int(one["start"]) for one in self.table.partitions())

    def heights(self) -> list[int]:
        """The heights of all rows, by reading every file."""
        found: list[int] = self.table.to_pyarrow_table(columns=["height"])["height"].to_pylist()
        return sorted(found)


def heights(truth: Truth, command: str, start: int, end: int) -> list[int]:
    """The heights of the rows of the service."""
    return sorted(int(json.loads(row)["height"]) for row in truth.rows(command, start, end))


def test_a_table_for_each_command(chainq: Program, server: Servers, truth: Truth, lake: Lake) -> None:
    """The rows, typed, with the column start; a run is one version, after one without rows; a rerun commits nothing."""
    url = server()
    ran = export(chainq, url, "records", "blocks", "full-blocks", "2400:2480", "--partition", "20")
    assert ran.code == 0, ran.err
    assert "12 committed to Delta tables" in ran.err
    for command in ("records", "blocks"):
        table = Table(lake.root / command)
        assert (table.table.version(), table.table.transaction_version("chainq")) == (1, 1)
        assert table.starts == [2400, 2420, 2440, 2460]
        assert table.heights() == heights(truth, command, 2400, 2480)
        counts = table.table.get_add_actions(flatten=True)["num_records"].to_pylist()
        assert sorted(counts) == sorted(one["rows"] for one in lake.receipts(command))
    assert Table(lake.root / "full-blocks").table.to_pyarrow_dataset().count_rows() == 80
    before = lake.files()
    ran = export(chainq, url, "records", "blocks", "full-blocks", "2400:2480")
    assert "Delta" not in ran.err
    assert lake.files() == before


def test_the_partition_that_grows_follows_when_it_is_full(chainq: Program, truth: Truth, lake: Lake) -> None:
    """Its file is replaced, so no version names it before. Tables that are there need no option."""
    service = Moving(2549)
    with serving(service) as url:
        for tip, starts, version in ((2549, [2500, 2520], 1), (2555, [2500, 2520], 1), (2575, [2500, 2520, 2540], 2)):
            service.tip = tip
            words = ("export", "records", "2500:", "--partition", "20", "--to", "lake")
            assert chainq(*words, *(["--delta"] if tip == 2549 else []), url=url).code == 0
            assert Table(lake.root / "records").starts == starts
            assert Table(lake.root / "records").table.version() == version
            assert Table(lake.root / "records").heights() == heights(truth, "records", 2500, starts[-1] + 20)
            assert Table(lake.root / "records", version=1).heights() == heights(truth, "records", 2500, 2540)
    found = duckdb.read_parquet(f"{lake.root}/records/*/*.parquet").aggregate("count(*)").fetchall()
    assert found == [(len(truth.rows("records", 2500, 2576)),)], "readers of the files see the tip as well"
    ran = chainq("sql", "lake", "select count(*) as n from records", "--jsonl")
    assert json.loads(ran.out) == {"n": found[0][0]}
    assert chainq("verify", "lake").code == 0


def test_a_reorg_takes_partitions_out_before_they_are_replaced(chainq: Program, lake: Lake) -> None:
    """One version is without the partitions that the fork touches, the next one has the new ones."""
    service, trunk = Moving(2749), Chain(tip=2749)
    truth = fork_truth(2450, 2749)
    words = ("records", "blocks", "2300:", "--partition", "100")
    with serving(service) as url:
        assert export(chainq, url, *words).code == 0
        service.swap(Fork(2450, trunk.tip))
        seen: set[str] = set()

        def fail(method: str) -> None:
            seen.add(method)
            if "records/all" in seen:
                raise ConnectionError

        service.hook = fail
        assert export(chainq, url, *words, "--retries", "0").code == 4
        check(lake, truth, "records", [2300], version=2)  # half a run is no version
        service.hook = lambda _: None
        assert export(chainq, url, *words).code == 0
    for command in ("records", "blocks"):
        check(lake, truth, command, [2300, 2400, 2500, 2600], version=3)
    assert lake.rows("records") == due(truth.rows("records", 2300, 2750))


def check(lake: Lake, truth: Truth, command: str, starts: list[int], *, version: int) -> None:
    """The last version of a table has these partitions with the rows of the service."""
    found = Table(lake.root / command)
    assert (found.starts, found.table.version()) == (starts, version)
    assert found.heights() == heights(truth, command, starts[0], starts[-1] + 100)


def test_partitions_that_were_there_before(chainq: Program, server: Servers, truth: Truth, lake: Lake) -> None:
    """--delta on a data set without tables commits the partitions of its range, and fetches nothing again."""
    words = ("records", "2400:2600", "--partition", "100")
    assert chainq("export", *words, "--to", "lake", url=server()).code == 0
    ran = export(chainq, server(), *words)
    assert "0 partitions written, 2 skipped" in ran.err
    assert "2 committed to Delta tables" in ran.err
    assert Table(lake.root / "records").heights() == heights(truth, "records", 2400, 2600)


def test_a_table_that_others_have_rewritten(chainq: Program, server: Servers, lake: Lake) -> None:
    """Files of other names hold rows of partitions: to add these again would double them. Nothing is changed."""
    words = ("records", "2400:2600", "--partition", "100")
    assert export(chainq, server(), *words).code == 0
    Table(lake.root / "records").table.delete("height < 2450")
    before = sorted(path for path in lake.root.rglob("*") if path.is_file())
    line = one_line(export(chainq, server(), "records", "2400:2700"), 2)
    assert " of lake has files that export did not write" in line
    assert sorted(path for path in lake.root.rglob("*") if path.is_file()) == before
