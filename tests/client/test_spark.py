"""The format `chainq` of Spark: the rows of the command line, or a failed task."""

from collections.abc import Iterator

import pytest

from chainq.demo.fork import Fork
from harness.chain_tables import table_rows
from harness.lake import due
from harness.program import DIALECT, Program, Servers
from harness.services import Moving, serving
from harness.spark import Spark, SparkError, need_spark, started
from harness.truth import Truth

need_spark()
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")  # pyspark's, of pandas

from chainq.client.spark import SparkSource  # noqa: E402


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    """One Spark for all tests."""
    with started(tmp_path_factory.mktemp("spark")) as running:
        yield running


def reading(table: str, url: str, start: int, end: int, more: str = "") -> str:
    """The expression of a frame in four parts."""
    return f"read({table!r}, url={url!r}, dialect={DIALECT!r}, start={start}, end={end}, **dict(partitions=4, {more}))"


def ordered(rows: list[dict[str, str]]) -> list[str]:
    """Rows in an order of their own, for those without heights."""
    return sorted(str(sorted(row.items())) for row in rows)


@pytest.mark.parametrize("table", ["blocks", "records", "transitions", "full-blocks", "ownership"])
def test_rows_are_those_of_the_command(spark: Spark, chainq: Program, server: Servers, table: str) -> None:
    """A range in several parts has the rows of one run, each once, in its order, with all digits."""
    url = server("--row-cap", "50", "--no-pages")
    frame = reading(table, url, 2400, 2480)
    ran = chainq(table, "2400:2480", "--jsonl", url=url)
    rows = spark.rows(frame)
    assert rows == due(ran.rows) if table != "ownership" else ordered(rows) == ordered(due(ran.rows))
    assert spark(f"({frame}).rdd.getNumPartitions()") == 4
    assert spark(f"({frame}).count()") == len(ran.rows) > 0


def test_columns_and_types_are_those_of_exported_files(spark: Spark, chainq: Program, server: Servers) -> None:
    """Spark finds the same columns and types in the files of an export."""
    url = server()
    tables = ("blocks", "full-blocks", "records")
    assert chainq("export", *tables, "2400:2500", "--to", "lake", "--partition", "100", url=url).code == 0
    for table in tables:
        files = f"spark.read.parquet({str(chainq.home / 'lake' / table)!r}).drop('start')"
        assert spark(f"{files}.dtypes") == spark(f"{reading(table, url, 2400, 2500)}.dtypes")
        assert spark.rows(files) == spark.rows(reading(table, url, 2400, 2500))


def test_tables_of_full_blocks(spark: Spark, server: Servers, truth: Truth) -> None:
    """The tables that only full blocks fill are read off them, amounts of 128 bits included."""
    for table in ("calls", "outputs"):
        assert spark.rows(reading(table, server(), 2400, 2420)) == table_rows(truth, table, 2400, 2420)


def test_an_export_is_read_without_a_network(spark: Spark, chainq: Program, server: Servers, truth: Truth) -> None:
    """A folder in the place of the URL, also for a table that the service would not have; what it lacks is an error."""
    words = ("export", "chain", "--no-full-blocks", "2400:2450", "--to", "lake", "--partition", "25")
    assert chainq(*words, url=server()).code == 0
    lake = str(chainq.home / "lake")
    for table in ("blocks", "outputs"):
        assert spark.rows(reading(table, lake, 2410, 2440)) == table_rows(truth, table, 2410, 2440)
    with pytest.raises(SparkError, match=r"IncompleteError: .* no whole partition of outputs for heights 23"):
        spark(f"{reading('outputs', lake, 2300, 2440)}.count()")


def test_rows_that_are_not_proved_fail_the_job(spark: Spark, server: Servers) -> None:
    """A server that leaves out a block or repeats rows ends the job with the error of the command line."""
    with pytest.raises(SparkError, match=r"IncompleteError: .*missing height 2455"):
        spark(f"{reading('blocks', server('--missing-height', '2455'), 2400, 2500)}.count()")
    with pytest.raises(SparkError, match=r"IncompleteError: .*a row appears twice in one response"):
        spark(f"{reading('records', server('--duplicate-rate', '0.3'), 2400, 2500)}.count()")


def test_parts_are_of_one_chain(spark: Spark) -> None:
    """After a reorg between the plan and the tasks, all of whose blocks are linked, the job fails."""
    service = Moving(9000)
    trunk, fork = service.chain, Fork(service.chain, 2440)
    service.hook = lambda method: service.swap(fork) if method in ("getBlocks", "blocks") else None
    with serving(service) as url:
        frame = f"read('blocks', url={url!r}, dialect='chain', start=2400, end=2500, partitions=2)"
        with pytest.raises(SparkError, match=r"IncompleteError: block 2449 was ab1.* and is ab1.* now"):
            spark(f"{frame}.count()")
        service.hook = lambda _: None
        service.swap(trunk)
        assert spark(f"{frame}.count()") == 100


def test_no_secret_is_shown(spark: Spark, nowhere: str) -> None:
    """Neither plans nor errors nor logs have the headers, or what is secret in a URL."""
    url = nowhere.replace("://", "://anna:geheim1@") + "?key=geheim2"
    headers = """headers='{"X-Key": "geheim3"}', retries=0"""
    frame = reading("blocks", url, 0, 10, headers)
    with pytest.raises(SparkError) as raised:
        spark(f"{frame}.count()")
    assert "http://***@127.0.0.1" in str(raised.value)
    assert spark(f"{reading('blocks', 'demo:', 0, 10, headers)}.count()") == 10
    shown = [str(raised.value), spark(f"plan({frame.replace(url, 'demo:')})"), spark.logs]
    for wrong in ("strict='geheim4'", "headers='geheim4'", 'headers=\'{"X Y": "geheim4"}\'', "nonsense='geheim4'"):
        with pytest.raises(SparkError, match="UsageError: ") as raised:
            spark(f"{reading('blocks', 'demo:', 0, 10, wrong)}.count()")
        shown.append(str(raised.value))
    assert "BatchScan chainq" in shown[1]
    assert [text for text in shown if "geheim" in text] == []


def test_usage(spark: Spark) -> None:
    """What is wrong with options is said when the frame is made, or when it is planned; columns can be chosen."""
    for frame, words in (
        ("read(None, url='demo:')", "no table; the tables are blocks, "),
        ("read('block', url='demo:')", "unknown table 'block'; the tables are blocks, "),
        ("read('blocks', url='demo:', strat=3)", "unknown option 'strat'; the options are table, "),
        ("read('blocks', url='demo:', partitions=0)", "invalid partitions 0: expected an int from 1 to "),
        ("read('blocks', url='demo:', start='x').count()", "invalid height 'x': expected a whole number such as "),
        ("read('blocks', url='demo:', last=5, end=7).count()", "last cannot be combined with start, end, "),
    ):
        with pytest.raises(SparkError) as raised:
            spark(frame)
        assert f"UsageError: {words}" in str(raised.value)
    chosen = "spark.read.format('chainq').schema('timestamp timestamp, height long').options(url='demo:', last=3)"
    assert [int(row["height"]) for row in spark.rows(f"{chosen}.load('full_blocks'[5:])")] == [
        2999998,
        2999999,
        3000000,
    ]
    assert spark("read('blocks', url='demo:', start='12K', end='12_010').count()") == 10
    assert spark("read('blocks', url='demo:', start='-5', end='latest').count()") == 5
    assert spark("read('blocks', url='demo:', start=5, end=5).count()") == 0


@pytest.mark.parametrize(("options", "parts"), [({"partitions": "7"}, 7), ({}, 3), ({"end": "100000"}, 4)])
def test_parts_share_what_is_allowed(options: dict[str, str], parts: int) -> None:
    """The rate, the requests at a time and the memory of all parts together are those of the options."""
    given = {"path": "records", "url": "demo:", "start": "0", "end": "2500", "rate": "14", "concurrency": "4"}
    found = SparkSource({**given, "lake": "", **options}).reader(None).partitions()
    assert len(found) == parts
    shares = [part.access.service for part in found]
    assert sum(share.rate or 0 for share in shares) == pytest.approx(14)
    assert sum(share.max_memory for share in shares) <= 2**30
    assert all(share.concurrency == 1 for share in shares if parts >= 4)
    assert [part.heights.start for part in found[1:]] == [part.heights.end for part in found[:-1]]
