"""`chainq serve`: what it refuses before it listens, and how its options reach the service."""

import json

import pytest

from chainq.cli.serve import run
from chainq.cli.tool_options import ServeOptions
from chainq.errors import UsageError
from harness.program import Program, Servers


def test_faults_reach_the_service(chainq: Program, server: Servers) -> None:
    """Faults of several stages."""
    faults = ("--fault", "row-cap:50", "--fault", "offset-by-asked", "--fault", "database-down:1")
    with server.process(*faults) as (url, _):
        params = {"start": 777, "end": 778, "page": 1, "recordsPerRequest": 60}
        down = chainq("rpc", "records/all", json.dumps(params), "--retries", "0", url=url)
        assert "57P01" in down.err
        page = chainq("rpc", "records/all", json.dumps(params), url=url)
    assert len(json.loads(page.out)) == 50


def test_a_port_that_is_taken_is_a_usage_error(server: Servers) -> None:
    """An address that cannot be had is named."""
    with server.process() as (url, _):
        port = int(url.rstrip("/").rpartition(":")[2])
        with pytest.raises(UsageError, match=f"cannot listen on 127.0.0.1:{port}"):
            run(ServeOptions(port=port))
