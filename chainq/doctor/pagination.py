"""How a server answers: ranges, pages, caps, the order of rows, row ids. For `chainq doctor`.

Every check asks about the same few heights near the newest block (`Window`), whose rows are known by then.
"""

import re
from dataclasses import dataclass

from msgspec import Raw

from chainq.catalog import bech32
from chainq.catalog.dialects import Value
from chainq.catalog.methods import BY_COMMAND, Role
from chainq.doctor.methods import Speaker
from chainq.doctor.prober import Check, Said
from chainq.errors import IncompleteError
from chainq.rows.fields import Picker, integer_of, text_of
from chainq.rows.raw_json import items
from chainq.text.humanize import counted

WINDOWS = (4, 32, 256, 2048)  # newest heights in which records are looked for, one after the other
WINDOW_ROWS = 2000  # asked for in a window: more than a busy chain has in four heights
CAP_ROWS = 10_000  # asked for to see a cap: what every `chainq records` asks for, so no unusual load
CAP_HEIGHTS = 5000
UNTOLD = "cannot be told"
_ADDRESS = re.compile(rb'"value":"([a-z]+1[02-9ac-hj-np-z]{58})"')  # as a public input: bech32 of 32 bytes


@dataclass(frozen=True, slots=True)
class Window:
    """Heights near the newest block, and all records there. `busiest`: the height that has most of them, or the newest
    below `end` where there are none."""

    start: int
    end: int
    rows: tuple[Raw, ...] = ()
    busiest: int = 0

    def arguments(self, page: int, size: int) -> dict[Role, Value]:
        """What asks for these heights, a page of them."""
        return {Role.START: self.start, Role.END: self.end, Role.PAGE: page, Role.SIZE: size}

    def of_busiest(self, path: str) -> list[str]:
        """The values at that path in the records of the busiest height."""
        pick = Picker(["height", path])
        picked = map(pick, self.rows)
        return [text_of(value) for height, value in picked if integer_of(height) == self.busiest]


class Habits:
    """Looks into a window below `top`, the newest height, and checks what `speaker` brings from there."""

    def __init__(self, speaker: Speaker, top: int) -> None:
        self._speaker, self._top = speaker, top
        self._first_page = 0
        self._honours: dict[str, bool] = {}  # command -> whether it heeds the page size

    def look(self) -> tuple[Window, Said, Check]:
        """A window with records in it, or without where there are none; and what `records/all` said, and a check."""
        window = Window(max(0, self._top - WINDOWS[0] + 1), self._top + 1)
        said, check = self._speaker.find("records", window.arguments(0, WINDOW_ROWS))
        for heights in (*WINDOWS[1:], 0):
            if said.rows or not (said.result or said.code) or said.absent:
                break
            if said.code or not heights or not window.start:  # perhaps there is no page 0
                second = self._speaker.ask("records", window.arguments(1, WINDOW_ROWS))
                if second.rows:
                    said, self._first_page = second, 1
                    check = self._speaker.check(BY_COMMAND["records"], second)
                break
            window = Window(max(0, self._top - heights + 1), self._top + 1)
            said = self._speaker.ask("records", window.arguments(0, WINDOW_ROWS))
        pick = Picker(["height"])
        found = [height for row in said.rows if (height := integer_of(pick(row)[0])) is not None]
        busiest = max(found, key=found.count, default=self._top)
        return Window(window.start, window.end, tuple(said.rows), busiest), said, check

    def range_end(self, start: int, blocks: Said) -> Check:
        """Whether `end` is excluded, by an answer to a range of the one height `start`, with a block above it."""
        heights = {integer_of(Picker(["height"])(row)[0]) for row in blocks.rows}
        if heights == {start} and start < self._top:
            return Check("range end", "excluded", "as documented: --end is the height after the last")
        if heights == {start, start + 1}:
            fault = IncompleteError("the range's end is included in the answer, which the service document excludes")
            return Check("range end", "included", "ranges would bring rows twice: chainq refuses them", fault)
        return Check("range end", UNTOLD, "there is no second block yet, or getBlocks gave none")

    def page_base(self, window: Window) -> Check:
        """Whether the first page is 0: a page as long as all rows must be followed by an empty one."""
        name = "page base"
        count = len(window.rows)
        second = Said()
        if not self._first_page and count and count < WINDOW_ROWS:
            second = self._speaker.ask("records", window.arguments(1, count))
            if second.result and not second.rows:
                return Check(name, "0", "as documented")
            if set(map(bytes, second.rows)) == set(map(bytes, window.rows)):
                third = self._speaker.ask("records", window.arguments(2, count))
                if third.rows:
                    fault = IncompleteError("records/all gives the same rows for every page")
                    return Check(name, "pages are ignored", "answers cut by a cap could not be completed", fault)
                self._first_page = 1 if third.result else 0
        if self._first_page:
            fault = IncompleteError("records/all counts its pages from 1, which the service document counts from 0")
            return Check(name, "1", "chainq counts pages from 0 and would miss or repeat rows", fault)
        return Check(name, UNTOLD, _why(window, second))

    def address_size(self, arguments: dict[Role, Value], first: Said) -> None:
        """Find out which page-size parameter the address's method heeds, from an answer to a call for one row."""
        method = BY_COMMAND["address-transactions"]
        if len(first.rows) == 1:
            second = self._speaker.ask(method.command, {**arguments, Role.SIZE: 2})
            if len(second.rows) == 2:
                self._honours[method.command] = True
        elif first.rows:
            self._honours[method.command] = False
            known = self._speaker.dialect.wire(method).params.get(Role.SIZE)
            for wire in self._speaker.wires(method):
                if wire.params.get(Role.SIZE) == known:
                    continue
                if len(self._speaker.ask_as(wire, method, arguments).rows) == 1:
                    self._speaker.learn(method, wire)
                    self._honours[method.command] = True
                    break

    def page_size(self, window: Window, singles: dict[str, Said]) -> Check:
        """Whether page sizes are heeded, by answers to calls for one row, by command."""
        many = len(window.rows) > 1
        said = {"records": self._speaker.ask("records", window.arguments(self._first_page, 1))} if many else {}
        for name, answer in {**said, **singles}.items():
            if len(answer.rows) > 1:
                self._honours.setdefault(name, False)
            elif len(answer.rows) == 1 and many and name in ("records", "ownership"):  # one row of several
                self._honours[name] = True
        ignored = [name for name, honoured in self._honours.items() if not honoured]
        if ignored:
            return Check(
                "page size",
                f"ignored by {', '.join(ignored)}",
                "chainq proves answers whole all the same; --page and --page-size mean little there",
            )
        if self._honours:
            return Check("page size", "honoured", f"seen in {', '.join(self._honours)}")
        return Check("page size", UNTOLD, _why(window))

    def row_cap(self, window: Window) -> Check:
        """Whether answers are cut below the page size that is asked for, as far as one ordinary call can tell."""
        if not window.rows or self._honours.get("records") is False:
            return Check("row cap", UNTOLD, _why(window) if not window.rows else "records/all ignores the page size")
        wanted = int(1.2 * CAP_ROWS * (window.end - window.start) / len(window.rows)) + 1
        wide = Window(max(0, window.end - min(wanted, CAP_HEIGHTS)), window.end)
        first = self._speaker.ask("records", wide.arguments(self._first_page, CAP_ROWS))
        count = len(first.rows)
        if first.code or not count:
            return Check("row cap", UNTOLD, f"a call for {CAP_ROWS:,} rows brought none: {first.error or 'no error'}")
        if count >= CAP_ROWS:
            return Check("row cap", f"{count:,} rows or more", "no page that chainq asks for is cut")
        second = self._speaker.ask("records", wide.arguments(self._first_page + 1, count))
        if second.rows:
            return Check("row cap", f"{count:,} rows", "answers are cut without a word; chainq notices and divides")
        if not second.result:
            return Check("row cap", UNTOLD, str(second.error))
        return Check("row cap", f"none up to {count:,} rows", "that is all there was to see, and it came whole")

    def row_order(self, window: Window) -> Check:
        """Whether rows stand at the same places when asked for again."""
        again = self._speaker.ask("records", window.arguments(self._first_page, WINDOW_ROWS))
        one, other = [*map(bytes, window.rows)], [*map(bytes, again.rows)]
        if len(one) < 2 or sorted(one) != sorted(other):
            return Check("row order", UNTOLD, _why(window, again))
        if one == other:
            return Check("row order", "the same in two calls", "nothing is promised by that: chainq puts rows in order")
        return Check("row order", "changes with each call", "walking pages would lose rows; chainq does not rely on it")

    def transactions_by(self, window: Window, row_id: int | None, by_height: Said, block: Said) -> Check:
        """Whether `transactions` wants a height or a row id: which of the two brings the transactions of the block.

        `by_height` is what it said to the busiest height, `block` the full block of that height.
        """
        name, height = "transactions by", window.busiest
        due = set(window.of_busiest("transaction_id"))
        for row in block.rows:
            sent = Picker(["transactions"])(row)[0]
            inside = items(bytes(sent)) if sent is not None and bytes(sent)[:1] == b"[" else []
            due |= {text_of(Picker(["transaction.id"])(item)[0]) for item in inside}
        if not due or row_id is None or row_id == height:
            return Check(name, UNTOLD, "there is no transaction to go by, or the row id is the height")
        by_row = self._speaker.ask("transactions", {Role.HEIGHT: row_id})
        fits = {
            kind: due <= {text_of(Picker(["transaction_id"])(row)[0]) for row in said.rows}
            for kind, said in (("height", by_height), ("row id", by_row))
        }
        if fits["height"] == fits["row id"]:
            return Check(name, UNTOLD, f"neither {height} nor row id {row_id} brought the block's transactions alone")
        self._speaker.by_row_id(fits["row id"])
        if fits["row id"]:
            return Check(name, "row id", "chainq transactions asks block for the row id first, one call more a height")
        return Check(name, "height", "as documented")


def address_in(*answers: Said) -> str | None:
    """An address that stands in a public input of one of the answers; None where there is none."""
    for said in answers:
        for found in _ADDRESS.findall(said.result):
            if not bech32.fault(found.decode()):
                return str(found.decode())
    return None


def _why(window: Window, said: Said | None = None) -> str:
    """Why a check cannot be made: what kept a call from being answered, else how little there was."""
    if said is not None and said.error is not None:
        return str(said.error)
    return (
        f"there were {counted(len(window.rows), 'record')} to go by in the newest {window.end - window.start} heights"
    )
