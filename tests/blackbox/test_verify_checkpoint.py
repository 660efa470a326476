"""`chainq verify --checkpoint`: a run resumes where the last one ended, and the findings of all are in one file."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from harness.program import Program, Servers, one_line
from harness.search import some

PLANTS = ("--fault", "lost-record:103", "--fault", "link:120", "--fault", "doubled-transition:126")


def places(path: Path) -> list[tuple[int, str]]:
    return [(row["height"], row["check"]) for row in map(json.loads, path.read_text().splitlines())]


@pytest.mark.parametrize("kind", some(["jsonl", "csv"], "csv"))
def test_runs_add_to_one_file_what_one_run_would_find(
    kind: str, program: Program, server: Servers, tmp_path: Path
) -> None:
    """Each part is verified once, with the link between two parts; a run that finds nothing ends with code 0."""
    url, whole, parts = server("--tip", "330", *PLANTS), tmp_path / f"whole.{kind}", tmp_path / f"parts.{kind}"
    assert program("verify", "100:130", "-o", str(whole), url=url).code == 6
    codes, said = [], ""
    for end in ("115", "120", "123", "130", "130"):
        arguments = ("--start", "100", "--end", end, "--checkpoint", str(tmp_path / "c"), "-o", str(parts))
        ran = program("verify", *arguments, url=url)
        codes.append(ran.code)
        said = ran.err
    assert (codes, said) == ([6, 0, 6, 6, 0], "chainq: no new blocks since block 129\n")
    assert parts.read_text() == whole.read_text()


def test_parts_add_up_to_the_rows_of_one_run(program: Program, server: Servers, tmp_path: Path) -> None:
    """The block that a resumed run links to is not counted again, nor what the server does not list of it."""
    url, words = server("--tip", "330", "--fault", "deployed-lists"), ("--full", "-o", str(tmp_path / "found.jsonl"))

    def numbers(said: str) -> dict[str, int]:
        """The numbers of rows in a verdict."""
        return {word: int(number.replace(",", "")) for number, word in re.findall(r"([0-9,]+) ([a-z-]+)", said)}

    first, second = (
        one_line(program("verify", f"100:{end}", *words, "--checkpoint", str(tmp_path / "c"), url=url), 0)
        for end in (150, 200)
    )
    whole = numbers(one_line(program("verify", "100:200", *words[:1], url=url), 0))
    assert (whole["blocks"], "transitions" in whole) == (100, True)
    assert Counter(numbers(first)) + Counter(numbers(second)) == Counter(whole)


def test_a_run_that_failed_resumes_and_finds_everything_once(program: Program, server: Servers, tmp_path: Path) -> None:
    """A service that goes away now and then: what was found before is kept, and the message says where it resumes."""
    url, whole, parts = server("--tip", "330", *PLANTS), tmp_path / "whole.jsonl", tmp_path / "parts.jsonl"
    assert program("verify", "100:200", "-o", str(whole), url=url).code == 6
    arguments = ("100:200", "--checkpoint", str(tmp_path / "c"), "-o", str(parts), "--retries", "0", "-j", "1")
    failures = 0
    with server.own("--tip", "330", "--fault", "database-down:60:63", *PLANTS) as own:
        while (ran := program("verify", *arguments, url=own)).code not in (0, 6, 9):
            assert ran.code in (3, 4), ran.err
            failures += 1
    assert failures
    assert places(parts) == places(whole)


def test_without_a_checkpoint_a_file_is_left_as_it_was(program: Program, server: Servers, tmp_path: Path) -> None:
    """The message does not say to resume where the findings so far are gone."""
    path = tmp_path / "findings.jsonl"
    with server.own("--tip", "330", "--fault", "database-down:30:100000") as url:
        ran = program("verify", "0:300", "--retries", "0", "-j", "1", "-o", str(path), url=url)
    assert ran.code in (3, 4)
    assert f"{path} was not created" in ran.err
    assert "resume with" not in ran.err


def test_a_reorg_below_the_checkpoint_is_refused(program: Program, server: Servers, tmp_path: Path) -> None:
    """What was verified is no longer the chain."""
    checkpoint, out = tmp_path / "c", tmp_path / "findings.jsonl"
    url = server("--tip", "330")
    arguments = ("--checkpoint", str(checkpoint), "-o", str(out), "--commands", "records")
    assert program("verify", "100:150", *arguments, url=url).code == 0
    text = json.loads(checkpoint.read_text())
    text["positions"][-1]["hash"] = f"ab1other{'x' * 1000}"
    checkpoint.write_text(json.dumps(text))
    ran = program("verify", "100:200", *arguments, url=url)
    assert "reorg: block 149 is ab1" in (message := one_line(ran, 9))
    assert "and was ab1other" in message
    assert "delete the checkpoint and verify again" in message
    assert len(message) < 500


def test_a_reorg_during_the_run_is_not_in_the_checkpoint(program: Program, server: Servers, tmp_path: Path) -> None:
    """The next run verifies the new blocks, or refuses them if another reorg has replaced blocks below them; and the
    file does not keep findings of rows of two chains."""
    out, checkpoint = tmp_path / "findings.jsonl", tmp_path / "c"
    arguments = ("--start", "300", "--checkpoint", str(checkpoint), "-o", str(out))
    with server.own("--tip", "330", "--fault", "reorg-at:320", "--fault", "reorg-after:25") as url:
        ran = program("verify", *arguments, url=url)
        said = "replaced the blocks from height 320 on: the next run verifies again from height 320\n"
        assert (ran.code, ran.err.endswith(said)) == (6, True), ran.err
        kept = checkpoint.read_bytes()
        again = program("verify", *arguments, url=url)
    assert again.code == 0 and "heights 320-330: no findings" in again.err, again.err
    assert not out.read_text()
    checkpoint.write_bytes(kept)
    port = url.rstrip("/").rpartition(":")[2]
    with server.process("--tip", "335", "--fault", "reorg-at:310", "--fault", "reorg-after:0", "--port", port) as (
        url,
        _,
    ):
        assert "reorg: block 319 is ab1" in one_line(program("verify", *arguments, url=url), 9)
