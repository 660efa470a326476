"""What a transaction says, in every shape that servers send."""

import json
from typing import Any

import pytest
from msgspec import Raw

from chainq.rows.block import Transition
from chainq.rows.transaction import calls_of, deployed_by, program_of

SOURCE = "import a.aleo;\nprogram foo.aleo;\n\nfunction mint:\n    input r0\nclosure no:\nfunction burn:\n"
FEE = {"program": "credits.aleo", "function": "fee_public", "inputs": [{"value": "7u64"}, {"value": "3u64"}]}
JOIN = {"program": "credits.aleo", "function": "join", "id": "au1x", "inputs": [{"value": "5u64"}, {"value": "a1x"}]}
CALL = ("credits.aleo", "join", "au1x", (5,), False)
PAID = ("credits.aleo", "fee_public", "", (7, 3), True)


def raw(value: Any) -> Raw:
    return Raw(json.dumps(value).encode())


def test_a_source_text_names_its_program_and_functions() -> None:
    """Imports may come first; a text that is no source names nothing."""
    assert program_of(SOURCE) == "foo.aleo"
    for text in ("", "foo.aleo", "program ;", "a program foo.aleo;", f"program {'x' * 101};"):
        assert program_of(text) == ""


@pytest.mark.parametrize("inputs", [None, 1, "5u64", {}, ["5u64"], [{"value": 5}], [{"value": "5u128"}], [{}]])
def test_what_is_no_amount_is_none(inputs: Any) -> None:
    """Amounts are public inputs such as `5u64` and nothing else."""
    assert Transition("", {"inputs": raw(inputs)}).amounts == ()


@pytest.mark.parametrize(
    ("row", "calls"),
    [
        ({"transaction": {"execution": {"transitions": [JOIN]}, "fee": {"transition": FEE}}}, [CALL, PAID]),
        ({"transaction": {"fee": {"transition": FEE}}, "rejected": {"transitions": [JOIN]}}, [CALL, PAID]),
        ({"transaction": {}, "rejected": {"execution": {"transitions": [JOIN]}}}, [CALL]),
        (
            {"transaction": {"execution": {"transitions": [{"program": None, "inputs": 1}, 5]}}},
            [("", "", "", (), False)] * 2,
        ),
    ],
)
def test_the_calls_of_a_transaction(row: Any, calls: list[Any]) -> None:
    """Those of the execution or of what was rejected, and last that of the fee."""
    found = calls_of(raw(row))
    assert [(one.program, one.function, one.id, one.amounts, one.fee) for one in found] == calls


ODD = [None, 1, "x", [], {}, [None], {"transaction": None}, {"transaction": {"execution": 1, "fee": [], "rejected": 2}}]


@pytest.mark.parametrize("odd", [*ODD, {"transaction": {"fee": {"transition": None}, "deployment": {"program": 5}}}])
def test_what_has_another_shape_says_nothing(odd: Any) -> None:
    """Null, numbers and arrays where objects are expected are left out."""
    assert (calls_of(raw(odd)), deployed_by(raw(odd))) == ([], "")


@pytest.mark.parametrize(
    "row",
    [
        {"transaction": {"deployment": {"program": SOURCE}}},
        {"rejected": {"program": SOURCE}, "transaction": {"fee": {"transition": FEE}}},
        {"rejected": {"deployment": {"program": SOURCE}}},
    ],
)
def test_the_program_that_is_deployed(row: Any) -> None:
    """Also where the deployment was rejected."""
    assert deployed_by(raw(row)) == "foo.aleo"
