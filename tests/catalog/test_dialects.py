"""Dialects as data: a server of each dialect accepts every request."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from chainq.catalog.dialects import DIALECTS, Value, is_shared
from chainq.catalog.methods import METHODS, Method, Role
from chainq.demo.chain import Chain
from chainq.demo.service import DIALECTS as SERVED
from chainq.demo.service import Service
from harness.sample import result_of

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
each_method = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.command)
each_dialect = pytest.mark.parametrize("name", DIALECTS)


@each_method
@each_dialect
def test_every_call_is_one_that_the_server_takes(name: str, method: Method) -> None:
    """In each dialect every method has a name and parameters that the sample server of that dialect knows."""
    wire, params = DIALECTS[name].call(method, SAMPLES)
    served = SERVED[name][wire]
    assert all(param in {name for sent in served.params.values() for name in sent.split("|")} for param in params or {})
    result_of(Service(Chain(tip=50), dialect=name), wire, params)


def test_the_table_of_dialects_is_kept(golden: Callable[[Path, str], None]) -> None:
    """`chain` is the published interface; aleo differs in what docs/protocol.md, "Dialects", lists."""
    record = ""
    for name, dialect in DIALECTS.items():
        record += f"{name}, transactions by row ID: {dialect.transactions_by_row_id}\n"
        for method in METHODS:
            wire, params = dialect.call(method, SAMPLES)
            most = dialect.page_size_max(method)
            record += f"  {method.command}: {wire} {json.dumps(params)}{f', at most {most} rows' if most else ''}\n"
    golden(Path(__file__).parent / "dialects.txt", record)


def test_shared_methods_are_those_that_the_table_lacks() -> None:
    """Five methods are called alike everywhere; `transactions` is not, for what its number means."""
    shared = {method.command for method in METHODS if is_shared(method)}
    assert shared == {"block", "latest", "records", "ownership", "transitions"}
