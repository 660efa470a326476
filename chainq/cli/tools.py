"""Tools that are a page each: `rpc` and `profiles`, and the lists that `--columns help` and `--fault help` print."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from chainq.catalog import identifiers
from chainq.catalog.dialects import AUTO
from chainq.catalog.methods import BY_COMMAND, Shape
from chainq.catalog.nested import members
from chainq.catalog.owned import BALANCE, COMMAND, owned_schema
from chainq.cli import connect
from chainq.cli.output import as_json, on_terminal, use_color, write
from chainq.cli.report import Reporter
from chainq.cli.stdin import everything
from chainq.config import profiles as configured
from chainq.errors import UsageError
from chainq.process.signals import signals_deferred
from chainq.rows import raw_json
from chainq.sinks.open import open_sink
from chainq.text.sanitize import mask_url, quoted
from chainq.text.width import ENDLESS, GAP, LEAST, aligned, terminal_width, wrap
from chainq.transport.jsonrpc import encode

if TYPE_CHECKING:
    from chainq.cli.options import ReportOptions
    from chainq.cli.tool_options import RpcOptions


def rpc(given: "RpcOptions") -> None:
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
    options, terminal = connect.service_options(given), on_terminal(None)
    color = use_color(terminal=terminal)
    with connect.open_service(options, Reporter(given)) as service, open_sink(None) as sink:
        if given.dry_run:
            sink.write(encode(name, sent, 1) + b"\n")
            return
        shown = bytes(service.call(name, sent))
        if terminal:
            from chainq.formats.json import indented

            shown = indented(shown, color)
        with signals_deferred():
            sink.write(shown + b"\n")


def profiles(given: "ReportOptions") -> None:
    """Print the profiles in config.toml as a table or a JSON array; of headers only the names. Raises UsageError,
    also after them if none of them is the default one."""
    settings = configured.read()
    if hidden := configured.hidden(settings):
        Reporter().warn(hidden)
    rows = []
    for name, one in settings.profiles.items():
        url = mask_url(one.url) if one.url else None
        rows.append((name, url, one.dialect or AUTO, list(one.headers), name == settings.default))
    keys = ("name", "url", "dialect", "headers", "default")
    if as_json(given):
        write(msgspec.json.encode([dict(zip(keys, row, strict=True)) for row in rows]).decode() + "\n")
    elif rows:
        lines = [
            (name, url or "-", dialect, ", ".join(headers) or "-", "*" if default else "")
            for name, url, dialect, headers, default in rows
        ]
        write("".join(f"{line}\n" for line in aligned([keys, *lines])))
    else:
        Reporter().warn(f"no profiles in {settings.path}")
    configured.check_default(settings)


def list_columns(command: str) -> None:
    """Print the columns of a command with their types and notes, and what selects members of their arrays."""
    from chainq.verify.findings import FINDINGS

    owned = owned_schema(records=True, plaintext=True, spends=True)
    method = {**BY_COMMAND, COMMAND: owned, "balance": BALANCE, "verify": FINDINGS}[command]
    rows = []
    for column in method.selectable:
        note = f"{column.type}{': ' * bool(column.note)}{column.note}"
        rows.append((f"{column.path}{' *' * bool(column.brief)}", note))
        rows += [(path, "") for path in members(column.path)]
    several = " of several rows" * (method.shape is not Shape.ROWS)  # a table of one row shows all
    _print(rows, f"\n* shown in a table{several} by default\n")


def list_faults() -> None:
    """Print the faults of `chainq serve`, with what they do."""
    from chainq.demo.faults import listed_faults

    _print(listed_faults())


def _print(rows: Sequence[tuple[str, str]], note: str = "") -> None:
    """Print names with their texts, then a note; names are never broken, so that they can be copied."""
    room = terminal_width() if on_terminal(None) else ENDLESS
    if room - GAP - max(len(name) for name, _ in rows) < LEAST:  # a line of its own for each name
        lines = [
            line for name, text in rows for line in (name, *(f"  {part}" for part in wrap(text, room - 2) if part))
        ]
    else:
        lines = aligned(rows, room)
    write("".join(f"{line}\n" for line in lines) + note)
