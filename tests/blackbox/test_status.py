"""chainq status: how far a checkpoint or an export has come, from its files, for people and for monitoring."""

import fcntl
import json
import os
import re
import shutil
import socket
import threading
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
from harness.services import Moving, held, serving
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
        said(job("--lag", "10"), 0)
        first = seen(chainq, job.kept)
        rows, size = job.out.read_bytes().count(b"\n"), job.out.stat().st_size
        assert rows > 0
        assert (first["next"], first["tip"], first["lag"]) == (41, 50, 10)
        assert (first["rows"], first["bytes"], first["error"]) == (rows, size, "")
        assert first["tip_time"] == service.chain.timestamp(50)
        service.calls.clear()
        ran = chainq("status", str(job.kept), "--max-age", "1h")
        assert (ran.code, ran.err, service.calls) == (0, "", [])
        words = (
            rf"records up to block 40, 10 blocks below tip 50 at the last success, [0-9]+ seconds? ago, {rows:,} rows"
        )
        assert re.search(words, ran.out.decode())
        said(job("--lag", "10"), 0)
        second = seen(chainq, job.kept)
        assert second["success"] > first["success"]
        assert second["rows"] == rows
        service.tip = 60
        said(job("--lag", "10", out=str(job.folder / "other")), 0, "has the earlier ones")
        second, other = seen(chainq, job.kept), (job.folder / "other").read_bytes()
        assert other.count(b"\n") > 0  # rows and bytes are of the same file
        assert (second["next"], second["rows"], second["bytes"]) == (51, other.count(b"\n"), len(other))
        monkeypatch.setattr(service, "respond", lambda _: Reply(401, "text/plain", b"no"))
        assert job(out=str(job.folder / "other")).code == 3
        assert seen(chainq, job.kept)["lasting"] is True
        assert "failed for good" in one_line(chainq("status", str(job.kept), "--max-age", "1h"), 8)
    failed = job(out=str(job.folder / "other"))
    assert failed.code == 4
    assert chainq("status", str(job.kept), "--max-age", "1h").code == 0  # the next run may succeed
    third = seen(chainq, job.kept)
    assert third["success"] == second["success"]
    assert third["failure"] > third["success"]
    assert "could not reach" in third["error"]
    assert re.search(r"\nlast error, [0-9-]+ [0-9:]+Z: .*could not reach", chainq("status", str(job.kept)).out.decode())


def test_a_killed_run_shows_until_the_next_one(chainq: Program) -> None:
    """As the checkpoint records it; it is no reason for --max-age to fail, because the next run mends the file."""
    with serving(Moving(50)) as url:
        job = Job(chainq, url, "blocks")
        said(job(), 0)
        assert seen(chainq, job.kept)["unfinished"] is False
        job.kept.write_bytes(job.kept.read_bytes().replace(b'"writing": false', b'"writing": true'))
        assert seen(chainq, job.kept)["unfinished"] is True
        assert ", a run was killed, 51 rows, " in chainq("status", str(job.kept), "--max-age", "1h").out.decode()
        with Path(f"{job.kept}.lock").open("rb") as lock:  # as of a run in progress
            fcntl.flock(lock, fcntl.LOCK_EX)
            assert seen(chainq, job.kept)["unfinished"] is False
        said(job(), 0)
        assert seen(chainq, job.kept)["unfinished"] is False


@pytest.mark.parametrize("change", ["shorter", "a folder"])
def test_an_output_that_is_gone_is_a_failure(change: str, chainq: Program) -> None:
    """A run that finds its file gone, changed or unwritable failed for good: status shows it."""
    with serving(Moving(50)) as url:
        job = Job(chainq, url, "blocks")
        said(job(), 0)
        before, rows = seen(chainq, job.kept), job.out.read_bytes()
        job.out.unlink()
        if change == "shorter":
            job.out.write_bytes(rows[:100])
        elif change == "a folder":
            job.out.mkdir()
        ran = job()
        assert ran.code in (6, 7), ran.err
        after = seen(chainq, job.kept)
        assert after["error"] in ran.err
        assert after["error"]
        assert after["failure"] > before["success"] == after["success"]
        assert (after["next"], after["rows"]) == (before["next"], before["rows"])
        assert "\nlast error, " in chainq("status", str(job.kept)).out.decode()
        alarm = one_line(chainq("status", str(job.kept), "--max-age", "1h"), 8)
        assert ": the last run failed for good: " in alarm
        if change == "a folder":
            job.out.rmdir()
        job.out.write_bytes(rows)
        said(job(), 0)
        again = seen(chainq, job.kept)
        assert again["success"] > again["failure"]
        assert chainq("status", str(job.kept), "--max-age", "1h").code == 0
        assert "last error" not in chainq("status", str(job.kept)).out.decode()


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


def test_a_success_in_the_future_is_not_fresh(chainq: Program) -> None:
    """One of two clocks is wrong then: a cron job that died long ago would look healthy."""
    with serving(Moving(50)) as url:
        job = Job(chainq, url, "blocks")
        said(job(), 0)
    recorded = json.loads(job.kept.read_bytes())
    recorded["state"]["success"] = time.time() + 7 * 3600
    job.kept.write_text(json.dumps(recorded))
    alarm = one_line(chainq("status", str(job.kept), "--max-age", "1h"), 8)
    assert "in the future\n" in alarm


def test_a_service_behind_is_no_success(chainq: Program) -> None:
    """A tip below what was written before: the run can find nothing new, and the last success stays what it was."""
    service = Moving(50)
    with serving(service) as url:
        job = Job(chainq, url, "records")
        said(job(), 0)
        before = seen(chainq, job.kept)
        service.tip = 30
        said(job(), 0, "the service is behind")
        after = seen(chainq, job.kept)
    assert (after["success"], after["tip"]) == (before["success"], 50)


def test_rows_are_counted_over_runs_and_rewinds(chainq: Program) -> None:
    """The count is that of the rows in the file after several runs, and after --rewind."""
    service = Moving(2400)
    with serving(service) as url:
        job = Job(chainq, url, "records", "--start", "2300")
        for tip, more in ((2400, ()), (2420, ()), (2421, ()), (2421, ("--rewind", "30")), (2500, ())):
            service.tip = tip
            assert job(*more).code == 0
            assert seen(chainq, job.kept)["rows"] == job.out.read_bytes().count(b"\n")


def test_an_old_success_is_exit_8(chainq: Program) -> None:
    """A status that is older than --max-age says so and prints what it would else; so does one of no success."""
    with serving(Moving(20)) as url:
        job = Job(chainq, url, "blocks")
        said(job(), 0)
    content = json.loads(job.kept.read_bytes())
    job.kept.write_text(json.dumps({**content, "state": {**content["state"], "tip": 19}}))  # during --follow
    behind = seen(chainq, job.kept)
    assert (behind["next"], behind["tip"], behind["lag"]) == (21, 20, 0)
    for state, words in (
        ({**content["state"], "success": content["state"]["success"] - 7200}, "the last success was 2 hours ago"),
        ({}, "no run went well yet"),
    ):
        assert chainq("status", str(job.kept), "--max-age", "90m", "-q").out == b""
        job.kept.write_text(json.dumps({**content, "state": state}))
        ran = chainq("status", str(job.kept), "--max-age", "90m")
        assert words in one_line(ran, 8)
        assert "--max-age 90m" in ran.err
        assert ran.out
        zero = one_line(chainq("status", str(job.kept), "--max-age", "0s"), 8)
        assert state == {} or zero.endswith(", longer than --max-age 0s\n")
        assert chainq("status", str(job.kept)).code == 0
    job.kept.write_text(json.dumps({**content, "positions": [{"next": 9, "rows": 0}], "state": {}}))
    assert "blocks from block 9, nothing yet, no run went well yet" in chainq("status", str(job.kept)).out.decode()


def test_an_export(chainq: Program, server: Servers) -> None:
    """A line for each table, up to its first gap, with rows and bytes of all partitions; --max-age refuses gaps."""
    url = server("--tip", "5000")
    ran = chainq("export", "blocks", "records", "0:350", "--to", "lake", "--partition", "100", "-q", url=url)
    assert ran.code == 0, ran.err
    found = json.loads(chainq("status", "lake", "--json").out)
    assert [(one["command"], one["next"], one["tip"]) for one in found] == [
        ("blocks", 350, 5000),
        ("records", 350, 5000),
    ]
    files = {one["command"]: list((chainq.home / "lake" / one["command"]).rglob("*.parquet")) for one in found}
    assert [one["bytes"] for one in found] == [sum(path.stat().st_size for path in paths) for paths in files.values()]
    assert found[0]["rows"] == 350
    assert chainq("status", "lake", "--max-age", "1h").code == 0
    sorted(files["blocks"])[1].unlink()
    blocks = seen(chainq, "lake")
    assert (blocks["next"], blocks["rows"], blocks["missing"]) == (100, 100, [[100, 200]])
    sorted(files["blocks"])[3].unlink()
    text = chainq("status", "lake").out.decode()
    writes = "chainq export blocks 100:350 --to lake writes them"
    heading, names, *lines = text.splitlines()
    assert (heading, names.split()) == ("lake, tip 5000", ["table", "from", "through", "lag", "rows", "size", "age"])
    assert [line.split()[:5] for line in lines[:2]] == [
        ["blocks", "0", "99", "4,901", "100"],
        ["records", "0", "349", "4,651", f"{found[1]['rows']:,}"],
    ]
    assert max(map(len, lines[:2])) <= 60
    assert seen(chainq, "lake")["rows_above"] == 100
    assert lines[2:] == [f"blocks: 100 more rows above the first gap, missing heights 100-199, 300-349 ({writes})"]
    for options in ((), ("--json",)):
        plain, checked = (chainq("status", "lake", *options, *age) for age in ((), ("--max-age", "1h")))
        assert (plain.code, checked.code) == (0, 6)
        assert checked.out
        assert f"lake: blocks: missing heights 100-199, 300-349 ({writes})" in checked.err
    assert chainq(*writes.split()[1:-2], url=url).code == 0
    assert chainq("status", "lake", "--max-age", "1h").code == 0
    assert seen(chainq, "lake")["missing"] == []
    (chainq.home / "lake/records/start=000000000/data.parquet").unlink()
    [_, first] = json.loads(chainq("status", "lake", "--json").out)
    assert (first["next"], first["missing"]) == (0, [[0, 100]])  # its receipt names it
    assert chainq("status", "lake", "--max-age", "1h").code == 6


def test_several_targets(chainq: Program, server: Servers) -> None:
    """Each is shown in turn, in one document and with each gauge described once; --max-age counts for all."""
    url = server("--tip", "5000")
    assert chainq("export", "blocks", "records", "0:50", "--to", "lake", "-q", url=url).code == 0
    for name, end in (("a.ckpt", "30"), ("b.ckpt", "40")):
        words = ("blocks", "--start", "0", "--end", end, "--checkpoint", name, "-o", f"{name}.jsonl", "-q")
        assert chainq(*words, url=url).code == 0
    names = ("a.ckpt", "lake", "b.ckpt")
    lines = chainq("status", *names).out.decode().splitlines()
    assert [lines[0].split(":")[0], lines[1].split(",")[0], lines[-1].split(":")[0]] == list(names)
    found = json.loads(chainq("status", *names, "--json").out)
    assert [(one["command"], one["next"]) for one in found] == [
        ("blocks", 30),
        ("blocks", 50),
        ("records", 50),
        ("blocks", 40),
    ]
    assert chainq("status", *names, "--max-age", "1h").code == 0
    assert "lake: blocks: the last success was" in chainq("status", "lake", "a.ckpt", "--max-age", "0s").err
    ran = chainq("status", "nothere", "a.ckpt", "gone", "b.ckpt", "--json", "--max-age", "1h")
    assert [one["target"] for one in json.loads(ran.out)] == ["a.ckpt", "b.ckpt"]
    assert re.search(r"no data set at nothere\b.*no data set at gone\b", one_line(ran, 2))
    assert chainq("status", "nothere", "gone", "--json").out == b""
    with_locks = chainq("status", "a.ckpt", "a.ckpt.lock", "b.ckpt", "b.ckpt.lock", "--json")
    assert [one["target"] for one in json.loads(with_locks.out)] == ["a.ckpt", "b.ckpt"]
    lone = chainq("status", "a.ckpt.lock")
    assert one_line(lone, 2) == "chainq status: a.ckpt.lock is the lock file of the checkpoint a.ckpt\n"


def test_an_export_with_files_of_a_later_version(chainq: Program, server: Servers) -> None:
    """A table that this version does not know is named as such; a time that no calendar has is shown as it is."""
    words = ("export", "blocks", "records", "0:50", "--to", "lake", "--partition", "50", "-q")
    assert chainq(*words, url=server("--tip", "50")).code == 0
    lake = chainq.home / "lake"
    for folder in (lake, lake / "_chainq/receipts"):
        (folder / "blocks").rename(folder / "authors")
    described = (lake / "chainq.json").read_text()
    (lake / "chainq.json").write_text(described.replace('"blocks"', '"authors"'))
    (lake / "_chainq/last_run.json").write_text('{"tip":50,"failure":1e15,"error":"late"}')
    heading, _, *lines = chainq("status", "lake").out.decode().splitlines()
    assert heading == "lake, tip 50, no run went well yet"
    assert lines[0].split()[:3] == ["records", "0", "49"]
    assert lines[1] == "last error, 1000000000000000: late"
    assert lines[2].startswith("chainq.json of lake is damaged: Invalid enum value 'authors'")
    for begun in ([50, 0], [0, 10**20]):
        (lake / "_chainq/last_run.json").write_text(json.dumps({"begun": begun, "error": "late", "failure": 1}))
        ran = chainq("status", "lake")
        assert (ran.code, b"late" in ran.out) == (0, False)  # no record that can be read


def test_an_export_without_news_and_one_that_failed(chainq: Program) -> None:
    """A rerun that writes no partition is a success; a run that fails leaves its error, and keeps the last success."""
    with serving(Moving(250)) as url:
        words = ("export", "blocks", "0:200", "--to", "lake", "--partition", "100", "-q", "--url", url)
        assert chainq(*words).code == 0
        for path in (chainq.home / "lake").rglob("*.json"):
            os.utime(path, (1000, 1000))
        before = seen(chainq, "lake")
        assert chainq(*words).code == 0
        after = seen(chainq, "lake")
    assert after["success"] > before["success"]
    assert {**after, "success": 0, "age": 0} == {**before, "success": 0, "age": 0}
    assert chainq("status", "lake", "--max-age", "1h").code == 0
    assert chainq(*words, "--retries", "0").code == 4
    failed = seen(chainq, "lake")
    assert failed["success"] == after["success"] < failed["failure"]
    assert "could not reach" in failed["error"]
    assert "\nlast error, " in chainq("status", "lake").out.decode()
    with serving(Moving(250)) as url:
        assert chainq(*words[:-1], url).code == 0
    assert "last error" not in chainq("status", "lake").out.decode()
    assert seen(chainq, "lake")["error"] == failed["error"]


def test_each_table_has_the_success_of_its_own_runs(chainq: Program, server: Servers) -> None:
    """An export of blocks says nothing about records, also if an earlier version recorded the last run."""
    url = server("--tip", "400")
    words = ("0:200", "--to", "lake", "--partition", "100", "-q")
    assert chainq("export", "blocks", "records", *words, url=url).code == 0
    path = chainq.home / "lake/_chainq/last_run.json"
    path.write_text('{"success":1000,"tip":400}')  # as earlier versions do

    def successes() -> dict[str, float]:
        return {one["command"]: one["success"] for one in json.loads(chainq("status", "lake", "--json").out)}

    assert successes() == {"blocks": 1000, "records": 1000}
    for _ in range(2):
        assert chainq("export", "blocks", *words, url=url).code == 0
        found = successes()
        assert (found["blocks"] > 1000, found["records"]) == (True, 1000)
    assert "lake: records: the last success was" in one_line(chainq("status", "lake", "--max-age", "1h"), 8)
    assert chainq("export", "records", *words, url=url).code == 0
    assert successes()["records"] > 1000
    assert chainq("status", "lake", "--max-age", "1h").code == 0


@pytest.mark.parametrize("fails", [False, True])
def test_an_export_of_a_version_that_recorded_no_run(chainq: Program, server: Servers, fails: bool) -> None:
    """Its receipts tell when each table went well, also after the first run of this version, of some tables or one that
    fails."""
    url = server("--tip", "400", *(("--fault", "missing-height:250") if fails else ()))
    words = ("--to", "lake", "--partition", "100", "-q")
    assert chainq("export", "blocks", "records", "0:200", *words, url=url).code == 0
    (chainq.home / "lake/_chainq/last_run.json").unlink()
    for path in (chainq.home / "lake/_chainq").rglob("*.json"):
        os.utime(path, (1000, 1000))
    successes = dict.fromkeys(("blocks", "records"), 1000.0)

    def found() -> dict[str, float]:
        return {one["command"]: one["success"] for one in json.loads(chainq("status", "lake", "--json").out)}

    assert found() == successes
    for _ in range(2):
        assert chainq("export", "blocks", "0:300", *words, url=url).code == (6 if fails else 0)
        assert (found()["blocks"] == 1000, found()["records"]) == (fails, 1000)


def test_an_export_that_never_went_well(chainq: Program, server: Servers) -> None:
    """Partitions are there, and no run has ended well: that is no success, whatever their age."""
    url = server("--tip", "400", "--fault", "missing-height:250")
    assert chainq("export", "blocks", "0:400", "--to", "lake", "--partition", "100", "-q", url=url).code == 6
    found = seen(chainq, "lake")
    assert (found["next"], found["success"]) == (200, None)
    assert chainq("status", "lake", "--max-age", "1h").code == 6
    assert "no run went well yet" in chainq("status", "lake").out.decode()


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
        assert ", an export is running" in chainq("status", "lake").out.decode().splitlines()[0]
        assert {one["running"] for one in json.loads(chainq("status", "lake", "--json").out)} == {True}
        before()
        run.kill()
        finish(run)


def test_a_first_export_that_was_killed(chainq: Program) -> None:
    """Its receipts are no success either, whether or not it could record how it ended."""
    receipts = chainq.home / "lake/_chainq/receipts/records"
    killed(chainq, lambda _: receipts.exists(), "records", "0:400", "--partition", "100")
    assert "no run went well yet" in chainq("status", "lake").out.decode()
    assert {one["running"] for one in json.loads(chainq("status", "lake", "--json").out)} == {False}
    assert chainq("status", "lake", "--max-age", "1d").code == 6


@pytest.mark.parametrize("span", some(["0:400", "200:400"], "0:400"))
def test_a_later_export_that_was_killed(chainq: Program, server: Servers, span: str) -> None:
    """It misses the heights that it was to write, once it no longer runs, until an export succeeds."""
    url, words = server("--tip", "400"), ("--to", "lake", "-q")
    assert chainq("export", "blocks", "0:200", "--partition", "100", *words, url=url).code == 0
    killed(chainq, "getBlocks".__eq__, "blocks", span)
    writes = "missing heights 200-399 (chainq export blocks 200:400 --to lake writes them)"
    *_, gap, ended = chainq("status", "lake").out.decode().splitlines()
    assert (gap, ended) == (f"blocks: {writes}", "the last export of blocks did not finish")
    assert f"lake: blocks: {writes}" in one_line(chainq("status", "lake", "--max-age", "1h"), 6)
    one = seen(chainq, "lake")
    assert (one["missing"], one["unfinished"], one["running"]) == ([[200, 400]], True, False)
    first = chainq.home / "lake/blocks/start=000000000/data.parquet"
    first.rename(chainq.home / "kept")
    lacks, writes = "heights 0-99, 200-399", "chainq export blocks 0:400 --to lake writes them"
    assert f"missing {lacks} ({writes})" in chainq("status", "lake").out.decode()
    said = chainq("sql", "lake", "select count(*) from blocks").err
    assert f"blocks lacks {lacks}: the data set has no whole partition of them; {writes}" in said
    (chainq.home / "kept").rename(first)
    assert chainq("sql", "lake", "select count(*) from blocks").code == 0
    assert chainq("export", "blocks", "200:300", *words, url=url).code == 0
    assert chainq("status", "lake", "--max-age", "1h").code == 0
    assert seen(chainq, "lake")["unfinished"] is False


def test_gaps_of_tables_that_one_export_writes(chainq: Program, server: Servers) -> None:
    """One line and one command for all, as far as the first export was to go; one that has other gaps has its own."""
    receipts = chainq.home / "lake/_chainq/receipts/blocks"
    killed(chainq, lambda _: receipts.exists(), "chain", "records", "0:80", "--partition", "20")
    _, _, *lines = chainq("status", "lake").out.decode().splitlines()
    assert lines[len(CHAIN) + 1 :] == [
        "chain: missing heights 20-79 (chainq export chain 20:80 --to lake writes them)",
        "records: missing heights 0-79 (chainq export records 0:80 --to lake writes them)",
        "the last export of chain, records did not finish",
    ]
    assert "lake: chain: no run went well yet" in one_line(chainq("status", "lake", "--max-age", "1d"), 6)
    words = ("chain", "records", "0:80", "--to", "lake", "-w", "1", "-q")
    assert chainq("export", *words, url=server("--tip", "400")).code == 0
    (chainq.home / "lake/outputs/start=000000040/data.parquet").unlink()
    (chainq.home / "lake/calls/start=000000040/data.parquet").unlink()
    line = one_line(chainq("status", "lake", "--max-age", "1d"), 6)
    assert "lake: calls, outputs: missing heights 40-59 (chainq export calls outputs 40:60 --to lake " in line


def test_the_cookbook_names_every_key() -> None:
    """Of --json."""
    text = (Path(__file__).parents[2] / "docs/cookbook.md").read_text()
    for key in Status._fields:
        assert f"`{key}`" in text, key


@pytest.mark.parametrize("text", ["", "{", '{"chainq": 2}', '{"chainq": 2, "query": {}, "positions": []}'])
def test_what_is_no_status(chainq: Program, text: str) -> None:
    """Nothing there, or a file that is no checkpoint: exit 2."""
    assert "no checkpoint and no data set at nothing" in one_line(chainq("status", "nothing"), 2)
    Path(chainq.home, "kept").write_text(text)
    assert "checkpoint kept is damaged" in one_line(chainq("status", "kept"), 2)


def test_an_output_file_is_no_checkpoint(chainq: Program, server: Servers) -> None:
    """Nor is one that a checkpoint is about."""
    url = server("--tip", "50")
    for file, kept in (("rows.csv", ()), ("rows.jsonl", ("--checkpoint", "rows.ckpt"))):
        assert chainq("blocks", "0:5", *kept, "-o", file, url=url).code == 0
    for name in ("rows.csv", "rows.jsonl"):
        assert one_line(chainq("status", name), 2) == f"chainq status: {name} is not a checkpoint\n"
    assert chainq("status", "rows.ckpt").code == 0


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
    refused = chainq("block", "5", "--log-format", "json", url="nonsense")
    (error,) = map(json.loads, refused.err.splitlines())
    assert (refused.code, error["level"]) == (2, "error")
    assert "invalid URL" in error["message"]
    wrong = chainq("block", "5", "--nonsense", "--log-format=json")
    assert json.loads(wrong.err)["level"] == "error"
    assert "expected text or json" in one_line(chainq("block", "5", "--log-format", "xml", url=url), 2)


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
    missing = f"missing heights 100-399 ({writes} writes them)"
    ran = chainq("status", "lake")
    assert (ran.code, ran.out.decode()) == (0, f"lake: no partition yet, no run has ended; {missing}\n")
    assert "no run went well yet" in one_line(chainq("status", "lake", "--max-age", "1d"), 6)
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
    """It has a line of its own with 0 rows, and --max-age refuses it although another run went well."""
    pytest.importorskip("duckdb")
    words = ("--to", "lake", "--partition", "100", "-q")
    assert chainq("export", "blocks", "100:400", *words, url=server("--tip", "400")).code == 0
    killed(chainq, "records/all".__eq__, "records", "100:400")
    _, _, *lines = chainq("status", "lake").out.decode().splitlines()
    assert [line.split()[:5] for line in lines[:2]] == [
        ["blocks", "100", "399", "1", "300"],
        ["records", "-", "-", "301", "0"],
    ]
    assert [one["start"] for one in json.loads(chainq("status", "lake", "--json").out)] == [100, None]
    missing = "records: missing heights 100-399 (chainq export records 100:400 --to lake writes them)"
    assert lines[2:] == [missing, "the last export of records did not finish"]
    assert missing in one_line(chainq("status", "lake", "--max-age", "1d"), 6)
    assert chainq("export", "blocks", "100:500", *words, url=server("--tip", "499")).code == 0  # it ends no other mark
    assert missing in chainq("status", "lake").out.decode()
    query = ("sql", "lake", "select count(*) from blocks")
    for command in (query, ("verify", "lake")):
        assert "an export of records into lake has not finished; chainq status" in chainq(*command).err
    assert "no service URL" in one_line(chainq("verify", "lake", "--full", url=None), 2)  # before anything is read
    assert chainq("export", "records", "100:400", *words, url=server("--tip", "499")).code == 0
    assert chainq(*query).err == ""
    assert chainq("status", "lake", "--max-age", "1d").code == 0


def test_sql_over_an_export_that_has_not_finished(chainq: Program, server: Servers, nowhere: str) -> None:
    """One warning after a kill, of the first run or a later one, and after a failure; none with -q or a success."""
    pytest.importorskip("duckdb")
    warning = "chainq: warning: an export of records into lake has not finished; chainq status lake shows its heights\n"
    query, url = ("sql", "lake", "select count(*) from records"), server("--tip", "400")
    words = ("export", "records", "--to", "lake", "--partition", "100", "-q")
    receipts = chainq.home / "lake/_chainq/receipts/records"
    killed(chainq, lambda _: receipts.exists(), "records", "0:200", "--partition", "100")
    ran = chainq(*query)
    assert (ran.code, ran.err) == (0, warning)
    assert chainq(*query, "-q").err == ""
    assert chainq(*words, "0:200", url=url).code == 0
    assert chainq(*query).err == ""
    killed(chainq, "records/all".__eq__, "records", "200:400")
    ran = chainq(*query)
    assert (ran.code, ran.err) == (0, warning)
    assert chainq(*words, "0:400", url=url).code == 0
    assert chainq(*query).err == ""
    assert chainq(*words, "0:400", "--retries", "0", url=nowhere).code == 4
    assert "the last export into lake failed before it wrote anything: " in one_line(chainq(*query), 0)


def test_a_range_that_nobody_recorded(chainq: Program, server: Servers) -> None:
    """The command has a word in the place of the range: without one it would write the whole chain."""
    assert chainq("export", "chain", "0:50", "--to", "lake", "-q", url=server("--tip", "400")).code == 0
    new = chainq.home / "new"
    new.mkdir()
    (new / "chainq.json").write_bytes((chainq.home / "lake/chainq.json").read_bytes())
    assert chainq("status", "new").out == b"new: no partition yet, no run has ended\n"
    shutil.copytree(chainq.home / "lake/blocks", new / "blocks")
    assert chainq("status", "new").out == b"new: 1 file without receipts (copy the folder _chainq, too)\n"
    shutil.rmtree(new / "blocks")
    assert "; chainq export chain RANGE --to new writes them" in one_line(chainq("verify", "new"), 6)


def test_a_first_run_in_progress(chainq: Program) -> None:
    """It has had no success yet, and nothing is wrong with it."""
    service, hung, released = Moving(50), threading.Event(), threading.Event()

    def hook(_: str) -> None:
        if len(service.calls) > 1:
            hung.set()
            released.wait(LONGEST)

    service.hook = hook
    with serving(service, released) as url:
        job = Job(chainq, url, "records", "--start", "10")
        process = job.start()
        assert hung.wait(LONGEST)
        line = chainq("status", str(job.kept)).out.decode()
        alarm = chainq("status", str(job.kept), "--max-age", "1h", "-q")
        released.set()
        assert finish(process).code == 0
    assert line.startswith(f"{job.kept}: records from block 10, nothing yet, a run is in progress")
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
