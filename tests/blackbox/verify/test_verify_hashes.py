"""`chainq verify --hashes` against a sealed chain, as `chainq serve --sealed` has it: whole, and with plants on it."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chainq.demo.faults import Faults
from chainq.demo.sealed import SealedChain
from chainq.demo.service import SampleService
from harness.lake.damages import changed_rows, rewrite
from harness.running.program import DIALECT, LONGEST, ROOT, Program, installed
from harness.servers.services import serving
from harness.servers.sockets import free_port

pytest.importorskip("aleo")

BLOCKS = 36  # those from 30 on have quorums
LAST = BLOCKS - 1
HASHES = ("--hashes", "-w", "1")  # each process takes a third of a second before its first hash
OTHER = "ab1wcrlzt3pgtrku466pujpcea44av0vmtzplqqqq26nnh28tgymyqqc2tngy"  # of another chain
"""The plants that change what a block hash is made of, and the check that finds them beside their own."""


@pytest.fixture(scope="module")
def chain() -> SealedChain:
    return SealedChain(0, BLOCKS)


@contextmanager
def planted(chain: SealedChain, *plants: str) -> Iterator[str]:
    """The URL of a server of the chain with these plants; sealing the chain again would take a second."""
    with serving(SampleService(chain, Faults(*plants), DIALECT)) as url:
        yield url


@pytest.fixture(scope="module")
def url(chain: SealedChain) -> Iterator[str]:
    with planted(chain) as url:
        yield url


def findings(rows: list[bytes]) -> list[tuple[int, str, str]]:
    return [(one["height"], one["command"], one["check"]) for one in map(json.loads, rows)]


def test_a_data_set_is_repaired(program: Program, url: str, chain: SealedChain) -> None:
    """An export that writes the partitions again."""
    pytest.importorskip("pyarrow")
    job = ("export", "blocks", f"0:{BLOCKS}", "--to", "altered", "--partition", "20", "-q")
    with planted(chain, "altered-block:20") as bad:
        assert program(*job, url=bad).code == 0
    assert program("verify", "altered", *HASHES, "-q").code == 6
    shutil.copytree(program.home / "altered", program.home / "torn")
    for path in (program.home / "torn").rglob("*.parquet"):
        path.write_bytes(path.read_bytes()[:-9])
    ran = program("verify", "torn", *HASHES, "--anchor", f"{LAST}:{OTHER}", "--jsonl")
    assert (ran.code, {check for _, _, check in findings(ran.rows)}) == (6, {"invalid"})
    shutil.rmtree(program.home / "altered/blocks/start=0000000020")
    assert program(*job, url=url).code == 0
    assert program("verify", "altered", *HASHES).code == 0


@pytest.mark.search
@pytest.mark.parametrize("page", ["docs/hashes.md", "README.md"])
def test_the_lines_of_a_page_verify_what_they_write(page: str, program: Program, tmp_path: Path) -> None:
    """Its blocks as they are pasted, with fewer blocks on a free port: the server starts while the next line runs."""
    blocks = re.findall(r"^```sh own-server\n(.*?)^```$", (ROOT / page).read_text("utf-8"), re.DOTALL | re.MULTILINE)
    text = "".join(blocks)
    for number, fewer in (("100", "9"), ("120", "7"), ("199", "11"), ("200", "12")):
        text = text.replace(number, fewer)
    port = free_port()
    text = text.replace("8545", port).replace("chainq serve", f"chainq serve --port {port} --dialect {DIALECT}")
    environment = program.environment()
    environment["PATH"] = f"{Path(installed()).parent}:{environment['PATH']}"
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text],  # noqa: S607
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LONGEST,
    )
    assert ran.returncode == 0, ran.stderr
    verified = text.count("chainq verify")
    assert verified == text.count("--anchor") + text.count("--fault")
    assert ran.stderr.count(", anchored: block 11 is ab1") == text.count("--anchor")
    assert ran.stdout.count("exit code 6") == text.count("--fault")


def test_transactions_of_a_sealed_chain_are_found_by_their_ids(program: Program, url: str) -> None:
    """The IDs that full blocks show are those that lookups take."""
    (block,) = program("full-blocks", "3", url=url).rows
    for confirmed in json.loads(block)["transactions"]:
        named = confirmed["transaction"]["id"]
        ran = program("transaction", named, url=url)
        assert ran.code == 0, ran.err
        assert json.loads(ran.out)["transaction"]["id"] == named


def test_tables_of_an_export_are_bound_through_its_full_blocks(program: Program, url: str, tmp_path: Path) -> None:
    """A value that only a table has otherwise, a row that it lacks, and tables without full blocks."""
    lake = tmp_path / "lake"
    assert program("export", "chain", "0:10", "--to", str(lake), url=url).code == 0
    ran = program("verify", str(lake), *HASHES)
    assert ran.code == 0, ran.err
    rewrite(lake, "calls", 0, changed_rows(lambda rows: rows.pop(7)))
    rewrite(lake, "outputs", 0, changed_rows(lambda rows: rows[0].update(value="1u64")))
    ran = program("verify", str(lake), *HASHES, "--jsonl")
    found = {one[1:] for one in findings(ran.rows)}
    assert {("outputs", "altered"), ("calls", "missing")} <= found
