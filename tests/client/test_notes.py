"""A client tells the logger `chainq` that a name may be mistyped, or that nothing proves that rows are all."""

import logging
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chainq import Client, IncompleteError, UnreachableError
from chainq.demo.chain import Chain
from harness.running.program import Servers
from harness.servers.services import Blockless, Canned, canned, serving

ADDRESS = "aleo1lfv4jy6y9ahjtc257lugevza7xn0460c94zxdyr3n2fqqmdpm7aq7mntrd"
TIP = 300
UNPROVED = 'nothing proves that these are all rows{} (docs/completeness.md, "Belief"); --strict makes this an error'


def test_a_function_that_nothing_calls_is_noted(caplog: pytest.LogCaptureFixture) -> None:
    """The name may be mistyped: one warning, and no error."""
    with Client("demo:") as client:
        assert list(client.program_transactions("credits.aleo", "transfer_publc")) == []
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("chainq", logging.WARNING)
    assert record.getMessage().startswith("no transactions call credits.aleo/transfer_publc: check the names")


QUIET: list[Callable[[Client], Any]] = [
    lambda client: client.records(last=100, program="nothing_alike.aleo"),
    lambda client: client.blocks(last=3, where="height < 3"),
    lambda client: client.program_transactions("credits.aleo", "transfer_publc", limit=0),
    lambda client: client.address_transactions(ADDRESS, 0, 100, limit=0),
    lambda client: client.records(653, 654),
    lambda client: client.blocks(3_000_001, 3_000_001),
    lambda client: client.blocks(0, 4_000_000, limit=3),
]


@pytest.mark.parametrize("read", QUIET)
def test_rows_and_honest_emptiness_are_not_noted(
    read: Callable[[Client], Any], caplog: pytest.LogCaptureFixture
) -> None:
    """A filter that nothing passes is no mistake in itself; nor are blocks without rows, or a limit that ends the rows.

    A program may ask it every minute, and may have computed the heights.
    """
    with Client("demo:") as client:
        client.tip_height()
        list(read(client))
    assert caplog.records == []


@pytest.fixture(scope="module")
def blockless() -> Iterator[str]:
    """The URL of a service without full blocks, where nothing proves the rows of the tip."""
    with serving(Blockless(Chain(tip=TIP))) as url:
        yield url


BELIEVED: list[tuple[Callable[[Client], Any], str]] = [
    (lambda client: client.records(0), f"records height {TIP}: {UNPROVED.format('')}"),
    (
        lambda client: client.records(0, reverse=True, limit=1),
        f"records height {TIP}: {UNPROVED.format(' up to the limit')}",
    ),
    (
        lambda client: client.address_transactions(ADDRESS, 0, 100),
        f"address-transactions heights 0-99: {UNPROVED.format('')}",
    ),
]


@pytest.mark.parametrize(("read", "note"), BELIEVED)
def test_rows_that_rest_on_belief_are_noted_once(
    read: Callable[[Client], Any], note: str, blockless: str, caplog: pytest.LogCaptureFixture
) -> None:
    """One warning at the end of the rows names their command and their heights, as that of the commands does."""
    with Client(blockless) as client:
        list(read(client))
    assert [record.getMessage() for record in caplog.records] == [note]
    with Client(blockless, strict=True) as client, pytest.raises(IncompleteError):
        list(read(client))
    assert len(caplog.records) == 1


def test_a_list_that_rests_on_belief_is_noted(server: Servers, caplog: pytest.LogCaptureFixture) -> None:
    """A list has no heights: the warning names its rows, of which only the last are not proved by those after them."""
    with Client(server()) as client:
        count = len(list(client.program_transactions("hello_hello.aleo", "hello")))
    (record,) = caplog.records
    assert record.getMessage().startswith("program-transactions rows ")
    assert f" to {count - 1} of the list: nothing proves that these are all rows (" in record.getMessage()


def test_each_range_notes_its_own_heights(blockless: str, caplog: pytest.LogCaptureFixture) -> None:
    """Rows that are read in turn, or left before their end, are no matter for the others."""
    with Client(blockless) as client:
        next(client.address_transactions(ADDRESS, 0, 100))
        list(zip(client.records(0), client.ownership(0), strict=True))
        next(client.batches("records", 0))
    assert sorted(record.getMessage().split()[0] for record in caplog.records) == ["ownership", "records"]


def test_a_retry_is_logged_for_who_asks(caplog: pytest.LogCaptureFixture) -> None:
    """One line at the level INFO, which says what failed and how long the request waits."""
    caplog.set_level(logging.INFO, "chainq")
    down = Canned(b"down", 503, "text/plain")
    with canned(lambda _: down) as (url, seen), Client(url, retries=1) as client, pytest.raises(UnreachableError):
        client.block(5)
    (record,) = caplog.records
    assert (record.name, record.levelno, len(seen)) == ("chainq", logging.INFO, 2)
    assert re.fullmatch(r"block height 5: http:.*: HTTP 503: down; retrying in 0\.[0-9] s", record.getMessage())


NO_BLOCKS = "no blocks in that range: the tip is 3000000"
UNREACHED = "the end 4000000 is not reached: the tip is 3000000"


@pytest.mark.parametrize(
    ("read", "rows", "note"),
    [
        (lambda client: client.blocks(10_000_000), 0, f"{NO_BLOCKS}, of 2024-05-13 05:20:01Z"),
        (lambda client: client.records(3_000_001, 3_000_050), 0, NO_BLOCKS),
        (lambda client: client.blocks(0, 4_000_000, limit=3, reverse=True), 3, UNREACHED),
        (lambda client: client.transactions(2_999_999, 4_000_000, where="index < 1"), 2, UNREACHED),
        (lambda client: client.batches("blocks", 2_999_999, 4_000_000), 1, UNREACHED),
    ],
)
def test_a_range_without_all_its_blocks_is_noted(
    read: Callable[[Client], Any], rows: int, note: str, caplog: pytest.LogCaptureFixture
) -> None:
    """With the words of the commands."""
    with Client("demo:") as client:
        assert len(list(read(client))) == rows
    assert [record.getMessage() for record in caplog.records] == [note]
