"""chainq status: how far a checkpoint or an export has come, from its files, for people and for monitoring."""

import json
import os
import re
import shutil
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chainq.catalog.tables import CHAIN
from chainq.cli.status import Status
from chainq.demo.exchange import Reply
from harness.jobs import Job, said
from harness.program import LONGEST, Program, Servers, finish, one_line
from harness.search import some
from harness.services import Moving, Serve, held, serving
from harness.sockets import server as raw_server


def seen(chainq: Program, target: Path | str) -> dict[str, Any]:
    """What `--json` says of a checkpoint, or of the first table of a data set."""
    ran = chainq("status", str(target), "--json")
    assert ran.code == 0, ran.err
    said = json.loads(ran.out)
    found: dict[str, Any] = said[0] if isinstance(said, list) else said
    return found


def test_a_checkpoint(chainq: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """Position, tip, lag, rows and bytes; the time of a run without news; the error of one that failed."""
    service = Moving(50)
    with serving(service) as url:
        job = Job(chainq, url, "records")
        other, kept = str(job.folder / "other"), str(job.kept)
        said(job("--lag", "10"), 0)
        first = seen(chainq, kept)
        rows, size = job.out.read_bytes().count(b"\n"), job.out.stat().st_size
        assert (first["next"], first["tip"], first["lag"]) == (41, 50, 10)
        assert (first["rows"], first["bytes"], first["error"]) == (rows, size, "")
        assert first["tip_time"] == service.chain.timestamp(50)
        service.calls.clear()
        ran = chainq("status", kept, "--max-age", "1h")
        assert (ran.code, ran.err, service.calls) == (0, "", [])
        assert "records up to block 40, 10 blocks below tip 50, last success " in ran.out.decode()
        said(job("--lag", "10"), 0)
        second = seen(chainq, kept)
        assert (second["success"] > first["success"], second["rows"]) == (True, rows)
        service.tip = 60
        said(job("--lag", "10", out=other), 0, "has the earlier ones")
        second, came = seen(chainq, kept), Path(other).read_bytes()
        assert (second["next"], second["rows"], second["bytes"]) == (51, came.count(b"\n"), len(came)) > (51, 0, 0)
        monkeypatch.setattr(service, "respond", lambda _: Reply(401, "text/plain", b"no"))
        assert job(out=other).code == 3
        assert seen(chainq, kept)["lasting"] is True
        assert "failed for good" in one_line(chainq("status", kept, "--max-age", "1h"), 8)
    assert job(out=other).code == 4
    ran = chainq("status", kept, "--max-age", "1h")
    assert (ran.code, "could not reach" in ran.out.decode().split(": last error, ")[1]) == (0, True)
    third = seen(chainq, kept)
    assert third["success"] == second["success"] < third["failure"]
    assert "could not reach" in third["error"]


@pytest.mark.parametrize("folder", [False, True])
def test_an_output_that_is_gone_is_a_failure(folder: bool, chainq: Program, serve: Serve) -> None:
    """A run that finds its file gone, changed or unwritable failed for good: status shows it."""
    job = Job(chainq, serve(Moving(50)), "blocks")
    said(job(), 0)
    before, rows = seen(chainq, job.kept), job.out.read_bytes()
    job.out.unlink()
    if folder:
        job.out.mkdir()
    else:
        job.out.write_bytes(rows[:100])
    ran = job()
    assert ran.code == (7 if folder else 6), ran.err
    after = seen(chainq, job.kept)
    assert after["error"] and after["error"] in ran.err
    assert after["failure"] > before["success"] == after["success"]
    assert (after["next"], after["rows"]) == (before["next"], before["rows"])
    assert ": the last run failed for good: " in one_line(chainq("status", str(job.kept), "--max-age", "1h"), 8)
    if folder:
        job.out.rmdir()
    job.out.write_bytes(rows)
    said(job(), 0)
    again = chainq("status", str(job.kept), "--max-age", "1h")
    assert (again.code, b"last error" in again.out) == (0, False)


def test_a_checkpoint_of_verify(chainq: Program, server: Servers) -> None:
    """A run without findings is a success, with the tip that it saw; one with findings or an error is a failure."""
    url = server("--tip", "60", "--fault", "lost-record:31")
    words = ("verify", "--checkpoint", "c", "-o", "found.jsonl")
    assert chainq(*words, "--end", "20", url=url).code == 0
    first = seen(chainq, "c")
    assert (first["next"], first["tip"], first["lag"], first["failure"]) == (20, 60, 41, None)
    assert chainq("status", "c", "--max-age", "1h").code == 0
    assert chainq(*words, "--end", "40", url=url).code == 6
    found = seen(chainq, "c")
    assert found["failure"] > found["success"] == first["success"]
    assert "heights 20-39: 1 finding" in found["error"]
    assert chainq(*words, "--end", "40", url=url).code == 0
    again = seen(chainq, "c")
    assert (again["next"], again["tip"]) == (40, 60)
    assert again["success"] > found["failure"]
    with server.own("--tip", "60", "--seed", "1") as other:
        kept = chainq.home / "c"
        kept.write_text(kept.read_text().replace(url, other))
        assert chainq(*words, url=other).code == 9
    assert seen(chainq, "c")["error"].startswith("reorg: block 39 is ")


def test_rows_are_counted_over_runs_and_rewinds(chainq: Program, serve: Serve) -> None:
    """The count is that of the rows in the file after several runs, and after --rewind."""
    service = Moving(2400)
    job = Job(chainq, serve(service), "records", "--start", "2300")
    for tip, more in ((2400, ()), (2420, ()), (2421, ()), (2421, ("--rewind", "30")), (2500, ())):
        service.tip = tip
        assert job(*more).code == 0
        assert seen(chainq, job.kept)["rows"] == job.out.read_bytes().count(b"\n")


def test_an_old_success_is_exit_8(chainq: Program) -> None:
    """A status that is older than --max-age says so and prints what it would else; so does one of no success, or of one
    in the future: one of two clocks is wrong then, and a cron job that died long ago would look healthy."""
    with serving(Moving(20)) as url:
        job = Job(chainq, url, "blocks")
        said(job(), 0)
    content = json.loads(job.kept.read_bytes())
    state, age = content["state"], ("status", str(job.kept), "--max-age")
    job.kept.write_text(json.dumps({**content, "state": {**state, "tip": 19}}))  # during --follow
    behind = seen(chainq, job.kept)
    assert (behind["next"], behind["tip"], behind["lag"]) == (21, 20, 0)
    assert chainq(*age, "90m", "-q").out == b""
    for made, words in (
        ({**state, "success": state["success"] - 7200}, "the last success was 2 hours ago, longer than --max-age 90m"),
        ({**state, "success": time.time() + 7 * 3600}, "in the future\n"),
        ({}, "no run went well yet"),
    ):
        job.kept.write_text(json.dumps({**content, "state": made}))
        ran = chainq(*age, "90m")
        assert ran.out and words in one_line(ran, 8)
        assert one_line(chainq(*age, "0s"), 8)
        assert chainq("status", str(job.kept)).code == 0
    job.kept.write_text(json.dumps({**content, "positions": [{"next": 9, "rows": 0}], "state": {}}))
    assert "blocks up to block 8, no run went well yet, 0 rows" in chainq("status", str(job.kept)).out.decode()


def test_an_export_without_news_and_one_that_failed(chainq: Program) -> None:
    """A rerun that writes no partition is a success; a run that fails leaves its error, and keeps the last success."""
    words = ("export", "blocks", "0:200", "--to", "lake", "--partition", "100", "-q")
    service = Moving(250)
    with serving(service) as url:
        assert chainq(*words, url=url).code == 0
        for path in (chainq.home / "lake").rglob("*.json"):
            os.utime(path, (1000, 1000))
        before = seen(chainq, "lake")
        assert before["bytes"] == sum(path.stat().st_size for path in (chainq.home / "lake").rglob("*.parquet"))
        assert chainq(*words, url=url).code == 0
        after = seen(chainq, "lake")
    assert after["success"] > before["success"]
    assert {**after, "success": 0, "age": 0} == {**before, "success": 0, "age": 0}
    assert chainq(*words, "--retries", "0", url=url).code == 4
    failed = seen(chainq, "lake")
    assert failed["success"] == after["success"] < failed["failure"]
    assert "could not reach" in failed["error"]
    assert ": last error, " in chainq("status", "lake").out.decode()
    query = chainq("sql", "lake", "select count(*) from blocks")
    assert "the last export into lake failed before it wrote anything: " in one_line(query, 0)
    with serving(service) as url:
        assert chainq(*words, url=url).code == 0
    assert "last error" not in chainq("status", "lake").out.decode()


def test_each_table_has_the_success_of_its_own_runs(chainq: Program, server: Servers) -> None:
    """An export of blocks says nothing about records, also if an earlier version recorded the last run."""
    url = server("--tip", "400")
    words = ("0:200", "--to", "lake", "--partition", "100", "-q")
    assert chainq("export", "blocks", "records", *words, url=url).code == 0
    path = chainq.home / "lake/_chainq/last_run.json"
    path.write_text('{"success":1000,"tip":400}')  # as earlier versions do
    assert successes(chainq) == {"blocks": 1000, "records": 1000}
    for _ in range(2):
        assert chainq("export", "blocks", *words, url=url).code == 0
        found = successes(chainq)
        assert (found["blocks"] > 1000, found["records"]) == (True, 1000)
    assert "lake: records: the last success was" in one_line(chainq("status", "lake", "--max-age", "1h"), 8)
    assert chainq("export", "records", *words, url=url).code == 0
    assert successes(chainq)["records"] > 1000


def killed(
    chainq: Program, when: Callable[[str], bool], *words: str, before: Callable[[], object] = lambda: None
) -> None:
    """Kill an export of a chain of 400 blocks into `lake` at the first request for whose method `when` is true.
    `before`: what to call while it waits for the response."""
    service = Moving(400)
    begun, go = held(service, when)
    with serving(service, go) as url:
        run = chainq.start("export", *words, "--to", "lake", "-w", "1", "-j", "1", url=url)
        assert begun.wait(LONGEST)
        assert ", a run is in progress" in chainq("status", "lake").out.decode().splitlines()[0]
        assert {one["running"] for one in json.loads(chainq("status", "lake", "--json").out)} == {True}
        before()
        run.kill()
        finish(run)


@pytest.mark.parametrize("span", some(["0:400", "200:400"], "0:400"))
def test_a_later_export_that_was_killed(chainq: Program, server: Servers, span: str) -> None:
    """It misses the heights that it was to write, once it no longer runs, until an export succeeds."""
    url, words = server("--tip", "400"), ("--to", "lake", "-q")
    assert chainq("export", "blocks", "0:200", "--partition", "100", *words, url=url).code == 0
    killed(chainq, "getBlocks".__eq__, "blocks", span)
    writes = "missing heights 200-399; chainq export blocks 200:400 --to lake writes them"
    assert chainq("status", "lake").out.decode().endswith(", missing heights 200-399\n")
    assert f"lake: blocks: {writes}" in one_line(chainq("status", "lake", "--max-age", "1h"), 6)
    one = seen(chainq, "lake")
    assert (one["missing"], one["running"]) == ([[200, 400]], False)
    first, query = chainq.home / "lake/blocks/start=000000000/data.parquet", ("sql", "lake", "select 1 from blocks")
    first.rename(chainq.home / "kept")
    lacks, writes = "heights 0-99, 200-399", "chainq export blocks 0:400 --to lake writes them"
    assert f"missing {lacks}" in chainq("status", "lake").out.decode()
    said = f"blocks lacks {lacks}: the data set has no whole partition of them; {writes}"
    assert said in chainq(*query).err
    (chainq.home / "kept").rename(first)
    assert chainq(*query).code == 0
    assert chainq("export", "blocks", "200:300", *words, url=url).code == 0
    assert chainq("status", "lake", "--max-age", "1h").code == 0
    assert seen(chainq, "lake")["missing"] == []


def test_gaps_of_tables_that_one_export_writes(chainq: Program, server: Servers) -> None:
    """A line for each table, as far as the first export was to go."""
    receipts = chainq.home / "lake/_chainq/receipts/blocks"
    killed(chainq, lambda _: receipts.exists(), "chain", "records", "0:80", "--partition", "20")
    lines = chainq("status", "lake").out.decode().splitlines()
    assert [line.rpartition(", ")[2] for line in lines] == ["missing heights 20-79"] * len(CHAIN) + [
        "missing heights 0-79"
    ]
    assert "lake: blocks: no run went well yet" in one_line(chainq("status", "lake", "--max-age", "1d"), 8)
    words = ("chain", "records", "0:80", "--to", "lake", "-w", "1", "-q")
    assert chainq("export", *words, url=server("--tip", "400")).code == 0
    (chainq.home / "lake/outputs/start=000000040/data.parquet").unlink()
    (chainq.home / "lake/calls/start=000000040/data.parquet").unlink()
    line = one_line(chainq("status", "lake", "--max-age", "1d"), 6)
    assert (
        "lake: calls: missing heights 40-59; chainq export calls 40:60 --to lake writes them; lake: outputs: " in line
    )


def test_the_cookbook_names_every_key() -> None:
    """Of --json."""
    text = (Path(__file__).parents[2] / "docs/cookbook.md").read_text()
    for key in Status._fields:
        assert f"`{key}`" in text, key


def test_the_log_as_json(chainq: Program, server: Servers) -> None:
    """Requests, warnings and the error of a run are JSON objects with time, level and one run id, each on a line."""
    url = server("--tip", "5000", "--fault", "fail-rate:0.3", "--fault", "seed:5")
    ran = chainq("blocks", "0:3000", "-v", "--log-format", "json", "--timeout", "5", url=url)
    lines = [json.loads(line) for line in ran.err.splitlines()]
    assert len({line["run"] for line in lines}) == 1
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"]) for line in lines)
    calls = [line for line in lines if "call" in line]
    assert {line["heights"] for line in calls} == {"0-999", "1000-1999", "2000-2999"}
    assert {line["level"] for line in calls} == {"debug", "warning"}
    assert all(isinstance(line["seconds"], float) and line["status"] and line["method"] for line in calls)


def test_each_request_has_an_id_of_its_own(chainq: Program) -> None:
    """X-Request-ID begins with the id of the run, is in the log, and none comes twice; the user's own is sent alone."""

    def refuse(peer: socket.socket, _: bytes) -> None:
        peer.sendall(b"HTTP/1.1 503 Down\r\nContent-Length: 0\r\n\r\n")

    with raw_server(refuse) as (url, requests):
        ran = chainq("block", "5", "--retries", "3", "-v", "--log-format", "json", url=url)
        assert ran.code == 4
        ids = [one.decode() for request in requests for one in re.findall(rb"(?i)\r\nx-request-id: (\S+)", request)]
        requests.clear()
        own = chainq("block", "5", "--retries", "0", "--header", "X-Request-ID: mine", url=url)
        assert own.code == 4
        assert [re.findall(rb"(?i)\r\nx-request-id: (\S+)", request) for request in requests] == [[b"mine"]]
    lines = [json.loads(line) for line in ran.err.splitlines()]
    assert [line["request_id"] for line in lines if "call" in line] == ids
    run = lines[0]["run"]
    assert len(set(ids)) == len(ids) == 4
    assert all(one.startswith(f"{run}-") for one in ids)


def test_an_export_that_was_killed_before_its_first_partition(chainq: Program, server: Servers) -> None:
    """Every command says so and names what writes its range, which does; no alert takes it for good."""
    query = ("sql", "lake", "select * from records")

    def before() -> None:
        for words in (query, ("verify", "lake"), ("records", "--url", "lake")):
            assert "; an export is running: try again later, or see chainq status lake" in one_line(chainq(*words), 6)

    words = ("records", "ownership", "100:400", "--partition", "100")
    killed(chainq, "records/all".__eq__, *words, before=before)
    writes = "chainq export records ownership 100:400 --to lake"
    lines = chainq("status", "lake").out.decode().splitlines()
    assert all(line.endswith("no run went well yet, 0 rows, 0 bytes, missing heights 100-399") for line in lines)
    assert "no run went well yet" in one_line(chainq("status", "lake", "--max-age", "1d"), 8)
    found = json.loads(chainq("status", "lake", "--json").out)
    assert [(one["command"], one["rows"], one["next"], one["missing"]) for one in found] == [
        ("records", 0, 100, [[100, 400]]),
        ("ownership", 0, 100, [[100, 400]]),
    ]
    assert f"{writes} writes them" in one_line(chainq("verify", "lake"), 6)
    assert f"{writes} writes them" in one_line(chainq(*query), 6)
    assert chainq(*writes.split()[1:], "-q", url=server("--tip", "400")).code == 0
    assert chainq("status", "lake", "--max-age", "1d").code == 0
    assert [one["missing"] for one in json.loads(chainq("status", "lake", "--json").out)] == [[], []]


def test_a_table_that_has_no_partition_yet(chainq: Program, server: Servers) -> None:
    """It has a line of its own with 0 rows, and --max-age refuses it although another run went well. `sql` and `verify`
    warn until it has ended, but not with -q."""
    pytest.importorskip("duckdb")
    words = ("--to", "lake", "--partition", "100", "-q")
    assert chainq("export", "blocks", "100:400", *words, url=server("--tip", "400")).code == 0
    killed(chainq, "records/all".__eq__, "records", "100:400")
    whole, empty = chainq("status", "lake").out.decode().splitlines()
    assert whole.startswith("lake: blocks up to block 399, 1 block below tip 400, ")
    assert empty.endswith(", no run went well yet, 0 rows, 0 bytes, missing heights 100-399")
    assert "records: no run went well yet" in one_line(chainq("status", "lake", "--max-age", "1d"), 8)
    assert chainq("export", "blocks", "100:500", *words, url=server("--tip", "499")).code == 0  # it ends no other mark
    assert "records up to block 99, " in chainq("status", "lake").out.decode()
    query = ("sql", "lake", "select count(*) from blocks")
    warning = "an export of records into lake has not finished; chainq status lake shows its heights\n"
    assert chainq(*query).err == f"chainq: warning: {warning}"
    assert chainq(*query, "-q").err == ""
    assert warning.split(" lake")[0] in chainq("verify", "lake").err
    assert "no service URL" in one_line(chainq("verify", "lake", "--full", url=None), 2)  # before anything is read
    assert chainq("export", "records", "100:400", *words, url=server("--tip", "499")).code == 0
    assert chainq(*query).err == ""
    assert chainq("status", "lake", "--max-age", "1d").code == 0


def test_a_first_run_in_progress(chainq: Program, serve: Serve) -> None:
    """It has had no success yet, and nothing is wrong with it."""
    service = Moving(50)
    hung, released = held(service, lambda _: len(service.calls) > 1)
    job = Job(chainq, serve(service, released), "records", "--start", "10")
    process = job.start()
    assert hung.wait(LONGEST)
    line = chainq("status", str(job.kept)).out.decode()
    alarm = chainq("status", str(job.kept), "--max-age", "1h", "-q")
    released.set()
    assert finish(process).code == 0
    assert line == f"{job.kept}: records up to block 9, a run is in progress, 0 rows, 0 bytes\n"
    assert (alarm.code, "its first run is in progress" in alarm.err) == (8, True)


def test_names_in_a_foreign_export_are_text_and_nothing_else(chainq: Program) -> None:
    """Anybody may have made an export: none of its names acts on a terminal, forges a metric or runs as a command."""
    acts, forged = "\x1b]0;act\x07\x9b31m\u202e", 'a"} 1\nchainq_rows{target="main",command="blocks'
    table, ran = "blocks; touch RAN #", chainq("export", "blocks", "0:50", "--to", "lake", "-q", url="demo:")
    assert ran.code == 0, ran.err
    shutil.rmtree(chainq.home / "lake" / "_chainq")
    description = json.loads((chainq.home / "lake" / "chainq.json").read_bytes())
    description["schemas"].update(dict.fromkeys((acts, forged, table), "x"))
    (chainq.home / "lake" / "chainq.json").write_text(json.dumps(description))
    for words in (
        ("status", "lake"),
        ("status", "lake", "--json"),
        ("verify", "lake"),
        ("sql", "lake", "select count(*) from records"),
    ):
        said = (ran := chainq(*words)).out.decode() + ran.err
        assert not re.search("[\x1b\x07\x9b\u202e]", said)
        assert not re.search(r"^chainq_rows[^ ]*main", said, re.MULTILINE)
        for command in re.findall(r"chainq export (.*?) --to", said):
            assert ";" not in re.sub(r"'[^']*'", "", command)


def successes(chainq: Program) -> dict[str, float]:
    """When each table of `lake` was last exported."""
    return {one["command"]: one["success"] for one in json.loads(chainq("status", "lake", "--json").out)}
