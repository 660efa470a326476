"""The first run of blocks with a checkpoint and an end: its rows are requested beside the tip."""

import threading

import pytest

from harness.program import LONGEST, Program, one_line
from harness.search import some
from harness.services import Moving, heights_of, serving, witnessed
from harness.truth import Truth

RANGE = ("--start", "1000", "--end", "3500")
NAMES = ("--checkpoint", "kept.json", "-o", "rows.jsonl", "--dialect", "chain")


@pytest.mark.parametrize("command", some(["blocks", "full-blocks"], "blocks"))
def test_rows_are_requested_beside_the_tip(chainq: Program, truth: Truth, command: str) -> None:
    """The tip answers only once rows are requested."""
    service, requested = Moving(9000), threading.Event()
    name = {"blocks": "getBlocks", "full-blocks": "getChainBlocks"}[command]

    def hook(method: str) -> None:
        if method == name:
            requested.set()
        assert method != "latest/block" or requested.wait(LONGEST)

    service.hook = hook
    with serving(service) as url:
        ran = chainq(command, *RANGE, *NAMES, url=url)
    assert (ran.code, ran.err) == (0, "")
    assert (chainq.home / "rows.jsonl").read_bytes().splitlines() == truth.rows(command, 1000, 3500)


def test_an_error_of_these_rows_is_said_once(chainq: Program) -> None:
    """Also if the tip is there: the run resumes where it began."""
    service = Moving(9000)

    def hook(method: str) -> None:
        if method == "getBlocks":
            raise ConnectionError

    service.hook = hook
    with serving(service) as url:
        ran = chainq("blocks", *RANGE, *NAMES, "--retries", "0", url=url)
        assert "the next run resumes at height 1000" in one_line(ran, 4)
        service.hook = lambda _: None
        assert chainq("blocks", *RANGE, *NAMES, url=url).code == 0


def test_later_runs_request_nothing_beyond_the_tip(chainq: Program) -> None:
    """An end far above the tip, as of a job that runs every hour, costs them no calls."""
    words = ("blocks", "--start", "1000", "--end", "90000", *NAMES)
    with witnessed(2000) as (url, calls):
        for _ in range(2):
            del calls[:]
            assert chainq(*words, url=url).code == 0
    assert [call for call in calls if any(height > 2000 for height in heights_of(call))] == []
    assert calls
