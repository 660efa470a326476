"""A data set in a bucket: what its listing costs."""

from typing import Any

import pytest

pytest.importorskip("obstore")
from chainq.lake.store import open_store
from harness.lake.buckets import Bucket, proxied, storing


def test_a_listing_takes_one_request_for_each_thousand_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many folders they are in."""
    from moto.s3.models import s3_backends

    requests: list[Any] = []
    with storing() as endpoint, proxied(endpoint, requests.append) as proxy:
        bucket = Bucket(endpoint)
        for number in range(1001):
            s3_backends["123456789012"]["aws"].put_object(bucket.name, f"data/blocks/start={number:010d}/x", b"")
        for name, value in bucket.environment(proxy).items():
            monkeypatch.setenv(name, value)
        assert len(list(open_store(bucket.url).listing())) == 1001
    assert len(requests) == 2
