"""`chainq verify` of a data set in an object store: as of a folder."""

import json
from collections.abc import Iterator

import pytest

from harness.buckets import Bucket, storing
from harness.program import Program, Servers

pytest.importorskip("obstore")
pytest.importorskip("numpy")
RECORDS = "records/start=000000200/data.parquet"


@pytest.fixture(scope="module")
def bucket() -> Iterator[Bucket]:
    """A bucket of an S3."""
    with storing() as endpoint:
        yield Bucket(endpoint)


def test_a_bucket_is_verified_compared_and_repaired(program: Program, server: Servers, bucket: Bucket) -> None:
    """Without a finding as it was written; a partition that was put in the place of another is named and replaced."""
    url, environment = server("--tip", "400"), bucket.environment()
    words = ("export", "blocks", "records", "100:300", "--partition", "100", "--to", bucket.url, "-w", "1", "-q")
    assert program(*words, url=url, env=environment).code == 0
    for more in ((), ("--full",), ("--sample", "3")):
        ran = program("verify", bucket.url, *more, url=url if more else None, env=environment)
        assert (ran.code, ran.out) == (0, b""), ran.err
    bucket.write(RECORDS, bucket.read(RECORDS.replace("200", "100")))
    ran = program("verify", bucket.url, "--jsonl", env=environment)
    assert ran.code == 6, ran.err
    found = {(row["command"], row["check"], row["repair"]) for row in map(json.loads, ran.rows)}
    command = f"chainq export records 200:300 --to {bucket.url} --repair all"
    assert found == {("records", "misplaced", command)}
    assert program(*command.split()[1:], "-w", "1", "-q", url=url, env=environment).code == 0
    assert program("verify", bucket.url, env=environment).code == 0


def test_names_that_look_like_secrets_or_parts_of_a_url(program: Program, server: Servers, bucket: Bucket) -> None:
    """The command that mends a finding can be run; what a URL would drop is refused, and written with an escape."""
    url, environment = server("--tip", "400"), bucket.environment()
    words = ("export", "records", "100:200", "--partition", "100", "-w", "1", "-q", "--to")
    for to, escape in ((f"{bucket.url}/Chain#1", "%23"), (f"{bucket.url}/Chain?1", "%3F"), ("file:///x#1", "%23")):
        ran = program(*words, to, url=url, env=environment)
        assert (ran.code, f"write {escape} in place" in ran.err) == (2, True), ran.err
    to = f"{bucket.url}/Chain%231-a8f3e0c2b1"
    assert program(*words, to, url=url, env=environment).code == 0
    (receipt,) = bucket.names("Chain#1-a8f3e0c2b1/_chainq/receipts/")
    bucket.client.delete_object(Bucket=bucket.name, Key=f"data/{receipt}")
    (row,) = map(json.loads, program("verify", to, "--jsonl", env=environment).rows)
    assert row["repair"].split()[-4:] == ["--to", to, "--repair", "all"]
    assert program(*row["repair"].split()[1:], "-w", "1", "-q", url=url, env=environment).code == 0
    assert program("verify", to, env=environment).code == 0
