"""The envelope of JSON-RPC 2.0: requests as bytes, results from bytes. Nothing is sent here.

Sources: docs/protocol.md, "Envelope and errors"; the JSON-RPC 2.0 specification, sections 4 and 5.
"""

from typing import Any

import msgspec
import orjson
from msgspec import UNSET, Raw, UnsetType

from chainq.errors import BrokenBodyError, ResponseError
from chainq.rows import fields, raw_json
from chainq.text.sanitize import excerpt
from chainq.transport.failures import Failure, of_error, shown

_MIXED = "a cache or proxy before the server may return the response to another request"


def encode(method: str, params: Any, call_id: int) -> bytes:
    """Return the request body. `params` of None is left out, a `Raw` sent as it is (docs/protocol.md,
    "Envelope and errors")."""
    request = {"jsonrpc": "2.0", "id": call_id, "method": method, "params": params}
    if params is None:
        del request["params"]
    return orjson.dumps(request, default=lambda raw: orjson.Fragment(bytes(raw)))


class _RowsEnvelope(msgspec.Struct):
    jsonrpc: str
    id: int
    result: list[Raw]
    error: Raw | UnsetType = UNSET


_ROWS = msgspec.json.Decoder(_RowsEnvelope)


def decode_rows(text: memoryview, call_id: int) -> list[Raw]:
    """Return the rows of a response whose `result` is an array of objects. `text` is compact, and rows refer to it.

    Of a member that an object has twice the last counts: RFC 8259, section 4, leaves it to the reader.
    Raises Failure for an error of JSON-RPC, ResponseError or BrokenBodyError, as all of these do.
    """
    return raw_json.check_objects(decode_array(text, call_id))


def decode_listed(text: memoryview, call_id: int) -> list[Raw]:
    """Return the same, no rows for null: for callers that do not take an empty list for a proof."""
    result = decode_result(text, call_id)
    return [] if result == Raw(b"null") else raw_json.check_objects(items_of(result))


def decode_array(text: memoryview, call_id: int) -> raw_json.ResponseRows:
    """Return the same without checking that each row is an object, for callers that check it anyway."""
    try:
        envelope = _ROWS.decode(text)
    except msgspec.DecodeError:
        pass
    else:
        if envelope.jsonrpc == "2.0" and envelope.id == call_id and envelope.error is UNSET:
            return raw_json.ResponseRows(envelope.result, text)
    return raw_json.ResponseRows(items_of(decode_result(text, call_id)), text)


def items_of(result: Raw) -> list[Raw]:
    """Return the items of a `result`, which refer to it. Raises ResponseError for one that is not an array."""
    try:
        return raw_json.items(memoryview(result))
    except ValueError:
        raise ResponseError(f"result is not an array: {excerpt(bytes(result).decode(), 60)}") from None


def decode_result(text: memoryview, call_id: int) -> Raw:
    """Return the `result` of a response. `text` is compact, and the result refers to it.

    Raises Failure, ResponseError or BrokenBodyError.
    """
    try:
        envelope = raw_json.members(text)
    except ValueError:
        raise _not_json(text) from None
    version = bytes(envelope.get("jsonrpc", b"absent"))
    if version != b'"2.0"':
        member = f"jsonrpc is {excerpt(version.decode(), 20)}"
        raise ResponseError(f"response is not JSON-RPC 2.0, {member}: {shown(text)}")
    error = bytes(envelope.get("error", b"null"))
    sent_id = bytes(envelope["id"]).decode() if "id" in envelope else "absent"
    # JSON-RPC 2.0, section 5: the id is null if the server could not read the request's.
    if sent_id != str(call_id) and not (error != b"null" and sent_id == "null"):
        raise ResponseError(f"response id {excerpt(sent_id, 20)} does not match request id {call_id}", _MIXED)
    if error != b"null":
        raise _error(error)
    if "result" not in envelope:
        raise ResponseError(f"response has neither a result nor an error: {shown(text)}")
    return envelope["result"]


def compact(body: bytes) -> bytes:
    """Return a body without white space between its tokens. Raises BrokenBodyError."""
    try:
        return raw_json.compact(body)
    except ValueError:
        raise _not_json(body) from None


def _not_json(body: bytes | memoryview) -> BrokenBodyError:
    return BrokenBodyError(f"response is not a JSON object, or ends early: {shown(body) or 'it is empty'}")


def _error(error: bytes) -> Failure:
    try:
        members = raw_json.members(error)
    except ValueError:
        return of_error("", error.decode())
    code, message = (fields.text_of(members.get(name)) for name in ("code", "message"))
    return of_error(code, message, bytes(members.get("data", b"")))
