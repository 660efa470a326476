"""Faults: what a server can do wrong, as values. Nothing here acts; `answers.py`, `service.py` and the two transports
do.

Each fault is one that was seen (docs/protocol.md) or that a proxy in front produces.
"""

from dataclasses import dataclass

from chainq.demo.ids import WORD, mix


@dataclass(frozen=True, slots=True)
class Faults:
    """The faults of one service; the defaults mean a server without any.

    latency: seconds before each answer.
    rate_limit: calls allowed in a window for each method, then HTTP 429 without JSON; 0: no limit.
    rate_window: seconds a window lasts.
    retry_after: seconds sent as Retry-After with 429; None: no such header, as deployed servers do.
    fail_rate: share (0 to 1) of calls answered with HTTP 503 and HTML.
    truncate_rate: share of answers whose body ends in the middle although Content-Length says otherwise.
    wrong_id_rate: share of answers that carry another `id` than the request.
    heavy_rows: answers with more rows than this are errors with code 0, "query timeout"; 0: never.
    row_cap: page sizes above this are lowered to it, silently; 0: no cap.
    ignore_page_size: the page-size parameter is not read.
    missing_height: a block that getBlocks, getChainBlocks and block leave out.
    broken_link: a height whose `previous_hash` is wrong in getBlocks and getChainBlocks.
    gzip: bodies are compressed for callers that accept it (no fault, but a habit that differs between servers).
    fault_seed: which calls the shares hit: the same seed and number of the call, the same luck.
    """

    latency: float = 0.0
    rate_limit: int = 0
    rate_window: float = 60.0
    retry_after: int | None = None
    fail_rate: float = 0.0
    truncate_rate: float = 0.0
    wrong_id_rate: float = 0.0
    heavy_rows: int = 0
    row_cap: int = 0
    ignore_page_size: bool = False
    missing_height: int | None = None
    broken_link: int | None = None
    gzip: bool = False
    fault_seed: int = 0

    def strikes(self, rate: float, kind: int, turn: int) -> bool:
        """Says whether the call number `turn` is hit by a fault of that share; `kind` (a small number) keeps faults
        apart."""
        return rate > 0 and mix(turn << 8 | kind, mix(self.fault_seed & WORD, 0xFA17)) < rate * (WORD + 1)


NO_FAULTS = Faults()
"""A server without faults."""
