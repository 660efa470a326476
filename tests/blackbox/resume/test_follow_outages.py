"""--follow through restarts, deploys and reorgs: what it outlives, for how long, and what it says.

The test changes the service between two rounds: nothing here waits for a time to pass.
"""

import json
import re
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from chainq.demo.registry import Reply, page
from harness.lake.fork import Fork
from harness.running.jobs import FIRST, Following, Job, lines, recording, said
from harness.running.program import LONGEST, Program, finish
from harness.running.truth import Truth
from harness.servers.services import Moving, Serve, error, serving

SOON = ("--follow", "--interval", "0.01", "--retries", "0", "--lag", "0")


class Deployed(Moving):
    """A service that answers in another way while it is `away`; `failed` counts such responses."""

    away: Callable[[bytes], Reply] | None = None
    failed = 0

    def __init__(self, tip: int) -> None:
        super().__init__(tip)
        self.instead = self._away

    def _away(self, body: bytes) -> Reply | None:
        if self.away is None:
            return None
        self.failed += 1
        return self.away(body)


def timed(value: Callable[[], object]) -> Callable[[str, Any], Any]:
    """Gives each tip another time."""
    return lambda method, result: {**result, "timestamp": value()} if method == "latest/block" else result


def wrong_id(_: bytes) -> Reply:
    return Reply(200, "application/json", b'{"jsonrpc":"2.0","id":-5,"result":[]}')


OUTAGES = {
    "database is away, with HTTP 500": error("ECONNREFUSED", "connect ECONNREFUSED 10.0.0.5:5432", 500),
    "HTTP 404": lambda _: page(404, "Cannot POST /"),
    "wrong id": wrong_id,
    "method not there yet": error(-32601, "Method not found"),
}


@pytest.fixture
def follow(chainq: Program, serve: Serve) -> Callable[..., Following]:
    """Starts to follow the records of a service."""

    def start(service: Moving, start: int, *more: str) -> Following:
        process = chainq.start("records", "--start", str(start), *SOON, *more, url=serve(service))
        return Following(process, service, "records", start)

    return start


@pytest.mark.parametrize("kind", OUTAGES)
def test_it_outlives_a_deploy(kind: str, follow: Callable[..., Following]) -> None:
    """Errors that a service gives for a while cost two warnings, one at each end, and no row."""
    service, enough, polled = Deployed(FIRST), threading.Event(), threading.Event()
    service.hook = lambda _: enough.set() if service.failed > 4 else None
    run = follow(service, FIRST - 3)
    run.up_to(FIRST)
    service.away = OUTAGES[kind]
    assert enough.wait(LONGEST)
    service.away = None
    run.up_to(FIRST + 4)
    service.hook = lambda method: polled.set() if method == "latest/block" else None
    assert polled.wait(LONGEST)
    first, second, _ = run.stopped("resume with --start 2405 --follow", lines=3).splitlines()
    assert "warning: " in first
    assert first.endswith(" trying again every 0.01 s")
    assert "?;" not in first
    assert "warning: the service responds again, after" in second


def test_3_it_does_not_ask_for_ever(follow: Callable[..., Following]) -> None:
    """A service that answers with errors for good ends it after 60 polls in a row, with the error and the way on."""
    service = Deployed(FIRST)
    run = follow(service, FIRST)
    run.up_to(FIRST)
    service.away = OUTAGES["HTTP 404"]
    ran = finish(run.process)
    assert (ran.code, service.failed) == (3, 61)
    warning, ended = ran.err.splitlines()
    assert "trying again" in warning
    assert "404" in ended
    assert f"resume with --start {FIRST + 1} --follow" in ended


def test_refusals_count_only_in_a_row(follow: Callable[..., Following]) -> None:
    """Many short outages do not add up: only polls without any result in between do."""
    service = Deployed(FIRST)
    turns = iter(range(10**6))
    service.hook = lambda method: setattr(
        service, "away", OUTAGES["HTTP 404"] if method == "latest/block" and next(turns) % 4 else None
    )
    run = follow(service, FIRST, "-q")
    for height in range(FIRST, FIRST + 24):
        run.up_to(height)
    run.stopped()
    assert service.failed > 61


def test_6_max_age_counts_while_nothing_can_be_reached(chainq: Program) -> None:
    """The service is gone: the last tip gets too old, and the run says so and why. Also where no tip ever came."""
    service = Deployed(4)
    service.mend = timed(lambda: f"{int(time.time())}")
    with serving(service) as url:
        process = chainq.start("blocks", "--start", "0", *SOON, "--max-age", "3s", url=url)
        assert process.stdout is not None
        assert [process.stdout.readline()[:1] for _ in range(5)] == [b"{"] * 5
        service.away = error("", "down", 503)
        ran = finish(process)
    assert ran.code == 8
    last = ran.err.splitlines()[-1]
    assert "old, older than --max-age 3s" in last
    assert "HTTP 503" in last
    ran = chainq("blocks", "--start", "0", *SOON, "--max-age", "1s", "--quiet", url=url)
    assert ran.code == 8
    assert "no tip was seen for 1 second, longer than --max-age 1s" in ran.err


def test_the_checkpoint_shows_each_change_at_once(chainq: Program, serve: Serve) -> None:
    """Monitoring need not wait for the next record for the first success, for an outage, or for its end."""
    service = Deployed(FIRST)

    def wait(changed: Callable[[dict[str, Any]], bool]) -> None:
        until = time.monotonic() + 20  # seconds, fewer than between records
        while not (chainq.home / "kept").exists() or not changed(json.loads((chainq.home / "kept").read_text())):
            assert time.monotonic() < until
            time.sleep(0.02)

    url = serve(service)
    words = ("blocks", "--start", str(FIRST - 3), *SOON, "--checkpoint", "kept", "-o", "out", "-q")
    process = chainq.start(*words, url=url, env=recording(chainq, 1e9))
    wait(lambda kept: kept["state"].get("success", 0) > 0)
    assert ", a run is in progress, " in chainq("status", "kept").out.decode()
    service.away = error("", "down", 503)
    wait(lambda kept: kept["state"].get("failure", 0) > kept["state"].get("success", 0))
    service.away = None
    wait(lambda kept: kept["state"].get("success", 0) > kept["state"].get("failure", 0))
    process.terminate()
    assert finish(process).code == -signal.SIGTERM
    status = chainq("status", "kept").out.decode()
    assert re.search(r": last error, [0-9-]+ [0-9:]+Z: stopped by SIGTERM\n$", status)
    assert "in progress" not in status


def test_6_a_reorg_during_an_outage(follow: Callable[..., Following]) -> None:
    """Without a checkpoint, too, --follow notices that the last block is another one when the service comes back."""
    service, enough = Deployed(FIRST), threading.Event()
    service.hook = lambda _: enough.set() if service.failed > 2 else None
    run = follow(service, FIRST - 3, "-q")
    run.up_to(FIRST)
    service.away = OUTAGES["HTTP 404"]
    assert enough.wait(LONGEST)
    service.swap(Fork(FIRST - 1))
    service.tip, service.away = FIRST + 5, None
    ran = finish(run.process)
    said(ran, 9, f"reorg: block {FIRST} is", "resume with --start 2397 --follow")
    assert ran.out == b""


@pytest.mark.parametrize("value", ["never", None, 10**400])
def test_8_max_age_needs_a_readable_time(value: object, chainq: Program, serve: Serve) -> None:
    """--max-age promises an alarm: a tip without a time that can be read ends the run with 8, after the rows."""
    service = Moving(9)
    service.mend = timed(lambda: value)
    job = Job(chainq, serve(service), "blocks")
    said(job("--max-age", "1h"), 8, "block 9 has no readable time", "--max-age 1h", "resumes at height 10")
    assert job.out.read_bytes() == lines(Truth(9).rows("blocks", 0, 10))
