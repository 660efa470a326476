"""Arguments, columns and dialects as data: what is taken, what is refused, and what is sent."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chainq.catalog import bech32, identifiers
from chainq.catalog.dialects import DIALECTS, Value, is_shared
from chainq.catalog.methods import BY_COMMAND, METHODS, Method, Role
from chainq.catalog.nested import known_column
from chainq.demo.chain import Chain
from chainq.demo.results import DIALECTS as SERVED
from chainq.demo.service import SampleService
from chainq.errors import UsageError
from harness.models.readings import readings
from harness.running.sample import result_of

HERE = Path(__file__).parent
ID = Chain().transaction_id(640, 1)
SAMPLES: dict[Role, Value] = {
    Role.START: 5,
    Role.END: 6,
    Role.HEIGHT: 5,
    Role.ID: "at1x",
    Role.PROGRAM: "credits.aleo",
    Role.FUNCTION: "transfer_public",
    Role.ADDRESS: "aleo1x",
    Role.PAGE: 0,
    Role.SIZE: 3,
}


def checked(argument: tuple[str, str]) -> str:
    """What a check makes of an argument; a message repeats no control character and no secret."""
    name, text = argument
    try:
        return repr(getattr(identifiers, name)(text))
    except UsageError as error:
        assert str(error).isprintable()
        assert "hunter" not in str(error)
        raise


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("identifiers", checked),
        ("kinds", identifiers.kind_of),
        ("columns", lambda name: known_column(name, BY_COMMAND["full-blocks"].columns) is not None),
    ],
)
def test_texts(name: str, read: Callable[[str], object], golden: Callable[[Path, str], None]) -> None:
    """IDs and addresses by checksum, other arguments by form; kinds by form alone; members of the items of arrays."""
    golden(HERE / f"{name}.txt", readings(HERE / f"{name}.txt", read))


@pytest.mark.parametrize("line", re.findall("^[^#\n].*", (HERE / "bech32.txt").read_text(), re.MULTILINE))
def test_vectors_of_the_standards(line: str) -> None:
    """Valid ones pass, in Bech32 and Bech32m; an invalid one is refused for the reason that stands beside it.

    The bound of 90 characters is not applied: the service's IDs are longer.
    """
    text, _, said = line.encode().decode("unicode_escape").rpartition(" ")
    assert (bech32.fault(text) == "") if said == "valid" else (said in bech32.fault(text))


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 60), st.sampled_from(bech32.ALPHABET))
def test_a_typo_in_an_id_is_always_found(place: int, character: str) -> None:
    """A wrong character anywhere, or two neighbours that changed places, are found by the checksum where it is one."""
    typo = ID[:place] + character + ID[place + 1 :]
    swapped = ID[:place] + ID[place : place + 2][::-1] + ID[place + 2 :]
    for text in {typo, swapped} - {ID}:
        with pytest.raises(UsageError, match="checksum" if place > 2 else "transaction ID"):
            identifiers.transaction_id(text)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.command)
@pytest.mark.parametrize("name", DIALECTS)
def test_every_call_is_one_that_the_server_takes(name: str, method: Method) -> None:
    """In each dialect every method has a name and parameters that the sample server of that dialect knows."""
    wire, params = DIALECTS[name].call(method, SAMPLES)
    served = SERVED[name][wire]
    assert all(param in {name for sent in served.params.values() for name in sent.split("|")} for param in params or {})
    result_of(SampleService(Chain(tip=50), dialect=name), wire, params)


@pytest.mark.parametrize("method", [one for one in METHODS if one.ranged], ids=lambda method: method.command)
def test_a_method_with_one_row_for_each_height_says_so(method: Method) -> None:
    """Else a height that a server leaves out would be taken for one without rows."""
    call = DIALECTS["chain"].call(method, {**SAMPLES, Role.START: 0, Role.END: 50, Role.SIZE: 1000})
    assert method.single == (len(result_of(SampleService(Chain(tip=50)), *call)) == 50)


def test_the_table_of_dialects_is_kept(golden: Callable[[Path, str], None]) -> None:
    """`chain` is the published interface; aleo differs in what docs/protocol.md, "Dialects", lists. Others are called
    alike in both (shared); `transactions` is not, for what its number means."""
    record = ""
    for name, dialect in DIALECTS.items():
        record += f"{name}, transactions by row ID: {dialect.transactions_by_row_id}\n"
        for method in METHODS:
            wire, params = dialect.call(method, SAMPLES)
            most = dialect.page_size_max(method)
            record += f"  {method.command}: {wire} {json.dumps(params)}{f', at most {most} rows' if most else ''}"
            record += f"{' (shared)' * is_shared(method)}\n"
    golden(HERE / "dialects.txt", record)
