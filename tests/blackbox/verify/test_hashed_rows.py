"""`chainq blocks --hashes` and `full-blocks --hashes`: blocks that do not make their own hashes are never printed."""

import json
import re
from collections.abc import Iterator
from copy import copy
from pathlib import Path

import pytest

import chainq
from chainq.demo import bodies
from chainq.demo.faults import Faults
from chainq.demo.sealed import SealedChain
from chainq.demo.service import SampleService
from harness.running.program import DIALECT, Program, one_line
from harness.servers.services import serving

pytest.importorskip("aleo")

BLOCKS = 36  # those from 30 on have quorums
WRONG = 33
HASHES = ("--hashes", "-w", "1")  # each process takes a third of a second before its first hash
CIPHERTEXT = re.compile("ciphertext1[a-z0-9]+")


@pytest.fixture(scope="module")
def chain() -> SealedChain:
    return SealedChain(0, BLOCKS)


@pytest.fixture(scope="module")
def url(chain: SealedChain) -> Iterator[str]:
    with serving(SampleService(chain, dialect=DIALECT)) as url:
        yield url


@pytest.fixture(scope="module")
def altered(chain: SealedChain) -> Iterator[str]:
    """The same chain with one number of a block changed."""
    with serving(SampleService(chain, Faults(f"round:{WRONG}"), DIALECT)) as url:
        yield url


@pytest.mark.parametrize(("command", "workers"), [("blocks", "1"), ("full-blocks", "2")])
def test_rows_that_make_their_hashes_are_printed_as_they_are(
    program: Program, url: str, command: str, workers: str
) -> None:
    """The same bytes as without the check, in one process and in several, and `-v` names the proof."""
    plain = program(command, f"0:{BLOCKS}", url=url)
    ran = program(command, f"0:{BLOCKS}", "--hashes", "-w", workers, "-v", url=url)
    assert ran.code == 0, ran.err
    assert ran.out == plain.out
    assert len(ran.rows) == BLOCKS
    assert "rows, proof: hash (" in ran.err


def test_the_first_wrong_row_ends_the_output(program: Program, altered: str) -> None:
    """Exit code 6; all rows before it are printed, and the message says which block it is and how to resume."""
    ran = program("blocks", f"5:{BLOCKS}", "--hashes", "-w", "2", url=altered)
    assert ran.code == 6
    assert [int(json.loads(row)["height"]) for row in ran.rows] == list(range(5, WRONG))
    message = one_line(ran._replace(out=b""), 6)
    assert f"getBlocks: block {WRONG} contradicts its own hashes (hash): expected block_hash=ab1" in message
    assert f"resume with --start {WRONG} --end {BLOCKS}" in message


@pytest.mark.parametrize("command", ["blocks", "full-blocks"])
def test_rows_before_the_first_wrong_one_are_printed_although_links_break_after_it(
    program: Program, chain: SealedChain, command: str
) -> None:
    """All in one response: the block of a broken link contradicts its own hash, and the one before it is first."""
    for plants, wrong in ((("altered-block:20", "link:30"), 20), (("link:30",), 30)):
        if command == "full-blocks" and wrong == 20:
            continue  # this plant is of the summary alone
        with serving(SampleService(chain, Faults(*plants), DIALECT)) as url:
            ran = program(command, f"0:{BLOCKS}", *HASHES, url=url)
        assert ran.code == 6
        assert len(ran.rows) == wrong
        assert f"block {wrong} contradicts its own hashes (hash)" in ran.err
        assert f"resume with --start {wrong} --end {BLOCKS}" in ran.err


def test_blocks_that_make_their_hashes_must_be_linked_too(program: Program, chain: SealedChain) -> None:
    """A block of another chain makes its own hash, and is not printed either."""
    other = copy(chain)
    stranger = SealedChain(1, 21).block(20)
    other.block = lambda height: stranger if height == 20 else chain.block(height)  # type: ignore[method-assign]
    with serving(SampleService(other, Faults(), DIALECT)) as url:
        ran = program("blocks", f"0:{BLOCKS}", *HASHES, url=url)
    assert ran.code == 6
    assert ran.rows == []
    assert "as its previous block" in ran.err


def test_the_first_wrong_row_from_the_end(program: Program, altered: str) -> None:
    """`--reverse` prints the blocks above it."""
    ran = program("blocks", f"0:{BLOCKS}", "--reverse", *HASHES, url=altered)
    assert ran.code == 6
    assert [int(json.loads(row)["height"]) for row in ran.rows] == list(range(BLOCKS - 1, WRONG, -1))


def test_rows_beyond_the_limit_are_not_checked(program: Program, altered: str) -> None:
    """What is not printed is not an error."""
    ran = program("blocks", f"0:{BLOCKS}", "--limit", str(WRONG), *HASHES, url=altered)
    assert ran.code == 0, ran.err
    assert len(ran.rows) == WRONG
    assert program("blocks", f"0:{BLOCKS}", "--limit", str(WRONG + 1), *HASHES, url=altered).code == 6


def test_a_full_block_is_checked_to_its_values(program: Program, chain: SealedChain) -> None:
    """A value within a transaction, which the header alone does not show."""
    chain = copy(chain)
    chain._true = dict(chain._true)
    made = {true: made for made, true in chain._true.items()}
    first, second, *_ = CIPHERTEXT.findall(json.dumps(bodies.block(chain, WRONG)))
    chain._true[made[first]] = second
    with serving(SampleService(chain, dialect=DIALECT)) as url:
        ran = program("full-blocks", f"0:{BLOCKS}", *HASHES, url=url)
        assert program("blocks", f"0:{BLOCKS}", *HASHES, url=url).code == 0
    assert ran.code == 6
    assert [json.loads(row)["header"]["metadata"]["height"] for row in ran.rows] == list(range(WRONG))
    assert f"block {WRONG} contradicts its own hashes (value)" in ran.err


@pytest.mark.parametrize(("command", "follow"), [("full-blocks", []), ("blocks", ["--follow", "--interval", "0.05"])])
def test_a_wrong_row_is_never_written_to_a_file(
    program: Program, altered: str, url: str, command: str, follow: list[str], tmp_path: Path
) -> None:
    """With a checkpoint the file keeps the rows before it; the next run, of a server that is right, goes on there."""
    out, kept = tmp_path / "rows.jsonl", tmp_path / "kept"
    job = (command, "--start", "0", "--lag", "0", *HASHES, "--checkpoint", str(kept), "-o", str(out))
    ran = program(*job, *follow, url=altered)
    assert ran.code == 6, ran.err
    assert f"block {WRONG} contradicts its own hashes" in ran.err
    assert len(out.read_bytes().splitlines()) == WRONG
    text = kept.read_text("utf-8")
    kept.write_text(text.replace(altered, url), "utf-8")
    ran = program(*job, url=url)
    assert ran.code == 0, ran.err
    assert out.read_bytes() == program(command, f"0:{BLOCKS}", url=url).out


def test_python_rows_are_checked(altered: str) -> None:
    """All rows before the first wrong one, then IncompleteError."""
    heights = []
    with chainq.Client(altered) as client:
        with pytest.raises(chainq.IncompleteError, match=f"block {WRONG} contradicts its own hashes"):
            for row in client.blocks(30, BLOCKS, hashes=True):
                heights.append(int(row["height"]))  # noqa: PERF401  # those before the error
        assert len(heights) == WRONG - 30
        assert len(list(client.full_blocks(0, 20, hashes=True))) == 20
