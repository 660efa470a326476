"""What errors of the Python API say: options by their names on the command line, methods by the name called."""

import pickle
from collections.abc import Callable
from typing import Any, cast

import pytest

from chainq import Client, IncompleteError, UsageError
from harness.program import Servers

SEVERAL: list[tuple[Callable[[Client], Any], str]] = [
    (lambda client: client.blocks(5, last=3), "--last cannot be combined with --start, --end, --since or --until"),
    (lambda client: client.records(start=5, since="2h"), "--start cannot be combined with --since"),
    (lambda client: client.blocks(7, 5), "--start 7 is greater than --end 5"),
    (lambda client: client.block(-5), "invalid height -5: expected an int from 0"),
    (lambda client: client.transaction("at1x"), "invalid transaction ID"),
    (lambda client: client.blocks(since="soon"), "soon"),
    (lambda client: client.blocks(since=1685667600000), "if it is in milliseconds, use since=1685667600"),
    (lambda client: client.blocks(until=float("nan")), "invalid until nan"),
    (lambda client: client.records(0, 10, program=[]), "program is empty, so no row can have it; program=None is no"),
    (lambda client: client.blocks(0, 5, reverse=cast("Any", "no")), "invalid reverse 'no': expected True or False"),
    (lambda client: client.blocks(0, 5, verify=cast("Any", None)), "invalid verify None: expected True or False"),
    (lambda client: list(client.blocks(0, 5).chunks(True)), "invalid number of rows True: expected an int from 1"),
]


@pytest.mark.parametrize(("call", "words"), SEVERAL)
def test_messages_name_what_was_wrong(call: Callable[[Client], Any], words: str) -> None:
    """Bounds by the options of the command line, and arguments of a wrong type by their keyword."""
    with Client("demo:") as client, pytest.raises(UsageError) as caught:
        call(client)
    assert words in str(caught.value)


def test_a_url_that_is_none() -> None:
    """The sample chain is named as the command line has it."""
    with pytest.raises(UsageError, match="the sample chain is --url demo:"):
        Client("demo://")


def test_rows_that_cannot_be_proved(server: Servers) -> None:
    """An error that comes while rows are read is in the same words."""
    with Client(server("--fault", "missing-height:3100")) as client, pytest.raises(IncompleteError) as caught:
        list(client.blocks(3_000, 3_200))
    assert str(caught.value).endswith(
        "the tip is 3000000; chainq blocks and chainq full-blocks read such rows unchecked with --no-verify"
    )


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("blocks", lambda client: client.blocks(5, 6, limt=3)),
        ("address_transactions", lambda client: client.address_transactions(ADDRESS, limt=3)),
        ("batches", lambda client: client.batches("records", limt=3)),
        ("__init__", lambda _: Client("demo:", tmeout=3)),  # type: ignore[call-arg]
    ],
)
def test_an_unknown_keyword_names_the_method(name: str, call: Callable[[Client], Any]) -> None:
    """A typing mistake is found when the method is called."""
    wrong = "tmeout" if name == "__init__" else "limt"
    with Client("demo:") as client, pytest.raises(TypeError) as caught:
        call(client)
    assert str(caught.value).endswith(f"{name}() got an unexpected keyword argument {wrong!r}")


def test_a_client_stays_in_its_process() -> None:
    """Pools of processes pickle what they are given, and neither a client nor its rows can be."""
    with Client("demo:") as client, pytest.raises((TypeError, AttributeError)):
        pickle.dumps(client)
    with Client("demo:") as client, pytest.raises((TypeError, AttributeError)):
        pickle.dumps(client.blocks(0, 5))


def test_a_function_in_place_of_a_text_is_named_by_its_type() -> None:
    """Its representation is an address in memory."""
    condition: Any = lambda row: row["height"] > 5  # noqa: E731  # as a user writes it
    with Client("demo:") as client, pytest.raises(UsageError, match=r"^invalid where of type function: expected a str"):
        client.records(0, 3, where=condition)


ADDRESS = "aleo1lfv4jy6y9ahjtc257lugevza7xn0460c94zxdyr3n2fqqmdpm7aq7mntrd"
