"""The promise: whatever a server does, a run ends in the truth, an error, or a warning that rows rest on belief.

Always an error would keep it too, so each kind of server has a floor: how many runs must end in the truth, and in how
many calls. `CHAINQ_EXAMPLES=20000 pytest tests/planning/test_completeness.py` tries more.
"""

import json
import os
from itertools import pairwise, product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.errors import ChainqError, IncompleteError, ProofError, TooHeavyError
from chainq.heights.range import HeightRange
from chainq.planning.chunking import Chunker
from chainq.planning.exchange import NOTHING_KNOWN, Due, DueRequest, Grade, RowsRequest
from chainq.planning.run import Run
from chainq.query import Query
from harness.models.attempts import Outcome, attempt, crowded, drive, verdict
from harness.models.model import CROWDED, KINDS, NARROW, WRONG, Chain, Faults, Server, chain, served
from harness.models.search import some
from harness.models.strategies import COMMANDS, chains, faults, servers
from harness.running.promises import LOOKS_SOUND

EXAMPLES = int(os.environ.get("CHAINQ_EXAMPLES", "100"))
ROWS = 4000  # of a chain
ENDS = ("truth", "error", "belief")
SOUND = {*KINDS, *NARROW, *WRONG, "two at once"} - LOOKS_SOUND
PLAIN = ("varying cap", "clamped", "newest first", "moving tip", "reorg", "two at once")
"""Of the kinds, those that plain `pytest` runs; `tests/golden/wrong_servers.txt` has two runs of each."""
ENDS_EARLY = ("flaky", "newest first", "doubled", "other ranges", "end included", "unordered", "reorg")
"""Kinds whose runs often end in an error."""


FLOORS = {
    kind: tuple(map(int, numbers.split()))
    for line in (Path(__file__).parent / "floors.txt").read_text().splitlines()
    for kind, numbers in [line.split(": ")]
}
"""Of 8 runs of each kind: how many must end in the truth at least, and the most calls of one of them."""


@pytest.mark.parametrize("kind", some(FLOORS, "honest", "row cap", "hidden cap", "short pages"))
def test_so_many_runs_end_in_the_truth(kind: str) -> None:
    """Of records, ownership rows, blocks and the transactions of an address; the others in an error or on belief."""
    least, most = FLOORS[kind]
    ends = [attempt(seed, kind, rows=ROWS) for seed in range(8)]
    found = [end for end, _ in ends]
    assert kind in LOOKS_SOUND or set(found) <= set(ENDS), found
    assert found.count("truth") >= least, found
    assert max(outcome.calls for _, outcome in ends) <= most


@pytest.mark.parametrize("kind", some(SOUND, *PLAIN))
@settings(max_examples=max(1, EXAMPLES // 100), deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10**9))
def test_a_run_never_ends_in_other_rows(kind: str, seed: int) -> None:
    """Every kind of server, alone and in pairs, on dense, sparse and bursty chains, forward and in reverse."""
    assert attempt(seed, kind, rows=1000 if seed % 4 else ROWS, partitions=seed % 3 == 0)[0] in ENDS


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_drawn_servers_never_end_in_other_rows(data: st.DataObject) -> None:
    """Chains and servers as they are drawn, so that a counterexample shrinks to a few heights and one fault."""
    command = data.draw(st.sampled_from((*COMMANDS, "blocks")))
    made = data.draw(chains(command))
    server = data.draw(servers(made, faults(("refused",), PREFIXES)))
    size = data.draw(st.sampled_from([3, 20, 1000]))
    outcome = drive(server, 0, len(made.rows), command=command, page_size=size, tip=made.tip)
    assert verdict(outcome, made, HeightRange(0, len(made.rows))) in ENDS


PREFIXES = (
    "row-cap", "cap-varies", "offset-by-asked", "byte-cap", "result-window", "clamp-heights", "empty-above", "no-pages",
    "repeat-pages", "ignore-page-size", "heavy-rows", "first-block", "range-empty", "late-pages", "short-pages",
    "long-row-hides",
)  # fmt: skip
"""The faults that keep the assumption of rule 1: page 0 is a prefix of the rows due."""


@pytest.mark.parametrize("kind", some(CROWDED, *[*CROWDED][:2]))
@settings(max_examples=max(1, EXAMPLES // 100), deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10**9))
def test_heights_that_fill_responses_lose_nothing_without_heights(kind: str, seed: int) -> None:
    """Many chunks that hold few rows, heights that hold many, and caps that cut between and inside them."""
    assert crowded(seed, kind)[0] in ENDS


def counted(*counts: int, command: str = "records") -> Chain:
    """A chain with so many rows at each height, of one transition each."""
    made = chain(Random(1), 0, 1.0, command=command)  # noqa: S311  # not drawn from
    for height, count in enumerate(counts):
        row = b'{"id":%d,"transition_id":"t%d","output_index":%d'
        shown = b',"height":%d' % height if command == "records" else b""
        made.rows.append([row % (n, height, n) + shown + b"}" for n in range(count)])
    return made


def driven(made: Chain, faults: Faults, start: int, end: int, size: int, **more: Any) -> Outcome:
    """How a run over some heights ends, of a server of a chain."""
    server = Server(made, faults, Random(1))  # noqa: S311  # the same
    return drive(server, start, end, command=made.command, page_size=size, tip=made.tip, **more)


@pytest.mark.parametrize("command", ["records", "ownership"])
def test_a_row_more_than_a_response_holds(command: str) -> None:
    """That its rows come again, perhaps by chance, and a row further on by itself, does not prove a height whole."""
    for seed in range(100):
        rng = Random(seed)  # noqa: S311  # as above
        cap = rng.choice([1, 2, 3, 5])
        made = counted(*(cap + rng.choice([0, 1, 1, 2]) for _ in range(rng.choice([1, 3, 6]))), command=command)
        server = Server(made, served(f"row-cap:{cap}", "offset-by-asked"), rng)
        outcome = drive(server, 0, len(made.rows), command=command, page_size=1000, tip=rng.choice([None, made.tip]))
        assert verdict(outcome, made, HeightRange(0, len(made.rows))) == "truth", seed


@pytest.mark.parametrize("fault", ["", "short-pages", "page-gaps:7", "page-0-skipped"])
def test_pages_of_a_height_without_a_witness_prove_nothing(fault: str) -> None:
    """Walks that show no further row are not enough: pages that lack the same rows each time show none either."""
    made = counted(0, 0, 300)
    outcome = driven(made, served("row-cap:70", "offset-by-asked", fault, stable=True, no_blocks=True), 2, 3, 100)
    assert isinstance(outcome.error, IncompleteError)
    assert not outcome.rows


CAPPED = "height-cap:2"


@pytest.mark.parametrize(
    ("command", "counts", "fault", "heights", "size", "calls"),
    [
        # Full blocks of the last rows, from the tip downwards, also if blocks without rows are above the range.
        ("ownership", [5] * 2000 + [0, 0], "", (0, 2000), 9000, 14),
        # A height by itself is requested by itself: its full block names the rows that the overlap costs.
        ("records", [5] * 40, CAPPED, (7, 8), 100, 9),
        # The last rows need a full block anyway: that request is of some blocks more, whose rows the order proved.
        ("records", [3] * 24, CAPPED, (0, 24), 48, None),
        ("records", [3] * 24, CAPPED, (4, 24), 48, None),
        # The height with the most rows of the first chunk is compared, and then full blocks name the rows of all.
        ("records", [3] * 60 + [1, 1], CAPPED, (0, 60), 90, None),
        ("records", [1] * 30 + [50] + [1] * 31, "height-cap:20", (0, 60), 90, None),
    ],
)
@pytest.mark.parametrize("reverse", [False, True])
def test_full_blocks_show_what_ranges_leave_out(
    command: str, counts: list[int], fault: str, heights: tuple[int, int], size: int, calls: int | None, reverse: bool
) -> None:
    """Those of few heights, in few calls."""
    made = counted(*counts, command=command)
    outcome = driven(made, served(fault), *heights, size, reverse=reverse)
    assert verdict(outcome, made, HeightRange(*heights)) == "truth"
    assert calls is None or outcome.calls <= calls


class Heavy(Server):
    """The full block of height 2 is too heavy."""

    def due(self, request: DueRequest) -> Due:
        if 2 in request.heights:
            raise TooHeavyError("query timeout")
        return super().due(request)


@pytest.mark.parametrize("command", ["records", "ownership"])
def test_one_full_block_that_is_too_heavy_leaves_the_others(command: str) -> None:
    """Only the rows of that height rest on belief."""
    made = chain(Random(1), 0, 1.0, command=command)  # noqa: S311  # not drawn from
    row = b'{"transition_id":"t%d","output_index":%d%b}'
    for height in range(12):
        shown = b',"height":%d' % height if command == "records" else b""
        made.rows.append([row % (height, n, shown) for n in range(90 if height in (2, 5) else 3)])
    server = Heavy(made, Faults(), Random(1))  # noqa: S311  # the same
    server.faults.unordered = True
    outcome = drive(server, 0, 12, command=command, page_size=100, tip=11)
    assert sorted(outcome.rows) == sorted(made.due(0, 12))
    believed = [at for one in outcome.results if one.grade is Grade.BELIEF for at in range(*one.heights.edges)]
    assert believed == [2]


@pytest.mark.parametrize("kind", some(KINDS.keys() - LOOKS_SOUND, *ENDS_EARLY))
def test_an_error_comes_when_its_turn_comes(kind: str) -> None:
    """What was given before an error is a prefix of the truth that ends with a whole height."""
    for seed in range(3):
        rng = Random(seed)  # noqa: S311  # a seed is to be repeated
        made = chain(rng, 400, 3.0)
        server = Server(made, KINDS[kind](rng), rng)
        outcome = drive(server, 0, 400, page_size=200, tip=made.tip)
        if isinstance(outcome.error, ChainqError):
            covered = outcome.results[-1].heights.end if outcome.results else 0
            settled = min(covered, 400 - server.faults.unsettled)
            near_the_tip = {*made.due(settled, 400), *server.orphans}
            assert sorted(row for row in outcome.rows if row not in near_the_tip) == sorted(made.due(0, settled))


@pytest.mark.parametrize("kind", ["page 0 skipped", "start excluded"])
@pytest.mark.parametrize("seed", some((8, 27, 39, 98, 147, 192, 201, 238), 8, 39))
def test_rows_that_are_left_out_at_the_start_are_found_out(kind: str, seed: int) -> None:
    """By the full blocks up to the first row shown, or of some heights if no row is; and these outrank `records`."""
    assert attempt(seed, kind, rows=ROWS)[0] in ENDS


SHAPES = {"even": 1.10, "sparse": 1.25, "bursty": 1.25, "one height of 25,000 rows": 1.7, "without heights": 2.2}
"""Chains, and how many times the fewest calls a run may take. A full page with heights that show no row costs the
summaries of up to 1,000 heights a call, because rows of a block that was stored again may come behind it. Rows without
heights take as many calls for records."""


@pytest.mark.parametrize(
    ("shape", "reverse"),
    some(
        product(SHAPES, (False, True)),
        *(("bursty", True), ("one height of 25,000 rows", False)),
        several=True,
    ),
)
def test_calls_of_an_honest_server_stay_near_the_fewest(shape: str, *, reverse: bool) -> None:
    """Of rows / page size, and two for each end; `tests/benchmarks/calls.py` counts those of longer chains."""
    rng = Random(7)  # noqa: S311  # a seed is to be repeated
    heights, density = (100_000, 1.0) if shape == "sparse" else (24_000, 5.0)
    command = "ownership" if shape == "without heights" else "records"
    made = chain(rng, heights, density, command=command, bursts=shape == "bursty")
    if shape.startswith("one"):
        height = heights // 3
        row = b'{"transition_id":"dense","output_index":%d,"height":%d}'
        made.rows[height] = [row % (n, height) for n in range(25_000)]
    server = Server(made, Faults(stable=True), rng)
    outcome = drive(server, 0, heights, command=command, tip=made.tip, reverse=reverse)
    assert verdict(outcome, made, HeightRange(0, heights)) == "truth"
    assert outcome.calls <= len(outcome.rows) / 10_000 * SHAPES[shape] + 4


def test_the_density_is_the_median_by_heights() -> None:
    """One dense height, or one sparse stretch, does not change it."""
    chunker, start = Chunker(BY_COMMAND["records"], 10_000), 0
    assert chunker.rows_per_height == 0
    for heights, rows in ((10, 10), (500, 2500), (1, 25_000)):
        chunker.learn(HeightRange(start, start + heights), rows, 10 * rows, complete=True)
        start += heights
    assert chunker.rows_per_height == 5


@pytest.mark.parametrize("seed", some(range(200), *range(0, 200, 8)))
def test_no_hole_where_the_tip_rises(seed: int) -> None:
    """Of servers with different tips: heights follow one another, as far as any row was shown."""
    rng = Random(seed)  # noqa: S311  # a seed is to be repeated
    command, reverse = rng.choice(["records", "blocks"]), rng.random() < 0.3
    server = Server(chain(rng, 60, rng.choice([0.3, 1, 5]), command=command), Faults(lagging=rng.randint(5, 30)), rng)
    size, end = rng.choice([5, 20, 100]) if command == "records" else None, rng.randint(50, 70)
    shown, answer = [5], server.answer

    def answered(request: RowsRequest) -> list[Raw]:
        rows = answer(request)
        shown.extend(json.loads(bytes(row))["height"] for row in rows)
        return rows

    server.answer = answered  # type: ignore[method-assign]
    outcome = drive(server, 5, end, command=command, page_size=size, reverse=reverse, window=rng.choice([1, 4, 10]))
    edges = [result.heights.edges for result in outcome.results][:: -1 if reverse else 1]
    assert all(low[1] == high[0] for low, high in pairwise(edges))
    assert outcome.error or edges[-1][1] >= min(end, max(shown) + 1)


def test_rows_of_another_block_than_the_one_at_their_height_are_an_error() -> None:
    """As from the cache of an old fork, in any response after a full block of that height was read."""
    heights = HeightRange(2, 5)
    answers = {
        RowsRequest: [Raw(b'{"height":3,"block_hash":""}'), Raw(b'{"height":4,"block_hash":"ab1old"}')],
        DueRequest: Due(heights, {}, {3: "ab1other", 4: "ab1new"}),
    }
    query = Query(BY_COMMAND["records"])
    made = Run(query, heights, lambda request: answers[type(request)], 9, NOTHING_KNOWN, witness=True)
    assert len(made.page(RowsRequest(heights)).rows) == 2
    made.due(heights)
    with pytest.raises(ProofError, match="height 4: a row is of block ab1old, but the block is ab1new"):
        made.page(RowsRequest(heights))
