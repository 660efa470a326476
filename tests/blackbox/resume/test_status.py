"""chainq status: how far a checkpoint or an export has come, from its files, for people and for monitoring."""

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from chainq.cli.tools.status import Status
from chainq.demo.registry import Reply
from harness.running.jobs import Job, said
from harness.running.program import LONGEST, Program, Servers, finish, one_line
from harness.servers.services import Moving, Serve, held, serving


def seen(chainq: Program, target: Path | str) -> dict[str, Any]:
    """What `--json` says of a checkpoint, or of the first table of a data set."""
    ran = chainq("status", str(target), "--json")
    assert ran.code == 0, ran.err
    said = json.loads(ran.out)
    found: dict[str, Any] = said[0] if isinstance(said, list) else said
    return found


def test_a_checkpoint(chainq: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """Position, tip, lag and rows; the time of a run without news; the error of one that failed."""
    service = Moving(50)
    with serving(service) as url:
        job = Job(chainq, url, "records")
        other, kept = str(job.folder / "other"), str(job.kept)
        said(job("--lag", "10"), 0)
        first = seen(chainq, kept)
        rows = job.out.read_bytes().count(b"\n")
        assert (first["next"], first["tip"], first["lag"]) == (41, 50, 10)
        assert (first["rows"], first["error"]) == (rows, "")
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
        assert (second["next"], second["rows"]) == (51, came.count(b"\n")) > (51, 0)
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


def test_an_export_shows_when_its_files_were_written(chainq: Program, server: Servers) -> None:
    """A rerun that writes no partition changes nothing; each table has the age of its own newest file."""
    words = ("--to", "lake", "--partition", "100", "-q")
    assert chainq("export", "blocks", "records", "0:200", *words, url=server("--tip", "250")).code == 0
    for path in (chainq.home / "lake/records").rglob("*.parquet"):
        os.utime(path, (1000, 1000))
    before = json.loads(chainq("status", "lake", "--json").out)
    assert (before[0]["success"] > 1000, before[1]["success"]) == (True, 1000)
    assert "lake: records: the newest file was written" in one_line(chainq("status", "lake", "--max-age", "1h"), 8)
    assert chainq("export", "blocks", "records", "0:200", *words, url=server("--tip", "250")).code == 0
    after = json.loads(chainq("status", "lake", "--json").out)
    assert [{**one, "age": 0} for one in after] == [{**one, "age": 0} for one in before]


@pytest.mark.parametrize(("start", "gap"), [(0, "0-19"), (40, "40-59")])
def test_a_table_without_its_first_or_last_partition(start: int, gap: str, chainq: Program, server: Servers) -> None:
    """Heights that other tables have are missing, also of a table that a later export added; all commands say so."""
    words = ("--partition", "20", "--to", "lake", "-w", "1", "-q")
    for some in ("blocks 0:60", "records 0:60"):
        assert chainq("export", *some.split(), *words, url=server("--tip", "400")).code == 0
    assert chainq("status", "lake", "--max-age", "1d").code == 0
    shutil.rmtree(chainq.home / f"lake/records/start={start:010}")
    line = one_line(chainq("status", "lake", "--max-age", "1d"), 6)
    writes = f"chainq export records {start}:{start + 20} --to lake writes them"
    assert line == f"chainq status: lake: records: missing heights {gap}; {writes}\n"
    counting = "select count(*) as rows from records"
    assert f"records lacks heights {gap}" in one_line(chainq("sql", "lake", counting), 6)
    assert chainq("sql", "lake", f"{counting} where height between 20 and 39").code == 0
    verified = chainq("verify", "lake", "--jsonl")
    assert verified.code == 6
    assert [(json.loads(row)["check"], json.loads(row)["height"]) for row in verified.rows] == [("missing", start)]


def test_the_cookbook_names_every_key() -> None:
    """Of --json."""
    text = (Path(__file__).parents[3] / "docs/cookbook.md").read_text()
    for key in Status._fields:
        assert f"`{key}`" in text, key


def test_a_table_that_has_no_partition_yet(chainq: Program) -> None:
    """Of an export that was killed: it has a line of its own with 0 rows, and the same export without a command writes
    it."""
    service = Moving(400)
    begun, go = held(service, "records/all".__eq__)
    with serving(service, go) as url:
        words = ("blocks", "records", "100:300", "--partition", "100", "--to", "lake", "-w", "1", "-j", "1")
        run = chainq.start("export", *words, url=url)
        assert begun.wait(LONGEST)
        run.kill()
        finish(run)
    found = json.loads(chainq("status", "lake", "--json").out)
    assert {(one["command"], one["rows"], one["next"]) for one in found} >= {("records", 0, 100)}
    assert "records: missing heights 100-199; " in one_line(chainq("status", "lake", "--max-age", "1d"), 6)
    with serving(Moving(400)) as url:
        assert chainq("export", "--to", "lake", "-q", url=url).code == 0
    assert chainq("status", "lake", "--max-age", "1d").code == 0
    found = json.loads(chainq("status", "lake", "--json").out)
    assert [(one["command"], one["next"]) for one in found] == [("blocks", 401), ("records", 401)]


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
    assert line == f"{job.kept}: records up to block 9, its first run is in progress, 0 rows\n"
    assert (alarm.code, "its first run is in progress" in alarm.err) == (8, True)
