"""The tools `rpc` and `profiles`; `doctor` and `serve` have modules of their own."""

from typing import TYPE_CHECKING

import msgspec

from chainq.catalog import identifiers
from chainq.catalog.dialects import AUTO
from chainq.cli import connect
from chainq.cli.output import on_terminal, use_color
from chainq.cli.report import Reporter
from chainq.cli.stdin import everything
from chainq.errors import UsageError
from chainq.process.signals import signals_deferred
from chainq.rows import raw_json
from chainq.sinks.open import open_sink
from chainq.transport.jsonrpc import encode

if TYPE_CHECKING:
    from chainq.cli.commands import RpcOptions


def rpc(given: "RpcOptions") -> None:
    """Call any method and print its `result`, compact, on a terminal indented. Raises ChainqError."""
    name = identifiers.sendable(given.method)
    text = everything() if given.params == "-" else given.params
    sent: msgspec.Raw | None = None
    if text is not None and text.strip():
        identifiers.sendable(text)
        try:
            compact = raw_json.compact(text.strip().encode())
            msgspec.json.decode(compact, type=dict[str, msgspec.Raw] | list[msgspec.Raw])
        except (ValueError, RecursionError):
            raise UsageError(
                """invalid parameters: expected a JSON object or array such as '{"start": 0, "end": 5}'"""
            ) from None
        sent = msgspec.Raw(compact)
    options, terminal = connect.service_options(given), on_terminal(None)
    color = use_color(given.color, terminal=terminal)
    with connect.open_service(options, connect.reporter(given)) as service, open_sink(None, pager=True) as sink:
        if given.dry_run:
            sink.write(encode(name, sent, 1) + b"\n")
            return
        shown = bytes(service.call(name, sent))
        if terminal:
            from chainq.formats.json import indented

            shown = indented(shown, color)
        with signals_deferred():
            sink.write(shown + b"\n")


def list_profiles(as_json: bool) -> None:
    """Print the profiles in config.toml as a table or a JSON array; of headers only the names. Raises UsageError."""
    from chainq.config import profiles
    from chainq.text.sanitize import mask_url

    settings = profiles.read()
    found = [
        (
            name,
            mask_url(one.url) if one.url else None,
            one.dialect or AUTO,
            list(one.headers),
            name == settings.default,
        )
        for name, one in settings.profiles.items()
    ]
    keys = ("name", "url", "dialect", "headers", "default")
    if as_json:
        text = msgspec.json.encode([dict(zip(keys, row, strict=True)) for row in found]).decode() + "\n"
    elif found:
        from chainq.text.align import aligned

        lines = [
            (name, url or "-", dialect, ", ".join(headers) or "-", "*" if default else "")
            for name, url, dialect, headers, default in found
        ]
        text = aligned([keys, *lines], (32, 64, 8, 32))
    else:
        text = ""
        Reporter().warn(f"no profiles in {settings.path}")
    with open_sink(None, pager=True) as sink:
        sink.write(text.encode())
