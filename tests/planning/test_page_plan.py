"""The promise for methods of pages: whatever a server does, a run ends in exactly the truth, or in an error.

`CHAINQ_EXAMPLES=20000 pytest tests/planning/test_page_plan.py` tries more.
"""

import os
import re
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Raw

from chainq.errors import GatewayError, IncompleteError
from chainq.planning.exchange import Grade
from chainq.planning.page_plan import PageRequest
from harness.models.page_model import (
    KINDS,
    WRONG,
    Blocks,
    PageFaults,
    PageServer,
    blocks,
    plan,
    run,
    served,
    transaction,
)
from harness.models.search import some

EXAMPLES = int(os.environ.get("CHAINQ_EXAMPLES", "30"))


def numbers(server: PageServer) -> list[tuple[int, int]]:
    """The pages that were requested, in order."""
    return [(request.number, request.size) for request in server.requests]


def singles(count: int) -> Blocks:
    """Blocks of one row each."""
    return [[transaction(number, 0, 10 * number, 1)] for number in range(1, count + 1)]


def one_block(count: int, calls: int = 1) -> Blocks:
    """One block with so many transactions."""
    return [[row for index in range(count) for row in [transaction(index, index, 10, calls)] * calls]]


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10**9), kind=st.sampled_from(list(KINDS)))
def test_a_run_ends_in_the_truth_or_in_an_error(seed: int, kind: str) -> None:
    """Every kind of server, long lists and short ones, pages of any size, with a limit or without."""
    rng = Random(seed)  # noqa: S311  # a seed is to be repeated
    made = blocks(rng, rng.choice([0, 1, 3, 20, 60]), rng.choice([3, 10, 60]), repeats=rng.random() < 0.6)
    server = PageServer(made, KINDS[kind](rng), seed)
    before = len(server.due)
    limit = rng.choice([None, None, None, 1, 5, 30])
    rows, error = run(server, rng.choice([None, 1, 2, 7, 33, 61, 500]), limit)
    assert rows == server.due[: len(rows)]
    assert error or len(rows) >= min(before, before if limit is None else limit)


@pytest.mark.parametrize("seed", some(range(20), *range(0, 20, 4)))
@pytest.mark.parametrize("kind", ["honest", "stable order", "a transaction once"])
def test_what_can_be_proved_is_not_refused(kind: str, seed: int) -> None:
    """Honest servers end in the truth."""
    rng = Random(seed)  # noqa: S311  # as above
    server = PageServer(blocks(rng, 40, 30), KINDS[kind](rng), seed)
    assert run(server, rng.choice([None, 7, 61])) == (server.due, "")


def test_a_list_that_fits_a_page_takes_nine_requests() -> None:
    """The page, its last row shown once more and none after it, and looks at seven positions beyond."""
    server = PageServer(singles(100), PageFaults(), 0)
    assert run(server) == (server.due, "")
    assert numbers(server) == [(0, 500), (33, 3), (1, 500), *((100 + more, 1) for more in (0, 1, 2, 4, 8, 16))]


def test_a_list_without_rows_is_looked_at_again() -> None:
    """No row can be shown again there, so that several looks must agree."""
    server = PageServer([], PageFaults(), 0)
    assert run(server) == ([], "")
    assert numbers(server) == [(0, 500), (0, 500), (0, 1), (1, 1), (2, 1), (4, 1), (8, 1), (16, 1)]


def test_a_limit_takes_one_small_page() -> None:
    """What is requested beyond the limit only shows where its last block ends."""
    server = PageServer(singles(1000), PageFaults(), 0)
    rows, error = run(server, limit=5)
    assert (rows[:5], error) == (server.due[:5], "")
    assert numbers(server) == [(0, 55)]
    short = PageServer(singles(20), PageFaults(), 0)
    assert run(short, limit=5)[0][:5] == short.due[:5]
    assert numbers(short) == [(0, 55)]


def test_pages_are_requested_ahead() -> None:
    """Page 0 alone, for most lists have no more; the look at page 1; then more with each page that comes whole."""
    server = PageServer(singles(100), PageFaults(), 0)
    run(server, 10)
    assert [request.ahead for request in server.requests[:7]] == [0, 0, 1, 3, 7, 10, 10]


class Busy(PageServer):
    """Fails ten times in the middle of the list, where pages are not small."""

    failures = 0

    def page(self, request: PageRequest) -> list[Raw]:
        if request.size > 25 and 200 < (request.number + 1) * request.size <= 400 and self.failures < 10:
            self.failures += 1
            self.requests.append(request)
            raise GatewayError("HTTP 504")
        return super().page(request)


def test_heavy_pages_become_smaller_and_grow_again() -> None:
    """After failures smaller pages, one at a time; after pages that came whole, larger ones and more ahead."""
    server = Busy(singles(4000), PageFaults(), 0)
    assert run(server, 100) == (server.due, "")
    sizes = [request.size for request in server.requests]
    smallest = sizes.index(25)
    assert server.failures == 3
    assert server.requests[smallest].ahead == 0
    assert sizes[smallest:].count(100) > 10
    assert server.requests[-10].ahead == 10


@pytest.mark.parametrize(("count", "calls"), [(3000, 1), (100, 25)])
def test_a_block_larger_than_any_page_comes_from_its_full_block(count: int, calls: int) -> None:
    """More rows of one block than a page may have, of which each transaction comes once for each call."""
    server = PageServer(one_block(count, calls), PageFaults(full="rows"), 0)
    made = plan(server)
    found = list(made.results())
    assert [bytes(row) for rows, _ in found for row in rows] == server.due
    assert (found[0][1].grade, [note for note in made.notes if "heavy" in note]) == (Grade.BELIEF, [])


def test_rows_rest_on_order_or_on_belief() -> None:
    """Page 0 proves its blocks but the last; the rest is believed, which `strict` refuses before it is given."""
    server = PageServer(singles(20), PageFaults(), 0)
    made = plan(server, 8)
    found = [(len(rows), proof.grade) for rows, proof in made.results()]
    assert found == [(7, Grade.ORDER), (8, Grade.BELIEF), (4, Grade.BELIEF), (1, Grade.BELIEF)]
    assert made.believed == range(7, 20)
    strict = plan(server, 8, strict=True).results()
    assert next(strict)[1].grade is Grade.ORDER
    with pytest.raises(IncompleteError, match="row 7: nothing proves"):
        next(strict)
    empty = plan(PageServer([], PageFaults(), 0))
    assert [*empty.results()] == []
    assert empty.believed == range(0)


@pytest.mark.parametrize("seed", some(range(15), *range(0, 15, 3)))
@pytest.mark.parametrize("kind", ["heavy block", "pool", "short pages", "page 0 skipped", "late pages", "newest first"])
def test_a_server_that_is_wrong_in_one_way_loses_nothing_in_silence(kind: str, seed: int) -> None:
    """The truth, or an error after a whole prefix of it: where page 0 has some rows and the list goes on."""
    rng = Random(seed)  # noqa: S311  # as above
    server = PageServer(blocks(rng, rng.choice([20, 60]), rng.choice([3, 10, 60])), WRONG[kind](rng), seed)
    rows, error = run(server, rng.choice([7, 33, 61, 500]))
    assert rows == server.due[: len(rows)]
    assert error or rows == server.due


def test_a_pool_without_connections_slows_the_run_down() -> None:
    """After the first failure one smaller page at a time, and all rows come."""
    heavy = [transaction(n, n, 5000, 1) for n in range(500, 560)]
    server = PageServer([*singles(200), heavy], PageFaults(pool=10, full="rows"), 0)
    assert run(server, 40) == (server.due, "")
    first = next(n for n, request in enumerate(server.requests) if request.size < 40 and n > 2)
    assert {request.ahead for request in server.requests[first:]} == {0}


@pytest.mark.parametrize(("calls", "once"), [(1, True), (5, False)])
def test_a_heavy_block_comes_from_its_full_block(calls: int, once: bool) -> None:
    """Few pages fail, whatever number of rows the block has, and the others are in pages of many rows again."""
    heavy = [row for n in range(500, 900) for row in [transaction(n, n, 5000, calls)] * calls]
    after = [[transaction(n, 0, 6000 + n, 1)] for n in range(1000, 2000)]
    faults = served("heavy-block:10", "distinct" * once, full="rows")
    server = PageServer([*singles(200), heavy, *after], faults, 0)
    made = plan(server)
    assert [row for rows, _ in made.results() for row in map(bytes, rows)] == server.due
    assert len(server.requests) < 80


def test_a_list_of_a_round_number_of_rows_is_noted() -> None:
    """It may be a limit of the service: that cannot be found out, so it is said."""
    server = PageServer(singles(1300), served("result-window:1000"), 0)
    made = plan(server)
    assert sum(len(rows) for rows, _ in made.results()) == 1000
    assert made.notes == ["the list ends after exactly 1000 rows: the service may show no more than that"]


class Slipping(PageServer):
    """A row slips in among those that were read."""

    def page(self, request: PageRequest) -> list[Raw]:
        if len(self.blocks) == 200 and request.number * request.size > 40:
            self.blocks.insert(3, [transaction(9999, 0, 35, 1)])
        return super().page(request)


class Elsewhere(PageServer):
    """Page 2 is another one the first time: as many rows of it as are asked for, or fewer."""

    def __init__(self, number: int, rows: int) -> None:
        super().__init__([[transaction(time, 0, time, 3)] * 3 for time in range(1, 101)], PageFaults(), 0)
        self.number, self.count, self.wrong = number, rows, True

    def page(self, request: PageRequest) -> list[Raw]:
        if not self.wrong or (request.number, request.size) != (2, 20):
            return super().page(request)
        self.wrong = False
        return [Raw(row) for row in self.due[self.number * request.size :][: self.count]]


class Replacing(PageServer):
    """The last row becomes another one, of a later block."""

    def page(self, request: PageRequest) -> list[Raw]:
        if self.requests:
            self.blocks[-1] = [transaction(9999, 0, 99_999, 1)]
        return super().page(request)


IGNORED = "the service ignores the page size|does not show the last rows"
CONTINUES = "does not continue where the page before it ended"
WITH_LONG_ROWS = [[transaction(n, 0, 10 * n, 1, 900 if n in (31, 32, 33) else 0)] for n in range(1, 61)]


@pytest.mark.parametrize(
    ("server", "size", "words"),
    [
        (PageServer(singles(1000), served("ignore-page-size:2"), 0), 40, IGNORED),
        (PageServer(singles(1000), served("ignore-page-size:30"), 0), 40, IGNORED),
        (PageServer(singles(1000), served("ignore-page-size:900"), 0), 40, IGNORED),
        (PageServer(one_block(1100), PageFaults(), 0), None, "a block has 1100 rows"),
        (PageServer(one_block(1100), PageFaults(full="lacking"), 0), None, "a block has 1100 rows"),
        (PageServer(one_block(1100), PageFaults(full="other"), 0), None, "a block has 1100 rows"),
        # Single rows further on show that the list goes on, also if several rows never come.
        (PageServer(WITH_LONG_ROWS, served("long-row-hides:800"), 0), None, "row 30"),
        # A transaction that calls the function once cannot come twice in one response.
        (PageServer(singles(50), served("duplicate-rate:0.2"), 0), None, "row "),
        # All rows after the one that slips in move, and one comes twice; with overlapping pages, too.
        (Slipping(singles(200), PageFaults(), 0), 61, "row "),
        (Slipping(singles(200), served("heavy-rows:40"), 0), 61, "row "),
        # It has as many rows as were requested, but those before it and those after it do not meet.
        (Elsewhere(0, 20), 20, CONTINUES),
        (Elsewhere(1, 20), 20, CONTINUES),
        (Replacing(singles(100), PageFaults(), 0), None, "does not show the last row"),
    ],
)
def test_what_is_found_out(server: PageServer, size: int | None, words: str) -> None:
    """An error, after a prefix of the list as it was at first."""
    due = server.due
    rows, error = run(server, size)
    assert rows == due[: len(rows)]
    assert re.search(words, error), error


def test_a_short_page_of_another_place_is_requested_again() -> None:
    """It may be a response that was cut: the next one continues."""
    server = Elsewhere(0, 15)
    assert run(server, 20) == (server.due, "")


def test_a_list_that_grows_with_each_call_is_read_to_an_end() -> None:
    """Rows that come faster than they are read are left to the next run."""
    server = PageServer(singles(5), PageFaults(grow=1), 0)
    rows, error = run(server)
    assert (rows, error) == (server.due[: len(rows)], "")
    assert len(rows) >= 5
    assert len(server.requests) < 100


# The newest rows of a list that only pages show: exactly those, the newest first, or an error.


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10**9), kind=st.sampled_from(list(KINDS)))
def test_a_newest_run_ends_in_the_newest_rows_or_in_an_error(seed: int, kind: str) -> None:
    """Every kind of server, long lists and short ones. Of a list that grows, the rows that were newest at some time."""
    rng = Random(seed)  # noqa: S311  # a seed is to be repeated
    made = blocks(rng, rng.choice([0, 1, 3, 20, 60]), rng.choice([3, 10, 60, 150]), repeats=rng.random() < 0.6)
    server = PageServer(made, KINDS[kind](rng), seed)
    before = len(server.due)
    limit = rng.choice([1, 5, 30, 100])
    rows, error = run(server, rng.choice([None, 1, 7, 61]), limit, newest=True)
    if error:
        assert rows == []
        return
    ends = range(before, len(server.due) + 1)
    assert any(rows == server.due[max(0, end - limit) : end][::-1] for end in ends)


@pytest.mark.parametrize("seed", some(range(20), *range(0, 20, 4)))
@pytest.mark.parametrize("kind", ["honest", "stable order", "a transaction once"])
def test_the_newest_rows_are_not_refused(kind: str, seed: int) -> None:
    """Honest servers end in the truth, also where the last rows begin inside a block."""
    rng = Random(seed)  # noqa: S311  # as above
    server = PageServer(blocks(rng, 40, 150), KINDS[kind](rng), seed)
    assert run(server, limit=20, newest=True) == (server.due[:-21:-1], "")


@pytest.mark.search
def test_the_end_of_a_long_list_is_found_in_few_calls() -> None:
    """The calls grow with the number of digits; all but the last few are for one row."""
    server = PageServer(singles(30_000), PageFaults(stable=True), 0)
    assert run(server, limit=10, newest=True) == (server.due[:-11:-1], "")
    assert sum(request.size == 1 for request in server.requests) <= 24
    assert sum(request.size for request in server.requests if request.size > 1) < 300


@pytest.mark.parametrize(
    ("fault", "words"),
    [("ignore-page-size:30", "the service ignores the page size"), ("repeat-pages", "the service ignores `page`")],
)
def test_a_service_that_ignores_a_parameter_is_named(fault: str, words: str) -> None:
    """There a page of one row says nothing about a position, or the list has no end."""
    rows, error = run(PageServer(singles(5000), served(fault), 0), limit=5, newest=True)
    assert (rows, words in error) == ([], True), error
