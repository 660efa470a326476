"""Blocks of rows on several cores: order, memory, and errors that wait for their turn."""

from collections.abc import Iterator

import msgspec
import pytest
from msgspec import Raw

from chainq.errors import IncompleteError, UnreachableError
from chainq.heights.range import HeightRange
from chainq.query import Batch
from harness.wallet.wallet import PUBLISHED

pytest.importorskip("aleo")

from chainq.wallet.records import Key
from chainq.wallet.scan import AHEAD, BLOCK, OWN_BLOCKS, Scanned, Scanner

PROBLEM = "owner_x is not a string of decimal digits"
MINE = Raw(
    msgspec.json.encode(
        {
            "nonce_x": "3077450429259593211617823051143573281856129402760267155982965992208217472983",
            "nonce_y": "1",
            "owner_x": "1834207652270278169402550588655789457181749575924306382207163166467085576711",
        }
    )
)
PUBLIC = Raw(b'{"nonce_x":"","nonce_y":"","owner_x":"5"}')  # of nobody, and compared in no time


def batches(sizes: list[int]) -> Iterator[Batch]:
    """Batches of so many rows: the first row is owned, the last one malformed."""
    for at, size in enumerate(sizes):
        bad = Raw(b'{"output_index":%d,"nonce_x":"","nonce_y":"","owner_x":""}' % at)
        yield Batch([MINE, *[PUBLIC] * (size - 2), bad][:size], HeightRange(at, at + 1))


def scan(scanner: Scanner, some: Iterator[Batch], told: list[tuple[Key, str]]) -> Iterator[Scanned]:
    return scanner.scan(some, check=lambda: None, report=lambda *said: told.append(said))


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_findings_come_in_order(workers: int) -> None:
    """Of empty batches, of those that fill blocks, and of those that begin new ones; twice with the same processes."""
    sizes = [0, 1, BLOCK, 0, BLOCK + 1, 3 * BLOCK, 2, *[BLOCK] * OWN_BLOCKS, 5 * BLOCK + 7, 0]
    bad = [(("", at), f"is malformed, so its owner is unknown: {PROBLEM}") for at, size in enumerate(sizes) if size > 1]
    with Scanner([PUBLISHED.text], workers) as scanner:
        for _ in range(2):
            told: list[tuple[Key, str]] = []
            found = scan(scanner, batches(sizes), told)
            assert [one.hits for one in found] == [[(0, 0)][:size] for size in sizes]
            assert told == bad


def test_batches_are_taken_as_they_are_needed() -> None:
    """A chain of any length: what is read ahead is bounded by the number of workers."""
    taken = 0

    def endless() -> Iterator[Batch]:
        nonlocal taken
        while True:
            taken += 1
            yield Batch([PUBLIC] * 2 * BLOCK, HeightRange(0, 1))

    with Scanner([PUBLISHED.text], 2) as scanner:
        found = scan(scanner, endless(), [])
        for given in range(1, 50):
            next(found)
            assert taken - given <= AHEAD  # two workers, two blocks in a batch


def test_an_error_waits_for_its_turn() -> None:
    """What was fetched before it is compared and given."""

    def failing() -> Iterator[Batch]:
        yield from batches([BLOCK, 3])
        raise UnreachableError("gone")

    with Scanner([PUBLISHED.text], 2) as scanner:
        found = scan(scanner, failing(), [])
        assert [len(next(found).batch.rows) for _ in range(2)] == [BLOCK, 3]
        with pytest.raises(UnreachableError):
            next(found)


def test_a_worker_that_cannot_start_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of its rows is skipped."""
    monkeypatch.setattr("sys.executable", "/bin/false")
    with Scanner([PUBLISHED.text], 2) as scanner, pytest.raises(IncompleteError, match="worker process ended with"):
        list(scan(scanner, batches([2 * OWN_BLOCKS * BLOCK]), []))
