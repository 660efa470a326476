"""The Python API speaks Python: keywords in the place of options, and the name of the method that was called."""

import pickle
import re
from collections.abc import Callable
from typing import Any, cast

import pytest

from chainq import Client, IncompleteError, UsageError
from chainq.client.boundary import boundary
from chainq.errors import Phrase
from harness.program import Servers

SEVERAL: list[tuple[Callable[[Client], Any], str]] = [
    (lambda client: client.blocks(5, last=3), "last cannot be combined with start, end, since or until"),
    (lambda client: client.records(start=5, since="2h"), "start cannot be combined with since"),
    (lambda client: client.blocks(7, 5), "start=7 is greater than end=5"),
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
def test_messages_name_keywords(call: Callable[[Client], Any], words: str) -> None:
    """No message has an option of the command line in it."""
    with Client("demo:") as client, pytest.raises(UsageError) as caught:
        call(client)
    assert words in str(caught.value)
    assert not re.search(r"--|-j\b", str(caught.value))


def test_a_url_that_is_none() -> None:
    """The sample chain is named as Python has it."""
    with pytest.raises(UsageError, match="the sample chain is url='demo:'"):
        Client("demo://")


def test_rows_that_cannot_be_proved(server: Servers) -> None:
    """An error that comes while rows are read is in the words of Python too."""
    with Client(server("--missing-height", "3100")) as client, pytest.raises(IncompleteError) as caught:
        list(client.blocks(3_000, 3_200))
    assert str(caught.value).endswith(
        "the tip is 3000000; blocks() and full_blocks() read such rows unchecked with verify=False"
    )


def test_advice_to_run_a_command_stays_as_it_is_typed() -> None:
    """Only parameters are keywords."""
    with pytest.raises(UsageError) as caught, boundary():
        raise UsageError(
            "too slow", Phrase("raise {timeout}; a recent one: chainq blocks --last 9 -j 2; {rate}", rate=1)
        )
    assert str(caught.value) == "too slow; raise timeout; a recent one: chainq blocks --last 9 -j 2; rate=1"


def test_the_method_is_called_again() -> None:
    """A program runs no command."""
    with pytest.raises(IncompleteError) as caught, boundary():
        raise IncompleteError("height 5: 2 rows", "the data changed; run the command again later")
    assert str(caught.value) == "height 5: 2 rows; the data changed; call the method again later"


def test_workers_are_a_keyword() -> None:
    """With a value or without."""
    with pytest.raises(IncompleteError) as caught, boundary():
        raise IncompleteError(
            "a worker process ended", Phrase("lower {workers}; {}", Phrase("{workers} uses none", workers=1))
        )
    assert str(caught.value) == "a worker process ended; lower workers; workers=1 uses none"


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
    with Client("demo:") as client, pytest.raises(TypeError):
        pickle.dumps(client)
    with Client("demo:") as client, pytest.raises(TypeError):
        pickle.dumps(client.blocks(0, 5))


def test_a_function_in_place_of_a_text_is_named_by_its_type() -> None:
    """Its representation is an address in memory."""
    condition: Any = lambda row: row["height"] > 5  # noqa: E731  # as a user writes it
    with Client("demo:") as client, pytest.raises(UsageError, match=r"^invalid where of type function: expected a str"):
        client.records(0, 3, where=condition)


ADDRESS = "aleo1lfv4jy6y9ahjtc257lugevza7xn0460c94zxdyr3n2fqqmdpm7aq7mntrd"
