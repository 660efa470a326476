"""What a Python prompt and a notebook show of a client and of rows."""

from collections.abc import Callable
from typing import Any

import pytest

from chainq import Client

SHOWN: list[tuple[Callable[[Client], Any], str]] = [
    (lambda client: client, "<Client of demo:>"),
    (lambda client: client.blocks(), "<Rows: blocks of demo:>"),
    (lambda client: client.records(0, 5), "<Rows: records 0:5 of demo:>"),
    (lambda client: client.transactions(672, 675), "<Rows: transactions 672:675 of demo:>"),
    (
        lambda client: client.records(last=100, where="id > 5", limit=3, reverse=True),
        "<Rows: records last=100 reverse=True limit=3 where='id > 5' of demo:>",
    ),
    (
        lambda client: client.program_transactions("credits.aleo", "mint", limit=3, newest=True),
        "<Rows: program-transactions credits.aleo mint limit=3 newest=True of demo:>",
    ),
]


@pytest.mark.parametrize(("made", "shown"), SHOWN)
def test_a_client_and_its_rows_say_what_they_are(made: Callable[[Client], Any], shown: str) -> None:
    """The command, and all that decides which rows they are."""
    with Client("demo:") as client:
        assert repr(made(client)) == shown
    assert repr(client) == "<Client of demo:, closed>"


def test_a_url_is_shown_without_its_secrets() -> None:
    """Of the client as of its rows."""
    with Client("http://me:secret@127.0.0.1:9/", dialect="chain") as client:
        assert repr(client) == "<Client of http://***@127.0.0.1:9/>"
        assert repr(client.records(0, 5)) == "<Rows: records 0:5 of http://***@127.0.0.1:9/>"


def test_proved_rows_say_how_many_they_are() -> None:
    """Their number, heights and grade in place of all rows."""
    with Client("demo:") as client:
        batch = next(client.batches("records", 0, 500))
        assert next(client.batches("full_blocks", 5, 7)).heights == (5, 7)
    assert repr(batch) == "<ProvedRows: 2,867 rows of heights 0-499, order>"
