"""Senders, commitments and names on transitions that aleo-sdk itself makes, without a network and without proofs."""

import json
from functools import cache
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import Raw

from chainq.query import Batch
from chainq.rows.block import RecordOutput, read_transaction
from harness.wallet.wallet import fresh_key

pytest.importorskip("aleo")

from aleo import mainnet as sdk

from chainq.wallet.examine import Examiner, Opened, Record, name_of
from chainq.wallet.keys import checked

SOURCE = """program two_tokens.aleo;

record silver:
    owner as address.private;
    amount as u64.private;

record gold:
    owner as address.private;
    amount as u64.private;

function give:
    input r0 as address.private;
    input r1 as u64.private;
    cast r0 r1 into r2 as gold.record;
    output r2 as gold.record;

constructor:
    assert.eq edition 0u16;
"""
MAKER = sdk.PrivateKey.from_seed(sdk.Field.from_string("7field"))


@cache
def made() -> tuple[Any, RecordOutput, Opened]:
    """A view key, and a record of `gold` that `MAKER` gave it."""
    process = sdk.Process.load()
    process.add_program(sdk.Program.from_source(SOURCE))
    key = fresh_key()
    program, function = sdk.ProgramID.from_string("two_tokens.aleo"), sdk.Identifier.from_string("give")
    given = [sdk.Value.parse(key.address), sdk.Value.parse("5u64")]
    (transition,) = process.authorize(MAKER, program, function, given).transitions()
    ((output,),) = (one.records for one in read_transaction(confirmed(transition.to_json())).transitions)
    view_key = sdk.ViewKey.from_string(key.text)
    ciphertext = sdk.RecordCiphertext.from_string(output.ciphertext)
    return key, output, Opened(ciphertext.decrypt(view_key), ciphertext.record_view_key(view_key))


def confirmed(*transitions: str) -> Raw:
    """A transaction of these transitions as services send it."""
    execution = {"transitions": [json.loads(one) for one in transitions]}
    return Raw(json.dumps({"transaction": {"id": "at1x", "execution": execution}}).encode())


def test_the_name_of_a_record_is_part_of_its_commitment() -> None:
    """Of two records with the same members, only the one that was made fits."""
    _, output, opened = made()
    assert name_of(opened, output, ["silver", "gold"]) == "gold"
    assert name_of(opened, output, ["silver"]) is None
    assert name_of(opened, output._replace(program="credits.aleo"), ["gold"]) is None


def examined(source: str | None) -> tuple[Record | None, Examiner, list[str]]:
    """What an examiner says of the record of `made`, on a service that has this source text of its program."""
    key, output, _ = made()
    rows = [] if source is None else [Raw(json.dumps({"program": source}).encode())]
    warned: list[str] = []
    service = SimpleNamespace(
        fetch_range=lambda _query, _heights: iter([Batch(rows)]), blocks=SimpleNamespace(tip_height=lambda: 500)
    )
    examiner = Examiner(checked([("key", key.text)]), cast("Any", service), warned.append)
    return examiner.examine(output, 0, 9), examiner, warned


def test_the_sender_is_the_address_that_signed() -> None:
    """The formula agrees with the SDK's own transition."""
    found, examiner, warned = examined(SOURCE)
    assert found is not None

    def sender(sent: str) -> str | None:
        return examiner.sender_of(found._replace(output=found.output._replace(sender_ciphertext=sent)))

    assert sender(found.output.sender_ciphertext) == str(MAKER.address)
    assert sender(str(sdk.Field.from_string(found.output.sender_ciphertext) + sdk.Field.one())) != str(MAKER.address)
    warned.clear()  # half of all x-coordinates are those of a point
    examiner.findings.clear()
    assert (sender(""), warned) == (None, [])
    assert sender("x") is None
    assert "sender_ciphertext that does not decrypt" in warned[0]


def test_the_name_comes_from_the_source_of_the_program() -> None:
    """Which rows of transitions carry."""
    found, examiner, warned = examined("import credits.aleo;\n" + SOURCE)
    assert found is not None
    assert (found.name, found.genuine, examiner.sender_of(found)) == ("gold", True, str(MAKER.address))
    assert (examiner.findings, warned) == ({}, [])
    examiner.check()


def test_without_a_source_the_record_is_not_compared_and_that_is_said() -> None:
    """The row has no name then; nothing is claimed of it."""
    found, examiner, warned = examined(None)
    assert found is not None
    assert (found.name, found.genuine, examiner.sender_of(found)) == (None, True, str(MAKER.address))
    assert warned == [
        "the records of two_tokens.aleo were not compared with their commitments: "
        "the service shows no source text of that program"
    ]
    examiner.check()
