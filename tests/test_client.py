"""chainq for Python: the eleven methods of `Client` against the sample chain."""

import threading
from decimal import Decimal

import pytest
from msgspec import Raw

from chainq import Client, client
from chainq.catalog.methods import METHODS
from chainq.errors import IncompleteError, NotFoundError, ResponseError, UnreachableError, UsageError


def test_one_method_for_each_of_the_service() -> None:
    """Every command of the catalogue is a method of Client, and says in words what it gives."""
    for method in METHODS:
        assert getattr(Client, method.command.replace("-", "_")).__doc__


def test_a_range_is_whole_and_in_order() -> None:
    """Records of a range come by height and row id, each once, and the range holds its start and not its end."""
    with Client("demo:") as client:
        rows = list(client.records(770, 780))
        backwards = [row["height"] for row in client.records(770, 780, reverse=True)]
    keys = [(row["height"], row["id"]) for row in rows]
    assert keys == sorted(set(keys))
    assert {height for height, _ in keys} <= set(range(770, 780))
    assert sum(height == 777 for height, _ in keys) == 25_000
    assert backwards == sorted((height for height, _ in keys), reverse=True)


def test_an_end_of_none_is_the_newest_block() -> None:
    """Without an end a range goes up to and with the newest block."""
    with Client("demo:") as client:
        newest = client.tip_height()
        assert [int(row["height"]) for row in client.blocks(newest - 2)] == [newest - 2, newest - 1, newest]
        assert int(client.latest()["height"]) == newest


def test_named_things() -> None:
    """Blocks and transactions by name are single rows, and what does not exist is an error of its own."""
    with Client("demo:") as client:
        summaries = client.transactions(672)
        assert [row["index"] for row in summaries] == list(range(len(summaries)))
        name = summaries[0]["transaction_id"]
        assert client.transaction(name)["transaction"]["id"] == name
        assert client.block(5)["height"] == "5"
        with pytest.raises(NotFoundError, match="99999999"):
            client.block(99_999_999)
        with pytest.raises(UsageError, match="checksum"):
            client.transaction(name[:-1] + ("q" if name[-1] != "q" else "p"))


def test_the_other_methods() -> None:
    """Full blocks, ownership, transitions, program and address transactions come as rows too."""
    with Client("demo:") as client:
        assert [row["header"]["metadata"]["height"] for row in client.full_blocks(10, 13)] == [10, 11, 12]
        assert len(list(client.ownership(0, 50))) == len(list(client.records(0, 50)))
        assert all(int(row["height"]) < 20 for row in client.transitions(0, 20))
        assert len(list(client.program_transactions("hello_hello.aleo", "hello"))) == 282
        address = "aleo1lfv4jy6y9ahjtc257lugevza7xn0460c94zxdyr3n2fqqmdpm7aq7mntrd"
        assert len(list(client.address_transactions(address, 0, 50_000))) > 600


@pytest.mark.parametrize(
    ("sent", "value"),
    [
        (b"340282366920938463463374607431768211455", 340282366920938463463374607431768211455),
        (b"1.10", Decimal("1.10")),
        (b"1e400", Decimal("1e400")),
        (b'"\\ud800"', "\ud800"),
    ],
)
def test_no_digit_is_lost(sent: bytes, value: object) -> None:
    """Integers of any size, numbers with a fraction and lone surrogates are decoded as they were sent."""
    row = client._decode(Raw(b'{"a":' + sent + b"}"))
    assert row == {"a": value}
    assert str(row["a"]) == str(value)


@pytest.mark.parametrize("sent", [b"1" * 5000, b"1e999999999999999999999", b"[" * 100_000 + b"]" * 100_000])
def test_what_python_cannot_hold_is_an_error_of_chainq(sent: bytes) -> None:
    """More digits, exponents or levels than Python takes: ResponseError, as promised."""
    with pytest.raises(ResponseError):
        client._decode(Raw(b'{"a":' + sent + b"}"))


def test_threads_end_with_the_iterator() -> None:
    """A loop that is left early leaves no thread behind once its iterator is gone."""
    with Client("demo:") as client:
        before = set(threading.enumerate())
        rows = client.blocks(0, 50_000)
        next(rows)
        workers = set(threading.enumerate()) - before
        assert workers
        del rows
        for worker in workers:
            worker.join(10)
        assert not any(worker.is_alive() for worker in workers)


def test_errors_are_exceptions() -> None:
    """What goes wrong is raised as the errors of chainq.errors, with what to do."""
    with pytest.raises(UsageError, match="no URL such as"):
        Client("nonsense")
    with Client("http://127.0.0.1:1/", retries=0) as client, pytest.raises(UnreachableError, match="could not reach"):
        next(client.records(0, 5))
    assert IncompleteError.exit_code == 6
