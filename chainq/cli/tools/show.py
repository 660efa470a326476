"""`chainq show X...`: each object on one screen. What is gathered and how it looks is in `chainq.show`."""

from functools import partial

import msgspec

from chainq.cli import connect
from chainq.cli.output import as_json, on_terminal, use_color, write_json
from chainq.cli.query import value_in
from chainq.cli.report import Reporter
from chainq.cli.stdin import expanded
from chainq.cli.tool_options import ShowCommand
from chainq.errors import NotFoundError
from chainq.fetching.service import Service
from chainq.formats.protocol import OutputSpec
from chainq.process.signals import signals_deferred
from chainq.query import STDIN
from chainq.show import parts
from chainq.show.screens import draw
from chainq.sinks.open import open_sink
from chainq.text.width import stated_width, terminal_width

_FIELDS = ("transaction_id", "transaction.id", "height", "header.metadata.height", "transition_id")
"""What names an object in chainq's own jsonl."""


def run(given: ShowCommand) -> None:
    """Show objects, among them those on standard input, each as a screen or with `json` as one object.

    Raises ChainqError; NotFoundError after the screens of the others.
    """
    words = [word if word == STDIN else parts.check(word) for word in map(str.strip, given.objects)]
    missing: list[NotFoundError] = []
    form = as_json(given)
    with connect.open_service(connect.service_options(given), Reporter(given)) as service, open_sink(None) as sink:
        for number, name in enumerate(filter(None, expanded(words, lambda line: parts.check(value_in(line, _FIELDS))))):
            try:
                gathered = service.blocks.from_first(partial(parts.gather, service, name, given.last))
            except NotFoundError as error:
                missing.append(error)
                continue
            if form:
                write_json(sink, msgspec.json.encode(gathered))
                continue
            screen = _screen(given, gathered, service)
            with signals_deferred():
                sink.write(screen if number == len(missing) else b"\n" + screen)
        if missing:
            names = [name for error in missing for name in error.missing or ("",)]
            failure = NotFoundError("; ".join(map(str, missing)), missing=names)
            connect.note_tip(failure, service)
            raise failure


def _screen(given: ShowCommand, gathered: parts.Parts, service: Service) -> bytes:
    """Return the screen of an object.

    In a pipe nobody can widen the terminal: a screen has whole values there, unless COLUMNS states a width.
    """
    terminal = on_terminal(None)
    color = use_color(terminal=terminal)
    abbreviate = not given.no_trunc and (terminal or bool(stated_width()))
    spec = OutputSpec("show", (), terminal=terminal, width=terminal_width(), color=color, abbreviate=abbreviate)
    return draw(gathered, spec, service.blocks.first)
