"""`chainq rpc`: any method, with parameters as they are given."""

import re
from typing import TYPE_CHECKING

import msgspec

from chainq.catalog import identifiers
from chainq.catalog.dialects import DIALECTS
from chainq.catalog.methods import METHODS
from chainq.cli import connect
from chainq.cli.output import on_terminal, use_color
from chainq.cli.stdin import everything
from chainq.errors import ServiceError, UsageError
from chainq.process.signals import signals_deferred
from chainq.rows import raw_json
from chainq.sinks.open import open_sink
from chainq.text.sanitize import quoted
from chainq.transport.failures import is_misunderstood
from chainq.transport.jsonrpc import encode

_INVALID_PARAMS = "-32602"  # JSON-RPC 2.0, section 5.1

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
            hint = """expected a JSON object or array such as '{"start": 0, "end": 5}'"""
            raise UsageError(f"invalid parameters: {_fault(str(error), text.strip().encode())}", hint) from None
        sent = msgspec.Raw(compact)
    options, terminal = connect.service_options(given), on_terminal(None)
    color = use_color(terminal=terminal)
    reporter = connect.reporter(given)
    with connect.open_service(options, reporter) as service, open_sink(None) as sink:
        if given.dry_run:
            sink.write(encode(name, sent, 1) + b"\n")
            return
        try:
            shown = bytes(service.call(name, sent))
        except ServiceError as error:
            if is_misunderstood(error.code, error.message):
                doctor = "chainq doctor shows which methods and dialect the server has"
                error.hint = _other_names(name) or doctor
            elif error.code == _INVALID_PARAMS:
                error.hint = _parameters(name)
            raise
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


def _parameters(name: str) -> str:
    """Return the parameters of a method, in each dialect that calls it so; empty for a method that none has."""
    found: dict[str, list[str]] = {}
    for method in METHODS:
        for dialect in DIALECTS.values():
            wire = dialect.wire(method)
            if wire.name == name:
                names = ", ".join(wire.params.get(param.role, param.name) for param in method.params)
                found.setdefault(names or "no parameters", []).append(dialect.name)
    if len(found) == 1:
        return f"{name} takes {next(iter(found))}"
    return "; ".join(f"in the dialect {' and '.join(names)} {name} takes {known}" for known, names in found.items())


def _other_names(name: str) -> str:
    """Return which dialect calls a method so, and how another calls it; empty for a name that all or none have."""
    for method in METHODS:
        names = {dialect.name: dialect.wire(method).name for dialect in DIALECTS.values()}
        if name in names.values() and len(set(names.values())) > 1:
            others = " and ".join(f"{other} in {dialect}" for dialect, other in names.items() if other != name)
            here = " and ".join(dialect for dialect, other in names.items() if other == name)
            return f"{name} is a method of the dialect {here}; it is {others} (chainq {method.command} takes both)"
    return ""
