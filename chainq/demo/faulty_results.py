"""FaultyResults: the results of a server with faults. It changes arguments beforehand and rows afterward."""

from collections.abc import Iterator
from itertools import islice
from threading import Lock
from typing import Any

import orjson

from chainq.demo.chain import Chain, Row
from chainq.demo.deployed import Deployed
from chainq.demo.faults import CAP, DUPLICATE, EMPTY, LAG, ORDER, STALE_BLOCKS, STALE_TIP, Faults
from chainq.demo.faulty_lists import POOL_EMPTY, Asked, FaultyLists, Item, PoolEmptyError
from chainq.demo.fork import Fork
from chainq.demo.results import Call, Results, RpcError, encoded, scattered
from chainq.demo.wire import Method

_BLOCKS = {"blocks", "full_blocks", "block"}
TOO_HEAVY = "Defined query timeout of 5000ms exceeded when running query."
"""The message of a deployed server whose database gives up (docs/protocol.md, "Envelope and errors")."""
STORED_AGAIN = 100_000_000
"""What is added to the row id of a block that is stored again."""
_INDEXED = {"records", "ownership", "transitions", "program_transactions", "address_transactions"}
"""The handlers whose rows an indexer writes after the block (`late_records`)."""


class FaultyResults:
    """The results of one chain as a service with these faults returns them; threads may share it."""

    def __init__(self, chain: Chain, faults: Faults, shuffle: bool = True) -> None:
        """Takes the chain, the faults, and whether rows are unordered as on deployed servers.

        Raises ValueError for a plant in a block that has no such row.
        """
        self._faults = faults
        self._lists = FaultyLists(faults.lists)
        listed = Deployed(chain) if faults.deployed_lists else chain
        self._results = Results(listed, shuffle)
        if faults.plant:
            from chainq.demo.plants import PlantedResults

            self._results = PlantedResults(listed, faults.plant, faults.fault_seed, shuffle)
        self._reorged = self._results
        if faults.reorg_at is not None:
            self._reorged = Results(Fork(chain, faults.reorg_at), shuffle)
        self._chain = chain
        self._lock = Lock()
        self._tips: list[tuple[int, int]] = []  # heights that were the tip, each with the first call that saw it
        self._requested: list[tuple[str, range]] = []  # the heights of each list's ranges before the reorg

    def result(self, method: Method, args: dict[str, Any], tip: int, number: int, calls: int = 1) -> bytes:
        """Return the JSON of a method's result. `args` by the names of wire.Param; `tip`: the tip height;
        `number`: the number of the call, from 0; `calls`: how many are in progress now. Raises RpcError."""
        body = self._result(method, args, tip, number, calls)
        return b"null" if body == b"[]" and "null-lists" in self._lists.names else body

    def _result(self, method: Method, args: dict[str, Any], tip: int, number: int, calls: int) -> bytes:
        results = self._side(number)
        call = Call(self._slice(method, args, number), self._tip(method.handler, tip, number), number)
        if self._empty(args, number):
            return b"[]"
        handler = getattr(results, method.handler)
        if self._faults.lists and "page" in args:
            return self._body(self._listed(method.handler, call, calls), number)
        if method.handler == "transactions_of_row" and "stored-again" in self._lists.names:
            call = call._replace(args={**call.args, "block": call.args["block"] % STORED_AGAIN})
        result = handler(call)
        if not isinstance(result, list):
            return encoded(result)
        self._weigh(result)
        if method.handler in _BLOCKS:
            result = self._blocks([*map(self._stored, result)])
        elif method.handler.startswith("transactions"):
            result = [*map(self._stored, result)]
        if self._faults.neighbour_rows and "start" in args and len(result) < call.args.get("limit", len(result) + 1):
            after = {**call.args, "start": call.args["end"], "end": call.args["end"] + 1, "offset": 0, "limit": 1}
            result += handler(call._replace(args=after))[:1]
        return self._body(result, number)

    def _listed(self, handler: str, call: Call, calls: int) -> list[Any]:
        """Return the rows of a list with its own faults, as final JSON."""
        given = call.args
        start, end = given.get("start"), given.get("end")
        asked = Asked(handler, start, end, given["page"], given["offset"], given["limit"], call.tip, calls)
        asked = self._lists.served(asked)
        most = None if self._lists.whole(asked) else asked.offset + asked.limit
        try:
            page = self._lists.page([*islice(self._items(asked, call), most)], asked)
        except PoolEmptyError:
            raise RpcError(0, POOL_EMPTY) from None
        self._weigh(page)
        return [*map(orjson.Fragment, page)]

    def _weigh(self, rows: list[Any]) -> None:
        """Raise a timeout error for a query that is too heavy."""
        if 0 < self._faults.heavy_rows < len(rows):
            raise RpcError(0, TOO_HEAVY)

    def _items(self, asked: Asked, call: Call) -> Iterator[Item]:
        """Yield the correct rows of a list, with their heights."""
        args = {**call.args, "offset": 0, "limit": 1 << 40}
        if asked.start is None:  # the calls of a function
            rows = getattr(self._side(call.number), asked.handler)(call._replace(args=args))
            calls = self._chain.layout.calls(f"{args['program']}/{args['function']}")
            for rank, row in enumerate(rows):
                yield Item((calls.locate(rank) or (0, 0))[0], encoded(row))
        old = self._cached(asked, call.number)
        for height in range(asked.heights.start, min(asked.heights.stop, call.tip + 1)):
            side = self._results if any(height in heights for heights in old) else self._side(call.number)
            args = {**args, "start": height, "end": height + 1}
            for row in getattr(side, asked.handler)(call._replace(args=args)):
                yield Item(height, encoded(self._stored(row)))

    def _stored(self, row: Row) -> Row:
        """Return a row with the row id that its block has since it was stored again."""
        again = [fault.number for fault in self._faults.lists if fault.name == "stored-again"]
        name = "block_id" if "block_id" in row else "id"
        height = self._chain.height_of_row(row["block_id"]) if "block_id" in row else row.get("height")
        late = again and height is not None and int(height) in again and name in row
        return {**row, name: row[name] + STORED_AGAIN} if late else row

    def _cached(self, asked: Asked, number: int) -> list[range]:
        """Return the heights whose rows are cached for the list; before a reorg, cache the heights of this call."""
        if "cached-rows" not in self._lists.names:
            return []
        if number < self._faults.reorg_after:
            self._requested.append((asked.handler, asked.heights))
        return [heights for handler, heights in self._requested if handler == asked.handler]

    def _side(self, number: int) -> Results:
        """Return the results of the chain as of a call."""
        return self._reorged if number >= self._faults.reorg_after else self._results

    def _empty(self, args: dict[str, Any], number: int) -> bool:
        """Return whether the result is empty regardless of the chain."""
        faults = self._faults
        wide = 0 < faults.empty_above < args.get("end", 0) - args.get("start", 0)
        beyond = faults.no_pages and args.get("page", 0) > 0
        ranged = "start" in args or "page" in args
        return wide or beyond or (ranged and faults.strikes(faults.empty_rate, EMPTY, number))

    def _slice(self, method: Method, args: dict[str, Any], number: int) -> dict[str, Any]:
        """Return the arguments with the range that is served, and with `offset` and `limit` in place of a page."""
        faults, sliced = self._faults, dict(args)
        if "start" in args:
            if faults.clamp_heights:
                sliced["end"] = min(args["end"], args["start"] + faults.clamp_heights)
            sliced["start"] += faults.exclusive_start
            sliced["end"] += faults.inclusive_end
        if "page" in args:
            asked = given = next(
                param.unread if param.unread and faults.ignore_page_size else args["size"]
                for param in method.params
                if param.name == "size"
            )
            if faults.row_cap:
                doubled = faults.cap_varies and faults.strikes(0.5, CAP, number)
                given = min(asked, faults.row_cap * (1 + doubled))
            page = 0 if faults.repeat_pages else args["page"]
            sliced["offset"] = page * (asked if faults.offset_by_asked else given)
            left = faults.result_window - sliced["offset"] if faults.result_window else given
            sliced["limit"] = max(0, min(given, left))
        return sliced

    def _tip(self, handler: str, tip: int, number: int) -> int:
        """Return the tip height that the call sees."""
        faults = self._faults
        if handler == "latest":
            stale = faults.strikes(faults.stale_tip_rate, STALE_TIP, number)
            return max(min(tip, 0), tip - STALE_BLOCKS) if stale else tip
        if faults.late_records and handler in _INDEXED:
            tip = self._indexed(tip, number)
        behind = faults.lag_blocks and faults.strikes(faults.lag_rate, LAG, number)
        return max(-1, tip - faults.lag_blocks) if behind else tip

    def _indexed(self, tip: int, number: int) -> int:
        """Return the height of the last block whose records are written."""
        late = self._faults.late_records
        with self._lock:
            if not self._tips or tip > self._tips[-1][0]:
                self._tips.append((tip, number))
            while len(self._tips) > 1 and number - self._tips[1][1] >= late:
                self._tips.pop(0)
            height, seen = self._tips[0]
        return height if number - seen >= late else height - 1

    def _blocks(self, rows: list[Row]) -> list[Row]:
        """Return blocks with the faults of single heights."""
        kept = []
        for row in rows:
            height = int(row["height"] if "height" in row else row["header"]["metadata"]["height"])
            if height == self._faults.broken_link:
                row["previous_hash"] = self._chain.block_hash(height + 1)
            if height != self._faults.missing_height:
                kept.append(row)
        return kept

    def _body(self, rows: list[Row], number: int) -> bytes:
        """Return rows as JSON, with the faults that any row can have."""
        faults = self._faults
        if faults.duplicate_rate:
            rows = [
                row
                for at, one in enumerate(rows)
                for row in [one] * (1 + faults.strikes(faults.duplicate_rate, DUPLICATE, number << 24 | at))
            ]
        if faults.shuffle_heights:
            rows = [*scattered(rows, faults.word(ORDER, number))]
        if not faults.byte_cap:
            return encoded(rows)
        pieces: list[bytes] = []
        size = 1
        for row in rows:
            piece = encoded(row)
            size += len(piece) + 1
            if pieces and size > faults.byte_cap:
                break
            pieces.append(piece)
        return b"[" + b",".join(pieces) + b"]"
