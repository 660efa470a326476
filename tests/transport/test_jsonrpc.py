"""The envelope: what is sent, and what is accepted as an answer to it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from chainq.errors import ExitCode, ResponseError
from chainq.transport import jsonrpc
from chainq.transport.failures import Failure
from harness.models.readings import readings
from harness.servers.calls import envelope, failure

Decode = Callable[[bytes, int], Any]


def decode_rows(body: bytes, call_id: int) -> list[Raw]:
    return jsonrpc.decode_rows(memoryview(jsonrpc.compact(body)), call_id)


def decode_result(body: bytes, call_id: int) -> Raw:
    return jsonrpc.decode_result(memoryview(jsonrpc.compact(body)), call_id)


BOTH = pytest.mark.parametrize("decode", [decode_rows, decode_result], ids=["rows", "result"])


def enveloped(result: str) -> bytes:
    return envelope(result, "7")


# --- what is sent


def test_a_request_has_the_four_members_in_the_documents_order() -> None:
    """jsonrpc, a numeric id, method and params as an object; heights stay numbers."""
    assert jsonrpc.encode("getBlocks", {"start": 5, "end": 10}, 3) == (
        b'{"jsonrpc":"2.0","id":3,"method":"getBlocks","params":{"start":5,"end":10}}'
    )


def test_params_are_absent_where_there_are_none() -> None:
    """latest/block has no params member at all; an array and raw JSON go as they are."""
    assert jsonrpc.encode("latest/block", None, 1) == b'{"jsonrpc":"2.0","id":1,"method":"latest/block"}'
    assert jsonrpc.encode("x", Raw(b"[1.10]"), 1).endswith(b'"params":[1.10]}')


# --- what is accepted


@BOTH
@pytest.mark.parametrize(
    "body",
    [
        enveloped("[]"),
        b' {"id" : 7 , "result":[ ]\n,"jsonrpc":"2.0"}\r\n',
        b'{"jsonrpc":"2.0","id":7,"result":[],"error":null}',
        b'{"jsonrpc":"2.0","id":7,"result":[],"took":5}',
    ],
)
def test_a_valid_answer_is_accepted(decode: Decode, body: bytes) -> None:
    """Members in any order, white space, further members, and an error of null are no reason to refuse."""
    assert decode(body, 7) == ([] if decode is decode_rows else Raw(b"[]"))


@BOTH
def test_what_is_no_answer_to_the_question_is_refused(decode: Decode, golden: Callable[[Path, str], None]) -> None:
    """Each way in which an answer can be wrong is told apart: broken bodies may be asked for again, others not."""

    def refused(body: str) -> str:
        with pytest.raises(ResponseError) as caught:
            decode(body.encode("latin-1"), 7)
        return f"{type(caught.value).__name__}: {caught.value}"

    file = Path(__file__).parent / "refused.txt"
    golden(file, readings(file, refused))


@pytest.mark.parametrize("result", ["null", "{}", '"x"', "5", "true", "[1]", "[null]", "[[]]", '[{},"x"]'])
def test_rows_are_an_array_of_objects(result: str) -> None:
    """Where rows are due, nothing but an array of objects will do."""
    with pytest.raises(ResponseError):
        decode_rows(enveloped(result), 7)


def test_rows_are_the_servers_own_bytes() -> None:
    """Each row comes compact and otherwise as it was sent: digits, escapes, order and doubled spaces in strings."""
    sent = ['{"a":1.10,"b":-0,"c":340282366920938463463374607431768211455}', '{"z":"\\u00e9  é\\/","a":1E+2}']
    assert list(map(bytes, decode_rows(enveloped(f"[{','.join(sent)}]"), 7))) == [row.encode() for row in sent]
    spaced = enveloped('[ {"a" : 1.10 ,\n "b":"x  y"} ]')
    assert list(map(bytes, decode_rows(spaced, 7))) == [b'{"a":1.10,"b":"x  y"}']


@pytest.mark.parametrize(
    ("data", "code"),
    [('{"incomplete": true}', ExitCode.INCOMPLETE), ("{}", ExitCode.SERVICE), ('"incomplete"', ExitCode.SERVICE)],
)
def test_an_export_says_that_it_lacks_rows(data: str, code: ExitCode) -> None:
    """By code and data: other servers may use the code for something else."""
    body = f'{{"jsonrpc":"2.0","id":7,"error":{{"code":-32001,"message":"no heights 5-9","data":{data}}}}}'
    with pytest.raises(Failure, match="heights 5-9") as caught:
        decode_rows(body.encode(), 7)
    assert caught.value.error.exit_code is code


@pytest.mark.parametrize("error", ['"down"', "5", "[]", "{}", '{"code":{"x":1}}', '{"message":"\\u001b[2J"}'])
def test_an_error_of_any_shape_is_an_error(error: str) -> None:
    """An error member is told whatever it holds, on one harmless line; the id may be null with it."""
    for id_ in ("7", "null"):
        with pytest.raises(Failure) as caught:
            decode_result(f'{{"jsonrpc":"2.0","id":{id_},"error":{error}}}'.encode(), 7)
        assert str(caught.value).isprintable()


def test_a_long_message_loses_its_middle() -> None:
    """What happened is often said at the end."""
    with pytest.raises(Failure, match=r"^the service returned error 1: first .*….* last$"):
        decode_rows(failure("1", f"first {'x' * 5000} last"), 7)
