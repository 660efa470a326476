"""Rows that nothing proves: one warning a run that names them, and with `--strict` exit 6 before the first of them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from chainq.demo.chain import Chain
from chainq.demo.service import SampleService
from harness.lake.lake import Lake
from harness.models.belief import besides_belief
from harness.running.jobs import Job
from harness.running.program import Program, Servers
from harness.running.truth import Truth
from harness.servers.services import Blockless, serving

TIP = 300
BELIEVED = "nothing proves that these are all rows"


@pytest.fixture
def url() -> Iterator[str]:
    """The URL of a service without full blocks."""
    with serving(Blockless(Chain(tip=TIP))) as url:
        yield url


def test_one_warning_names_the_heights(chainq: Program, url: str) -> None:
    """All rows are printed with exit 0; the last height is the one that nothing proves."""
    ran = chainq("records", "0:", "--jsonl", url=url)
    assert ran.code == 0
    assert len(ran.rows) == len(Truth(TIP).rows("records", 0, TIP + 1))
    assert ran.err.count("\n") == 1
    assert f"chainq: warning: records height {TIP}: {BELIEVED}" in ran.err
    assert chainq("records", "0:", "-q", url=url).err == ran.err, "-q silences no warning about completeness"


def test_strict_ends_before_the_first_row_that_nothing_proves(chainq: Program, url: str) -> None:
    """What is printed is proved; the error names the heights and says how to get them."""
    ran = chainq("records", "0:", "--jsonl", "--strict", url=url)
    assert ran.code == 6
    rows = [json.loads(row) for row in ran.rows]
    assert len(rows) == len(Truth(TIP).rows("records", 0, TIP))
    assert f"height {TIP}" in ran.err
    assert "nothing proves that these are all rows" in ran.err
    assert "warning" not in ran.err


def test_what_is_proved_is_no_matter_for_strict(chainq: Program) -> None:
    """With full blocks all rows of all range commands are proved, up to the tip."""
    with serving(SampleService(Chain(tip=TIP))) as url:
        for command in ("blocks", "full-blocks", "records", "ownership", "transitions"):
            ran = chainq(command, "200:", "--strict", url=url)
            assert (ran.code, ran.err) == (0, ""), command
            assert len(ran.rows) == len(Truth(TIP).rows(command, 200, TIP + 1))


def test_few_heights_without_rows_are_requested_once_each(chainq: Program) -> None:
    """The range twice: no request of a part is repeated."""
    address = Chain().addresses[2]
    ran = chainq("address-transactions", address, "653:655", "-v", "--jsonl", url="demo:")
    assert (ran.code, ran.out) == (0, b"")
    assert ran.err.count(" attempt 1: ok") == 2


@pytest.mark.parametrize("words", [("800:860",), ("800:830", "--strict")], ids=["many rows", "few rows, strict"])
def test_rows_that_are_left_out_in_order(chainq: Program, server: Servers, words: tuple[str, ...]) -> None:
    """A server that lists one row for each transaction, each time another: the full block of the height with the most
    rows shows it, and then full blocks name all rows."""
    ran = chainq("records", *words, url=server("--fault", "distinct"))
    start, end = map(int, words[0].split(":"))
    assert (ran.code, ran.rows) == (0, Truth().rows("records", start, end))
    assert "responses of the service contradict each other: its full blocks name the rows that are due" in ran.err


def test_lists_without_heights(chainq: Program) -> None:
    """No other method tells of the transactions of a program or of an address."""
    words = ("hello_hello.aleo", "hello")
    with serving(SampleService(Chain(tip=1300))) as url:
        ran = chainq("program-transactions", *words, url=url)
        assert ran.code == 0
        assert besides_belief(ran, "program-transactions").err == ""
        named = re.search(rf"program-transactions rows (\d+) to (\d+) of the list: {BELIEVED}", ran.err)
        assert named is not None
        first, last = map(int, named.groups())
        assert last == len(ran.rows) - 1
        strict = chainq("program-transactions", *words, "--strict", url=url)
        assert (strict.code, strict.rows) == (6, ran.rows[:first])  # page 0 holds all blocks before its last one
        assert f"row {first}: nothing proves" in strict.err
        address = Chain(tip=TIP).addresses[0]
        ran = chainq("address-transactions", address, "100:200", url=url)
        assert besides_belief(ran, "address-transactions").err == ""
        assert f"address-transactions heights 100-199: {BELIEVED}" in ran.err
        assert chainq("address-transactions", address, "100:200", "--strict", url=url).code == 6


def test_a_limit_narrows_the_warning(chainq: Program) -> None:
    """A run that ends at its limit claims no rows beyond; one that ends before it claims all."""
    words = ("address-transactions", Chain(tip=TIP).addresses[0], "0:200")
    with serving(SampleService(Chain(tip=TIP))) as url:
        assert f"{BELIEVED} up to the limit (" in chainq(*words, "--limit", "1", url=url).err
        assert f"{BELIEVED} (" in chainq(*words, "--limit", "100000", url=url).err
        assert f"{BELIEVED} (" in chainq(*words, url=url).err


def test_rounds_of_a_run_warn_once_and_the_checkpoint_records_it(chainq: Program) -> None:
    """The heights are recorded until a later look proves them."""
    service = Blockless(Chain(tip=100))
    with serving(service) as url:
        job = Job(chainq, url, "records", "--dialect", "chain")
        ran = job()
        assert (ran.code, ran.err.count(BELIEVED)) == (0, 1)
        assert json.loads(job.kept.read_bytes())["believed"] == [[100, 101]]
        service.tip = 200
        ran = job()
        assert (ran.code, ran.err.count(BELIEVED)) == (0, 1)
        assert json.loads(job.kept.read_bytes())["believed"] == [[100, 101], [200, 201]]
        assert job("--strict").code == 0  # nothing new


def test_partitions_of_an_export(chainq: Program, url: str, tmp_path: Path) -> None:
    """One warning for all of them; with `--strict` such a partition is not written. Receipts count the grades."""
    folder = tmp_path / "data"
    words = ("export", "records", "0:301", "--partition", "100", "--to", str(folder), "-w", "2")
    ran = chainq(*words, "--strict", url=url)
    assert ran.code == 6
    assert "nothing proves that these are all rows" in ran.err
    ran = chainq(*words, url=url)
    assert ran.code == 0
    assert ran.err.count(BELIEVED) == 1
    receipts = [one for path in folder.iterdir() if path.is_dir() for one in Lake(folder).receipts(path.name)]
    assert {grade for receipt in receipts for grade in receipt["proof"]} <= {"order", "belief"}
