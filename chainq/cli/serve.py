"""`chainq serve`: the sample chain on a loopback socket, with the faults of real servers as options; or an export.

No `from __future__ import annotations` here: Typer reads the annotations.
"""

import math
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from chainq.cli.options import Group
from chainq.errors import UsageError

if TYPE_CHECKING:
    from chainq.demo.chain import Chain
    from chainq.demo.planted import Planted

FAULTS = "Faults"


def _fault(
    name: str, metavar: str, text: str, *, low: float | None = None, high: float | None = None, shown: bool = False
) -> Any:
    """Return an option under the heading of the faults; `shown`: its default is worth showing."""
    return Option(name, metavar=metavar, rich_help_panel=FAULTS, help=text, min=low, max=high, show_default=shown)


def _switch(name: str, text: str) -> Any:
    return Option(name, rich_help_panel=FAULTS, help=text)


def _share(name: str, text: str) -> Any:
    return _fault(name, "SHARE", text, low=0.0, high=1.0)


class ServeOptions(Group):
    """The sample chain and where it listens."""

    port: Annotated[int, Option("--port", metavar="N", min=0, max=65535, help="TCP port; 0: any free one.")] = 8545
    host: Annotated[str, Option("--host", metavar="ADDRESS", help="A loopback address; any address with --lake.")] = (
        "127.0.0.1"
    )
    dialect: Annotated[str, Option("--dialect", metavar="NAME", help="chain or aleo.")] = "chain"
    tip: Annotated[
        int | None, Option("--tip", "--newest", metavar="H", min=-1, help="Tip height; -1: an empty chain.")
    ] = None
    grow: Annotated[
        float, Option("--grow", metavar="SECONDS", min=0.0, help="Seconds between new blocks; 0: no new blocks.")
    ] = 0.0
    now: Annotated[
        bool, Option("--now", help="The newest block is seconds old, and new ones come as their times are reached.")
    ] = False
    seed: Annotated[int, Option("--seed", metavar="N", help="Seed for the chain.")] = 0
    dense_height: Annotated[
        str | None, Option("--dense-height", metavar="H:N", help="Number of records at height H.")
    ] = None
    owner: Annotated[
        str | None,
        Option("--owner", metavar="ADDRESS", help="Plant records of this address, not of the published test key."),
    ] = None
    sealed: Annotated[
        int | None,
        Option(
            "--sealed",
            metavar="N",
            min=1,
            max=100_000,
            help="A chain of N blocks with true hashes; making 50 takes about a second.",
        ),
    ] = None
    shuffle: Annotated[bool, Option("--shuffle/--no-shuffle", help="Shuffle the rows inside each height.")] = True
    gzip: Annotated[bool, Option("--gzip", help="Compress responses for clients that accept it.")] = False
    lake: Annotated[
        str | None, Option("--lake", metavar="DEST", help="Serve the export in this folder or at this URL instead.")
    ] = None
    verbose: Annotated[bool, Option("--verbose", "-v", help="Log every call to stderr.")] = False


class FaultOptions(Group):
    """The faults of the service: each field of `chainq.demo.faults.Faults` but `gzip`, which is no fault."""

    latency: Annotated[float, _fault("--latency", "SECONDS", "Seconds before each response.", low=0.0)] = 0.0
    drip: Annotated[float, _fault("--drip", "SECONDS", "Seconds between single bytes of a response.", low=0.0)] = 0.0
    rate_limit: Annotated[int, _fault("--rate-limit", "N", "HTTP 429 after N calls of a method.", low=0)] = 0
    rate_window: Annotated[
        float, _fault("--rate-window", "SECONDS", "Length of the rate-limit window.", low=0.0, shown=True)
    ] = 60.0
    retry_after: Annotated[
        int | None, _fault("--retry-after", "SECONDS", "Retry-After header of a 429 response.", low=0)
    ] = None
    fail_rate: Annotated[float, _share("--fail-rate", "Share of 503 responses.")] = 0.0
    database_down: Annotated[
        str | None, _fault("--database-down", "N", "JSON-RPC error 57P01 for the first N calls, or for calls A:B.")
    ] = None
    heavy_rows: Annotated[
        int, _fault("--heavy-rows", "N", "Query timeout for responses of more than N rows.", low=0)
    ] = 0
    truncate_rate: Annotated[float, _share("--truncate-rate", "Share of bodies that end early.")] = 0.0
    wrong_id_rate: Annotated[float, _share("--wrong-id-rate", "Share of responses with a wrong id.")] = 0.0
    clamp_heights: Annotated[
        int, _fault("--clamp-heights", "N", "Silently serve only the first N heights of a range.", low=0)
    ] = 0
    empty_above: Annotated[
        int, _fault("--empty-above", "N", "Empty results for ranges of more than N heights.", low=0)
    ] = 0
    exclusive_start: Annotated[bool, _switch("--exclusive-start", "Leave out the first height of a range.")] = False
    inclusive_end: Annotated[bool, _switch("--inclusive-end", "Include the end height of a range.")] = False
    neighbour_rows: Annotated[bool, _switch("--neighbour-rows", "Include the first row after the range.")] = False
    row_cap: Annotated[int, _fault("--row-cap", "N", "Silently cap responses at N rows.", low=0)] = 0
    cap_varies: Annotated[bool, _switch("--cap-varies", "Double the row cap of half of the calls, at random.")] = False
    byte_cap: Annotated[int, _fault("--byte-cap", "N", "Silently cap responses at N bytes of rows.", low=0)] = 0
    ignore_page_size: Annotated[bool, _switch("--ignore-page-size", "Ignore the page size.")] = False
    page_offset: Annotated[
        str,
        _fault(
            "--page-offset", "KIND", "Page offset: page number times the size asked, or the size given.", shown=True
        ),
    ] = "given"
    no_pages: Annotated[bool, _switch("--no-pages", "Empty results for every page but page 0.")] = False
    repeat_pages: Annotated[bool, _switch("--repeat-pages", "Ignore the page number.")] = False
    result_window: Annotated[
        int, _fault("--result-window", "N", "No pages beyond the first N rows of a range.", low=0)
    ] = 0
    empty_rate: Annotated[float, _share("--empty-rate", "Share of empty results.")] = 0.0
    duplicate_rate: Annotated[float, _share("--duplicate-rate", "Share of rows that are sent twice.")] = 0.0
    shuffle_heights: Annotated[bool, _switch("--shuffle-heights", "Return rows in random order of height.")] = False
    missing_height: Annotated[int | None, _fault("--missing-height", "H", "Leave out a block.", low=0)] = None
    broken_link: Annotated[int | None, _fault("--broken-link", "H", "Give a block a wrong previous_hash.", low=0)] = (
        None
    )
    deployed_lists: Annotated[
        bool, _switch("--deployed-lists", "Leave out of lists what deployed servers do not list.")
    ] = False
    plant: Annotated[
        list[str] | None,
        _fault("--plant", "KIND:HEIGHT", "Hold one row wrongly, such as lost-record:672; may be repeated."),
    ] = None
    fault: Annotated[
        list[str] | None,
        _fault("--fault", "NAME[:N]", "A list that is wrong in one plain way, such as height-cap:5; may be repeated."),
    ] = None
    stale_tip_rate: Annotated[float, _share("--stale-tip-rate", "Share of latest/block calls with an old tip.")] = 0.0
    lag_blocks: Annotated[
        int, _fault("--lag-blocks", "N", "Hide the last N blocks from all methods but latest/block.", low=0)
    ] = 0
    lag_rate: Annotated[
        float,
        _fault("--lag-rate", "SHARE", "Share of calls that --lag-blocks is about.", low=0.0, high=1.0, shown=True),
    ] = 1.0
    late_records: Annotated[
        int, _fault("--late-records", "CALLS", "Calls until a new block's records appear.", low=0)
    ] = 0
    reorg_at: Annotated[int | None, _fault("--reorg-at", "H", "Replace the blocks from H on.", low=0)] = None
    reorg_after: Annotated[
        int, _fault("--reorg-after", "CALLS", "Calls before --reorg-at takes effect.", low=0, shown=True)
    ] = 10
    fault_seed: Annotated[int, _fault("--fault-seed", "N", "Seed for faults.")] = 0


class ServeCommand(ServeOptions, FaultOptions):
    """What `serve` is given."""


def serve(given: ServeCommand) -> None:
    """Serve the sample chain until a signal ends it; its URL is the one line on standard output. Raises UsageError."""
    from chainq.catalog.identifiers import is_loopback
    from chainq.demo.faults import Faults
    from chainq.demo.http_server import serve as serve_demo
    from chainq.demo.list_faults import parse_fault
    from chainq.demo.plants import parse_plant
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
    if given.page_offset not in ("asked", "given"):
        raise UsageError(f"invalid --page-offset {given.page_offset!r}: expected asked or given")
    faults: dict[str, Any] = {name: getattr(given, name) for name in ("gzip", *FaultOptions.__annotations__)}
    for name, value in {"grow": grow, **faults}.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise UsageError(f"invalid --{name.replace('_', '-')} {value}: expected a finite number")
    if 0 < grow < 1e-3:
        raise UsageError(f"invalid --grow {grow:g}: expected 0, or at least 0.001 seconds")
    faults["database_down"] = _calls(given.database_down)
    faults["offset_by_asked"] = faults.pop("page_offset") == "asked"
    with _checked("--plant"):
        faults["plant"] = tuple(map(parse_plant, given.plant or ()))
    with _checked("--fault"):
        faults["lists"] = tuple(map(parse_fault, faults.pop("fault") or ()))

    def service() -> Service:
        chain, tip = _chain(given)
        with _checked("--plant"):
            return Service(chain, Faults(**faults), dialect, given.shuffle, tip=tip)

    with _listening(given) as ready:
        serve_demo(service, host, given.port, ready=ready, log=_log if given.verbose else None)


def _serve_lake(given: ServeCommand, destination: str) -> None:
    """Serve a data set until a signal ends it. Raises UsageError."""
    from chainq.stored import http
    from chainq.stored.service import StoredService

    allowed = {"lake", "host", "port", "verbose"}
    for name, value in vars(given).items():
        if name not in allowed and value != getattr(ServeCommand, name):
            raise UsageError(f"--{name.replace('_', '-')} cannot be combined with --lake")
    http.check_packages()
    service = StoredService(destination)
    with _listening(given) as ready:
        http.serve(service, given.host, given.port, ready, verbose=given.verbose)


@contextmanager
def _listening(given: ServeCommand) -> Iterator[Callable[[int], None]]:
    """Yield what prints the URL, once the port is known. Raises UsageError for an address that cannot be had."""
    from chainq.sinks.open import open_sink

    def ready(port: int) -> None:
        shown = f"[{given.host}]" if ":" in given.host else given.host
        with open_sink(None) as sink:
            sink.write(f"http://{shown}:{port}/\n".encode())

    try:
        yield ready
    except OSError as error:
        raise UsageError(f"cannot listen on {given.host}:{given.port}: {error.strerror}") from None


def _chain(given: ServeCommand) -> "tuple[Chain, Callable[[], int]]":
    """Return the chain, and what returns the height of its tip at each call.

    Raises UsageError, also without the SDK if that is needed.
    """
    import time

    from chainq.demo.chain import DEFAULT_TIP, GENESIS_TIME, SPACING, Chain
    from chainq.demo.planted import PUBLISHED

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
    planted = _planted(given.owner, len(PUBLISHED)) if given.owner else PUBLISHED
    chain = Chain(given.seed, first, _dense(given.dense_height), planted, genesis)
    began = time.monotonic()

    def grown() -> int:
        return first + int((time.monotonic() - began) / given.grow)

    def by_the_clock() -> int:
        return max(first, chain.height_at(time.time()))  # which may be set back

    return chain, by_the_clock if given.now else grown if given.grow else lambda: first


def _sealed(given: ServeCommand, blocks: int) -> "Chain":
    """Return a chain with true hashes. Raises UsageError."""
    others = {
        "--tip": given.tip,
        "--grow": given.grow or None,
        "--now": given.now or None,
        "--owner": given.owner,
        "--reorg-at": given.reorg_at,
        "--deployed-lists": given.deployed_lists or None,
    }
    for option, value in others.items():
        if value is not None:
            raise UsageError(f"--sealed cannot be combined with {option}")
    from chainq.demo.sealed import SealedChain

    return SealedChain(given.seed, blocks, _dense(given.dense_height))


def _log(status: int, body: bytes) -> None:
    """Print a call to stderr, with the HTTP status of its response."""
    from chainq.text.sanitize import excerpt

    with suppress(OSError):  # stderr may be closed; calls are answered all the same
        sys.stderr.write(f"{status} {excerpt(body.decode(errors='replace'))}\n")


def _planted(owner: str, count: int) -> "tuple[Planted, ...]":
    """Return fresh records of an address. Raises UsageError, also without the SDK that makes them."""
    from chainq.demo import curve
    from chainq.demo.planted import SENDER, Planted
    from chainq.wallet.sample import sample_records

    planted = []
    for made in sample_records(owner, count, SENDER):
        x, y = ("", "") if made.scalar is None else map(str, curve.multiple(made.scalar))
        planted.append(Planted(made.ciphertext, x, y, made.owner_x, made.output_id, made.sender_ciphertext))
    return tuple(planted)


def _calls(text: str | None) -> range:
    """Return the numbers of the calls that `--database-down` names, from 0: `5` the first five, `5:9` calls 5 to 8."""
    found = re.fullmatch(r"(?:([0-9]{1,9}):)?([0-9]{1,9})", text or "0")
    if not found:
        raise UsageError(f"invalid --database-down {text!r}: expected a number of calls, or A:B")
    return range(int(found[1] or 0), int(found[2]))


@contextmanager
def _checked(option: str) -> Iterator[None]:
    """Turn what is wrong with the value of an option into a UsageError."""
    try:
        yield
    except ValueError as error:
        raise UsageError(f"invalid {option}: {error}") from None


def _dense(text: str | None) -> tuple[int, int] | None:
    """Return the height and the number of records that `--dense-height` names."""
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]{1,9}):([0-9]{1,6})", text)
    if not found:
        raise UsageError(f"invalid --dense-height {text!r}: expected H:N with up to 999999 records")
    return int(found[1]), int(found[2])
