"""`chainq show X`: one object on one screen. What is gathered and how it looks is in `chainq.show`."""

import os
from shlex import quote

from chainq.cli import connect
from chainq.cli.output import on_terminal, use_color
from chainq.cli.spelling import spelled
from chainq.cli.tool_options import ShowCommand
from chainq.errors import UsageError
from chainq.formats.protocol import OutputSpec
from chainq.heights.bounds import parse_count
from chainq.process.signals import signals_deferred
from chainq.show import parts
from chainq.sinks.open import open_sink
from chainq.text.sanitize import mask_url


def run(given: ShowCommand) -> None:
    """Show an object, as a screen or with `json` as one object. Raises ChainqError."""
    wanted = parts.check(given.object.strip())
    last = None if given.last is None else parse_count(given.last)
    if last == 0:
        raise UsageError("invalid --last 0: expected 1 or more blocks")
    terminal = on_terminal(None)
    color = use_color(given.color, terminal=terminal)
    with (
        connect.open_service(connect.service_options(given), connect.reporter(given)) as service,
        open_sink(None, pager=True) as sink,
    ):
        found = parts.gather(service, wanted, last)
        if given.json:
            from chainq.show.as_json import encode

            output = encode(found)
            if terminal:
                from chainq.formats.json import indented

                output = indented(output.rstrip(b"\n"), color) + b"\n"
        else:
            from chainq.show.block_hash import hash_words
            from chainq.show.screens import draw
            from chainq.text.humanize import now
            from chainq.text.width import terminal_width

            spec = OutputSpec(
                "show",
                (),
                terminal=terminal,
                width=terminal_width(),
                color=color,
                abbreviate=not given.no_trunc,
                spelled=spelled,
            )
            # The hashes of the built-in sample are made up.
            checked = "" if service.url == "demo:" else hash_words(found)
            output = draw(found, spec, now(), _suffix(given), checked)
        with signals_deferred():
            sink.write(output)


def _suffix(given: ShowCommand) -> str:
    """Return the options of the next commands: those that led to this service and are not in the environment."""
    suffix = ""
    for option, value in (("url", given.url), ("profile", given.profile), ("dialect", given.dialect)):
        if value and value != os.environ.get(f"CHAINQ_{option.upper()}") and mask_url(value) == value:
            suffix += f" --{option} {quote(value)}"
    return suffix
