"""The envelope of JSON-RPC 2.0, as bytes in and bytes out: nothing is sent here.

Sources: docs/protocol.md, "Envelope and errors"; the JSON-RPC 2.0 specification, sections 4 and 5.
"""

from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from chainq.errors import AnswerError, BrokenBodyError, ServiceError, TooHeavyError
from chainq.rows import fields, raw_json
from chainq.text.sanitize import excerpt

PIECE = 128 * 2**10  # bytes


def encode(method: str, params: Any, call_id: int) -> bytes:
    """The request body. `params` of None is left out (docs/protocol.md, "Envelope and errors")."""
    request: dict[str, Any] = {"jsonrpc": "2.0", "id": call_id, "method": method}
    if params is not None:
        request["params"] = params
    return msgspec.json.encode(request)


class _RowsEnvelope(msgspec.Struct):
    jsonrpc: str
    id: int
    result: list[Raw]
    error: Raw | UnsetType = UNSET


_ROWS = msgspec.json.Decoder(_RowsEnvelope)


def decode_rows(body: bytes, call_id: int) -> list[Raw]:
    """The rows of an answer whose `result` is an array of objects, each compact and otherwise as it was sent.

    Of a member that stands twice in an object the last counts, as RFC 8259, section 4, leaves it to the reader.
    Raises ServiceError, TooHeavyError, AnswerError or BrokenBodyError.
    """
    return raw_json.check_objects(decode_array(body, call_id))


def decode_array(body: bytes, call_id: int) -> list[Raw]:
    """The same without a look at whether each row is an object, for who will see that anyway."""
    body = _compact(body)
    try:
        envelope = _ROWS.decode(body)
    except (msgspec.DecodeError, RecursionError):
        pass
    else:
        if envelope.jsonrpc == "2.0" and envelope.id == call_id and envelope.error is UNSET:
            return envelope.result
    result = decode_result(body, call_id)
    try:
        return raw_json.items(bytes(result))
    except ValueError:
        raise AnswerError(f"the result is no array: {excerpt(bytes(result).decode(), 60)}") from None


def decode_result(body: bytes, call_id: int) -> Raw:
    """The `result` of an answer, compact and otherwise as it was sent; raises as `decode_rows` does."""
    body = _compact(body)
    try:
        envelope = raw_json.members(body)
    except RecursionError:
        raise AnswerError("the answer is nested too deeply") from None
    except ValueError:
        if body[:1] == b"[":
            raise AnswerError("the answer is an array, not an object") from None
        raise BrokenBodyError(f"the answer is no JSON: {excerpt(body[:200].decode(errors='replace'), 80)}") from None
    version = bytes(envelope.get("jsonrpc", b"absent"))
    if version != b'"2.0"':
        raise AnswerError(f"the answer is not JSON-RPC 2.0: jsonrpc is {excerpt(version.decode(), 20)}")
    error = envelope.get("error")
    failed = error is not None and bytes(error) != b"null"
    answered = bytes(envelope["id"]).decode() if "id" in envelope else "absent"
    # JSON-RPC 2.0, section 5: the id is null where the server could not read the request's.
    if answered != str(call_id) and not (failed and answered == "null"):
        raise AnswerError(f"the answer is to another call: id is {excerpt(answered, 20)}, not {call_id}")
    if failed and error is not None:
        if "result" in envelope and bytes(envelope["result"]) != b"null":
            raise AnswerError("the answer holds both a result and an error")
        raise _service_error(bytes(error))
    if "result" not in envelope:
        raise AnswerError("the answer holds neither a result nor an error")
    return envelope["result"]


def is_error(body: bytes) -> bool:
    """Whether it is a JSON-RPC answer with an error (JSON-RPC 2.0, section 5): worth reading beside any status."""
    try:
        envelope = raw_json.members(body)
    except (ValueError, RecursionError):
        return False
    return "jsonrpc" in envelope and bytes(envelope.get("error", b"null")) != b"null"


def _compact(body: bytes) -> bytes:
    if _plain(body):
        return body
    if not body.strip():
        raise BrokenBodyError("the answer is empty")
    try:
        if not body.isascii():
            body.decode()
        return raw_json.compact(body)
    except UnicodeDecodeError as error:
        raise BrokenBodyError(f"the answer is not UTF-8 (byte {error.start})") from None
    except RecursionError:
        raise AnswerError("the answer is nested too deeply") from None
    except ValueError:
        shown = excerpt(body[:200].decode(errors="replace"), 80)
        raise BrokenBodyError(f"the answer is no JSON, or breaks off after {len(body)} bytes: {shown}") from None


def _plain(body: bytes) -> bool:
    """Whether it is ASCII without white space, as most answers are: looked at in pieces that fit in the cache."""
    for at in range(0, len(body), PIECE):
        piece = body[at : at + PIECE]
        if not piece.isascii() or any(space in piece for space in raw_json.SPACES):
            return False
    return bool(body)


def _service_error(error: bytes) -> ServiceError:
    try:
        members = raw_json.members(error)
    except ValueError:
        return ServiceError(f"the service answered an error: {excerpt(error.decode())}")
    code = fields.text_of(members.get("code"))
    said = fields.text_of(members.get("message"))
    # docs/protocol.md, "Envelope and errors"; 57014 is PostgreSQL's query_canceled.
    heavy = code == "57014" or (code in ("0", "-32603") and "timeout" in said.lower())
    kind = TooHeavyError if heavy else ServiceError
    return kind(f"the service answered error {excerpt(code, 20) or '(no code)'}: {excerpt(said)}", code=code)
