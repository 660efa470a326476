"""What tests/harness/strategies.py draws: chains of which all methods tell alike, and servers that shrink."""

import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st
from msgspec import Raw

from chainq.errors import TooHeavyError
from chainq.heights.range import HeightRange
from chainq.planning.exchange import RowsRequest
from chainq.rows.block import IDENTITY, read_block
from chainq.rows.fields import object_of, text_of
from harness.model import Server
from harness.strategies import Drawn, chains, faults, servers

LONG = settings(max_examples=50, derandomize=True, suppress_health_check=list(HealthCheck), database=None)
QUICK = settings(max_examples=40, suppress_health_check=list(HealthCheck), database=None)


def whole(server: Server) -> list[bytes]:
    """All rows of its chain in one response, sorted."""
    return sorted(map(bytes, server.answer(RowsRequest(HeightRange(0, server.chain.tip + 1), 10_000))))


def wrong(server: Server) -> bool:
    """Whether one response for all rows holds others."""
    due = sorted(server.chain.due(0, server.chain.tip + 1))
    try:
        return whole(server) != due
    except TooHeavyError:
        return False


@QUICK
@given(chains())
def test_all_methods_tell_of_the_same_blocks(chain: Drawn) -> None:
    """A full block names the records, ownership rows and transitions of its height, and no others."""
    for height, (row,) in enumerate(chain.told("full-blocks").rows):
        full = read_block(Raw(row))
        outputs = sorted((output.transition, str(output.place)) for output in full.outputs)
        listed = sorted((transition.id,) for transition in full.transitions if transition.kinds is not None)
        for command, due in (("records", outputs), ("ownership", outputs), ("transitions", listed)):
            rows = map(object_of, chain.told(command).rows[height])
            assert due == sorted(tuple(text_of(row.get(name)) for name in IDENTITY[command]) for row in rows)
    assert chain.told("records").rows == chain.rows
    assert [len(rows) for rows in chain.told("blocks").rows] == [1] * len(chain.rows)


@QUICK
@given(chains().flatmap(servers), st.integers(0, 12), st.integers(0, 12), st.integers(0, 2), st.integers(1, 9))
def test_rows_of_servers_are_rows_of_the_chain(server: Server, start: int, width: int, page: int, size: int) -> None:
    """Whatever the faults: no row is made up, also after a reorg."""
    request = RowsRequest(HeightRange(start, start + width), size, page)
    for _ in range(6):
        try:
            rows = server.answer(request)
        except TooHeavyError:
            continue
        known = {*server.chain.due(0, 10**6), *server.orphans}
        assert {bytes(row) for row in rows} <= known


@pytest.mark.search
def test_counterexamples_shrink_to_few_heights_and_one_fault() -> None:
    """Of chains and servers, not of seeds: the fewest blocks, rows without pads in a stable order, one fault."""
    limits = faults(fields=(), names=("row-cap", "heavy-rows", "repeat-pages"))
    drawn = chains(most_heights=4, most_rows=3).flatmap(lambda chain: servers(chain, limits))
    found = find(drawn, lambda server: "row-cap" in server.faults.lists and wrong(server), settings=LONG)
    assert isinstance(found.chain, Drawn)
    assert (found.faults.lists.texts, found.faults.stable) == (("row-cap:1",), True)
    assert [block for _, block in found.chain.blocks] == [(0, 0)]
