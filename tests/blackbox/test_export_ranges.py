"""The range of chainq export: what is to be written, with and without one, and what is said of it."""

import json
import shutil

import pytest

from chainq.heights.grid import partition_name
from harness.lake import Lake, export
from harness.program import Program, Ran, Servers, one_line
from harness.services import Moving, serving

pytest.importorskip("duckdb")


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


def test_a_range_that_does_not_begin_on_the_grid(chainq: Program, server: Servers, lake: Lake) -> None:
    """The first partition begins at its place in the grid, and a warning says so."""
    ran = chainq("export", "records", "--last", "30", "--partition", "100", "--to", "lake", url=server("--tip", "2549"))
    assert ran.code == 0
    assert "the range starts at height 2500" in ran.err
    assert [(one["start"], one["end"]) for one in lake.receipts("records")] == [(2500, 2550)]


def test_how_much_there_is_to_do_is_said_first(chainq: Program, server: Servers) -> None:
    """Without a range: partitions to write, and those that are complete; nothing where all are.

    A new export needs a range: nobody starts thousands of calls by leaving something out.
    """
    words = ("export", "records", "--partition", "100", "--to", "lake", "-w", "1")
    url = server("--tip", "140")
    for more in ((), ("--dry-run",)):
        refused = one_line(chainq(*words, *more, url=url), 2)
        assert "no range was given: a new export in" in refused
        assert "would read heights 0-140, up to 1 call; pass 0: for the whole chain, or a range" in refused
    assert not (chainq.home / "lake").exists()
    assert chainq(*words, "0:90", "-q", url=url).code == 0
    first = chainq(*words, url=url).err.splitlines()[0]
    assert first == "chainq: 2 partitions of heights 0-140 to write, 0 complete"
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
    failed = chainq(*words, "0:", "--partition", "100", url=server("--tip", "399", "--fault", "missing-height:350"))
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
    assert chainq(*words, "0:", url=url).code == 0
    for starts, what in (
        ((20,), "1 partition of heights 20-29"),
        ((20, 30, 90), "3 partitions of heights 20-39, heights 90-99"),
    ):
        for start in starts:
            shutil.rmtree((chainq.home / "lake" / partition_name("blocks", start)).parent)
        assert f"chainq: {what} to write, {10 - len(starts)} complete\n" in chainq(*words, url=url).err


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
    """Readers of its table would take the files for rows of theirs. A folder beside the tables may hold one."""
    url = server("--tip", "100")
    words = ("export", "blocks", "0:50", "-w", "1", "-q")
    assert chainq(*words, "--to", "lake", url=url).code == 0
    inside = f"lake/blocks is a folder of the data set {chainq.home / 'lake'}\n"
    for folder in ("lake/blocks", "lake/blocks/start=000000000", "lake/_chainq/more"):
        assert one_line(chainq(*words, "--to", folder, url=url), 2).endswith(inside.removeprefix("lake/blocks"))
    assert not list((chainq.home / "lake/blocks").glob("*.json"))
    for line in (["sql", "lake/blocks", "select 1"], ["blocks", "--url", "lake/blocks"], ["status", "lake/blocks"]):
        assert "no data set" in one_line(chainq(*line), 2)
    assert chainq(*words, "--to", "lake/other", url=url).code == 0
