"""The checkpoint file itself: no secrets, never half written, one run at a time, disks that are full.

`tests/golden/commands/` has what runs with a checkpoint say: reorgs, services that are behind, outputs that changed.
"""

import json
import os
from typing import Any

import pytest

from chainq.resume.checkpoint import VERSION
from harness.models.belief import besides_belief
from harness.running.jobs import FIRST, Job, lines, recording, said, starting
from harness.running.program import Program, finish
from harness.running.truth import Truth, difference
from harness.servers.services import Moving, Serve, heights_of, witnessed


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


def test_later_runs_request_nothing_beyond_the_tip(chainq: Program) -> None:
    """An end far above the tip, as of a job that runs every hour, costs them no calls."""
    words = ("blocks", "1000:90000", "--checkpoint", "kept.json", "-o", "rows.jsonl", "--dialect", "chain")
    with witnessed(2000) as (url, calls):
        for _ in range(2):
            del calls[:]
            assert chainq(*words, url=url).code == 0
    assert [call for call in calls if any(height > 2000 for height in heights_of(call))] == []
    assert calls


@pytest.mark.parametrize(
    ("start", "words"),
    [(0, ("blocks",)), (2300, ("records", "--csv", "--page-size", "50"))],
    ids=["blocks", "records"],
)
def test_7_a_full_disk(start: int, words: tuple[str, ...], chainq: Program, serve: Serve) -> None:
    """On a full disk: exit 7, how far it came, whole rows in the file; with room again the next run completes it."""
    url = serve(Moving(FIRST))
    whole = Job(chainq, url, *words, "--start", str(start), place="undisturbed")
    said(whole(), 0)
    due = whole.out.read_bytes()
    job, before = Job(chainq, url, *words, "--start", str(start)), -1
    for share in (0.4, 0.4, 0.9):
        ran = job.capped(int(len(due) * share))
        said(ran, 7, str(job.out), "File too large", f"resumes at height {job.next}")
        came = job.out.read_bytes()
        assert came == due[: len(came)]
        assert came.endswith(b"\n") or not came
        assert len(came) == json.loads(job.kept.read_bytes())["positions"][-1]["length"] >= before
        before = len(came)
    assert before > 0
    said(job(), 0)
    assert job.out.read_bytes() == due


def test_7_a_checkpoint_that_cannot_be_written(chainq: Program, truth: Truth, serve: Serve) -> None:
    """When only the checkpoint is out of room: exit 7 and says so; it stays valid, and rows are repeated, not lost."""
    service = Moving(0)
    service.hook = lambda method: setattr(service, "tip", service.tip + (method == "latest/block"))
    job = Job(chainq, serve(service), "blocks")
    ran = job.capped(1000, "--follow", "--interval", "0.01", "-q", out="")
    at = job.next
    said(ran, 7, f"checkpoint {job.kept}", "File too large", f"resumes at height {at}")
    assert ran.rows == truth.rows("blocks", 0, len(ran.rows))
    assert 0 < at <= len(ran.rows)
    service.hook = lambda _: None
    again = job(out="")
    assert again.rows == truth.rows("blocks", at, service.tip + 1)
    assert sorted(job.files()) == ["kept"]


def test_another_name_of_the_same_file(chainq: Program, truth: Truth, serve: Serve) -> None:
    """A file by its relative and its absolute name is one file. Names are bytes, also such as are not UTF-8."""
    service = Moving(4)
    job = Job(chainq, serve(service), "blocks")
    name = os.fsdecode(b"caf\xe9")
    for service.tip, out in ((4, name), (6, f"{chainq.home}/{name}")):
        said(job(out=out), 0)
    assert (chainq.home / name).read_bytes() == lines(truth.rows("blocks", 0, 7))


@pytest.mark.parametrize("kind", ["link", "file", "folder"])
def test_the_temporary_file_is_not_followed(kind: str, chainq: Program, serve: Serve) -> None:
    """Whoever can write to the folder cannot make a run write through a link, or read what it writes."""
    job = Job(chainq, serve(Moving(5)), "blocks")
    victim, temporary = chainq.home / "victim", job.folder / ".kept.new"
    victim.write_bytes(b"precious")
    if kind == "folder":
        temporary.mkdir()
    else:
        {"link": temporary.symlink_to, "file": temporary.hardlink_to}[kind](victim)
    ran = job()
    assert victim.read_bytes() == b"precious"
    if kind == "folder":
        said(ran, 7, f"cannot write checkpoint {job.kept}", "resume")
    else:
        said(ran, 0)
        assert (job.next, temporary.exists()) == (6, False)


def test_75_a_second_run_ends_at_once(chainq: Program, truth: Truth, serve: Serve) -> None:
    """While one run holds the checkpoint, another one ends with 75 and one line, also by way of a symbolic link, which
    is a link still when the run ends; after a SIGKILL none is blocked."""
    service = Moving(5)
    job, linked = (Job(chainq, serve(service), "blocks") for _ in range(2))
    linked.kept = job.folder / "link"
    linked.kept.symlink_to("kept")
    first = job.start("--follow", "--interval", "0.05", out="")
    assert first.stdout is not None
    for height in range(6):
        assert first.stdout.readline() == truth.block(height) + b"\n"
    calls = service.calls.count("getBlocks")
    for other in (job, linked):
        said(ran := other(), 75, "another run is using checkpoint", str(other.kept))
        assert (ran.out, job.out.exists()) == (b"", False)
    assert service.calls.count("getBlocks") == calls
    first.kill()
    finish(first)
    service.tip = 7
    again = linked(out="")
    assert (again.code, again.err, linked.kept.is_symlink()) == (0, "", True)
    assert again.rows in (truth.rows("blocks", 6, 8), truth.rows("blocks", 0, 8))


def test_75_two_checkpoints_on_one_file(chainq: Program, truth: Truth, serve: Serve) -> None:
    """While one run appends to a file, another one with a checkpoint of its own ends with 75 and leaves it alone."""
    service = Moving(5)
    job, other = Job(chainq, serve(service), "blocks"), Job(chainq, serve(service), "records", place="other")
    first = job.follow(6)
    said(other(out=str(job.out)), 75, "another run is appending to", str(job.out))
    ran = chainq("records", "--end", "3", "-o", str(job.out), url=job.url)  # would replace what the first goes on with
    said(ran, 75, "another run is appending to", str(job.out))
    first.kill()
    finish(first)
    assert job.out.read_bytes() == lines(truth.rows("blocks", 0, 6))


def test_7_an_output_file_that_is_replaced(chainq: Program, serve: Serve) -> None:
    """A file that is deleted under a run ends it: what it writes from then on would be lost."""
    service = Moving(5)
    job = Job(chainq, serve(service), "blocks")
    first = job.follow(6)
    service.hook = lambda method: job.out.unlink(missing_ok=True) if method != "latest/block" else None
    service.tip = 7
    ran = finish(first)
    assert (ran.code, "was deleted or replaced" in ran.err) == (7, True)


def test_7_a_file_system_without_locks(chainq: Program) -> None:
    """The checkpoint needs one with locks; the output does not. The message says so."""
    code = "import fcntl\ndef flock(*_): raise OSError(37, 'No locks available')\nfcntl.flock = flock\n"
    words = ("records", "--start", "-5", "--checkpoint", "c", "-o", "out", "--url", "demo:")
    ran = chainq(*words, env=starting(chainq, "lockless", code))
    said(ran, 7, "cannot lock", "No locks available")
