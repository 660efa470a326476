"""The sample chain's own rows, computed without the program, and how rows are compared with them.

Nothing here asks the program what is right: `Truth` computes rows from the sample chain and splits JSON on its own.
"""

import json
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from msgspec import Raw


def split(body: bytes) -> list[bytes]:
    """The items of a compact JSON array, each as it stands there."""
    rows = [json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() for row in json.loads(body)]
    assert b"[" + b",".join(rows) + b"]" == body, "not compact, or a value that json does not keep"
    return rows


def raw(rows: Sequence[str]) -> list[Raw]:
    return [Raw(row.encode()) for row in rows]


Groups = Sequence[Sequence[bytes]]


def difference(rows: Sequence[bytes], groups: Groups) -> str:
    """Where rows differ from those due, in words; empty when they are the same, height by height.

    Each group holds the rows of one height, which may come in any order among themselves.
    """
    at = 0
    for place, group in enumerate(groups):
        found = Counter(rows[at : at + len(group)])
        if found != Counter(group):
            missing, strange = Counter(group) - found, found - Counter(group)
            return (
                f"group {place} (rows from {at}, {len(rows)} came, {sum(map(len, groups))} are due):"
                f" {missing.total()} missing such as {next(iter(missing), b'')[:120]!r},"
                f" {strange.total()} others such as {next(iter(strange), b'')[:120]!r}"
            )
        at += len(group)
    return "" if at == len(rows) else f"{len(rows) - at} rows too many, such as {rows[at][:120]!r}"


class Truth:
    """The chain's own rows, computed in this process in the order of the chain, as compact JSON."""

    def __init__(self, tip: int | None = None) -> None:
        from chainq.demo.chain import DEFAULT_TIP, Chain
        from chainq.demo.results import Results

        self.tip = DEFAULT_TIP if tip is None else tip
        self.chain = Chain(tip=self.tip)
        self._results = Results(self.chain, shuffle=False)

    def _ask(self, handler: str, start: int = 0, end: int = 1 << 40, **args: Any) -> Any:
        from chainq.demo.faults import NO_FAULTS
        from chainq.demo.registry import Ask, Memory

        return Ask(handler, start, end, self.tip, 0, self._results, NO_FAULTS, Memory(), args)

    def _rows(self, handler: str, start: int = 0, end: int = 1 << 40, **args: Any) -> list[bytes]:
        return [item.row for item in self._results.rows(self._ask(handler, start, end, **args))]

    def block(self, height: int) -> bytes:
        """A Block summary."""
        (row,) = self._rows("block", height, height + 1)
        return row

    def transactions(self, height: int) -> list[bytes]:
        """The Transaction summaries of a block."""
        return self._rows("transactions", height, height + 1)

    def transaction_id(self, height: int, index: int) -> str:
        """The ID of a transaction."""
        return self.chain.transaction_id(height, index)

    def transaction(self, height: int, index: int) -> bytes:
        """A Transaction."""
        (row,) = self._rows("transaction", id=self.transaction_id(height, index))
        return row

    def program_transactions(self, program: str, function: str) -> list[bytes]:
        """The Transactions that call a function."""
        return self._rows("program_transactions", program=program, function=function)

    @lru_cache(maxsize=64)  # noqa: B019  # there is one Truth for each chain, and it lives as long as the session
    def groups(self, command: str, start: int, end: int, address: str = "") -> Groups:
        """The rows of a ranged command, height by height."""
        from chainq.demo.layout import occurrences

        end = min(end, self.tip + 1)
        rows = self._rows(command.replace("-", "_"), start, end, address=address)
        if command == "address-transactions":
            number = self.chain.addresses.index(address)
            places = Counter(height for height, _ in occurrences(self.chain.layout, number, start, end))
            counts = [places[height] for height in range(start, end)]
        elif command in ("records", "ownership", "transitions"):
            tally = self.chain.layout.open_calls if command == "transitions" else self.chain.records
            counts = [tally.count(height) for height in range(start, end)]
        else:
            counts = [1] * (end - start)
        assert sum(counts) == len(rows)
        groups, at = [], 0
        for count in counts:
            groups.append(rows[at : at + count])
            at += count
        return groups

    def rows(self, command: str, start: int, end: int, address: str = "") -> list[bytes]:
        """The rows of a ranged command in one list."""
        return [row for group in self.groups(command, start, end, address) for row in group]
