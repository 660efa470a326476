"""The newest rows of a list that only pages show: exactly those, the newest first, or an error.

`CHAINQ_EXAMPLES=20000 pytest tests/planning/test_newest_plan.py` tries more.
"""

import os
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness import page_model
from harness.page_model import KINDS, Blocks, PageFaults, PageServer, blocks, served, transaction
from harness.search import some

EXAMPLES = int(os.environ.get("CHAINQ_EXAMPLES", "30"))


def run(server: PageServer, limit: int, page_size: int | None = None) -> tuple[list[bytes], str]:
    """The newest rows of a run, and the error that ended it."""
    return page_model.run(server, page_size, limit, newest=True)


def singles(count: int) -> Blocks:
    """Blocks of one row each."""
    return [[transaction(number, 0, 10 * number, 1)] for number in range(1, count + 1)]


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10**9), kind=st.sampled_from(list(KINDS)))
def test_a_run_ends_in_the_newest_rows_or_in_an_error(seed: int, kind: str) -> None:
    """Every kind of server, long lists and short ones. Of a list that grows, the rows that were newest at some time."""
    rng = Random(seed)  # noqa: S311  # a seed is to be repeated
    made = blocks(rng, rng.choice([0, 1, 3, 20, 60]), rng.choice([3, 10, 60, 150]), repeats=rng.random() < 0.6)
    server = PageServer(made, KINDS[kind](rng), seed)
    before = len(server.due)
    limit = rng.choice([1, 5, 30, 100])
    rows, error = run(server, limit, rng.choice([None, 1, 7, 61]))
    if error:
        assert rows == []
        return
    ends = range(before, len(server.due) + 1)
    assert any(rows == server.due[max(0, end - limit) : end][::-1] for end in ends)


@pytest.mark.parametrize("seed", some(range(20), *range(0, 20, 4)))
@pytest.mark.parametrize("kind", ["honest", "stable order", "a transaction once"])
def test_what_can_be_proved_is_not_refused(kind: str, seed: int) -> None:
    """Honest servers end in the truth, also where the last rows begin inside a block."""
    rng = Random(seed)  # noqa: S311  # as above
    server = PageServer(blocks(rng, 40, 150), KINDS[kind](rng), seed)
    assert run(server, 20) == (server.due[:-21:-1], "")


@pytest.mark.search
def test_the_end_of_a_long_list_is_found_in_few_calls() -> None:
    """The calls grow with the number of digits; all but the last few are for one row."""
    server = PageServer(singles(30_000), PageFaults(stable=True), 0)
    assert run(server, 10) == (server.due[:-11:-1], "")
    assert sum(request.size == 1 for request in server.requests) <= 24
    assert sum(request.size for request in server.requests if request.size > 1) < 300


def test_a_service_that_ignores_the_page_size_is_named() -> None:
    """There a page of one row says nothing about a position."""
    rows, error = run(PageServer(singles(5000), served("ignore-page-size:30"), 0), 5)
    assert rows == []
    assert "the service ignores the page size" in error


def test_a_service_that_ignores_the_page_is_named() -> None:
    """Its list would have no end."""
    rows, error = run(PageServer(singles(100), served("repeat-pages"), 0), 5)
    assert (rows, "the service ignores `page`" in error) == ([], True)
