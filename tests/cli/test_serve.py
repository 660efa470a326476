"""`chainq serve`: what it refuses before it listens, and how its options reach the service."""

import json

import pytest

from chainq.cli.serve import ServeOptions, fault_options, run
from chainq.errors import UsageError
from harness.program import Program, Servers


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--latency", "nan"], "--latency 'nan'"),
        (["--empty-rate", "1.5"], "--empty-rate"),
        (["--grow", "nan"], "--grow 'nan'"),
        (["--grow", "1e-300"], "--grow 1e-300"),
        (["--host", "0.0.0.0"], "--host '0.0.0.0'"),  # noqa: S104  # refused
        (["--dialect", "latin"], "unknown dialect 'latin'; known: chain, aleo"),
        (["--page-offset", "both"], "--page-offset 'both'"),
        (["--database-down", "3:"], "--database-down '3:'"),
        (["--dense-height", "5"], "--dense-height '5'"),
        (["--byte-cap", "-1"], "--byte-cap"),
        (["--plant", "lost-record"], "invalid --plant: expected KIND:HEIGHT, where KIND is one of lost-record"),
        (["--plant", "lost-record:13"], "invalid --plant: block 13 has no record; block 12 has one"),
        (["--fault", "no-rows"], "invalid --fault: expected NAME or NAME:N, where NAME is one of shift-up"),
        (["--fault", "height-cap"], "invalid --fault: height-cap takes a number of 1 or more, such as height-cap:5"),
        (["--fault", "height-cap:0"], "invalid --fault: height-cap takes a number"),
        (["--fault", "height-cap:x"], "invalid --fault: height-cap takes a number of 1 or more"),
        (["--fault", "first-block:5"], "invalid --fault: first-block takes no number"),
        (["--plant", "link:0"], "invalid --plant: block 0 has no block before it"),
    ],
)
def test_bad_values_are_usage_errors(words: list[str], named: str, chainq: Program) -> None:
    """A value that cannot be meant is exit 2 and named, and nothing listens."""
    ran = chainq("serve", "--port", "0", *words)
    assert (ran.code, ran.out) == (2, b"")
    assert named in ran.err


def test_options_reach_the_chain_and_the_faults(chainq: Program, server: Servers) -> None:
    """Options that are parsed further: the chain's dense height, the calls without a database, the offset."""
    switches = ("--dense-height", "300:70", "--row-cap", "50", "--page-offset", "asked", "--database-down", "1")
    with server.process(*switches) as (url, _):
        params = {"start": 300, "end": 301, "page": 1, "recordsPerRequest": 60}
        down = chainq("rpc", "records/all", json.dumps(params), "--retries", "0", url=url)
        assert "57P01" in down.err
        page = chainq("rpc", "records/all", json.dumps(params), url=url)
    assert len(json.loads(page.out)) == 10


def test_newest_is_another_name_of_tip(chainq: Program, server: Servers) -> None:
    """The name of 0.1.0 still sets the tip height."""
    with server.process("--newest", "41") as (url, _):
        assert b'{"height":"41"}' in chainq("latest", "--columns", "height", url=url).out


def test_a_port_that_is_taken_is_a_usage_error(server: Servers) -> None:
    """An address that cannot be had is named."""
    with server.process() as (url, _):
        port = int(url.rstrip("/").rpartition(":")[2])
        with pytest.raises(UsageError, match=f"cannot listen on 127.0.0.1:{port}"):
            run(ServeOptions(port=port, **{one.name: one.default for one in fault_options()}))
