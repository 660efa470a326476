"""PaginationProber: ranges, pages, caps, the order of rows, row ids. For `chainq doctor`.

Every check uses the same few heights near the tip (`Window`), whose rows are known by then. See docs/protocol.md,
"Results" and "Pagination", for the differences between servers.
"""

import re
from collections import Counter
from dataclasses import dataclass
from itertools import islice

from msgspec import Raw

from chainq.catalog import bech32
from chainq.catalog.dialects import DIALECTS, Value
from chainq.catalog.methods import BY_COMMAND, Role
from chainq.doctor.methods import MethodProber
from chainq.doctor.prober import UNKNOWN, Check, Outcome
from chainq.errors import IncompleteError
from chainq.rows.fields import Picker, array_of, integer_of, text_of
from chainq.text.humanize import counted

WINDOWS = (4, 32, 256, 2048)
"""Numbers of last heights that are searched for records, one after the other."""

WINDOW_ROWS = 2000
"""The page size of calls for a window: more rows than a busy chain has in four heights."""

_ADDRESS = re.compile(rb'"value":"([a-z]+1[02-9ac-hj-np-z]{58})"')  # in a public input: bech32 of 32 bytes


@dataclass(frozen=True, slots=True)
class Window:
    """Heights near the tip, `end` excluded, and all their records. `busiest`: the height with the most records, or the
    highest one if there are none."""

    start: int
    end: int
    rows: tuple[Raw, ...] = ()
    busiest: int = 0

    def arguments(self, page: int, size: int) -> dict[Role, Value]:
        """Return the arguments of a call for a page of these heights."""
        return {Role.START: self.start, Role.END: self.end, Role.PAGE: page, Role.SIZE: size}

    def busiest_values(self, path: str) -> list[str]:
        """Return the values at that path in the records of the busiest height."""
        pick = Picker(["height", path])
        return [text_of(value) for height, value in map(pick, self.rows) if integer_of(height) == self.busiest]


class PaginationProber:
    """Checks how the methods of `methods` treat ranges and pages, in a window that ends with the height `tip`."""

    def __init__(self, methods: MethodProber, tip: int) -> None:
        self._methods, self._tip = methods, tip
        self._honors: dict[str, bool] = {}  # command -> whether it honors the page size

    def find_window(self) -> tuple[Window, Outcome, Check]:
        """Return a window with records in it, or without if there are none; and the outcome of `records/all` with a
        check of the method."""
        window = Window(max(0, self._tip - WINDOWS[0] + 1), self._tip + 1)
        outcome, check = self._methods.find("records", window.arguments(0, WINDOW_ROWS))
        for heights in WINDOWS[1:]:
            if outcome.rows or not outcome.result or not window.start:
                break
            window = Window(max(0, self._tip - heights + 1), self._tip + 1)
            outcome = self._methods.call("records", window.arguments(0, WINDOW_ROWS))
        pick = Picker(["height"])
        counts = Counter(height for row in outcome.rows if (height := integer_of(pick(row)[0])) is not None)
        busiest = max(counts, key=lambda height: counts[height], default=self._tip)
        return Window(window.start, window.end, tuple(outcome.rows), busiest), outcome, check

    def range_end(self, start: int, blocks: Outcome) -> Check:
        """Return whether `end` is excluded. `blocks`: the outcome for a range of the one height `start`."""
        name = "range end"
        heights = {integer_of(Picker(["height"])(row)[0]) for row in blocks.rows}
        if heights == {start} and start < self._tip:
            return Check(name, "excluded", "as documented: --end is the height after the last one")
        if heights == {start, start + 1}:
            fault = IncompleteError("the end of a range is included, the published interface excludes it")
            return Check(name, "included", "ranges would return rows twice; chainq refuses them", fault)
        return Check(name, UNKNOWN, "there is no second block, or getBlocks returned none")

    def address_size(self, arguments: dict[Role, Value], first: Outcome) -> None:
        """Find the page-size parameter that the address method honors. `first`: its outcome for a page of one row."""
        method = BY_COMMAND["address-transactions"]
        if len(first.rows) == 1:
            second = self._methods.call(method.command, {**arguments, Role.SIZE: 2})
            if len(second.rows) == 2:
                self._honors[method.command] = True
        elif first.rows:
            self._honors[method.command] = False

    def page_size(self, window: Window, singles: dict[str, Outcome]) -> Check:
        """Return whether page sizes are honored. `singles`: outcomes for pages of one row, by command."""
        name = "page size"
        several = len(window.rows) > 1
        records = {"records": self._methods.call("records", window.arguments(0, 1))} if several else {}
        for command, outcome in {**records, **singles}.items():
            if len(outcome.rows) > 1:
                self._honors.setdefault(command, False)
            elif len(outcome.rows) == 1 and several and command in ("records", "ownership"):  # one of several rows
                self._honors[command] = True
        ignored = [command for command, honored in self._honors.items() if not honored]
        if ignored:
            return Check(
                name,
                f"ignored by {', '.join(ignored)}",
                "results are still verified; --page and --page-size have no effect there",
            )
        if self._honors:
            return Check(name, "honored", f"seen with {', '.join(self._honors)}")
        return Check(name, UNKNOWN, _reason(window))

    def transactions_by(self, window: Window, row_id: int | None, by_height: Outcome, block: Outcome) -> Check:
        """Return whether `transactions` takes a height or a row id: which of the two returns the block's transactions.

        `by_height` is its outcome for the busiest height, `block` the full block of that height.
        """
        name, height = "transactions by", window.busiest
        expected = set(window.busiest_values("transaction_id"))
        for row in block.rows:
            inner = array_of(Picker(["transactions"])(row)[0])
            expected |= {text_of(Picker(["transaction.id"])(item)[0]) for item in inner}
        if not expected or row_id is None or row_id == height:
            return Check(name, UNKNOWN, "no transaction to compare, or the row id equals the height")
        by_row = self._methods.call("transactions", {Role.HEIGHT: row_id})
        fits = {
            kind: expected <= {text_of(Picker(["transaction_id"])(row)[0]) for row in outcome.rows}
            for kind, outcome in (("height", by_height), ("row id", by_row))
        }
        if fits["height"] == fits["row id"]:
            return Check(name, UNKNOWN, f"height {height} and row id {row_id} both fit the block, or neither does")
        other = next(one for one in DIALECTS.values() if one.transactions_by_row_id == fits["row id"])
        stated = ""
        if fits["row id"] != self._methods.dialect.transactions_by_row_id:
            self._methods.dialect, stated = other, f"; use --dialect {other.name}"
        if fits["row id"]:
            meaning = "chainq transactions calls block for the row id first, once for each height"
            return Check(name, "row id", meaning + stated)
        return Check(name, "height", "as documented" + stated)


def address_in(*outcomes: Outcome) -> str | None:
    """Return an address in a public input of one of the results; None if there is none."""
    for outcome in outcomes:
        for found in islice(_ADDRESS.finditer(outcome.result), 1000):  # a checksum takes time
            address = found[1].decode()
            if not bech32.fault(address):
                return address
    return None


def _reason(window: Window) -> str:
    """Return why a check cannot be made: too few records."""
    return f"{counted(len(window.rows), 'record')} in the last {window.end - window.start} heights are too few"
