"""Each command of a method with arguments, and the rows that are due."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from harness.running.truth import Groups, Truth


@dataclass(frozen=True)
class Case:
    """A command with its arguments, and the rows that are due."""

    command: str
    args: Callable[[Truth], tuple[str, ...]]
    due: Callable[[Truth], Groups]


def ranged(command: str, start: int, end: int) -> Case:
    def args(truth: Truth) -> tuple[str, ...]:
        subject = (truth.chain.addresses[0],) if command == "address-transactions" else ()
        return (*subject, "--start", str(start), "--end", str(end))

    def due(truth: Truth) -> Groups:
        address = truth.chain.addresses[0] if command == "address-transactions" else ""
        return truth.groups(command, start, end, address)

    return Case(command, args, due)


CASES = {
    case.command: case
    for case in (
        ranged("blocks", 95, 205),
        Case("block", lambda _: ("4242",), lambda t: [[t.block(4242)]]),
        Case("latest", lambda _: (), lambda t: [[t.block(t.tip)]]),
        ranged("full-blocks", 197, 203),
        Case("transactions", lambda _: ("640",), lambda t: [[row] for row in t.transactions(640)]),
        Case(
            "transaction",
            lambda t: (t.transaction_id(640, 1),),
            lambda t: [[t.transaction(640, 1)]],
        ),
        Case(
            "program-transactions",
            lambda _: ("hello_hello.aleo", "hello"),
            lambda t: [[row] for row in t.program_transactions("hello_hello.aleo", "hello")],
        ),
        ranged("records", 630, 650),
        ranged("ownership", 630, 650),
        ranged("transitions", 2340, 2350),
        ranged("address-transactions", 0, 3000),
    )
}
each_command = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
