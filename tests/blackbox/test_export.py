"""chainq export into a folder: layout, receipts, resuming, reorgs, and what keeps two exports apart."""

import fcntl
import json
import os
import re
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from chainq.demo.chain import Chain
from chainq.demo.faults import Faults
from chainq.demo.fork import Fork
from chainq.demo.service import Reply
from chainq.heights.grid import partition_name
from chainq.installer import install_command
from harness.jobs import FIRST, said
from harness.lake import Lake, due, jsonl_sha256
from harness.program import Program, Ran, Servers, one_line
from harness.search import some
from harness.services import Canned, Gaining, Moving, canned, fork_truth, serving
from harness.services import result as canned_result
from harness.sockets import answering
from harness.sockets import server as socket_server
from harness.truth import Truth

duckdb = pytest.importorskip("duckdb")
COMMANDS = ("blocks", "records", "transitions", "ownership")


def export(chainq: Program, url: str, *words: str, to: str = "lake") -> Ran:
    """Run `chainq export` into a folder of the test's own, with one worker."""
    return chainq("export", *words, "--to", to, "-w", "1", "-q", url=url)


@pytest.fixture
def lake(chainq: Program) -> Lake:
    """The data set that `export` writes."""
    return Lake(chainq.home / "lake")


def test_every_row_of_the_range_once_with_every_digit(
    chainq: Program, server: Servers, truth: Truth, lake: Lake
) -> None:
    """The partitions hold the rows of the service, typed, and one file each; the names depend on the grid alone."""
    url = server()
    ran = export(chainq, url, *COMMANDS, "full-blocks", "2400:2650", "--partition", "100")
    assert ran.code == 0, ran.err
    names = [f"start={start:09d}/data.parquet" for start in (2400, 2500, 2600)]
    for command in (*COMMANDS, "full-blocks"):
        assert lake.names(command) == [f"{command}/{name}" for name in names]
        found, expected = lake.rows(command), due(truth.rows(command, 2400, 2650))
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
            assert (one["command"], one["tip"], one["receipt"]) == (command, 2549, 1)
            assert one["calls"] > 0
            assert one["proof"]
            assert one["version"]


def test_a_data_set_says_what_it_is(chainq: Program, server: Servers, truth: Truth, lake: Lake) -> None:
    """chainq.json names the chain, the grid and the schema of each command; a folder of other files is warned of."""
    lake.root.mkdir()
    (lake.root / "notes").touch()
    ran = chainq("export", "records", "2400:2410", "--partition", "1K", "--to", "lake", url=server())
    assert ran.code == 0, ran.err
    assert "lake has other files; the data set is written beside them" in ran.err
    found = json.loads((lake.root / "chainq.json").read_bytes())
    assert found["chain"] == {"height": 0, "hash": truth.chain.block_hash(0)}
    assert found["partition"] == 1000
    assert list(found["schemas"]) == ["records"]
    ran = chainq("export", "blocks", "2400:2410", "--to", "lake", url=server())
    assert (ran.code, "other files" in ran.err) == (0, False)
    grown = json.loads((lake.root / "chainq.json").read_bytes())
    assert list(grown["schemas"]) == ["records", "blocks"]
    assert grown["partition"] == 1000


@pytest.mark.parametrize(
    ("change", "words", "message"),
    [
        ({"partition": 500}, ("--partition", "1K"), "partition 500, not 1000"),
        ({"chain": {"height": 0, "hash": "ab1other"}}, (), "another chain"),
        ({"schemas": {"records": "0"}}, (), "other columns or types"),
        ({"chainq": 2}, (), "layout 2"),
    ],
)
def test_a_second_export_must_agree(
    chainq: Program, server: Servers, lake: Lake, change: dict[str, Any], words: tuple[str, ...], message: str
) -> None:
    """Another grid, chain, schema or layout is exit 2, and nothing is changed."""
    assert export(chainq, server(), "records", "2400:2410", "--partition", "1K").code == 0
    file = lake.root / "chainq.json"
    file.write_text(json.dumps(json.loads(file.read_bytes()) | change))
    before = {path: path.read_bytes() for path in lake.root.rglob("*") if path.is_file()}
    assert message in one_line(export(chainq, server(), "records", "2400:2420", *words), 2)
    assert {path: path.read_bytes() for path in lake.root.rglob("*") if path.is_file()} == before


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
    """Each second one: the hashes of those that are there come by one request, as they lie near each other."""
    service = Moving(FIRST + 5000)
    with serving(service) as url:
        words = ("blocks", f"{FIRST}:{FIRST + 400}", "--partition", "10")
        assert export(chainq, url, *words).code == 0
        for start in range(FIRST, FIRST + 400, 20):
            (lake.root / partition_name("blocks", start)).unlink()
        service.calls.clear()
        assert export(chainq, url, *words).code == 0
        assert len(service.calls) <= 20 + 4, "one for each partition, and a few"
        assert lake.rows("blocks") == due(truth.rows("blocks", FIRST, FIRST + 400))


def test_the_last_partition_is_replaced_as_it_fills(chainq: Program, lake: Lake) -> None:
    """A partition that ends at the tip is written again when the chain has grown; full ones stay."""
    service = Moving(2549)
    with serving(service) as url:
        for tip, ends in ((2549, [2500, 2550]), (2580, [2500, 2581]), (2610, [2500, 2600, 2611])):
            service.tip = tip
            assert export(chainq, url, "records", "2400:", "--partition", "100").code == 0
            assert [one["end"] for one in lake.receipts("records")] == ends
            assert lake.rows("records") == due(Truth(tip).rows("records", 2400, tip + 1))
        assert export(chainq, url, "records", "2400:", "--lag", "50").code == 0, "a larger lag takes nothing away"
        assert [one["end"] for one in lake.receipts("records")] == [2500, 2600, 2611]


def test_rows_that_come_late_are_fetched_later(chainq: Program, lake: Lake) -> None:
    """A full partition that ended at the tip lacks the rows that the service had not written; a later run has them."""
    service = Moving(2499, faults=Faults(late_records=10**6))
    with serving(service) as url:
        words = ("records", "ownership", "blocks", "2300:", "--partition", "100")
        assert export(chainq, url, *words).code == 0
        assert lake.rows("records") != due(Truth(2499).rows("records", 2300, 2500))
        service.heal()
        blocks = (lake.root / "blocks/start=000002400/data.parquet").stat().st_mtime_ns
        for tip in (2512, 2513):
            service.tip = tip
            assert export(chainq, url, *words).code == 0
            assert lake.rows("records") == due(Truth(tip).rows("records", 2300, tip + 1))
            assert len(lake.rows("ownership")) == len(lake.rows("records"))
        assert (lake.root / "blocks/start=000002400/data.parquet").stat().st_mtime_ns == blocks
        service.calls.clear()
        assert export(chainq, url, *words).code == 0
        assert len(service.calls) <= 3, "once is enough"


def test_lag_leaves_out_the_last_blocks(chainq: Program, server: Servers, lake: Lake) -> None:
    """--lag N ends N blocks before the tip."""
    assert export(chainq, server("--tip", "2549"), "records", "2400:", "--lag", "20", "--partition", "200").code == 0
    assert [one["end"] for one in lake.receipts("records")] == [2530]


def test_a_range_that_ends_beyond_the_tip(chainq: Program, server: Servers, lake: Lake) -> None:
    """What there is is exported, and a warning says where the chain ends."""
    words = ("export", "records", "2400:3000", "--partition", "100", "--to", "lake", "-w", "1")
    ran = chainq(*words, url=server("--tip", "2449"))
    assert ran.code == 0, ran.err
    assert "the end 3000 is not reached: the tip is 2449" in ran.err
    assert [one["end"] for one in lake.receipts("records")] == [2450]
    ran = chainq(*words, "--lag", "9999", url=server("--tip", "2449"))
    assert "no blocks in that range" in ran.err


def test_workers_share_what_the_service_refuses(chainq: Program, truth: Truth, lake: Lake) -> None:
    """HTTP 429 loses nothing. After a refusal one worker tries again, and not each of four."""
    service = Moving(9000, faults=Faults(rate_limit=8, rate_window=2.5))
    with serving(service) as url:
        words = ("blocks", "2400:4400", "--partition", "100", "--to", "lake", "-w", "4", "-j", "4")
        ran = chainq("export", *words, url=url)
    assert ran.code == 0, ran.err
    assert ran.err.count("HTTP 429") == 1, "one line, whichever workers were refused"
    assert lake.rows("blocks") == due(truth.rows("blocks", 2400, 4400))
    # Twice a window is used up: with four calls under way; then one worker tries after 1 and 2 seconds.
    assert 0 < service.refused.count("getBlocks") <= 2 * (4 + 2), service.refused


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


def test_a_service_that_contradicts_itself_is_no_reorg(chainq: Program, server: Servers) -> None:
    """A broken link between two partitions that the service still has: another run would not mend it."""
    url = server("--plant", "link:2500")
    for _ in range(2):
        ran = export(chainq, url, "blocks", "2400:2600", "--partition", "100")
        assert "the service contradicts itself: block 2500 names another previous block than block 2499, ab1" in ran.err
        assert ran.code == 6
        assert "reorg" not in ran.err


def test_a_reorg_replaces_the_partitions_that_it_touches(chainq: Program, lake: Lake) -> None:
    """The partitions from the fork on are written again and named; those below stay."""
    service, trunk = Moving(2649), Chain(tip=2649)
    with serving(service) as url:
        words = ("export", "records", "blocks", "2300:", "--partition", "100", "--to", "lake", "-w", "2")
        assert chainq(*words, url=url).code == 0
        untouched = (lake.root / "records/start=000002300/data.parquet").stat().st_mtime_ns
        service.swap(Fork(trunk, 2450))
        ran = chainq(*words, url=url)
        assert ran.code == 0, ran.err
        assert "reorg: 6 partitions to replace: records/start=000002400/data.parquet" in ran.err
        forked = fork_truth(2450, 2649)
        for command in ("records", "blocks"):
            assert lake.rows(command) == due(forked.rows(command, 2300, 2650))
        assert (lake.root / "records/start=000002300/data.parquet").stat().st_mtime_ns == untouched


def test_a_chain_that_is_shorter_than_the_data_set(chainq: Program, lake: Lake) -> None:
    """A tip below a block that was exported is exit 6, and nothing is removed."""
    service = Moving(2649)
    with serving(service) as url:
        assert export(chainq, url, "records", "2400:", "--partition", "100").code == 0
        service.tip = 2620
        assert "its tip is 2620, but" in one_line(export(chainq, url, "records", "2400:"), 6)
        success = json.loads((lake.root / "_chainq/last_run.json").read_bytes())["success"]
        assert "its tip is 2620, but" in one_line(export(chainq, url, "records", "2630:2640", "-q"), 6)
        assert json.loads((lake.root / "_chainq/last_run.json").read_bytes())["success"] == success
        assert export(chainq, url, "records", "2400:2600").code == 0, "all of these heights are there"
        service.tip = 2645
        assert "no block 2649" in one_line(export(chainq, url, "records", "2400:"), 6)


def test_another_chain_is_refused_above_its_tip(chainq: Program, server: Servers, lake: Lake) -> None:
    """A range that the other chain does not reach is no success."""
    assert export(chainq, server("--tip", "60"), "blocks", "0:50").code == 0
    before = (lake.root / "_chainq/last_run.json").read_bytes()
    ran = export(chainq, server("--sealed", "20"), "blocks", "30:50", "-q")
    assert "lake holds another chain: its block 0 is " in one_line(ran, 2)
    assert (lake.root / "_chainq/last_run.json").read_bytes() == before


def test_a_damaged_partition_is_written_again(chainq: Program, server: Servers, truth: Truth, lake: Lake) -> None:
    """A file of another size than its receipt says, one without receipt, and one with two receipts do not count."""
    words = ("records", "2400:2700", "--partition", "100")
    assert export(chainq, server(), *words).code == 0
    first, second, third = (lake.root / name for name in lake.names("records"))
    first.write_bytes(first.read_bytes()[:-10])
    receipts = lake.root / "_chainq/receipts/records"
    next(receipts.glob("000002500-*")).unlink()
    (receipts / f"000002600-000002700-000002800-1-{third.stat().st_size}-1-0-0.json").write_text("{}")
    second.unlink()
    ran = chainq("export", *words, "--to", "lake", url=server())
    assert "3 partitions written;" in ran.err
    assert lake.rows("records") == due(truth.rows("records", 2400, 2700))
    assert len(list(receipts.iterdir())) == 3


def test_two_exports_at_once(chainq: Program, server: Servers, lake: Lake) -> None:
    """The second one ends with 75; --no-lock does without."""
    assert export(chainq, server(), "records", "2400:2410", "--partition", "10").code == 0
    with (lake.root / "_chainq/lock").open("rb+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert "another export is writing to" in one_line(export(chainq, server(), "records", "2400:2410"), 75)
        assert export(chainq, server(), "records", "2400:2420", "--no-lock").code == 0
    assert export(chainq, server(), "records", "2400:2410").code == 0, "a lock ends with its process"


def test_what_a_killed_run_left_is_removed(chainq: Program, server: Servers, lake: Lake) -> None:
    """Temporary files lie where no reader looks, and go with the next run; one that is being written stays."""
    new = lake.root / "_chainq" / "new"
    new.mkdir(parents=True)
    (new / "tmpleft").write_bytes(b"half")
    with (new / "tmpheld").open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert export(chainq, server(), "records", "2400:2410", "--partition", "10").code == 0
        assert lake.stray == ["tmpheld"]


@pytest.mark.parametrize(
    "fault", [("--row-cap", "70"), ("--byte-cap", "30000"), ("--fail-rate", "0.2"), ("--shuffle-heights",)]
)
def test_servers_with_faults(
    chainq: Program, server: Servers, truth: Truth, lake: Lake, fault: tuple[str, ...]
) -> None:
    """Whatever cuts, refuses or mixes up responses, the partitions are complete."""
    ran = export(chainq, server(*fault), "records", "2400:2600", "--partition", "50", "--retries", "9")
    assert ran.code == 0, ran.err
    assert sorted(map(str_of, lake.rows("records"))) == sorted(map(str_of, due(truth.rows("records", 2400, 2600))))


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


def test_a_server_that_cannot_be_proved_leaves_no_file(chainq: Program, server: Servers, lake: Lake) -> None:
    """A missing block is exit 6; the partitions without it are there, and the message says how to go on."""
    ran = export(chainq, server("--missing-height", "2455"), "blocks", "2400:2600", "--partition", "50")
    line = one_line(ran, 6)
    assert "2455" in line
    assert "run the command again for the rest" in line
    assert "blocks/start=000002450/data.parquet" not in lake.names("blocks")
    assert lake.stray == []


def test_a_disk_that_is_full(chainq: Program, server: Servers, lake: Lake) -> None:
    """A limit on file sizes ends the run with 7; what was there before is whole, and nothing else is left."""
    from harness.jobs import capped

    assert export(chainq, server(), "records", "2400:2450", "--partition", "50").code == 0
    ran = capped(chainq, 60_000, "export", "records", "2400:2700", "--to", "lake", "-w", "1", "-q", "--url", server())
    said(ran, 7, "/lake: ")
    assert next(lake.partitions("records")).receipt["start"] == 2400
    assert lake.stray == []


def test_dry_run_writes_nothing(chainq: Program, server: Servers, lake: Lake) -> None:
    """--dry-run lists what would be written, with calls, time and size by what is there already."""
    words = ("export", "records", "2400:2600", "--partition", "100", "--to", "lake")
    ran = chainq(*words, "--dry-run", "--rate", "2", url=server())
    assert ran.code == 0, ran.err
    found = [json.loads(row) for row in ran.rows]
    assert [(one["start"], one["end"], one["reason"]) for one in found] == [(2400, 2500, "new"), (2500, 2600, "new")]
    assert (
        "2 partitions to write, 0 complete, about 10 calls, 5 seconds at 2 a second, size not known before" in ran.err
    )
    assert not lake.root.exists()
    ran = chainq(*words[:-1], "sub/../lake", url=server())
    assert (ran.code, f"chainq: {lake.root}: " in ran.err) == (0, True), ran.err
    calls = re.search(r"([0-9]+) calls", ran.err)
    assert calls is not None
    assert 8 <= int(calls[1]) <= 14, "as many as were estimated, and those of the coordinator"
    newest = chainq("export", "records", "-100:", "--to", "other", "--dry-run", url=server())
    assert newest.rows == chainq("export", "records", "--last", "100", "--to", "other", "--dry-run", url=server()).rows
    assert newest.rows, newest.err
    ran = chainq("export", "records", "2400:2700", "--to", "lake", "--dry-run", url=server())
    (one,) = [json.loads(row) for row in ran.rows]
    sizes = [(lake.root / name).stat().st_size for name in lake.names("records")]
    assert (one["start"], one["bytes"]) == (2600, round(sum(sizes) / 2))
    assert "1 partition to write, 2 complete" in ran.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("records",), "missing option --to"),
        (("block", "--to", "lake"), "'block' cannot be exported; did you mean blocks?"),
        (("blocks,records", "--to", "lake"), "'blocks,records' cannot be exported; did you mean blocks records?"),
        (("--repair", "all", "--to", "lake"), "--repair all needs a command; name the commands and a range"),
        (("address-transactions", "--to", "lake"), "cannot be exported"),
        (("0:10", "--to", "lake"), "no command to export"),
        (("records", "10:5", "--to", "lake"), "it starts after its end"),
        (("records", "1:2", "--last", "5", "--to", "lake"), "cannot be combined"),
        (("records", "--partition", "0", "--to", "lake"), "invalid --partition 0"),
        (("records", "--partition", "abc", "--to", "lake"), "invalid --partition 'abc': expected a number of blocks"),
        (("records", "--to", ""), "invalid destination ''"),
        (("records", "--to", "ftp://host/x"), "invalid destination"),
        (
            ("records", "--to", "http://host/x"),
            "or file:; chainq serve --lake DEST serves an export over HTTP, for --url",
        ),
        (("records", "--to", "file://host/x"), "invalid destination"),
    ],
)
def test_usage_errors(chainq: Program, words: tuple[str, ...], message: str) -> None:
    """Mistakes are exit 2 with one line, before any call."""
    assert message.lower() in one_line(chainq("export", *words, url="demo:"), 2).lower()


def test_a_range_that_does_not_begin_on_the_grid(chainq: Program, server: Servers, lake: Lake) -> None:
    """The first partition begins at its place in the grid, and a warning says so."""
    ran = chainq("export", "records", "--last", "30", "--partition", "100", "--to", "lake", url=server("--tip", "2549"))
    assert ran.code == 0
    assert "the range starts at height 2500" in ran.err
    assert [(one["start"], one["end"]) for one in lake.receipts("records")] == [(2500, 2550)]


def test_values_that_do_not_fit_their_columns(chainq: Program, truth: Truth, lake: Lake) -> None:
    """Numbers beyond 128 bits, strings for numbers, numbers for strings, null, nothing: all is kept, nothing fails."""
    odd: list[dict[str, Any]] = [
        {"coinbase_target": "340282366920938463463374607431768211455", "proof_target": "9" * 38},
        {"coinbase_target": 10**37, "proof_target": None, "network": "3", "round": 7},
        {"coinbase_target": "007", "proof_target": "1.5", "timestamp": "9" * 30, "network": 2**70},
        {"finalize_root": 12.50, "solutions_root": True, "subdag_root": {"a": [1]}, "new": {"x": "\ud800"}},
    ]
    rows = [json.loads(truth.block(height)) | one for height, one in enumerate(odd)]
    del rows[3]["round"]

    def answer(request: Any) -> Canned:
        params, method = request.get("params") or {}, request["method"]
        start = params.get("start", params.get("startHeight", 0))
        end = params.get("end", params.get("endHeight", 4))
        if method == "latest/block":
            value: Any = rows[3]
        elif method == "block":
            value = [rows[params["block"]]]
        else:
            value = rows[start:end]
        return Canned(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": value}).encode())

    with canned(answer) as (url, _):
        ran = chainq("export", "blocks", "--partition", "2", "--to", "lake", "-w", "1", url=url)
    assert ran.code == 0, ran.err
    assert "a value of 'coinbase_target' does not fit decimal128(38, 0): as sent it goes to the column extra" in ran.err
    found = lake.rows("blocks")
    assert found == due([json.dumps(row).encode() for row in rows])
    file = str(lake.root / "blocks/*/data.parquet")
    targets = duckdb.sql(f"select coinbase_target, extra from read_parquet('{file}') order by height").fetchall()  # noqa: S608
    assert targets[1] == (10**37, None)
    assert targets[0] == (None, '{"coinbase_target":"340282366920938463463374607431768211455"}')


def test_readers_see_partitions_as_one_table(chainq: Program, server: Servers, truth: Truth, lake: Lake) -> None:
    """DuckDB and pandas read the folder as it is, the grid as a column."""
    pandas = pytest.importorskip("pandas")
    assert export(chainq, server(), "records", "blocks", "2400:2600", "--partition", "100").code == 0
    count = len(truth.rows("records", 2400, 2600))
    table = duckdb.read_parquet(f"{lake.root}/records/*/*.parquet", hive_partitioning=True)
    assert table.aggregate("count(*), min(height), max(start::int)").fetchall() == [(count, 2400, 2500)]
    frame = pandas.read_parquet(lake.root / "records")
    assert len(frame) == count


def test_without_pyarrow(chainq: Program, tmp_path: Path) -> None:
    """If pyarrow is missing, or broken, the message has the line that installs it."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['pyarrow'] = None\n")
    ran = chainq("export", "records", "--to", "lake", url="demo:", env={"PYTHONPATH": str(tmp_path)})
    assert install_command("parquet") in one_line(ran, 2)
    (tmp_path / "sitecustomize.py").unlink()
    (tmp_path / "pyarrow.py").write_text("raise ImportError")
    ran = chainq("export", "records", "--to", "lake", "-q", url="demo:", env={"PYTHONPATH": str(tmp_path)})
    assert install_command("parquet") in one_line(ran, 2)


@pytest.mark.parametrize(
    "command", some(["blocks", "records", "ownership", "transitions", "chain"], "records", "transitions")
)
def test_the_estimate_is_close_to_the_calls_of_a_first_export(chainq: Program, server: Servers, command: str) -> None:
    """Chunks grow to fill a response, so the number of calls depends on how dense rows are: a sample shows that."""
    words = ("export", command, "10K:14K", "--partition", "2K", "--to", "lake", "-w", "1")
    url = server("--tip", "30000")
    estimated, made = (
        int(re.findall(r"([0-9]+) calls", chainq(*words, *more, url=url).err)[-1]) for more in (["--dry-run"], [])
    )
    assert abs(made - estimated) <= 2 + made * 0.2, (made, estimated)


def test_how_much_there_is_to_do_is_said_first(chainq: Program, server: Servers) -> None:
    """Without a range: partitions to write, and those that are complete; nothing where all are."""
    words = ("export", "records", "--partition", "100", "--to", "lake", "-w", "1")
    url = server("--tip", "140")
    first = chainq(*words, url=url).err.splitlines()[0]
    whole = "no range was given, so it is the whole chain"
    assert first == f"chainq: 2 partitions of heights 0-140 to write, 0 complete; {whole}"
    again = chainq(*words, "-v", url=url)
    assert "to write" not in again.err
    calls = again.err.count(": ok")
    assert calls
    assert f", {calls} calls; chainq verify " in again.err


def test_without_a_range_a_data_set_that_begins_later_goes_on(chainq: Program, server: Servers) -> None:
    """It goes on from its first height, and says so, with --dry-run too; other tables begin there as well."""
    url, words = server("--tip", "399"), ("export", "blocks", "--to", "lake", "-w", "1")
    assert chainq(*words, "200:300", "--partition", "100", "-q", url=url).code == 0
    said = "; no range was given, so it continues at height 200; pass 0: for the whole chain\n"
    assert chainq(*words, "--dry-run", url=url).err.endswith(said)
    assert f"chainq: 1 partition of heights 300-399 to write, 1 complete{said}" in chainq(*words, url=url).err
    assert "no range" not in chainq(*words, url=url).err
    records = ("export", "records", *words[2:])
    assert f"chainq: 2 partitions of heights 200-399 to write, 0 complete{said}" in chainq(*records, url=url).err
    assert [json.loads(row)["start"] for row in chainq(*words, "0:", "--dry-run", url=url).rows] == [0, 100]


def test_without_a_range_an_export_of_the_whole_chain_begins_anew_where_it_was_to(
    chainq: Program, server: Servers
) -> None:
    """Its first partition is gone or was never finished: what was recorded at its beginning counts."""
    url, words = server("--tip", "399"), ("export", "blocks", "--to", "lake", "-w", "1")
    failed = chainq(*words, "--partition", "100", url=server("--tip", "399", "--missing-height", "350"))
    assert failed.code == 6, failed.err
    lake = chainq.home / "lake"
    shutil.rmtree(lake / "blocks/start=000000000")
    for receipt in (lake / "_chainq/receipts/blocks").glob("000000000-*"):
        receipt.unlink()
    assert [json.loads(row)["start"] for row in chainq(*words, "--dry-run", url=url).rows] == [0, 300]


def test_the_heights_to_write_are_those_of_their_partitions(chainq: Program, server: Servers) -> None:
    """Not of all that the export has: one partition that is gone, and more that do not touch."""
    words = ("export", "blocks", "--partition", "10", "--to", "lake", "-w", "1")
    url = server("--tip", "99")
    assert chainq(*words, url=url).code == 0
    for starts, what in (
        ((20,), "1 partition of heights 20-29"),
        ((20, 30, 90), "3 partitions of heights 20-39, heights 90-99"),
    ):
        for start in starts:
            shutil.rmtree((chainq.home / "lake" / partition_name("blocks", start)).parent)
        assert f"chainq: {what} to write, {10 - len(starts)} complete\n" in chainq(*words, url=url).err


class Drifting(Moving):
    """A service that changes what it sends of records from a height on."""

    def respond(self, body: bytes) -> Reply:
        reply = super().respond(body)
        content = json.loads(reply.body) if json.loads(body)["method"].startswith("records/all") else {}
        for row in content.get("result", ()):
            if row["height"] >= 2500:
                del row["block_hash"]
                row["transition_id"] = {"id": row["transition_id"]}
                row["gained"] = "new"
        return reply._replace(body=json.dumps(content).encode()) if content else reply


def test_a_partition_that_is_written_again_lacks_what_it_lacked(chainq: Program, server: Servers) -> None:
    """Heights 100-199 of the sample chain have no subdag_root, and those after have one: no field was lost."""
    words, url = ("export", "blocks", "0:300", "--partition", "100", "--to", "lake", "-w", "1"), server("--tip", "400")
    assert "sends none" not in chainq(*words, url=url).err
    os.truncate(chainq.home / "lake/blocks/start=000000100/data.parquet", 1000)
    again = chainq(*words, url=url)
    assert "1 partition written, 2 complete before" in again.err
    assert "sends none" not in again.err


def test_a_service_that_sends_other_fields(chainq: Program) -> None:
    """Said once each; all values are kept, in one table, and rows that cannot be told apart are not called doubled."""
    with serving(Drifting(2900)) as url:
        words = ("--partition", "50", "--to", "lake", "-w", "2")
        assert chainq("export", "records", "2400:2500", *words, "-q", url=url).code == 0
        ran = chainq("export", "records", "2500:2650", *words, "--max-memory", "1G", url=url)
        assert ran.code == 0, ran.err
        for told in (
            "no values of block_hash, transition_id from the partition at height 2500 on: the service sends none",
            "gained",
            "value of 'transition_id'",
        ):
            assert ran.err.count(told) == 1, ran.err
        assert ran.err.count("no values of") == 1
    checks = {json.loads(row)["check"] for row in chainq("verify", "lake", "--jsonl").rows}
    assert checks == {"invalid"}
    query = "select count(*) as n, count(transition_id) as named from records"
    (row,) = (json.loads(row) for row in chainq("sql", "lake", query, "--jsonl").rows)
    assert 0 < row["named"] < row["n"]


class Nesting(Moving):
    """A service that changes what is inside of the transactions of full blocks from a height on."""

    def respond(self, body: bytes) -> Reply:
        reply = super().respond(body)
        content = json.loads(reply.body) if json.loads(body)["method"].startswith("getChainBlocks") else {}
        for block in content.get("result", ()):
            if block["header"]["metadata"]["height"] < 2500:
                continue
            for confirmed in block["transactions"]:
                for one in confirmed["transaction"].get("execution", {}).get("transitions", ()):
                    del one["tcm"]
                    one["gained"] = {"x": 1}
        return reply._replace(body=json.dumps(content).encode()) if content else reply


def test_a_service_that_sends_other_members(chainq: Program) -> None:
    """Inside of lists, too, and in the middle of a run: said once, verified, and read back as they were sent."""
    inner = "transactions.transaction.execution.transitions"
    with serving(Nesting(2900)) as url:
        words = ("export", "full-blocks", "--to", "lake", "--partition", "20", "-w", "2")
        ran = chainq(*words, "2440:2600", url=url)
        assert ran.code == 0, ran.err
        assert ran.err.count(f"full-blocks: no values of {inner}.tcm from the partition at height 2500 on") == 1
        assert ran.err.count(f"full-blocks: unknown fields {inner}.gained from the partition at height 2500 on") == 1
        assert "no values of" not in ran.err.replace(f"no values of {inner}.tcm from", "")
        ran = chainq(*words, "2600:2700", url=url)
        assert ran.code == 0, ran.err
        for told in ("no values of", "unknown fields"):
            assert told not in ran.err, "as in the partition before"
        sent = chainq("full-blocks", "2498:2502", "--jsonl", url=url).rows
    assert list(map(json.loads, chainq("full-blocks", "2498:2502", "--jsonl", url="lake").rows)) == list(
        map(json.loads, sent)
    )
    assert chainq("verify", "lake").code == 0


def test_an_unknown_field_is_said_once_in_a_data_set(chainq: Program) -> None:
    """By the first run, not by those that write after it or write its last partition again; nor is it lost there."""
    with serving(Gaining(2900)) as url:
        for bounds, said in (("2440:2470", 1), ("2440:2475", 0), ("2475:2520", 0)):
            ran = chainq("export", "records", "--to", "lake", "--partition", "20", "-w", "2", bounds, url=url)
            assert ran.code == 0, ran.err
            assert ran.err.count("unknown field 'gained': it goes to the column extra") == said, bounds
    assert all('"gained":' in row for row in map(bytes.decode, chainq("records", "2440:2520", url="lake").rows))


def test_fields_that_few_rows_have(chainq: Program, server: Servers) -> None:
    """A partition of a few blocks may have no tag or aborted transaction: nothing is said to be lost."""
    words = ("export", "chain", "--to", "lake", "--partition", "50", "-w", "1")
    for start in (2400, 2450):
        ran = chainq(*words, f"{start}:{start + 50}", url=server())
        assert (ran.code, "no values of" in ran.err) == (0, False), ran.err
    ran = chainq(*words, "2500:2503", url=server())
    assert (ran.code, "no values of" in ran.err) == (0, False), ran.err


def test_a_range_apart_from_the_rest_says_what_lies_between(chainq: Program) -> None:
    """When it is written, and not only when a query ends with exit code 6; ranges that touch are no reason."""
    runs = [("100:200", ""), ("200:300", ""), ("0:50", "heights 50-99"), ("400:450", "heights 300-399"), ("50:100", "")]
    for words, missing in runs:
        ran = chainq("export", "blocks", words, "--partition", "50", "--to", "lake", "-w", "1", url="demo:")
        said = [line for line in ran.err.splitlines() if "missing between" in line]
        rest = f"missing between this range and the rest of {chainq.home / 'lake'}; "
        wanted = [f"chainq: warning: {missing}: {rest}"] if missing else []
        assert (ran.code, [line[: line.index("export ")] for line in said]) == (0, wanted)


def test_a_repair_without_a_range_is_of_what_is_there(chainq: Program, lake: Lake) -> None:
    """Not of the whole chain: of the heights from the first partition to the last one, also if some are gone."""
    grid = ("--partition", "50", "--to", "lake", "-w", "1")
    assert export_demo(chainq, "records", "100:320", *grid).code == 0
    (lake.root / "records/start=000000150/data.parquet").unlink()
    ran = export_demo(chainq, "records", "--repair", "all", *grid)
    assert (ran.code, [(one["start"], one["end"]) for one in lake.receipts("records")]) == (
        0,
        [(100, 150), (150, 200), (200, 250), (250, 300), (300, 320)],
    )
    assert "5 partitions of heights 100-319 to write" in ran.err
    line = one_line(export_demo(chainq, "blocks", "--repair", "all", *grid), 2)
    assert "no partitions of blocks in " in line


def export_demo(chainq: Program, *words: str) -> Ran:
    return chainq("export", *words, url="demo:")


def test_a_repair_that_fails_says_what_is_left(chainq: Program, lake: Lake) -> None:
    """The same command would begin again with what it has repaired."""
    service = Moving(400)
    with serving(service) as url:
        words = ("records", "100:300", "--partition", "50", "-w", "1", "--retries", "0")
        assert export(chainq, url, *words).code == 0
        before = {path: path.stat().st_ino for path in lake.files() if path.suffix == ".parquet"}

        def fail(_: str) -> None:
            if sum(path.exists() and path.stat().st_ino != inode for path, inode in before.items()) >= 2:
                raise ConnectionError

        service.hook = fail
        ran = export(chainq, url, *words, "--repair", "all")
    assert ran.code != 0
    said = "2 of 4 partitions written; the same command would repair these again; the rest is heights 200-299"
    assert said in ran.err


def test_a_range_above_the_tip_leaves_no_folder(chainq: Program, lake: Lake) -> None:
    ran = export_demo(chainq, "records", "99999999:", "--to", "lake")
    assert (ran.code, lake.root.exists()) == (0, False)
    assert "no blocks in that range: the tip is 3000000" in ran.err


def test_a_folder_of_a_data_set_is_no_place_for_another_one(chainq: Program, server: Servers) -> None:
    """Readers of its table would take the files for rows of theirs; commands that find nothing there name the data set.
    A folder beside the tables may hold one."""
    url = server("--tip", "100")
    words = ("export", "blocks", "0:50", "-w", "1", "-q")
    assert chainq(*words, "--to", "lake", url=url).code == 0
    inside = f"lake/blocks is a folder of the data set {chainq.home / 'lake'}; export into that one, or elsewhere\n"
    for folder in ("lake/blocks", "lake/blocks/start=000000000", "lake/_chainq/more"):
        assert one_line(chainq(*words, "--to", folder, url=url), 2).endswith(inside.removeprefix("lake/blocks"))
    assert not list((chainq.home / "lake/blocks").glob("*.json"))
    named = f"it is a folder of the data set {chainq.home / 'lake'}; name that one"
    for line in (["sql", "lake/blocks", "select 1"], ["blocks", "--url", "lake/blocks"], ["status", "lake/blocks"]):
        assert named in one_line(chainq(*line), 2)
    assert chainq(*words, "--to", "lake/other", url=url).code == 0
