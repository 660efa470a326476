"""The promise: whatever a server does, a run ends in exactly the truth, or in an error. Never in rows lost or doubled.

`CHAINQ_EXAMPLES=20000 pytest tests/planning/test_completeness.py` tries more.
"""

import os
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Raw

from chainq.errors import ChainqError
from chainq.planning.steps import ProofKind, Request
from harness.attempts import attempt, crowded, drive, verdict
from harness.model import CROWDED, KINDS, NARROW, Faults, Server, chain

EXAMPLES = int(os.environ.get("CHAINQ_EXAMPLES", "1000"))


@pytest.mark.parametrize("kind", [*KINDS, "two at once"])
@settings(max_examples=EXAMPLES // (len(KINDS) + 1), deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10**9))
def test_a_run_ends_in_the_truth_or_in_an_error(kind: str, seed: int) -> None:
    """Every kind of server, alone and in pairs, on dense, sparse and bursty chains, forward and in reverse."""
    found, _ = attempt(seed, kind)
    assert found in ("truth", "error")


@pytest.mark.parametrize("kind", [*KINDS, "two at once"])
@settings(max_examples=EXAMPLES // 8 // len(KINDS), deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10**9))
def test_what_one_partition_teaches_the_next_loses_nothing(kind: str, seed: int) -> None:
    """The same for a range in two parts, of which the second one is told what the first has learned."""
    found, _ = attempt(seed, kind, partitions=True)
    assert found in ("truth", "error")


@pytest.mark.parametrize(
    ("seed", "kind"),
    [
        (44, "newest first"),  # without heights: each height by itself, 20,000 requests
        (88, "two at once"),  # unordered, and empty where wide
        (3000898, "page size ignored"),  # without heights: a cap between two heights, alike each time
        (4002034, "wide ranges refused"),  # each chunk of a long stretch without rows searched all of it
        (394, "start excluded"),  # at a single height with rows, the first of the range
        (4005454, "random cuts"),  # a single height: its larger page was cut, and the count of what follows it
        (4010989, "random cuts"),  # the same
        (189, "random cuts"),  # cut inside a height, and the look ahead in the same place
        (393, "random cuts"),  # the same
        (5001472, "two at once"),  # a byte cap cuts a dense height in the same place each time
    ],
)
def test_what_was_lost_once_is_not_lost_again(seed: int, kind: str) -> None:
    """Seeds that ended in lost or doubled rows without an error, or did not end."""
    assert attempt(seed, kind)[0] in ("truth", "error")


@pytest.mark.parametrize("kind", NARROW)
@settings(max_examples=EXAMPLES // 100, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10**9))
def test_servers_that_look_at_a_few_heights_only_lose_nothing(kind: str, seed: int) -> None:
    """No rows in a response prove nothing, unless one as wide has shown a row at its far end."""
    assert attempt(seed, kind)[0] in ("truth", "error")


@pytest.mark.parametrize("kind", CROWDED)
@settings(max_examples=EXAMPLES // 100, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10**9))
def test_heights_that_fill_responses_lose_nothing_without_heights(kind: str, seed: int) -> None:
    """Many chunks that hold few rows, heights that hold many, and caps that cut between and inside them."""
    assert crowded(seed, kind)[0] in ("truth", "error")


@pytest.mark.parametrize(
    ("seed", "kind"),
    [
        (327, "byte cap"),  # a response and its last heights were cut before the same row
        (867, "byte cap"),
        (1107, "byte cap"),
        (368, "varying cap"),  # the last page of a height was cut
        (738, "varying cap"),
        (1487178, "varying cap"),  # a response of twice the cap, and its last heights of the cap itself
    ],
)
def test_what_was_lost_without_heights_is_not_lost_again(seed: int, kind: str) -> None:
    """Seeds that ended in lost rows without an error."""
    assert crowded(seed, kind)[0] in ("truth", "error")


@pytest.mark.parametrize("command", ["records", "ownership"])
def test_a_row_more_than_a_response_holds(command: str) -> None:
    """That its rows come again, perhaps by chance, and a row further on by itself, does not prove a height whole."""
    for seed in range(250):
        rng = Random(seed)  # noqa: S311  # as above
        cap = rng.choice([1, 2, 3, 5])
        made = chain(rng, 0, 1.0, command=command, bursts=False)
        for height in range(rng.choice([1, 3, 6])):
            count = cap + rng.choice([0, 1, 1, 2])
            made.rows.append([b'{"id":%d,"height":%d}' % (100 * height + n, height) for n in range(count)])
        server, due = Server(made, Faults(row_cap=cap), rng), made.due(0, len(made.rows))
        outcome = drive(server, 0, len(made.rows), command=command, page_size=1000, tip=rng.choice([None, made.tip]))
        assert verdict(outcome, due) == "truth", seed


class CutTwice(Server):
    """Its first response is cut, and its first look-ahead just after the last row that is known."""

    def answer(self, request: Request) -> list[Raw]:
        rows = super().answer(request)
        if self.calls == 1:
            return rows[:-9]
        return rows[:1] if request.page and sum(seen.page for seen in self.seen) == 1 else rows


def test_two_responses_must_agree_that_nothing_follows() -> None:
    """One may have been cut where the first one was."""
    rng = Random(1)  # noqa: S311  # as above
    made = chain(rng, 40, 3.0, bursts=False)
    assert verdict(drive(CutTwice(made, Faults(stable=True), rng), 0, 40, tip=made.tip), made.due(0, 40)) == "truth"


@pytest.mark.parametrize("seed", range(40))
def test_honest_servers_end_in_the_truth(seed: int) -> None:
    """What is proved is not refused either."""
    found, outcome = attempt(seed, "honest")
    assert found == "truth", outcome.error


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("shape", "most"), [("even", 1.15), ("bursty", 1.3), ("dense heights", 1.15)])
def test_calls_stay_near_the_fewest(shape: str, most: float, *, reverse: bool) -> None:
    """Of rows / page size, the fewest calls: 1.15 times as many on an even chain or one with two heights of 25,000
    rows, 1.3 times on one with many bursts; and a few to begin and end."""
    rng = Random(7)  # noqa: S311  # as above
    made = chain(rng, 20_000, 7.0, bursts=shape == "bursty")
    if shape == "dense heights":
        for height in (777, 7_777):
            made.rows[height] = [
                b'{"id":%d,"height":%d}' % (10**7 + 25_000 * height + n, height) for n in range(25_000)
            ]
    due = made.due(0, 20_000)
    outcome = drive(Server(made, Faults(stable=True), rng), 0, 20_000, tip=made.tip, reverse=reverse)
    assert verdict(outcome, due) == "truth"
    assert outcome.calls <= len(due) / 10_000 * most + 3


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_comes_when_its_turn_comes(kind: str) -> None:
    """What was given before an error is a prefix of the truth that ends with a whole height."""
    for seed in range(8):
        rng = Random(seed)  # noqa: S311  # a seed is to be repeated
        made = chain(rng, 400, 3.0)
        server = Server(made, KINDS[kind](rng), rng)
        outcome = drive(server, 0, 400, page_size=200, tip=made.tip)
        if isinstance(outcome.error, ChainqError):
            covered = outcome.results[-1].heights.end if outcome.results else 0
            settled = min(covered, 400 - server.faults.unsettled)
            near_the_tip = {*made.due(settled, 400), *server.orphans}
            assert sorted(row for row in outcome.rows if row not in near_the_tip) == sorted(made.due(0, settled))


def test_a_height_that_was_walked_comes_in_order() -> None:
    """The rows of many pages of one height are put in order like any others."""
    rng = Random(3)  # noqa: S311  # as above
    made = chain(rng, 3, 400.0, bursts=False)
    outcome = drive(Server(made, Faults(row_cap=50), rng), 0, 3, page_size=100, tip=made.tip)
    assert any(result.proof.kind is ProofKind.WALK for result in outcome.results)
    assert verdict(outcome, made.due(0, 3), exact_order=True) == "truth"


class Late(Server):
    """Shows rows from height 30 on only since the second chunk, at height 500, was requested."""

    def answer(self, request: Request) -> list[Raw]:
        rows, low = super().answer(request), set(self.chain.due(0, 30))
        late = any(seen.heights.start == 500 for seen in self.seen)
        return rows if late else [row for row in rows if bytes(row) in low]


def test_rows_after_a_proven_end_are_an_error() -> None:
    """All responses to the first chunk agreed that nothing follows height 29."""
    rng = Random(2)  # noqa: S311  # as above
    made = chain(rng, 600, 2.0, bursts=False)
    outcome = drive(Late(made, Faults(stable=True), rng), 0, 600, tip=made.tip, window=1)
    assert "rows appeared after two responses had none" in str(outcome.error)
