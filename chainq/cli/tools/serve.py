"""`chainq serve`: the sample chain on a loopback socket, with the faults of real servers by name; or an export."""

import errno
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

from chainq.catalog.identifiers import is_loopback
from chainq.cli.output import write, write_names
from chainq.cli.tool_options import ServeOptions
from chainq.demo.chain import DEFAULT_TIP, GENESIS_TIME, SPACING, Chain
from chainq.demo.faults import Faults, listed_faults
from chainq.errors import UsageError
from chainq.process.serving import Answer, Handler, Server
from chainq.text.sanitize import excerpt, printable


def run(given: ServeOptions) -> None:
    """Serve the sample chain or a data set until a signal ends it; its URL is the one line on standard output.

    Raises UsageError, also for an address that cannot be had.
    """
    if "help" in (given.fault or ()):
        write_names(listed_faults())
        return
    try:
        handler = _sample(given) if given.lake is None else _stored(given, given.lake)
        with Server(partial(_logged, handler) if given.verbose else handler, given.host, given.port) as server:
            shown = f"[{given.host}]" if ":" in given.host else given.host
            write(f"http://{shown}:{server.server_port}/\n")
            server.serve_forever(poll_interval=0.1)
    except OSError as error:
        hint = "--port 0 takes any free port" if error.errno == errno.EADDRINUSE else ""
        raise UsageError(f"cannot listen on {given.host}:{given.port}: {error.strerror}", hint) from None


def _sample(given: ServeOptions) -> Handler:
    """Return what answers for the sample chain. Raises UsageError."""
    from chainq.demo.service import SampleService, answer

    given.exclude("sealed", "tip", "now")
    if not is_loopback(given.host):
        host = printable(given.host)
        raise UsageError(f"invalid --host {host!r}: expected a loopback address such as 127.0.0.1 or ::1")
    try:
        faults = Faults(*given.fault or ())
    except ValueError as error:
        raise UsageError(f"invalid --fault: {error}") from None
    chain, tip = _chain(given)
    return partial(answer, SampleService(chain, faults, given.dialect, given.shuffle, tip=tip))


def _stored(given: ServeOptions, destination: str) -> Handler:
    """Return what answers for a data set. Raises UsageError."""
    from chainq.lake.service import StoredService, answer

    given.exclude("lake", *ServeOptions.__annotations__.keys() - {"lake", "host", "port", "verbose"})
    return partial(answer, StoredService(destination), given.host)


def _chain(given: ServeOptions) -> tuple[Chain, Callable[[], int]]:
    """Return the chain, and what returns the height of its tip at each call.

    Raises UsageError, also without the SDK if a sealed chain needs it.
    """
    if given.sealed is not None:
        from chainq.demo.sealed import SealedChain

        chain: Chain = SealedChain(given.seed, given.sealed)
    elif given.now and given.tip is None:  # a server that is started again has the same blocks at the same times
        chain = Chain(given.seed, Chain().height_at(time.time()))
    else:
        tip = DEFAULT_TIP if given.tip is None else given.tip
        chain = Chain(given.seed, tip, genesis=int(time.time()) - SPACING * (tip + 1) if given.now else GENESIS_TIME)
    if not given.now:
        return chain, lambda: chain.tip
    return chain, lambda: max(chain.tip, chain.height_at(time.time()))  # the clock may be set back


def _logged(handler: Handler, asked: str, headers: Mapping[str, str], body: bytes) -> Answer:
    """Return the answer to a request; print its HTTP status and the request to stderr."""
    answer = handler(asked, headers, body)
    with suppress(OSError):  # stderr may be closed; calls are answered all the same
        sys.stderr.write(f"{answer[0]} {excerpt(body.decode(errors='replace'))}\n")
    return answer
