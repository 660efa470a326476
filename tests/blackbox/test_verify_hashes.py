"""`chainq verify --hashes` against a sealed chain, as `chainq serve --sealed` has it: whole, and with plants on it."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chainq.demo.faults import KINDS, Faults
from chainq.demo.sealed import SealedChain
from chainq.demo.service import Service
from harness.damages import changed_rows, rewrite
from harness.planted import Plant, plantable
from harness.planted import planted as wrong
from harness.program import DIALECT, LONGEST, ROOT, Program, installed
from harness.search import some
from harness.services import serving
from harness.sockets import free_port

pytest.importorskip("aleo")

BLOCKS = 36  # those from 30 on have quorums
LAST = BLOCKS - 1
HASHES = ("--hashes", "-w", "1")  # each process takes a third of a second before its first hash
OTHER = "ab1wcrlzt3pgtrku466pujpcea44av0vmtzplqqqq26nnh28tgymyqqc2tngy"  # of another chain
HASHED = {"altered-block": "hash", "link": "hash", "time": "hash", "round": "hash", "checksum": "hash"}
"""The plants that change what a block hash is made of, and the check that finds them beside their own."""


@pytest.fixture(scope="module")
def chain() -> SealedChain:
    return SealedChain(0, BLOCKS)


@contextmanager
def planted(chain: SealedChain, *plants: str) -> Iterator[str]:
    """The URL of a server of the chain with these plants; sealing the chain again would take a second."""
    with serving(Service(chain, Faults(*plants), DIALECT)) as url:
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


def test_another_history_is_found_by_the_anchor_only(program: Program, chain: SealedChain) -> None:
    """A chain of another seed agrees with itself, but not with the hash that is trusted."""
    with planted(SealedChain(7, BLOCKS)) as other:
        span = f"{BLOCKS - 5}:{BLOCKS}"
        assert program("verify", span, *HASHES, url=other).code == 0
        anchor = f"{LAST}:{chain.block_hash(LAST)}"
        ran = program("verify", span, *HASHES, "--anchor", anchor, "--jsonl", url=other)
        assert ran.code == 6
        assert {(height, check) for height, _, check in findings(ran.rows)} == {(LAST, "anchor")}
        assert f"not anchored at block {LAST}" in ran.err


def test_blocks_above_the_anchor_stay_open(program: Program, url: str, chain: SealedChain) -> None:
    """An anchor proves what leads to it, and nothing of later blocks."""
    for height, left in ((32, "open: not anchored: heights 33-35; "), (LAST, "")):
        ran = program("verify", f"24:{BLOCKS}", *HASHES, "--anchor", f"{height}:{chain.block_hash(height)}", url=url)
        assert ran.code == 0, ran.err
        assert f", anchored: block {height} is " in ran.err
        assert ("not anchored" in ran.err, left in ran.err) == (bool(left), True), ran.err


def test_every_plant_is_found_beside_the_hashes(program: Program, chain: SealedChain) -> None:
    """One wrong row of each kind on a sealed chain: each is found, and by its hash where a hash is made of it."""
    plants: list[Plant] = []
    for number, kind in enumerate(KINDS):
        taken = {plant.height for plant in plants}
        free = (Plant(kind, at) for at in range(number + 1, BLOCKS - 1) if at not in taken)
        plants.append(next(plant for plant in free if plantable(chain, plant)))
    assert len(plants) == len(KINDS)
    with serving(Service(chain, wrong(*plants), DIALECT)) as url:
        ran = program("verify", f"0:{BLOCKS}", *HASHES, "--anchor", f"{LAST}:{OTHER}", "--jsonl", url=url)
    assert ran.code == 6
    found = findings(ran.rows)
    heights = {height for height, _, _ in found}
    for plant in plants:
        assert plant.height in heights, plant
        if plant.kind in HASHED:
            assert HASHED[plant.kind] in {check for height, _, check in found if height == plant.height}, plant
    assert {check for height, _, check in found if height == LAST} == {"anchor"}


def test_an_export_is_verified_against_one_hash_without_a_network(
    program: Program, url: str, chain: SealedChain, tmp_path: Path
) -> None:
    """Blocks and full blocks of an export, partition by partition, lead to the trusted hash, and to no other."""
    lake = tmp_path / "lake"
    words = ("blocks", "full-blocks", "records", f"0:{BLOCKS}", "--to", str(lake), "--partition", "25", "-w", "1")
    ran = program("export", *words, url=url)
    assert ran.code == 0, ran.err
    anchor = f"{LAST}:{chain.block_hash(LAST)}"
    ran = program("verify", str(lake), *HASHES, "--anchor", anchor)
    assert ran.code == 0, ran.err
    assert f", anchored: block {LAST} is {chain.block_hash(LAST)}" in ran.err
    ran = program("verify", str(lake), *HASHES, "--anchor", f"{LAST}:{OTHER}", "--jsonl")
    assert sorted(findings(ran.rows)) == [(LAST, "full-blocks", "anchor")]
    ran = program("verify", str(lake), *HASHES, "--anchor", f"{BLOCKS + 9}:{OTHER}", "--jsonl")
    assert (ran.code, f"not anchored at block {BLOCKS + 9}" in ran.err) == (6, True)


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


@pytest.mark.parametrize(
    ("command", "extension"),
    some(
        [("blocks", "csv"), ("blocks", "parquet"), *(("full-blocks", kind) for kind in ("json", "jsonl", "tsv"))],
        ("blocks", "csv"),
        ("blocks", "parquet"),
        ("full-blocks", "jsonl"),
        several=True,
    ),
)
def test_a_file_of_any_format_is_verified(
    command: str, extension: str, program: Program, url: str, chain: SealedChain, tmp_path: Path
) -> None:
    """What `-o` wrote holds, and one changed digit does not."""
    file = tmp_path / f"rows.{extension}"
    assert program(command, f"26:{BLOCKS}", "-o", str(file), "-q", url=url).code == 0
    anchor = f"{LAST}:{chain.block_hash(LAST)}"
    ran = program("verify", str(file), *HASHES, "--anchor", anchor)
    assert ran.code == 0, ran.err
    assert ", anchored" in ran.err
    if extension == "parquet":
        return
    text = file.read_text("utf-8")
    weight = str(chain.block(30)["cumulative_weight"])
    assert weight in text
    file.write_text(text.replace(weight, f"{weight}0"), "utf-8")
    ran = program("verify", str(file), *HASHES, "--anchor", anchor, "--jsonl")
    assert {(30, command, "hash"), (LAST, command, "anchor")} <= set(findings(ran.rows))


def test_transactions_of_a_sealed_chain_are_found_by_their_ids(program: Program, url: str) -> None:
    """The IDs that full blocks show are those that lookups take."""
    (block,) = program("full-blocks", "3", url=url).rows
    for confirmed in json.loads(block)["transactions"]:
        named = confirmed["transaction"]["id"]
        ran = program("transaction", named, url=url)
        assert ran.code == 0, ran.err
        assert json.loads(ran.out)["transaction"]["id"] == named


def test_other_rows_of_an_export_are_bound_through_its_full_blocks(
    program: Program, url: str, chain: SealedChain, tmp_path: Path
) -> None:
    """Rows of a server that lies, beside full blocks that hold: what it left out, changed and made up is found."""
    others = ("records", "transitions")
    plants = {
        "lost-record": 12,
        "altered-record": 27,
        "altered-transition": 33,
    }
    for name, theirs in {"lake": {}, "altered": plants}.items():
        with planted(chain, *(f"{kind}:{height}" for kind, height in theirs.items())) as other:
            for commands, where in ((("full-blocks", "ownership"), url), (others, other)):
                job = (
                    "export",
                    *commands,
                    f"10:{BLOCKS}",
                    "--to",
                    str(tmp_path / name),
                    "--partition",
                    "25",
                    "-w",
                    "1",
                )
                assert program(*job, url=where).code == 0
    anchor = f"{LAST}:{chain.block_hash(LAST)}"
    ran = program("verify", str(tmp_path / "lake"), *HASHES, "--anchor", anchor)
    assert ran.code == 0, ran.err
    assert ", anchored" in ran.err
    ran = program("verify", str(tmp_path / "altered"), *HASHES, "--anchor", anchor, "--jsonl")
    assert ran.code == 6
    found = {(height, command, check) for height, command, check in findings(ran.rows) if height}
    assert found == {
        (12, "records", "missing"),
        (27, "records", "altered"),
        (33, "transitions", "altered"),
    }
    with planted(chain, "lost-transition:31") as other:  # which the export itself finds
        lost = ("export", "transitions", f"10:{BLOCKS}", "--to", str(tmp_path / "lost"), "--partition", "25", "-w", "1")
        assert "do not come, by its full block; the service lacks them" in program(*lost, url=other).err
    without = tmp_path / "without"
    for command in ("blocks", "records"):
        assert program("export", command, "0:5", "--to", str(without), "--partition", "25", url=url).code == 0
    said = program("verify", str(without), *HASHES).err
    assert "whether all records are there, where full blocks are missing" in said


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
