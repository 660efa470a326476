"""`chainq verify` of a data set in an object store: as of a folder."""

import json
from collections.abc import Iterator

import pytest

from harness.lake.buckets import Bucket, storing
from harness.running.program import Program, Servers

pytest.importorskip("obstore")
pytest.importorskip("numpy")


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
    one, other = bucket.names("records/")
    bucket.write(other, bucket.read(one))
    ran = program("verify", bucket.url, "--jsonl", env=environment)
    assert ran.code == 6, ran.err
    assert {(row["command"], row["check"]) for row in map(json.loads, ran.rows)} == {("records", "invalid")}
    bucket.client.delete_object(Bucket=bucket.name, Key=f"data/{other}")
    assert program(*words, url=url, env=environment).code == 0
    assert program("verify", bucket.url, env=environment).code == 0


def test_names_that_look_like_secrets_or_parts_of_a_url(program: Program, server: Servers, bucket: Bucket) -> None:
    """What a URL would drop is refused, and written with an escape."""
    url, environment = server("--tip", "400"), bucket.environment()
    words = ("export", "records", "100:200", "--partition", "100", "-w", "1", "-q", "--to")
    for to in (f"{bucket.url}/Chain#1", f"{bucket.url}/Chain?1"):
        ran = program(*words, to, url=url, env=environment)
        assert (ran.code, "write %3F and %23 for ? and # in a URL" in ran.err) == (2, True), ran.err
    to = f"{bucket.url}/Chain%231-a8f3e0c2b1"
    assert program(*words, to, url=url, env=environment).code == 0
    assert program("verify", to, env=environment).code == 0
