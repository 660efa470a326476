"""chainq export into an object store: the same data set, and stores that fail."""

import threading
from collections import Counter
from collections.abc import Iterator

import pytest

from harness.lake.buckets import Bucket, Request, proxied, storing
from harness.lake.chain_tables import TABLES, table_rows
from harness.lake.lake import due
from harness.running.jobs import FIRST
from harness.running.kills import KILLS, kill_and_resume
from harness.running.program import Program, Ran, Servers, finish, one_line
from harness.running.truth import Truth
from harness.servers.services import Moving, serving

pytest.importorskip("obstore")
END = FIRST + 40
WORDS = ("records", f"{FIRST}:{END}", "--partition", "20")


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """The endpoint of an S3."""
    with storing() as endpoint:
        yield endpoint


@pytest.fixture
def bucket(s3: str) -> Bucket:
    """A bucket of the test's own."""
    return Bucket(s3)


def export(chainq: Program, url: str, to: Bucket, *words: str, endpoint: str | None = None) -> Ran:
    """Run `chainq export` into a bucket, with one worker."""
    return chainq("export", *words, "--to", to.url, "-w", "1", "-q", url=url, env=to.environment(endpoint))


def test_the_same_data_set_as_in_a_folder(chainq: Program, bucket: Bucket, truth: Truth) -> None:
    """Rows and names; a rerun makes three calls and writes nothing; no secrets are kept."""
    service = Moving(FIRST + 5000)
    with serving(service) as url:
        ran = export(chainq, url, bucket, *WORDS, "blocks")
        assert ran.code == 0, ran.err
        folders = [name.rpartition("/")[0] for name in bucket.names("records/")]
        assert folders == [f"records/start=000000{start}" for start in (2400, 2420)]
        for command in ("records", "blocks"):
            assert bucket.rows(command) == due(truth.rows(command, FIRST, END))
        assert bucket.uploads == []
        service.calls.clear()
        writes: list[str] = []

        def watch(request: Request) -> None:
            if request.method == "PUT":
                writes.append(request.path)

        with proxied(bucket.endpoint, watch) as endpoint:
            assert export(chainq, url, bucket, *WORDS, "blocks", endpoint=endpoint).code == 0
        assert len(service.calls) <= 3
        assert writes == []
    assert not any(b"open-sesame" in bucket.read(name) for name in bucket.names())


def test_the_current_folder_is_not_around_a_bucket(chainq: Program, bucket: Bucket) -> None:
    """An export may be sent to a bucket from within a folder that is one."""
    (chainq.home / "chainq.json").write_text("{}")
    ran = export(chainq, "demo:", bucket, "blocks", "0:3")
    assert ran.code == 0, ran.err


def test_all_tables_of_one_read(chainq: Program, bucket: Bucket, server: Servers, truth: Truth) -> None:
    """Each table has its objects; sql and verify read them there."""
    ran = export(chainq, server(), bucket, "chain", *WORDS[1:])
    assert ran.code == 0, ran.err
    for table in TABLES:
        assert bucket.rows(table) == table_rows(truth, table, FIRST, END)
        assert len(bucket.names(f"{table}/")) == 2
    ran = chainq("sql", bucket.url, "select count(*) as n from inputs", "--jsonl", env=bucket.environment())
    assert ran.rows == [b'{"n":%d}' % len(table_rows(truth, "inputs", FIRST, END))], ran.err
    ran = chainq("verify", bucket.url, env=bucket.environment())
    assert ran.code == 0, ran.err


def test_commands_read_a_bucket(chainq: Program, bucket: Bucket, server: Servers) -> None:
    """--url s3://… gives the rows of the service."""
    assert export(chainq, server(), bucket, *WORDS, "blocks").code == 0
    for words in (("records", "2410:2430"), ("block", "2430")):
        ran = chainq(*words, "--jsonl", url=bucket.url, env=bucket.environment())
        assert ran.code == 0, ran.err
        assert ran.out == chainq(*words, "--jsonl", url=server()).out


@pytest.mark.search
def test_exports_at_once(chainq: Program, bucket: Bucket, server: Servers, truth: Truth) -> None:
    """Some of the same heights, some of others: all rows are there once, whichever ended first."""
    url, env, starts = server(), bucket.environment(), [*range(FIRST, FIRST + 80, 20), FIRST]
    runs = [
        chainq.start(
            *("export", "records", f"{start}:{start + 20}", "--partition", "20"),
            *("--to", bucket.url, "-w", "1", "-q"),
            url=url,
            env=env,
        )
        for start in starts
    ]
    for ran in map(finish, runs):
        assert ran.code == 0, ran.err
    assert bucket.rows("records") == due(truth.rows("records", FIRST, FIRST + 80))


@pytest.mark.parametrize("lost", [1, 2])
def test_a_store_whose_responses_are_lost(
    chainq: Program, bucket: Bucket, server: Servers, truth: Truth, lost: int
) -> None:
    """Of the writes of each object, that one is done and its response lost: the repetition meets what was written."""
    lock, written = threading.Lock(), Counter[str]()

    def lose(request: Request) -> bool:
        if request.method != "PUT":
            return False
        with lock:
            written[request.path] += 1
            return written[request.path] == lost

    with proxied(bucket.endpoint, lambda _: None, lose) as endpoint:
        ran = export(chainq, server(), bucket, *WORDS, endpoint=endpoint)
    assert ran.code == 0, ran.err
    assert len(written) == 3
    assert bucket.rows("records") == due(truth.rows("records", FIRST, END))


@pytest.mark.parametrize("seed", range(KILLS))
@pytest.mark.search
def test_kills_at_random_moments(chainq: Program, bucket: Bucket, truth: Truth, seed: int) -> None:
    """As in a folder; no half upload is data."""
    kill_and_resume(chainq, truth, seed, bucket.url, bucket, env=bucket.environment())


@pytest.mark.parametrize("what", ["records", "chainq.json"])
def test_a_store_that_refuses_to_write(
    chainq: Program, bucket: Bucket, server: Servers, truth: Truth, what: str
) -> None:
    """403 is exit 7 and says so; the next run finds all that is missing."""

    def refuse(request: Request) -> int | None:
        return 403 if request.method == "PUT" and what in request.path else None

    with proxied(bucket.endpoint, refuse) as endpoint:
        line = one_line(export(chainq, server(), bucket, *WORDS, endpoint=endpoint), 7)
    assert f"cannot write {bucket.url}: HTTP 403 Forbidden" in line
    assert "open-sesame" not in line
    assert export(chainq, server(), bucket, *WORDS).code == 0
    assert bucket.rows("records") == due(truth.rows("records", FIRST, END))


@pytest.mark.search
def test_delta_tables(chainq: Program, bucket: Bucket, server: Servers, truth: Truth) -> None:
    """--delta with the same environment; two exports of other partitions that commit at once are both in the table."""
    deltalake = pytest.importorskip("deltalake")
    with chainq.executed():  # deltalake reads the environment of its process once
        assert export(chainq, server(), bucket, *WORDS, "--delta").code == 0
    words = ("export", "records", "--to", bucket.url, "-w", "1", "--delta")
    runs = [
        chainq.start(*words, f"{start}:{start + 20}", url=server(), env=bucket.environment())
        for start in (END, END + 20, END + 40)
    ]
    assert [finish(run).code for run in runs] == [0, 0, 0]
    options = {**bucket.environment(), "AWS_ALLOW_HTTP": "true"}
    table = deltalake.DeltaTable(f"{bucket.url}/records", storage_options=options)
    assert table.to_pyarrow_dataset().count_rows() == len(truth.rows("records", FIRST, END + 60))
    assert table.transaction_version("chainq") == table.version() == 4
    assert len(bucket.partitions("records")) == 5


def test_sql_over_an_object_store(chainq: Program, bucket: Bucket, server: Servers, truth: Truth) -> None:
    """chainq sql reads objects, and of them no more than it needs: a footer and columns, of those that it hits."""
    pytest.importorskip("duckdb")
    assert export(chainq, server(), bucket, *WORDS).code == 0
    reads: list[str] = []

    def watch(request: Request) -> None:
        if request.method == "GET" and request.path.endswith(".parquet"):
            reads.append(request.path)

    with proxied(bucket.endpoint, watch) as endpoint:
        for where, end in (("where height < 2410", 10), ("", 40)):
            reads.clear()
            query = f"select count(*) as n from records {where}"  # noqa: S608
            ran = chainq("sql", bucket.url, query, "--jsonl", env=bucket.environment(endpoint))
            assert ran.out == b'{"n":%d}\n' % len(truth.rows("records", FIRST, FIRST + end)), ran.err
            assert len(set(reads)) == (1 if where else 2)
            assert len(reads) <= 3 * len(set(reads))
