"""`chainq serve`: the sample chain on a loopback socket, with the faults of real servers by name; or an export.

No `from __future__ import annotations` here: Typer reads the annotations.
"""

import errno
import re
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from chainq.cli.build import parameters
from chainq.cli.options import Group, option, switch
from chainq.errors import UsageError

if TYPE_CHECKING:
    from chainq.demo.chain import Chain


class ServeOptions(Group):
    """Serve the sample chain over HTTP, with the faults of real servers.

    Listens on a loopback address, prints its URL and runs until interrupted.
    """

    port: int = option("N", "TCP port; 0: any free one.", 8545, min=0, max=65535)
    host: str = option("ADDRESS", "A loopback address; any address with --lake.", "127.0.0.1")
    dialect: str = option("NAME", "chain or aleo.", "chain")
    tip: int | None = option("H", "Tip height; -1: an empty chain.", names="--tip --newest", min=-1)
    grow: float = option("SECONDS", "Seconds between new blocks; 0: no new blocks.", 0.0, min=0.0)
    now: bool = switch("The newest block is seconds old, and new ones come as their times are reached.")
    seed: int = option("N", "Seed for the chain.", 0)
    dense_height: str | None = option("H:N", "Number of records at height H.")
    sealed: int | None = option(
        "N", "A chain of N blocks with true hashes; making 50 takes about a second.", min=1, max=100_000
    )
    shuffle: bool = switch("Shuffle the rows inside each height.", default=True, names="--shuffle/--no-shuffle")
    lake: str | None = option("DEST", "Serve the export in this folder or at this URL instead.")
    fault: list[str] | None = option("NAME[:N]", "A fault of the server, such as row-cap:700.")
    verbose: bool = switch("Log every request to stderr.", names="--verbose -v")


def fault_names() -> dict[str, str]:
    """Return the names of all faults, by the stage of a call."""
    from chainq.demo import faults  # noqa: F401  # fills the registry
    from chainq.demo.registry import FAULTS, STAGES, shown

    return {stage: ", ".join(shown(name) for name, one in FAULTS.items() if one.stage == stage) for stage in STAGES}


def run(given: ServeOptions) -> None:
    """Serve the sample chain until a signal ends it; its URL is the one line on standard output. Raises UsageError."""
    from chainq.catalog.identifiers import is_loopback
    from chainq.demo.faults import Faults
    from chainq.demo.http_server import serve as serve_demo
    from chainq.demo.service import Service
    from chainq.demo.wire import DIALECTS
    from chainq.text.sanitize import printable

    if given.lake is not None:
        _serve_lake(given, given.lake)
        return
    host, dialect, grow = given.host, given.dialect, given.grow
    if not is_loopback(host):
        raise UsageError(f"invalid --host {printable(host)!r}: expected a loopback address such as 127.0.0.1 or ::1")
    if dialect not in DIALECTS:
        raise UsageError(f"unknown dialect {dialect!r}", f"known: {', '.join(DIALECTS)}")
    if 0 < grow < 1e-3:
        raise UsageError(f"invalid --grow {grow:g}: expected 0, or at least 0.001 seconds")
    try:
        faults = Faults(*given.fault or ())
    except ValueError as error:
        raise UsageError(f"invalid --fault: {error}") from None
    if given.sealed is not None and "reorg-at" in faults:
        raise UsageError("--sealed cannot be combined with --fault reorg-at")

    chain, tip = _chain(given)
    service = Service(chain, faults, dialect, given.shuffle, tip=tip)
    with _listening(given) as ready:
        serve_demo(service, host, given.port, ready, _log if given.verbose else None)


def _serve_lake(given: ServeOptions, destination: str) -> None:
    """Serve a data set until a signal ends it. Raises UsageError."""
    from chainq.lake import http
    from chainq.lake.service import StoredService

    _refuse(given, "{} cannot be combined with --lake", vars(given).keys() - {"lake", "host", "port", "verbose"})
    service = StoredService(destination)
    http.check_packages()
    with _listening(given) as ready:
        http.serve(service, given.host, given.port, ready, verbose=given.verbose)


def _refuse(given: ServeOptions, message: str, names: Collection[str]) -> None:
    """Raise UsageError, with its name in the message, for the first of these options that was given."""
    for one in parameters(ServeOptions):
        if one.name in names and getattr(given, one.name) != one.default:
            raise UsageError(message.format(f"--{one.name.replace('_', '-')}"))


@contextmanager
def _listening(given: ServeOptions) -> Iterator[Callable[[int], None]]:
    """Yield what prints the URL, once the port is known. Raises UsageError for an address that cannot be had."""
    from chainq.sinks.open import open_sink

    def ready(port: int) -> None:
        shown = f"[{given.host}]" if ":" in given.host else given.host
        with open_sink(None) as sink:
            sink.write(f"http://{shown}:{port}/\n".encode())

    try:
        yield ready
    except OSError as error:
        hint = "--port 0 takes any free port" if error.errno == errno.EADDRINUSE else ""
        raise UsageError(f"cannot listen on {given.host}:{given.port}: {error.strerror}", hint) from None


def _chain(given: ServeOptions) -> "tuple[Chain, Callable[[], int]]":
    """Return the chain, and what returns the height of its tip at each call.

    Raises UsageError, also without the SDK if a sealed chain needs it.
    """
    import time

    from chainq.demo.chain import DEFAULT_TIP, GENESIS_TIME, SPACING, Chain

    if given.now and given.grow:
        raise UsageError("--now and --grow exclude each other", "--now has a new block about every 10 seconds")
    if given.sealed is not None:
        sealed = _sealed(given, given.sealed)
        return sealed, lambda: sealed.tip
    first, genesis = DEFAULT_TIP if given.tip is None else given.tip, GENESIS_TIME
    if given.now and given.tip is None:  # a server that is started again has the same blocks at the same times
        first = Chain().height_at(time.time())
    elif given.now:
        genesis = int(time.time()) - SPACING * (first + 1)
    chain = Chain(given.seed, first, _dense(given.dense_height), genesis=genesis)
    began = time.monotonic()

    def grown() -> int:
        return first + int((time.monotonic() - began) / given.grow)

    def by_the_clock() -> int:
        return max(first, chain.height_at(time.time()))  # which may be set back

    return chain, by_the_clock if given.now else grown if given.grow else lambda: first


def _sealed(given: ServeOptions, blocks: int) -> "Chain":
    """Return a chain with true hashes. Raises UsageError."""
    _refuse(given, "--sealed cannot be combined with {}", ("tip", "grow", "now"))
    from chainq.demo.sealed import SealedChain

    return SealedChain(given.seed, blocks, _dense(given.dense_height))


def _log(status: int, body: bytes) -> None:
    """Print a call to stderr, with the HTTP status of its response."""
    from chainq.text.sanitize import excerpt

    with suppress(OSError):  # stderr may be closed; calls are answered all the same
        sys.stderr.write(f"{status} {excerpt(body.decode(errors='replace'))}\n")


def _dense(text: str | None) -> tuple[int, int] | None:
    """Return the height and the number of records that `--dense-height` names."""
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]{1,9}):([0-9]{1,6})", text)
    if not found:
        raise UsageError(f"invalid --dense-height {text!r}: expected H:N with up to 999999 records")
    return int(found[1]), int(found[2])
