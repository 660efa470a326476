"""The model servers that are wrong in one plain way (tests/harness/wrong.py and page_model.py): they are."""

from dataclasses import replace
from itertools import product
from random import Random

import pytest

from chainq.errors import ChainqError
from chainq.heights.range import HeightRange
from chainq.planning.exchange import RowsRequest
from chainq.planning.page_plan import PageRequest
from harness import model, page_model, wrong
from harness.model import Chain, Faults, Server
from harness.page_model import PageFaults, PageServer

RANGES = ((0, 300), (5, 15), (290, 300), (40, 41))


def answers(server: Server, request: RowsRequest) -> list[bytes]:
    """The rows of one response, in the order of the server."""
    return [bytes(row) for row in server.answer(request)]


def differs(kind: str, command: str) -> bool:
    """Whether a server of that kind answers a request otherwise than an honest one."""
    rng = Random(5)  # noqa: S311  # a seed is to be repeated
    chain: Chain = model.chain(rng, 300, 4.0, command=command, bursts=False)
    faulty = Server(chain, replace(wrong.WRONG[kind](rng), stable=True), rng)
    honest = Server(chain, Faults(stable=True), rng)
    requests = [
        RowsRequest(HeightRange(*heights), size, page) for heights, size, page in product(RANGES, (20, 999), (0, 1, 2))
    ]
    return any(answers(faulty, request) != answers(honest, request) for request in [*requests, *requests])


@pytest.mark.parametrize("kind", wrong.WRONG)
def test_a_wrong_server_answers_otherwise(kind: str) -> None:
    """As its kind says, for rows with heights or without."""
    assert differs(kind, "records") or differs(kind, "ownership")


def test_cached_rows_are_those_of_the_old_blocks() -> None:
    """After the reorg, for the heights that were requested before it, and no others."""
    rng = Random(5)  # noqa: S311  # as above
    chain = model.chain(rng, 30, 3.0, bursts=False)
    server = Server(chain, Faults(stable=True, reorg=10, lists=wrong.wrong("cached-rows")), rng)
    low, high = (RowsRequest(HeightRange(*heights), 999) for heights in ((15, 25), (25, 30)))
    before, *_ = (answers(server, low) for _ in range(3))
    assert answers(server, high) == chain.due(25, 30)
    assert answers(server, low) == before != chain.due(15, 25)
    assert {*before} <= {*server.orphans, *chain.due(15, 20)}


@pytest.mark.parametrize("kind", page_model.WRONG)
def test_a_wrong_server_of_pages_answers_otherwise(kind: str) -> None:
    """As its kind says: other rows, or an error."""
    rng = Random(5)  # noqa: S311  # as above
    blocks = page_model.blocks(rng, 40, 60)
    faulty = PageServer(blocks, replace(page_model.WRONG[kind](rng), stable=True), 1)
    honest = PageServer(blocks, PageFaults(stable=True), 1)

    def same(request: PageRequest) -> bool:
        try:
            return [*map(bytes, faulty.page(request))] == [*map(bytes, honest.page(request))]
        except ChainqError:
            return False

    assert not all(same(PageRequest(page, size, ahead)) for page, size, ahead in product(range(6), (7, 100), (0, 5)))
