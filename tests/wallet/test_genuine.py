"""Senders, commitments and names on transitions that aleo-sdk itself makes, without a network and without proofs."""

import json
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import Raw

from chainq.heights.range import HeightRange
from chainq.query import Batch, Query
from chainq.rows.block import RecordOutput, read_transaction
from harness.wallet import fresh_key

pytest.importorskip("aleo")

from aleo import mainnet as sdk

from chainq.wallet import genuine
from chainq.wallet.examine import Examiner
from chainq.wallet.genuine import Opened

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


def test_the_sender_is_the_address_that_signed() -> None:
    """The formula agrees with the SDK's own transition."""
    _, output, opened = made()
    assert output.sender_ciphertext
    assert genuine.sender_of(opened, output) == str(MAKER.address)
    assert genuine.sender_of(opened, output._replace(sender_ciphertext="")) is None
    other = str(sdk.Field.from_string(output.sender_ciphertext) + sdk.Field.one())
    with pytest.raises(ValueError, match="does not decrypt"):
        genuine.sender_of(opened, output._replace(sender_ciphertext="x"))
    with suppress(ValueError):  # half of all x-coordinates are those of a point
        assert genuine.sender_of(opened, output._replace(sender_ciphertext=other)) != str(MAKER.address)


def test_the_name_of_a_record_is_part_of_its_commitment() -> None:
    """Of two records with the same members, only the one that was made fits."""
    _, output, opened = made()
    assert genuine.record_names(SOURCE) == ["silver", "gold"]
    assert genuine.name_of(opened, output, ["silver", "gold"]) == "gold"
    assert genuine.name_of(opened, output, ["silver"]) is None
    assert genuine.name_of(opened, output._replace(program="credits.aleo"), ["gold"]) is None
    assert genuine.record_names(genuine.native_source()) == ["credits"]


def examined(source: str | None) -> tuple[dict[str, Any], Examiner, list[str]]:
    """What an examiner adds to the record of `made`, on a service that has this source text of its program."""
    _, output, opened = made()
    record = {
        "transaction_id": "at1x",
        "program_id": "two_tokens.aleo",
        "height": 9,
        "record_ciphertext": output.ciphertext,
        "transition_id": output.transition,
        "output_index": output.place,
    }
    _, other, _ = made()
    sent = {"id": other.transition, "program": other.program, "outputs": [{}] * other.place}
    sent["outputs"] = [
        {"type": "record", "id": other.id, "value": other.ciphertext, "sender_ciphertext": other.sender_ciphertext}
    ]
    rows = [] if source is None else [Raw(json.dumps({"program": source}).encode())]

    def fetch(query: Query, heights: HeightRange) -> Iterator[Batch]:
        if query.method.command != "full-blocks":
            return iter([Batch(rows)])
        assert heights == HeightRange(5, 50)  # those around it in the batch
        return iter([Batch([Raw(b'{"transactions":[%s]}' % bytes(confirmed(json.dumps(sent))))])])

    warned: list[str] = []
    service = SimpleNamespace(fetch_range=fetch, blocks=SimpleNamespace(tip_height=lambda: 500))
    examiner = Examiner(cast("Any", service), warned.append)
    (found,) = examiner.examine([Raw(json.dumps(record).encode())], [opened], HeightRange(5, 80))
    return {name: json.loads(bytes(value)) for name, value in found.items()}, examiner, warned


def test_the_name_comes_from_the_source_of_the_program() -> None:
    """Which rows of transitions carry."""
    found, examiner, warned = examined("import credits.aleo;\n" + SOURCE)
    assert found == {"record_name": "gold", "sender": str(MAKER.address)}
    assert (examiner.findings, examiner.names.unnamed, warned) == ({}, {}, [])
    examiner.check()


def test_without_a_source_the_record_is_not_compared_and_that_is_said() -> None:
    """The row has no name then; nothing is claimed of it."""
    found, examiner, warned = examined(None)
    assert found == {"record_name": None, "sender": str(MAKER.address)}
    assert list(examiner.names.unnamed) == ["two_tokens.aleo"]
    assert warned == [
        "the records of two_tokens.aleo were not compared with their commitments: "
        "the service shows no source text of that program"
    ]
    examiner.check()
