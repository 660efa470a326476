"""The manifest of an export: what it lists, what replaces it if it is lost, and which commands do without a listing."""

import json
import re
import shutil
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from harness.buckets import Bucket, Request, proxied, storing
from harness.jobs import FIRST
from harness.lake import Lake, due
from harness.program import Program, Servers, finish, one_line
from harness.services import Moving, serving
from harness.truth import Truth

pytest.importorskip("duckdb")
pytest.importorskip("obstore")
NAME = "_chainq/manifest.json"
END = FIRST + 60
WORDS = ("records", "blocks", f"{FIRST}:{END}", "--partition", "20", "-w", "1", "-q")
COUNT = "select count(*) as n from records"


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory, server: Servers) -> Path:
    """An export of three partitions of two commands."""
    chainq = Program(tmp_path_factory.mktemp("exported"))
    ran = chainq("export", *WORDS, "--to", "lake", url=server())
    assert ran.code == 0, ran.err
    return chainq.home / "lake"


@pytest.fixture
def lake(chainq: Program, exported: Path) -> Lake:
    """A copy of it."""
    return Lake(shutil.copytree(exported, chainq.home / "lake"))


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """The endpoint of an S3."""
    with storing() as endpoint:
        yield endpoint


def manifest(lake: Lake) -> dict[str, Any]:
    """The manifest of a data set in a folder."""
    found: dict[str, Any] = json.loads((lake.root / NAME).read_bytes())
    return found


def lose(lake: Lake, command: str, start: int) -> None:
    """Remove a partition with its receipt."""
    shutil.rmtree(lake.root / command / f"start={start:09d}")
    (receipt,) = (lake.root / "_chainq/receipts" / command).glob(f"{start:09d}-*")
    receipt.unlink()


def test_it_lists_heights_rows_sizes_and_hashes(chainq: Program, server: Servers, lake: Lake) -> None:
    """Of each partition what the file and its receipt have; a rerun with nothing to write leaves it."""
    found = manifest(lake)
    assert (found["manifest"], found["writing"], found["registered"]) == (1, [], {})
    for command in ("records", "blocks"):
        for part, receipt, name in zip(
            found["tables"][command], lake.receipts(command), lake.names(command), strict=True
        ):
            file = (lake.root / name).read_bytes()
            assert (part["size"], part["sha256"]) == (len(file), sha256(file).hexdigest())
            for field in ("start", "end", "rows", "tip"):
                assert part[field] == receipt[field]
    before = (lake.root / NAME).stat().st_mtime_ns
    assert chainq("export", *WORDS, "--to", "lake", url=server()).code == 0
    assert (lake.root / NAME).stat().st_mtime_ns == before
    assert chainq("export", "records", f"{END}:{END + 10}", "--to", "lake", "-q", url=server()).code == 0
    grown = manifest(lake)["tables"]
    assert [part["end"] for part in grown["records"]] == [FIRST + 20, FIRST + 40, END, END + 10]
    assert grown["blocks"] == found["tables"]["blocks"], "what other exports wrote stays, with its hashes"


def test_the_last_partition_is_missed_without_its_receipt(
    chainq: Program, server: Servers, truth: Truth, lake: Lake
) -> None:
    """sql, --url and verify name its heights; an export writes it again."""
    lose(lake, "records", END - 20)
    lacks = f"heights {END - 20}-{END - 1}"
    assert lacks in one_line(chainq("sql", "lake", COUNT), 6)
    ran = chainq("sql", "lake", COUNT, "--partial", "--jsonl")
    assert ran.rows == [b'{"n":%d}' % len(truth.rows("records", FIRST, END - 20))]
    assert lacks in ran.err
    assert f"no whole partition of records for {lacks}" in one_line(
        chainq("records", f"{FIRST}:{END}", url=str(lake.root)), 6
    )
    found = [json.loads(row) for row in chainq("verify", "lake", "--jsonl").rows]
    assert [(row["check"], row["command"], row["height"]) for row in found] == [("missing", "records", END - 20)]
    assert chainq("export", *WORDS, "--to", "lake", url=server()).code == 0
    assert chainq("verify", "lake").code == 0
    lose(lake, "blocks", END - 20)
    assert f"blocks for height {END - 1};" in one_line(chainq("latest", url=str(lake.root)), 6)


@pytest.mark.parametrize("damage", ["lost", "flipped", "cut"])
def test_a_manifest_that_cannot_be_read_is_rebuilt(
    chainq: Program, server: Servers, lake: Lake, truth: Truth, damage: str
) -> None:
    """Receipts take its place, and the next export writes it, without a partition."""
    path, before = lake.root / NAME, manifest(lake)
    if damage == "lost":
        path.unlink()
    else:
        data = path.read_bytes()
        at = data.index(b'"rows":') + 7
        path.write_bytes(data[:at] if damage == "cut" else data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    ran = chainq("sql", "lake", COUNT, "--jsonl")
    assert ran.rows == [b'{"n":%d}' % len(truth.rows("records", FIRST, END))], ran.err
    ran = chainq("verify", "lake")
    assert (ran.code, f"{NAME} cannot be read, and was not compared" in ran.err) == (0, damage != "lost")
    assert chainq("export", *WORDS, "--to", "lake", url=server()).code == 0
    after = manifest(lake)
    for part in (part for parts in before["tables"].values() for part in parts):
        del part["sha256"]
    assert (after["tables"], after["writing"]) == (before["tables"], [])


def test_a_manifest_that_contradicts_a_receipt(chainq: Program, server: Servers, lake: Lake) -> None:
    """verify names the partition, and the repair that it prints mends it."""
    found = manifest(lake)
    found["tables"]["records"][1]["rows"] += 1
    tables = json.dumps(found["tables"], separators=(",", ":"))
    whole = json.dumps(found | {"sha256": sha256(tables.encode()).hexdigest()}, separators=(",", ":"))
    (lake.root / NAME).write_text(whole)
    (row,) = (json.loads(row) for row in chainq("verify", "lake", "--jsonl").rows)
    assert (row["check"], row["command"], row["height"]) == ("receipt", "records", FIRST + 20)
    assert row["found"].startswith("in the manifest: _chainq/receipts/records/")
    assert chainq(*row["repair"].split()[1:], "-q", url=server()).code == 0
    assert chainq("verify", "lake").code == 0


def test_an_export_that_fails_leaves_what_it_has_written(chainq: Program, truth: Truth) -> None:
    """The manifest has the partitions that are complete, and the heights of the others are not missed."""
    service = Moving(FIRST + 5000)
    lake = Lake(chainq.home / "lake")
    written = lake.root / f"records/start={FIRST:09d}/data.parquet"

    def fail(_: str) -> None:
        if written.exists():
            raise ConnectionError

    service.hook = fail
    with serving(service) as url:
        words = ("export", "records", *WORDS[2:], "--to", "lake")
        assert chainq(*words, "--retries", "0", url=url).code != 0
        found = manifest(lake)
        assert [part["start"] for part in found["tables"]["records"]] == [
            one["start"] for one in lake.receipts("records")
        ]
        assert found["writing"] == []
        service.hook = lambda _: None
        assert chainq(*words, url=url).code == 0
    assert lake.rows("records") == due(truth.rows("records", FIRST, END))


def test_a_killed_export_is_forgotten_by_the_next_one(chainq: Program, server: Servers, lake: Lake) -> None:
    """Its ID in the manifest makes readers list. One without the lock may still be at work, so its ID stays."""
    text = (lake.root / NAME).read_text()
    writing = json.dumps(["lock-" + "1" * 32, "2" * 32])
    (lake.root / NAME).write_text(text.replace('"writing":[]', f'"writing":{writing}'))
    assert chainq("export", "records", f"{END}:{END + 10}", "--to", "lake", "-q", url=server()).code == 0
    assert manifest(lake)["writing"] == ["2" * 32]


def test_a_bucket_is_read_without_a_listing(chainq: Program, s3: str, truth: Truth) -> None:
    """sql, --url and a rerun read the manifest instead, also from a bucket that refuses to list; verify lists."""
    bucket, service, listings = Bucket(s3), Moving(FIRST + 5000), []

    def refuse(request: Request) -> int | None:
        if request.method == "GET" and re.search(r"[?&](list-type|prefix)=", request.path):
            listings.append(request.path)
            return 403
        return None

    with serving(service) as url, proxied(bucket.endpoint, refuse) as endpoint:
        ran = chainq("export", *WORDS, "--to", bucket.url, url=url, env=bucket.environment())
        assert ran.code == 0, ran.err
        env = bucket.environment(endpoint)
        ran = chainq("sql", bucket.url, COUNT, "--jsonl", env=env)
        assert ran.rows == [b'{"n":%d}' % len(truth.rows("records", FIRST, END))], ran.err
        ran = chainq("records", f"{FIRST + 10}:{END}", url=bucket.url, env=env)
        assert ran.rows == truth.rows("records", FIRST + 10, END), ran.err
        service.calls.clear()
        ran = chainq("export", *WORDS, "--to", bucket.url, url=url, env=env)
        assert ran.code == 0, ran.err
        assert len(service.calls) <= 3
        assert listings == []
        assert "access denied" in one_line(chainq("verify", bucket.url, env=env), 7)
        assert listings
        bucket.client.delete_object(Bucket=bucket.name, Key=f"data/records/start={FIRST + 20:09d}/data.parquet")
        ran = chainq("sql", bucket.url, COUNT, env=env)
        assert f"records/start={FIRST + 20:09d}/data.parquet of" in one_line(ran, 6)
        ran = chainq("sql", bucket.url, COUNT, "--partial", env=bucket.environment())
        assert (ran.code, f"heights {FIRST + 20}-{FIRST + 39}" in ran.err) == (0, True), ran.err


def test_exports_at_the_same_time_keep_each_others_entries(chainq: Program, s3: str, server: Servers) -> None:
    """Without the lock, each one of other heights: the manifest has them all, and nobody is writing."""
    bucket, url = Bucket(s3), server()
    env = bucket.environment()
    starts = range(FIRST, FIRST + 80, 20)
    runs = [
        chainq.start(
            *("export", "records", f"{start}:{start + 20}", "--partition", "20"),
            *("--to", bucket.url, "--no-lock", "-w", "1", "-q"),
            url=url,
            env=env,
        )
        for start in starts
    ]
    for ran in map(finish, runs):
        assert ran.code == 0, ran.err
    found = json.loads(bucket.read(NAME))
    assert found["writing"] == []
    assert [part["start"] for part in found["tables"]["records"]] == list(starts)
