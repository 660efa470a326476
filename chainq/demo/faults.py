"""Faults: what a server can do wrong, as values.

Nothing here acts: `faulty_results.py` applies the faults of arguments and rows, `service.py` those of the envelope, the
two transports those of time. Each fault was seen on a deployed server (docs/protocol.md) or comes from a proxy in front
of one.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chainq.demo.ids import WORD, mix
from chainq.demo.list_faults import ListFault

if TYPE_CHECKING:
    from chainq.demo.plants import Plant

FAIL, TRUNCATE, WRONG_ID, EMPTY, CAP, STALE_TIP, DUPLICATE, ORDER, LAG = range(9)
"""What a share is about, so that the shares of one server hit different calls."""

STALE_BLOCKS = 10
"""How far behind a stale tip is (`stale_tip_rate`)."""


@dataclass(frozen=True, slots=True)
class Faults:
    """The faults of one service; the defaults mean a server without any. A share is a number from 0 to 1; calls are
    counted from 0 over the life of the service.

    Time:
    latency: seconds before each response.
    drip: seconds between two bytes of a response, its head included (in process: of its body); 0: all at once.

    Refusals:
    rate_limit: calls of each method allowed in a window, then HTTP 429 without JSON; 0: no limit.
    rate_window: seconds that a window lasts.
    retry_after: seconds sent as Retry-After with 429; None: no such header, as deployed servers do.
    fail_rate: share of calls that get HTTP 503 and HTML.
    database_down: the calls, by number, that get a JSON-RPC error with the code "57P01" and HTTP 200, as during a
        restart of the database.
    heavy_rows: results of more rows than this are errors with code 0, "query timeout"; 0: never.

    Envelope:
    truncate_rate: share of responses whose body ends in the middle although Content-Length says otherwise.
    wrong_id_rate: share of responses with another `id` than the request.
    gzip: bodies are compressed for callers that accept it (no fault, but a property in which servers differ).

    Ranges:
    clamp_heights: only the first so many heights of a range are served, silently; 0: all.
    empty_above: a range of more heights than this has an empty result; 0: never.
    exclusive_start: the first height of a range is left out.
    inclusive_end: the height `end` of a range is served too.
    neighbour_rows: the first row of the height `end` is served too.

    Pages:
    row_cap: page sizes above this are lowered to it, silently; 0: no cap.
    cap_varies: the row cap of each call is `row_cap` or twice that, at random.
    byte_cap: rows beyond so many bytes are left out, silently, but never the first one; 0: no cap.
    ignore_page_size: the page-size parameter is not read.
    offset_by_asked: page n starts at n times the requested page size, also if a row cap lowered it; by default at n
        times the lowered one.
    no_pages: every page but page 0 is empty.
    repeat_pages: the page parameter is not read: every page is page 0.
    result_window: rows after so many of a range do not exist for any page; 0: no limit.

    Rows:
    empty_rate: share of results of ranges and pages that are empty.
    duplicate_rate: share of rows that come twice.
    shuffle_heights: rows are in no order, across heights.
    missing_height: a block that getBlocks, getChainBlocks and block leave out.
    broken_link: a height whose `previous_hash` is wrong in getBlocks and getChainBlocks.
    deployed_lists: lists leave out what those of deployed servers do (`deployed.py`).
    plant: single rows that the database holds wrongly (`plants.py`).
    lists: what is wrong about the lists with pages (`list_faults.py`).

    Tip and reorgs:
    stale_tip_rate: share of calls of latest/block that name a block STALE_BLOCKS heights below the tip.
    lag_blocks: all methods but latest/block lack the last so many blocks, as on a replica that is behind.
    lag_rate: share of calls that go to that replica.
    late_records: the rows of a block's records and transitions appear so many calls after the block; blocks below
        the tip of the first call have theirs.
    reorg_at: from this height on there are other blocks with other rows, once `reorg_after` calls were made; None:
        never.
    reorg_after: calls before the reorg.

    fault_seed: which calls and rows the shares hit: the same for the same seed and number of the call; and which rows
        the plants are.
    """

    latency: float = 0.0
    drip: float = 0.0
    rate_limit: int = 0
    rate_window: float = 60.0
    retry_after: int | None = None
    fail_rate: float = 0.0
    database_down: range = range(0)
    heavy_rows: int = 0
    truncate_rate: float = 0.0
    wrong_id_rate: float = 0.0
    gzip: bool = False
    clamp_heights: int = 0
    empty_above: int = 0
    exclusive_start: bool = False
    inclusive_end: bool = False
    neighbour_rows: bool = False
    row_cap: int = 0
    cap_varies: bool = False
    byte_cap: int = 0
    ignore_page_size: bool = False
    offset_by_asked: bool = False
    no_pages: bool = False
    repeat_pages: bool = False
    result_window: int = 0
    empty_rate: float = 0.0
    duplicate_rate: float = 0.0
    shuffle_heights: bool = False
    missing_height: int | None = None
    broken_link: int | None = None
    deployed_lists: bool = False
    plant: "tuple[Plant, ...]" = ()
    lists: tuple[ListFault, ...] = ()
    stale_tip_rate: float = 0.0
    lag_blocks: int = 0
    lag_rate: float = 1.0
    late_records: int = 0
    reorg_at: int | None = None
    reorg_after: int = 10
    fault_seed: int = 0

    def strikes(self, share: float, kind: int, number: int) -> bool:
        """Return whether a fault of that share hits the call of that number; `kind` is one of the constants above."""
        return share > 0 and self.word(kind, number) < share * (WORD + 1)

    def word(self, kind: int, number: int) -> int:
        """Return a word (64 bits) that looks random, for the call of that number."""
        return mix(number << 8 | kind, mix(self.fault_seed & WORD, 0xFA17))


NO_FAULTS = Faults()
"""A server without faults."""
