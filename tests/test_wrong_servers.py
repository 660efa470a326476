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
