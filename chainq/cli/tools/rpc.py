"""`chainq rpc`: any method with any parameters, as is."""

from typing import TYPE_CHECKING

import msgspec

from chainq.catalog import identifiers
from chainq.cli import connect
from chainq.cli.output import write_json
from chainq.cli.report import Reporter
from chainq.cli.stdin import everything
from chainq.errors import UsageError
from chainq.rows import raw_json
from chainq.sinks.open import open_sink
from chainq.text.sanitize import quoted
from chainq.transport.jsonrpc import encode

if TYPE_CHECKING:
    from chainq.cli.tool_options import RpcOptions


def run(given: "RpcOptions") -> None:
    """Call any method and print its `result`, compact, on a terminal indented. Raises ChainqError."""
    name = identifiers.sendable(given.method)
    text = (everything() if given.params == "-" else given.params or "").strip()
    sent: msgspec.Raw | None = None
    if text:
        identifiers.sendable(text)
        try:
            msgspec.json.decode(text, type=dict[str, msgspec.Raw] | list[msgspec.Raw])
            sent = msgspec.Raw(raw_json.compact(text.encode()))
        except (ValueError, RecursionError) as error:
            expected = """expected a JSON object or array such as '{"start": 0, "end": 5}'"""
            raise UsageError(f"invalid parameters {quoted(text)}: {expected}") from error
    with connect.open_service(connect.service_options(given), Reporter(given)) as service, open_sink(None) as sink:
        if given.dry_run:
            sink.write(encode(name, sent, 1) + b"\n")
        else:
            write_json(sink, bytes(service.call(name, sent)))
