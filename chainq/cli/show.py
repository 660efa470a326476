"""`chainq show X`: one object on one screen. What is gathered and how it looks is in `chainq.show`."""

import os
from collections.abc import Mapping
from shlex import quote
from typing import Any

from chainq.cli import connect
from chainq.cli.output import on_terminal, use_color
from chainq.cli.spelling import spelled
from chainq.errors import UsageError
from chainq.formats.protocol import OutputSpec
from chainq.heights.bounds import parse_count
from chainq.process.signals import signals_deferred
from chainq.show import parts
from chainq.sinks.open import open_sink
from chainq.text.sanitize import mask_url


def run(text: str, values: Mapping[str, Any]) -> None:
    """Show what `text` names, as a screen or with `json` as one object. Raises ChainqError."""
    wanted = parts.check(text.strip())
    last = None if values["last"] is None else parse_count(values["last"])
    if last == 0:
        raise UsageError("invalid --last 0: expected 1 or more blocks")
    terminal = on_terminal(None)
    color = use_color(values["color"], terminal=terminal)
    with (
        connect.open_service(connect.settings(values), connect.reporter(values)) as service,
        open_sink(None, pager=True) as sink,
    ):
        found = parts.gather(service, wanted, last)
        if values["json"]:
            from chainq.show.as_json import encode

            output = encode(found)
            if terminal:
                from chainq.formats.json import indented

                output = indented(output.rstrip(b"\n"), color) + b"\n"
        else:
            from chainq.show.screens import draw
            from chainq.text.humanize import now
            from chainq.text.width import terminal_width

            spec = OutputSpec(
                "show",
                (),
                terminal=terminal,
                width=terminal_width(),
                color=color,
                abbreviate=not values["no_trunc"],
                spelled=spelled,
            )
            output = draw(found, spec, now(), _suffix(values))
        with signals_deferred():
            sink.write(output)


def _suffix(values: Mapping[str, Any]) -> str:
    """Return the options of the next commands: those that led to this service and are not in the environment."""
    suffix = ""
    for option in ("url", "profile", "dialect"):
        value = values[option]
        if value and value != os.environ.get(f"CHAINQ_{option.upper()}") and mask_url(value) == value:
            suffix += f" --{option} {quote(value)}"
    return suffix
