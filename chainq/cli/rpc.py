"""`chainq rpc`: any method, with parameters as they are given."""

import re
from typing import TYPE_CHECKING

import msgspec

from chainq.catalog import identifiers
from chainq.cli import connect
from chainq.cli.output import on_terminal, use_color
from chainq.cli.stdin import everything
from chainq.errors import UsageError
from chainq.process.signals import signals_deferred
from chainq.rows import raw_json
from chainq.sinks.open import open_sink
from chainq.text.sanitize import quoted
from chainq.transport.jsonrpc import encode

if TYPE_CHECKING:
    from chainq.cli.tool_options import RpcOptions


def run(given: "RpcOptions") -> None:
    """Call any method and print its `result`, compact, on a terminal indented. Raises ChainqError."""
    name = identifiers.sendable(given.method)
    text = everything() if given.params == "-" else given.params
    sent: msgspec.Raw | None = None
    if text is not None and text.strip():
        identifiers.sendable(text)
        try:
            msgspec.json.decode(text.strip(), type=dict[str, msgspec.Raw] | list[msgspec.Raw])
            compact = raw_json.compact(text.strip().encode())
        except (ValueError, RecursionError) as error:
            fault = _fault(str(error), text.strip().encode())
            expected = """expected a JSON object or array such as '{"start": 0, "end": 5}'"""
            raise UsageError(f"invalid parameters: {fault}; {expected}") from None
        sent = msgspec.Raw(compact)
    options, terminal = connect.service_options(given), on_terminal(None)
    color = use_color(terminal=terminal)
    reporter = connect.reporter(given)
    with connect.open_service(options, reporter) as service, open_sink(None) as sink:
        if given.dry_run:
            sink.write(encode(name, sent, 1) + b"\n")
            return
        shown = bytes(service.call(name, sent))
        if terminal:
            from chainq.formats.json import indented

            shown = indented(shown, color)
        with signals_deferred():
            sink.write(shown + b"\n")


def _fault(reason: str, text: bytes) -> str:
    """Return what is wrong with JSON, as msgspec says it, and where.

    >>> _fault("JSON is malformed: object keys must be strings (byte 1)", b"{block: 5}")
    "object keys must be strings, at 'block: 5}'"
    >>> _fault("Input data was truncated", b"{"), _fault("Expected `object`, got `int`", b"5")
    ('the JSON ends early', "'5'")
    """
    if found := re.fullmatch(r"JSON is malformed: (.*) \(byte (\d+)\)", reason):
        return f"{found[1]}, at {quoted(text[int(found[2]) :].decode(errors='replace'))}"
    return "the JSON ends early" if "truncated" in reason else quoted(text.decode(errors="replace"))
