"""The helpers that are no method of the service: `rpc` and `serve`."""

import sys

import msgspec

from chainq import rows
from chainq.connect import open_client
from chainq.errors import UsageError
from chainq.options import ServeOptions, SourceOptions
from chainq.report import Reporter
from chainq.signals import held
from chainq.sink import open_sink


def rpc(name: str, params: str | None, source: SourceOptions) -> None:
    """Make any call and write its `result` as one line of compact JSON. Raises ChainqError."""
    text = sys.stdin.read() if params == "-" else params
    sent: msgspec.Raw | None = None
    if text is not None and text.strip():
        try:
            compact = rows.compact(text.strip().encode())
            msgspec.json.decode(compact, type=dict[str, msgspec.Raw] | list[msgspec.Raw])
        except (ValueError, RecursionError):
            raise UsageError(
                "the parameters are no JSON object or array", """such as '{"start": 0, "end": 5}'"""
            ) from None
        sent = msgspec.Raw(compact)
    reporter = Reporter(quiet=source.quiet, verbose=source.verbose)
    with open_client(source, reporter) as client, open_sink(None) as sink:
        result = client.raw(name, sent)
        with held():
            sink.write(bytes(result) + b"\n")


def serve(options: ServeOptions) -> None:
    """Serve the sample chain until a signal ends it; its URL is the one line on standard output. Raises UsageError."""
    import time

    from chainq.demo.chain import DEFAULT_NEWEST, Chain
    from chainq.demo.faults import Faults
    from chainq.demo.server import serve as serve_demo
    from chainq.demo.service import Service
    from chainq.demo.wire import DIALECTS

    if options.dialect not in DIALECTS:
        raise UsageError(f"there is no dialect {options.dialect!r}", f"the dialects are {', '.join(DIALECTS)}")
    faults = Faults(**{name: getattr(options, name) for name in Faults.__dataclass_fields__})
    first = DEFAULT_NEWEST if options.newest is None else options.newest
    began = time.monotonic()

    def newest() -> int:
        return first + int((time.monotonic() - began) / options.grow) if options.grow else first

    service = Service(Chain(options.seed, first), faults, options.dialect, options.shuffle, newest=newest)

    def ready(port: int) -> None:
        host = f"[{options.host}]" if ":" in options.host else options.host
        with open_sink(None) as sink:
            sink.write(f"http://{host}:{port}/\n".encode())

    try:
        serve_demo(service, options.host, options.port, ready=ready)
    except OSError as error:
        raise UsageError(f"{options.host}:{options.port} cannot be served: {error.strerror}") from None
