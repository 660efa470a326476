"""`chainq serve`: the sample chain on a loopback socket, with the faults of real servers by name; or an export."""

import errno
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from chainq.catalog.identifiers import is_loopback
from chainq.cli.tool_options import ServeOptions
from chainq.demo.chain import DEFAULT_TIP, GENESIS_TIME, SPACING, Chain
from chainq.demo.faults import Faults
from chainq.errors import UsageError
from chainq.sinks.open import open_sink
from chainq.text.sanitize import excerpt, printable


def run(given: ServeOptions) -> None:
    """Serve the sample chain until a signal ends it; its URL is the one line on standard output. Raises UsageError."""
    if "help" in (given.fault or ()):
        from chainq.cli.tools import list_faults

        list_faults()
        return
    if given.lake is not None:
        _serve_lake(given, given.lake)
        return
    from chainq.demo.http_server import serve
    from chainq.demo.service import Service

    given.exclude("now", "grow")
    given.exclude("sealed", "tip", "grow", "now")
    if not is_loopback(given.host):
        host = printable(given.host)
        raise UsageError(f"invalid --host {host!r}: expected a loopback address such as 127.0.0.1 or ::1")
    if 0 < given.grow < 1e-3:
        raise UsageError(f"invalid --grow {given.grow:g}: expected 0, or at least 0.001 seconds")
    try:
        faults = Faults(*given.fault or ())
    except ValueError as error:
        raise UsageError(f"invalid --fault: {error}") from None
    if given.sealed is not None and "reorg-at" in faults:
        raise UsageError("--sealed cannot be combined with --fault reorg-at")

    chain, tip = _chain(given)
    service = Service(chain, faults, given.dialect, given.shuffle, tip=tip)
    with _listening(given) as ready:
        serve(service, given.host, given.port, ready, _log if given.verbose else None)


def _serve_lake(given: ServeOptions, destination: str) -> None:
    """Serve a data set until a signal ends it. Raises UsageError."""
    from chainq.lake import http
    from chainq.lake.service import StoredService

    given.exclude("lake", *ServeOptions.__annotations__.keys() - {"lake", "host", "port", "verbose"})
    service = StoredService(destination)
    with _listening(given) as ready:
        http.serve(service, given.host, given.port, ready, verbose=given.verbose)


@contextmanager
def _listening(given: ServeOptions) -> Iterator[Callable[[int], None]]:
    """Yield what prints the URL, once the port is known. Raises UsageError for an address that cannot be had."""

    def ready(port: int) -> None:
        shown = f"[{given.host}]" if ":" in given.host else given.host
        with open_sink(None) as sink:
            sink.write(f"http://{shown}:{port}/\n".encode())

    try:
        yield ready
    except OSError as error:
        hint = "--port 0 takes any free port" if error.errno == errno.EADDRINUSE else ""
        raise UsageError(f"cannot listen on {given.host}:{given.port}: {error.strerror}", hint) from None


def _chain(given: ServeOptions) -> tuple[Chain, Callable[[], int]]:
    """Return the chain, and what returns the height of its tip at each call.

    Raises UsageError, also without the SDK if a sealed chain needs it.
    """
    dense = _dense(given.dense_height)
    if given.sealed is not None:
        from chainq.demo.sealed import SealedChain

        sealed = SealedChain(given.seed, given.sealed, dense)
        return sealed, lambda: sealed.tip
    first, genesis = DEFAULT_TIP if given.tip is None else given.tip, GENESIS_TIME
    if given.now and given.tip is None:  # a server that is started again has the same blocks at the same times
        first = Chain().height_at(time.time())
    elif given.now:
        genesis = int(time.time()) - SPACING * (first + 1)
    chain = Chain(given.seed, first, dense, genesis=genesis)
    began = time.monotonic()

    def tip() -> int:
        if given.now:
            return max(first, chain.height_at(time.time()))  # the clock may be set back
        return first + int((time.monotonic() - began) / given.grow) if given.grow else first

    return chain, tip


def _log(status: int, body: bytes) -> None:
    """Print a call to stderr, with the HTTP status of its response."""
    with suppress(OSError):  # stderr may be closed; calls are answered all the same
        sys.stderr.write(f"{status} {excerpt(body.decode(errors='replace'))}\n")


def _dense(text: str | None) -> tuple[int, int] | None:
    """Return the height and the number of records that `--dense-height` names. Raises UsageError."""
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]{1,9}):([0-9]{1,6})", text)
    if not found:
        raise UsageError(f"invalid --dense-height {text!r}: expected H:N with up to 999999 records")
    return int(found[1]), int(found[2])
