"""The checkpoint file itself: no secrets, never half written, small."""

import json
import signal
from typing import Any

import pytest

from chainq.resume.checkpoint import VERSION
from harness.belief import besides_belief
from harness.jobs import FIRST, Job, recording, said
from harness.program import Program, finish
from harness.services import Moving, Serve
from harness.truth import Truth, difference


def test_the_checkpoint_holds_no_secrets(chainq: Program, serve: Serve) -> None:
    """User, password, query values and headers of the call are in no file beside the output; another key may follow."""
    service = Moving(20)
    place = serve(service).removeprefix("http://")
    job = Job(chainq, f"http://anna:geheim1@{place}?key=geheim2", "blocks", "--header", "X-Token: geheim3")
    said(job(), 0)
    text = job.kept.read_text()
    content: dict[str, Any] = json.loads(text)
    for path in job.folder.iterdir():
        assert not any(secret in path.read_text() for secret in ("geheim", "anna"))
    assert content["query"]["command"] == "blocks"
    assert content["positions"][-1] == {
        "next": 21,
        "hash": service.chain.block_hash(20),
        "length": job.out.stat().st_size,
        "rows": 21,
    }
    assert len(text) < 4096
    assert text.count("\n") > 10
    service.tip = 22
    renewed = Job(chainq, f"http://bert:geheim4@{place}?key=geheim5", "blocks")
    said(renewed(), 0)
    assert renewed.next == 23


def test_the_checkpoint_moves_chunk_by_chunk_and_is_never_half(chainq: Program, serve: Serve) -> None:
    """At every call but the first the checkpoint is whole JSON, records no more than the file holds, and moves on.

    In a run of less than a few seconds it does so at the end alone.
    """
    service, seen = Moving(FIRST + 60), []
    job = Job(chainq, serve(service), "records", "--start", str(FIRST), "--page-size", "100", "-j", "1")

    def look(_: str) -> None:
        if len(service.calls) > 1:  # before the service has answered, nothing is recorded
            seen.append((job.kept.read_bytes(), job.out.stat().st_size))

    service.hook = look
    process = job.start(env=recording(chainq))
    read = []
    while process.poll() is None:
        if job.kept.exists():
            read.append(job.kept.read_bytes())
    said(finish(process), 0)
    assert len(seen) == len(service.calls) - 1
    positions = [(json.loads(text)["positions"][-1], size) for text, size in seen]
    heights = [position["next"] for position, _ in positions]
    assert heights == sorted(heights)
    assert len(set(heights)) > 5
    assert all(position["length"] <= size for position, size in positions)
    assert [text for text in read if json.loads(text)["chainq"] != VERSION] == []


def test_positions_cost_hardly_a_call(chainq: Program, serve: Serve) -> None:
    """Beside the rows, a run asks for the tip, for hashes beside the first rows, and for its last block at the end.

    With one request at a time: of several, each may ask for the same block summaries.
    """
    service = Moving(FIRST + 600)
    words = ("records", "--start", str(FIRST), "--end", str(FIRST + 400), "--page-size", "100", "-j", "1")
    url = serve(service)
    assert chainq(*words, "-o", "plain", url=url).code == 0
    assert len(service.calls) > 15
    service.calls.clear()
    job = Job(chainq, url, *words)
    said(job(env=recording(chainq, 1e9)), 0)
    assert job.out.read_bytes() == (chainq.home / "plain").read_bytes()
    others = [method for method in service.calls if method not in ("records/all", "getChainBlocks")]
    assert others.count("latest/block") == 1
    assert len(others) <= 4, others


@pytest.mark.parametrize(
    ("command", "most"), [("records", 4), ("transitions", 4), ("blocks", 3), ("full-blocks", 3), ("ownership", 6)]
)
def test_a_new_block_takes_few_calls(command: str, most: int, chainq: Program, truth: Truth, serve: Serve) -> None:
    """A run that finds one new block asks for the tip, for rows, for who else names them, and for the block again."""
    service = Moving(FIRST + 50)
    job = Job(chainq, serve(service), command, "--start", str(FIRST))
    job()
    for _ in range(3):
        service.tip += 1
        service.calls.clear()
        ran = job()
        said(besides_belief(ran, command, due=bool(ran.err)), 0)
        assert len(service.calls) <= most + 6 * bool(ran.err), service.calls
        service.calls.clear()
        said(job(), 0)
        assert service.calls == ["latest/block"]
    assert difference(job.out.read_bytes().split(b"\n")[:-1], truth.groups(command, FIRST, FIRST + 54)) == ""


def test_long_lives_keep_the_checkpoint_small(chainq: Program, serve: Serve) -> None:
    """After many chunks the checkpoint is still a small file."""
    service = Moving(0)
    service.hook = lambda method: setattr(service, "tip", service.tip + (method == "latest/block"))
    job = Job(chainq, serve(service), "blocks", "--columns", "height")
    process = job.start("--follow", "--interval", "0.01", out="")
    assert process.stdout is not None
    for _ in range(70):
        assert process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    assert finish(process).code == -signal.SIGTERM
    assert job.next >= 69
    assert job.kept.stat().st_size < 8192
