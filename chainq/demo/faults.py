"""Faults: what a server can do wrong, as values.

`faulty_results.py` applies faults in arguments and rows, `service.py` faults in the envelope, and the two transports
delays. Each fault was seen on a deployed server (docs/protocol.md) or comes from a proxy in front of one.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from chainq.demo.ids import WORD, mix
from chainq.demo.list_faults import ListFault

if TYPE_CHECKING:
    from chainq.demo.plants import Plant

FAIL, TRUNCATE, WRONG_ID, EMPTY, CAP, STALE_TIP, DUPLICATE, ORDER, LAG = range(9)
"""What a share is about, so that the shares of one server hit different calls."""

STALE_BLOCKS = 10
"""How far behind a stale tip is (`stale_tip_rate`)."""


class Told(NamedTuple):
    """The `chainq serve` option for a fault: the metavar of its value, empty for a switch, and the help.

    `low`, `high`: bounds of the value, in its type. `shown`: the help shows the default.
    """

    metavar: str
    text: str
    low: float | None = None
    high: float | None = None
    shown: bool = False


def _option(default: object, *told: Any, **more: Any) -> Any:
    """Return a field with that default; the other arguments are those of `Told`."""
    return field(default=default, metadata={"told": Told(*told, **more)})


def _share(text: str) -> Any:
    return _option(0.0, "SHARE", text, 0.0, 1.0)


def _count(text: str) -> Any:
    return _option(0, "N", text, 0)


def _switch(text: str) -> Any:
    return _option(False, "", text)


@dataclass(frozen=True, slots=True)
class Faults:
    """The faults of one service; the defaults mean a server without faults. A share is a number from 0 to 1; calls are
    counted from 0 over the life of the service. Each field contains its help in `chainq serve`. Details:

    drip: the head of a response included (in process: its body alone).
    rate_limit: HTTP 429 without JSON. retry_after: None for no such header, as deployed servers do.
    database_down: the calls, by number, with the error "57P01" and HTTP 200, as during a restart of the database.
    heavy_rows: errors with code 0, "query timeout".
    truncate_rate: Content-Length says otherwise.
    gzip: bodies are compressed for callers that accept it (not a fault, but servers differ in it).
    byte_cap: never truncates the first row.
    offset_by_asked: page n starts at n times the requested page size, even if a row cap lowered it; by default at n
        times the lowered size.
    result_window: no page returns rows beyond that many of a range.
    missing_height, broken_link: in getBlocks and getChainBlocks; missing_height in block, too.
    deployed_lists: see `deployed.py`. plant: `plants.py`. lists: `list_faults.py`.
    stale_tip_rate: STALE_BLOCKS heights below the tip.
    lag_blocks: as on a lagging replica that gets the share `lag_rate` of the calls.
    late_records: transitions, too; blocks below the tip of the first call are complete.
    reorg_at: other blocks with other rows, after `reorg_after` calls.
    fault_seed: together with the number of a call, decides which calls and rows the shares hit; and which rows the
        plants are.
    """

    latency: float = _option(0.0, "SECONDS", "Seconds before each response.", 0.0)
    drip: float = _option(0.0, "SECONDS", "Seconds between single bytes of a response.", 0.0)
    rate_limit: int = _count("HTTP 429 after N calls of a method.")
    rate_window: float = _option(60.0, "SECONDS", "Length of the rate-limit window.", 0.0, shown=True)
    retry_after: int | None = _option(None, "SECONDS", "Retry-After header of a 429 response.", 0)
    fail_rate: float = _share("Share of 503 responses.")
    database_down: range = _option(range(0), "N", "JSON-RPC error 57P01 for the first N calls, or for calls A:B.")
    heavy_rows: int = _count("Query timeout for responses of more than N rows.")
    truncate_rate: float = _share("Share of bodies that end early.")
    wrong_id_rate: float = _share("Share of responses with a wrong id.")
    gzip: bool = False
    clamp_heights: int = _count("Silently serve only the first N heights of a range.")
    empty_above: int = _count("Empty results for ranges of more than N heights.")
    exclusive_start: bool = _switch("Leave out the first height of a range.")
    inclusive_end: bool = _switch("Include the end height of a range.")
    neighbour_rows: bool = _switch("Include the first row after the range.")
    row_cap: int = _count("Silently cap responses at N rows.")
    cap_varies: bool = _switch("Double the row cap of half of the calls, at random.")
    byte_cap: int = _count("Silently cap responses at N bytes of rows.")
    ignore_page_size: bool = _switch("Ignore the page size.")
    offset_by_asked: bool = _option(
        False, "KIND", "Page offset: page number times the size asked, or the size given.", shown=True
    )
    no_pages: bool = _switch("Empty results for every page but page 0.")
    repeat_pages: bool = _switch("Ignore the page number.")
    result_window: int = _count("No pages beyond the first N rows of a range.")
    empty_rate: float = _share("Share of empty results.")
    duplicate_rate: float = _share("Share of rows that are sent twice.")
    shuffle_heights: bool = _switch("Return rows in random order of height.")
    missing_height: int | None = _option(None, "H", "Leave out a block.", 0)
    broken_link: int | None = _option(None, "H", "Give a block a wrong previous_hash.", 0)
    deployed_lists: bool = _switch("Leave out of lists what deployed servers do not list.")
    plant: "tuple[Plant, ...]" = _option(  # noqa: RUF009  # a tuple, whose type is not imported at run time
        (),
        "KIND:HEIGHT",
        "Return one row wrongly, such as lost-record:672.",
    )
    lists: tuple[ListFault, ...] = _option(
        (), "NAME[:N]", "A list that is wrong in one plain way, such as height-cap:5."
    )
    stale_tip_rate: float = _share("Share of latest/block calls with an old tip.")
    lag_blocks: int = _count("Hide the last N blocks from all methods but latest/block.")
    lag_rate: float = _option(1.0, "SHARE", "Share of calls that --lag-blocks is about.", 0.0, 1.0, shown=True)
    late_records: int = _option(0, "CALLS", "Calls until a new block's records appear.", 0)
    reorg_at: int | None = _option(None, "H", "Replace the blocks from H on.", 0)
    reorg_after: int = _option(10, "CALLS", "Calls before --reorg-at takes effect.", 0, shown=True)
    fault_seed: int = _option(0, "N", "Seed for faults.")

    def strikes(self, share: float, kind: int, number: int) -> bool:
        """Return whether a fault with this share hits call number `number`; `kind` is one of the constants above."""
        return share > 0 and self.word(kind, number) < share * (WORD + 1)

    def word(self, kind: int, number: int) -> int:
        """Return a pseudo-random word (64 bits) for the call with that number."""
        return mix(number << 8 | kind, mix(self.fault_seed & WORD, 0xFA17))


NO_FAULTS = Faults()
"""A server without faults."""
