"""chainq export into a folder: layout, receipts, resuming, reorgs, and two exports at once."""

import fcntl
import json
import socket

import pytest

from chainq.demo.faults import Faults
from harness.lake.lake import Lake, due, export, jsonl_sha256
from harness.running.jobs import FIRST, said
from harness.running.program import Program, Servers, finish, one_line
from harness.running.truth import Truth
from harness.servers.services import Moving, serving
from harness.servers.services import result as canned_result
from harness.servers.sockets import answering
from harness.servers.sockets import server as socket_server

duckdb = pytest.importorskip("duckdb")
COMMANDS = ("blocks", "records", "transitions", "ownership")


def test_every_row_of_the_range_once_with_every_digit(
    chainq: Program, server: Servers, truth: Truth, lake: Lake
) -> None:
    """The partitions hold the rows of the service, typed, and one file each; the names depend on the grid alone."""
    url = server()
    ran = export(chainq, url, *COMMANDS, "full-blocks", "2400:2450", "--partition", "20")
    assert ran.code == 0, ran.err
    for command in (*COMMANDS, "full-blocks"):
        folders = [f"{command}/start={start:010d}" for start in (2400, 2420, 2440)]
        assert [name.rpartition("/")[0] for name in lake.names(command)] == folders
        found, expected = lake.rows(command), due(truth.rows(command, 2400, 2450))
        key = sorted if command in ("transitions", "ownership") else list
        assert key(map(str_of, found)) == key(map(str_of, expected))
    assert lake.stray == []


def str_of(row: dict[str, str]) -> str:
    return json.dumps(row, sort_keys=True)


def test_the_receipt_says_what_the_file_holds(chainq: Program, server: Servers, truth: Truth, lake: Lake) -> None:
    """Range, rows, hashes, proof, calls, tip, version, and the SHA-256 of what --jsonl prints."""
    url = server("--tip", "2549")
    assert export(chainq, url, "records", "blocks", "2400:", "--partition", "100").code == 0
    for command in ("records", "blocks"):
        receipts = lake.receipts(command)
        assert [(one["start"], one["end"]) for one in receipts] == [(2400, 2500), (2500, 2550)]
        for one in receipts:
            start, end = one["start"], one["end"]
            assert one["rows"] == len(truth.rows(command, start, end))
            assert one["sha256"] == jsonl_sha256(chainq, url, command, start, end)
            assert one["first_hash"] == truth.chain.block_hash(start)
            assert one["last_hash"] == truth.chain.block_hash(end - 1)
            assert one["previous_hash"] == truth.chain.block_hash(start - 1)
            assert (one["command"], one["tip"]) == (command, 2549)
            assert one["calls"] > 0
            assert one["proof"]
            assert one["version"]


def test_a_dialect_that_nobody_stated(chainq: Program, server: Servers, lake: Lake) -> None:
    """Commands that are the same in all dialects need none to be detected; their partitions are as good."""
    url, words = server(), ("export", "records", "20:60", "--partition", "20", "--to", "lake", "-w", "1")
    assert chainq(*words, "--url", url).code == 0
    assert {receipt["dialect"] for receipt in lake.receipts("records")} == {"chain"}
    ran = chainq("verify", "lake")
    assert (ran.code, ran.out) == (0, b""), ran.err


def test_a_finished_export_is_not_done_again(chainq: Program, lake: Lake) -> None:
    """A rerun makes at most three calls, and changes no file but the record of the last run."""
    service = Moving(FIRST + 5000)
    with serving(service) as url:
        words = ("records", "blocks", f"{FIRST}:{FIRST + 300}", "--partition", "100")
        assert export(chainq, url, *words).code == 0
        before = {path: path.stat().st_mtime_ns for path in lake.files()}
        service.calls.clear()
        assert export(chainq, url, *words).code == 0
        assert len(service.calls) <= 3
        assert {path: path.stat().st_mtime_ns for path in lake.files()} == before
        service.calls.clear()
        assert export(chainq, url, "records", f"{FIRST}:{FIRST + 400}").code == 0
        assert service.calls.count("records/all") < 8, "only the new partition is fetched"
        assert [one["start"] for one in lake.receipts("records")] == [2400, 2500, 2600, 2700]


def test_partitions_between_others_are_fetched_anew(chainq: Program, truth: Truth, lake: Lake) -> None:
    """Each second one; of each of those that are there, the hash of the last block is looked up."""
    service = Moving(FIRST + 5000)
    with serving(service) as url:
        words = ("blocks", f"{FIRST}:{FIRST + 400}", "--partition", "10")
        assert export(chainq, url, *words).code == 0
        for start in range(FIRST, FIRST + 400, 20):
            lake.file("blocks", start).unlink()
        service.calls.clear()
        assert export(chainq, url, *words).code == 0
        assert len(service.calls) <= 2 * 20 + 4, "one for each partition, and a few"
        assert lake.rows("blocks") == due(truth.rows("blocks", FIRST, FIRST + 400))


def test_rows_that_come_late_are_fetched_later(chainq: Program, lake: Lake) -> None:
    """A full partition that ended at the tip lacks the rows that the service had not written; a later run has them."""
    service = Moving(2499, faults=Faults("late-records:1000000"))
    with serving(service) as url:
        words = ("records", "ownership", "blocks", "2300:", "--partition", "100")
        assert export(chainq, url, *words).code == 0
        assert lake.rows("records") != due(Truth(2499).rows("records", 2300, 2500))
        service.heal()
        blocks = lake.file("blocks", 2400).stat().st_mtime_ns
        for tip in (2512, 2513):
            service.tip = tip
            assert export(chainq, url, *words).code == 0
            assert lake.rows("records") == due(Truth(tip).rows("records", 2300, tip + 1))
            assert len(lake.rows("ownership")) == len(lake.rows("records"))
        assert lake.file("blocks", 2400).stat().st_mtime_ns == blocks
        service.calls.clear()
        assert export(chainq, url, *words).code == 0
        assert len(service.calls) <= 3, "once is enough"


def test_workers_share_what_the_service_refuses(chainq: Program, truth: Truth, lake: Lake) -> None:
    """HTTP 429 loses nothing. After a refusal one worker tries again, and not each of four."""
    service = Moving(9000, faults=Faults("rate-limit:8", "rate-window:2.5"))
    with serving(service) as url:
        words = ("blocks", "2400:4400", "--partition", "100", "--to", "lake", "-w", "4", "-j", "4")
        ran = chainq("export", *words, url=url)
    assert ran.code == 0, ran.err
    assert ran.err.count("HTTP 429") == 1, "one line, whichever workers were refused"
    assert lake.rows("blocks") == due(truth.rows("blocks", 2400, 4400))
    # Twice a window is used up: with four calls under way; then one worker tries after 1 and 2 seconds.
    assert 0 < service.refused.count("getBlocks") <= 2 * (4 + 2), service.refused


@pytest.mark.search
def test_partitions_pass_on_what_they_teach(chainq: Program, truth: Truth, lake: Lake) -> None:
    """How dense rows are, and over which width no rows are believed, is learned once, not for each partition."""
    service = Moving(60_000)
    with serving(service) as url:
        assert export(chainq, url, "records", "10K:13K", "--partition", "1K").code == 0
        assert service.calls.count("records/all") <= 8, "two or three each: a chunk, its start and its end"
        service.calls.clear()
        assert export(chainq, url, "records", "39K:44K").code == 0
        assert not truth.rows("records", 40_000, 44_000)
        assert service.calls.count("records/all") < 60, "without that it takes 130 for each partition without rows"
    assert lake.rows("records") == due([*truth.rows("records", 10_000, 13_000), *truth.rows("records", 39_000, 44_000)])


def test_a_chain_that_is_shorter_than_the_data_set(chainq: Program) -> None:
    """A tip below a block that was exported is exit 6, and nothing is removed."""
    service = Moving(2649)
    with serving(service) as url:
        assert export(chainq, url, "records", "2400:", "--partition", "100").code == 0
        service.tip = 2620
        assert "its tip is 2620, but" in one_line(export(chainq, url, "records", "2400:"), 6)
        assert "its tip is 2620, but" in one_line(export(chainq, url, "records", "2630:2640", "-q"), 6)
        assert export(chainq, url, "records", "2400:2600").code == 0, "all of these heights are there"
        service.tip = 2645
        assert "no block 2649" in one_line(export(chainq, url, "records", "2400:"), 6)


def test_an_export_without_commands_extends_what_is_there(chainq: Program, lake: Lake) -> None:
    """With its tables, its partitions and its first height; a new one needs a command."""
    service = Moving(2549)
    with serving(service) as url:
        assert "no command to export" in one_line(export(chainq, url), 2)
        assert export(chainq, url, "chain", "records", "2400:2500", "--partition", "50", "--no-full-blocks").code == 0
        tables = {path.name for path in lake.root.iterdir() if path.is_dir()}
        assert "full-blocks" not in tables
        service.tip = 2570
        assert export(chainq, url).code == 0
        assert {path.name for path in lake.root.iterdir() if path.is_dir()} == tables
        for table in tables - {"_new"}:
            assert [one["end"] for one in lake.receipts(table)] == [2450, 2500, 2550, 2571]


def test_two_exports_at_once(chainq: Program, truth: Truth, lake: Lake) -> None:
    """Neither waits for the other, and both end well: the rows are there once."""
    service = Moving(FIRST + 5000)
    words = ("export", "records", "blocks", f"{FIRST}:{FIRST + 60}", "--partition", "20", "--to", "lake", "-w", "1")
    with serving(service) as url:
        runs = [chainq.start(*words, url=url) for _ in range(2)]
        assert [finish(run).code for run in runs] == [0, 0]
    for command in ("records", "blocks"):
        assert lake.rows(command) == due(truth.rows(command, FIRST, FIRST + 60))
    assert lake.stray == []


def test_a_better_file_of_a_partition_counts(chainq: Program, truth: Truth, lake: Lake) -> None:
    """As after a kill before the old one was removed: readers see its rows once, and the next run removes the other."""
    service = Moving(2549)
    with serving(service) as url:
        assert export(chainq, url, "records", "blocks", "2400:", "--partition", "100").code == 0
        old = lake.file("records", 2500)
        kept = old.read_bytes()
        service.tip = 2580
        assert export(chainq, url).code == 0
        assert not old.exists()
        old.write_bytes(kept)
        for ran in (
            chainq("records", "2400:2581", "--jsonl", url="lake"),
            chainq("sql", "lake", "select * exclude (start, extra) from records", "--jsonl"),
        ):
            assert len(ran.rows) == len(truth.rows("records", 2400, 2581)), ran.err
        assert chainq("verify", "lake").code == 0
        assert export(chainq, url).code == 0
        assert not old.exists()


def test_what_a_killed_run_left_is_removed(chainq: Program, server: Servers, lake: Lake) -> None:
    """Temporary files lie where no reader looks, and go with the next run; one that is being written stays."""
    new = lake.root / "_new"
    new.mkdir(parents=True)
    (new / "tmpleft").write_bytes(b"half")
    with (new / "tmpheld").open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert export(chainq, server(), "records", "2400:2410", "--partition", "10").code == 0
        assert lake.stray == ["tmpheld"]


def test_a_server_that_dies_before_a_worker_has_reached_it(chainq: Program) -> None:
    """It has responded to the export, so that the same command may succeed later."""
    known = {"latest/block": '{"height":"99","block_hash":"ab1"}', "block": '[{"height":"0","block_hash":"ab0"}]'}

    def serve(peer: socket.socket, request: bytes) -> None:
        called = json.loads(request.partition(b"\r\n\r\n")[2])
        if called["method"] in known:
            answering(canned_result(known[called["method"]])(called).body)(peer, request)
        else:
            peer.shutdown(socket.SHUT_RDWR)

    with socket_server(serve) as (url, _):
        ran = export(chainq, url, "blocks", "0:50", "--retries", "0")
    assert one_line(ran, 4).endswith("0 of 1 partition written; run the command again for the rest\n")


def test_a_disk_that_is_full(chainq: Program, server: Servers, lake: Lake) -> None:
    """A limit on file sizes ends the run with 7; what was there before is whole, and nothing else is left."""
    from harness.running.jobs import capped

    assert export(chainq, server(), "records", "2400:2450", "--partition", "50").code == 0
    ran = capped(chainq, 60_000, "export", "records", "2400:2700", "--to", "lake", "-w", "1", "-q", "--url", server())
    said(ran, 7, "/lake: ")
    assert next(lake.partitions("records")).receipt["start"] == 2400
    assert lake.stray == []
