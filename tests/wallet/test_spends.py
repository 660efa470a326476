"""In which transitions the tag of a spent record is, by those that aleo-sdk authorizes; and what a block spends."""

import json
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import Raw

pytest.importorskip("aleo")

from aleo import mainnet as sdk

from chainq.heights.range import HeightRange
from chainq.query import Batch
from chainq.rows.block import read_block
from chainq.wallet import keys
from chainq.wallet.book import Book
from chainq.wallet.examine import Examiner
from chainq.wallet.walk import Keeper, walk

# A call of credits.aleo by another program: by its name, and by names that are inputs (consensus V14).
STATIC = """import credits.aleo;
program outer_static.aleo;

function pass_on:
    input r0 as credits.aleo/credits.record;
    input r1 as address.private;
    input r2 as u64.private;
    call credits.aleo/transfer_private r0 r1 r2 into r3 r4;
    output r3 as credits.aleo/credits.record;
    output r4 as credits.aleo/credits.record;

constructor:
    assert.eq edition 0u16;
"""
DYNAMIC = """program outer_dynamic.aleo;

function pass_on:
    input r0 as dynamic.record;
    input r1 as address.private;
    input r2 as u64.private;
    input r3 as field.public;
    input r4 as field.public;
    input r5 as field.public;
    call.dynamic r3 r4 r5 with r0 r1 r2 (as dynamic.record address.private u64.private) into r6 r7
        (as dynamic.record dynamic.record);
    output r6 as dynamic.record;
    output r7 as dynamic.record;

constructor:
    assert.eq edition 0u16;
"""
MINE, OTHER = (sdk.PrivateKey.from_seed(sdk.Field.from_string(f"{seed}field")) for seed in (11, 12))


def name(text: str) -> str:
    """A name as the field that call.dynamic takes."""
    return f"{int.from_bytes(text.encode(), 'little')}field"


@cache
def process() -> Any:
    found = sdk.Process.load()
    for source in (STATIC, DYNAMIC):
        found.add_program(sdk.Program.from_source(source))
    return found


def authorized(key: Any, program: str, function: str, *given: str) -> list[dict[str, Any]]:
    names = sdk.ProgramID.from_string(program), sdk.Identifier.from_string(function)
    made = process().authorize(key, *names, [sdk.Value.parse(value) for value in given])
    return [json.loads(one.to_json()) for one in made.transitions()]


@cache
def received() -> tuple[dict[str, Any], str]:
    """A transition that makes a record of MINE, and its plaintext."""
    (made,) = authorized(OTHER, "credits.aleo", "transfer_public_to_private", str(MINE.address), "5000000u64")
    plaintext = sdk.RecordCiphertext.from_string(made["outputs"][0]["value"]).decrypt(MINE.view_key)
    return made, str(plaintext)


def block(height: int, *transactions: dict[str, Any]) -> Raw:
    """A full block, as far as records are concerned."""
    return Raw(json.dumps({"header": {"metadata": {"height": height}}, "transactions": transactions}).encode())


def executed(number: int, transitions: list[dict[str, Any]], fee: dict[str, Any] | None = None) -> dict[str, Any]:
    inner = {"id": f"at1{number}", "execution": {"transitions": transitions}}
    return {"transaction": inner | ({"fee": {"transition": fee}} if fee else {})}


def spend(*blocks: Raw) -> tuple[int, str] | None:
    """What spends the record of `received` in these blocks: the height and the transaction."""
    made, _ = received()
    (key,) = keys.checked([("key", str(MINE.view_key))])
    service: Any = SimpleNamespace(
        fetch_range=lambda _query, _heights: iter([Batch(list(blocks))]),
        connection=SimpleNamespace(check_open=lambda: None),
    )
    examiner, book = Examiner([key], service, pytest.fail), Book(0)
    keeper = Keeper(book, examiner)
    for seen in walk(service, examiner, HeightRange(0, 10), [], {(made["id"], 0): 0}):
        keeper.enter(seen.block, seen.records)
    (entry,) = book.entries
    return None if entry.spent is None else (entry.spent, entry.spender)


@pytest.mark.parametrize(
    ("program", "names", "kind", "outer"),
    [
        pytest.param("outer_static.aleo", (), "record", "external_record", marks=pytest.mark.search),
        ("outer_dynamic.aleo", ("credits", "aleo", "transfer_private"), "record_with_dynamic_id", "record_dynamic"),
    ],
    ids=["static", "dynamic"],
)
def test_the_tag_is_in_a_transition_of_the_record_s_own_program(
    program: str, names: tuple[str, ...], kind: str, outer: str
) -> None:
    """Also if another program is called: its own transition shows no tag."""
    made, plaintext = received()
    given = (plaintext, str(OTHER.address), "1000000u64", *map(name, names))
    inner, calling = authorized(MINE, program, "pass_on", *given)
    assert (inner["program"], inner["inputs"][0]["type"]) == ("credits.aleo", kind)
    assert (calling["program"], calling["inputs"][0]["type"]) == (program, outer)
    assert not any("tag" in one for one in calling["inputs"])
    assert spend(block(5, executed(1, [made])), block(9, executed(2, [inner, calling]))) == (9, "at12")
    assert {output.place for output in read_block(block(9, executed(2, [inner]))).outputs} == {0, 1}


def test_a_record_is_spent_in_its_own_block_by_a_fee_and_not_by_what_was_rejected() -> None:
    """The fee of a rejected transaction happened, the rest of it did not."""
    made, plaintext = received()
    wanted = authorized(MINE, "credits.aleo", "split", plaintext, "1000000u64")
    record = sdk.RecordPlaintext.from_string(plaintext)
    (paid,) = process().authorize_fee_private(MINE, record, 2_000, 0, sdk.Field.one()).transitions()
    fee = json.loads(paid.to_json())
    birth = executed(1, [made])
    assert spend(block(5, birth)) is None
    assert spend(block(5, birth, executed(2, wanted))) == (5, "at12")
    assert spend(block(5, birth), block(6, executed(3, [], fee))) == (6, "at13")
    rejected = {"status": "rejected", "rejected": {"execution": {"transitions": wanted}}}
    unrelated = {"transaction": {"type": "fee", "id": "at14", "fee": {"transition": {"id": "au1x", "inputs": []}}}}
    assert spend(block(5, birth), block(6, {**unrelated, **rejected})) is None
    own = {"transaction": {"type": "fee", "id": "at15", "fee": {"transition": fee}}}
    assert spend(block(5, birth), block(6, {**own, **rejected})) == (6, "at15")
