"""Diagnosis: what server this is, and what that means for the user, in a list of checks.

The checks cover the known differences between servers (docs/protocol.md). Those of rows use the same few heights near
the tip (`NewestRecords`).
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from msgspec import Raw

from chainq.catalog import bech32
from chainq.catalog.dialects import DIALECTS, Dialect, Value
from chainq.catalog.methods import BY_COMMAND, METHODS, Method, Role
from chainq.doctor.prober import Outcome, Prober
from chainq.errors import (
    ChainqError,
    IncompleteError,
    LackingError,
    ResponseError,
    ServiceError,
    TooHeavyError,
    UnreachableError,
)
from chainq.rows.block import read_block
from chainq.rows.fields import Picker, integer_of, text_of
from chainq.text.humanize import counted, duration
from chainq.text.sanitize import excerpt, mask_url

UNKNOWN = "unknown"
"""The finding of a check that could not be made."""
WORKS = "the command works"
"""What the check of a method means if all is well."""
ADDRESS_HEIGHTS = 10_000
_NO_ID = "at1" + "q" * 58  # of no transaction, and no address
_SHOWN = {Role.ID: "transaction_id", Role.PROGRAM: "program_id", Role.FUNCTION: "function_name"}  # in record rows
_ODD = "this may be another kind of service: is the URL right?"
_BEHIND = "the server is behind: end ranges below the tip, such as chainq records --end -10, or wait"
_MINUTE, _HOUR = 60, 3600  # seconds
# Requests per second. Deployed servers allow 200 calls of a method per minute; a steady 198 are still refused, because
# a call near the end of a window can extend it (docs/protocol.md, "Rate limits").
USUAL_RATE = "3"
WINDOWS = (4, 32, 256, 2048)
"""Numbers of last heights that are searched for records, one after the other."""

WINDOW_ROWS = 2000
"""The page size of calls for a window: more rows than a busy chain has in four heights."""

_ADDRESS = re.compile(rb'"value":"([a-z]+1[02-9ac-hj-np-z]{58})"')  # in a public input: bech32 of 32 bytes


class Check(NamedTuple):
    """One finding: what was examined, what was found, and what that means for the user.

    `fault` is the error that commands would end with; None if chainq works with what was found, or nothing was found.
    """

    name: str
    finding: str
    meaning: str
    fault: ChainqError | None = None


class NewestRecords(NamedTuple):
    """Heights near the tip, `end` excluded, and all their records. `busiest`: the height with the most records, or the
    highest one if there are none."""

    start: int
    end: int
    rows: list[Raw]
    busiest: int

    def busiest_values(self, path: str) -> list[str]:
        """Return the values at that path in the records of the busiest height."""
        pick = Picker(["height", path])
        return [text_of(value) for height, value in map(pick, self.rows) if integer_of(height) == self.busiest]


class Diagnosis(NamedTuple):
    """All findings. `url` is masked; `dialect` is None if none fits; `calls`: requests sent."""

    url: str
    dialect: str | None
    checks: tuple[Check, ...]
    calls: int


def diagnose(prober: Prober, url: str, stated: Dialect, now: int) -> Diagnosis:
    """Examine the server that `prober` calls. `stated`: the dialect, if none is found; `now`: seconds since 1970.

    Raises nothing for faults of the server: they are in the checks.
    """
    examination = Examination(prober, stated, url, now)
    checks = tuple(examination.run())
    return Diagnosis(mask_url(url), examination.dialect, checks, prober.calls)


class Examination:
    """One examination; its later steps use what the earlier ones found. `stated`: the dialect until one is found.

    `dialect`: the name of the one that fits. `outcomes`, `checks`: of each method called so far, by its command.
    """

    def __init__(self, prober: Prober, stated: Dialect, url: str, now: int) -> None:
        self._prober, self._known, self._url, self._now = prober, stated, url, now
        self.dialect: str | None = None
        self.outcomes: dict[str, Outcome] = {}
        self.checks: dict[str, Check] = {}

    def run(self) -> Iterator[Check]:
        """Yield all checks as they are made; only the first if the server cannot be used."""
        latest = self._find("latest", {})
        error = latest.error
        if error is not None and not latest.code and not latest.skipped:
            refused = isinstance(error, ServiceError) and error.code in ("HTTP 401", "HTTP 403")
            other = "login refused" if refused else "but not this service"
            if isinstance(error, UnreachableError):
                other = "server error" if self._prober.answered else ""
            reached = f"reachable, {other}" if other else "not reachable"
            yield Check("connection", reached, str(error), error)
            return
        yield Check("connection", "reachable", "requests get responses")
        dialect = self._dialect()  # first, because a server that has one is this service
        height, timestamp = map(integer_of, Picker(["height", "timestamp"])(latest.result))
        yield self._tip_check(latest, height, timestamp)
        yield dialect
        yield from self._method_checks(height or 0)
        yield self._rate_limit()

    def _tip_check(self, latest: Outcome, height: int | None, timestamp: int | None) -> Check:
        name = "tip"
        if latest.result == b"null":
            block = self._call("block", {Role.HEIGHT: 0})
            if block.result == b"[]":
                return Check(name, "none", "the chain is empty; many checks are not possible")
            fault = block.error or ResponseError("latest/block returned null, and block 0 is no empty array", _ODD)
            return Check(name, UNKNOWN, str(fault), None if block.skipped else fault)
        if height is None:
            fault = latest.error or ResponseError("latest/block: the block has no valid height")
            if latest.unknown_method and self.dialect is None:
                fault.hint = _ODD
            return Check(name, UNKNOWN, str(fault), None if latest.skipped else fault)
        if self._call("block", {Role.HEIGHT: height}).result == b"[]":
            behind = IncompleteError(f"block {height} is missing, though latest/block returned it", _BEHIND)
            return Check(name, f"{height}, but missing", str(behind), behind)
        if timestamp is None:
            return Check(name, str(height), "the block has no valid time")
        seconds = self._now - timestamp
        if seconds < -_MINUTE:
            return Check(name, f"{height}, in the future", "the clock of the server or of this machine is wrong")
        if self._url == "demo:":
            return Check(name, f"{height}, {duration(seconds)} old", "the sample chain has no new blocks")
        meaning = "the server is up to date" if seconds < _HOUR else "the server is behind, or the chain has stopped"
        return Check(name, f"{height}, {duration(seconds)} old", meaning)

    def _dialect(self) -> Check:
        """Return the first dialect in which the server has block summaries, or full blocks."""
        error: ChainqError | None = None
        for command, end in (("blocks", 1), ("full-blocks", 0)):  # one block, and an empty range
            for dialect in DIALECTS.values():
                outcome = self._prober.call(*dialect.call(BY_COMMAND[command], {Role.START: 0, Role.END: end}))
                if outcome.result[:1] == b"[":
                    self.dialect = dialect.name
                    self._known = dialect
                    return Check("dialect", self.dialect, f"use --dialect {self.dialect} or auto, or a profile")
                error = error or outcome.error
        return Check("dialect", UNKNOWN, f"the server fits no known dialect: {error}", error)

    def _call(self, command: str, arguments: Mapping[Role, Value]) -> Outcome:
        """Call a command's method in the dialect that is known so far."""
        return self._prober.call(*self._known.call(BY_COMMAND[command], arguments))

    def _find(self, command: str, arguments: Mapping[Role, Value]) -> Outcome:
        """Call a method, in other dialects too if that fails; return the outcome, and keep it with a check.

        A server may have some methods as another dialect has them; chainq finds these anew in each run. If an argument
        is made up, an error proves that the method exists, as a result does.
        """
        method, made_up = BY_COMMAND[command], _NO_ID in arguments.values()
        wire, best = self._known.wire(method), self._call(command, arguments)
        for dialect in DIALECTS.values():
            if not best.code or (made_up and not best.unknown_method):
                break
            if dialect.wire(method) != self._known.wire(method):
                outcome = self._prober.call(*dialect.call(method, arguments))
                if outcome.result or (best.unknown_method and not outcome.unknown_method):
                    wire, best = dialect.wire(method), outcome
        self._known = self._known._replace(wires={**self._known.wires, method.name: wire})
        self.outcomes[command], self.checks[command] = best, _check(method, wire.name, best, made_up=made_up)
        return best

    def find_window(self, tip: int) -> NewestRecords:
        """Return a window with records in it, or without if there are none. `tip`: the highest height."""
        for heights in WINDOWS:
            start = max(0, tip - heights + 1)
            arguments = {Role.START: start, Role.END: tip + 1, Role.PAGE: 0, Role.SIZE: WINDOW_ROWS}
            outcome = self._find("records", arguments)
            if outcome.rows or not outcome.result or not start:
                break
        pick = Picker(["height"])
        counts = Counter(height for row in outcome.rows if (height := integer_of(pick(row)[0])) is not None)
        busiest = max(counts, key=lambda height: counts[height], default=tip)
        return NewestRecords(start, tip + 1, outcome.rows, busiest)

    def _method_checks(self, tip: int) -> Iterator[Check]:
        """Yield a check of every method of the catalog, then the checks of ranges and lists."""
        window, below = self.find_window(tip), max(0, tip - 1)
        # Methods of an address come last: the other results are searched for one.
        for method in sorted(METHODS, key=lambda method: method.param(Role.ADDRESS) is not None):
            if method.command not in self.outcomes:
                self._find(method.command, self._arguments(method, window, below))
        yield from (self.checks[method.command] for method in METHODS)
        by = self._transactions_by(window)
        self.dialect = self.dialect and self._known.name  # another one, if its `transactions` is this server's
        yield self._range_end(below, tip)
        yield by

    def _arguments(self, method: Method, window: NewestRecords, below: int) -> dict[Role, Value]:
        """Return arguments for any method of the catalog by their roles."""
        known = {role: next(iter(window.busiest_values(path)), "") for role, path in _SHOWN.items()}
        if method.param(Role.ADDRESS):
            known[Role.ADDRESS] = _address_in(*self.outcomes.values()) or ""
            heights = (max(0, window.end - ADDRESS_HEIGHTS), window.end)
        elif method.page_size:
            heights = (window.start, window.end)
        else:  # one height; of `blocks` one below the tip, so that `range_end` can see the next one
            start = below if method.command == "blocks" else window.busiest
            heights = (start, start + 1)
        defaults: dict[Role, Value] = {
            Role.START: heights[0],
            Role.END: heights[1],
            Role.HEIGHT: window.busiest,
            Role.ID: _NO_ID,
            Role.PROGRAM: "credits.aleo",
            Role.FUNCTION: "transfer_public",
            Role.ADDRESS: _NO_ID,
            Role.PAGE: 0,
            Role.SIZE: 1,
        }
        return {param.role: known.get(param.role) or defaults[param.role] for param in method.params}

    def _range_end(self, start: int, tip: int) -> Check:
        """Return whether `end` is excluded, by the blocks of a range of the one height `start`."""
        name = "range end"
        heights = {integer_of(Picker(["height"])(row)[0]) for row in self.outcomes["blocks"].rows}
        if heights == {start} and start < tip:
            return Check(name, "excluded", "as documented: --end is the height after the last one")
        if heights == {start, start + 1}:
            fault = IncompleteError("the end of a range is included, the published interface excludes it")
            return Check(name, "included", "ranges would return rows twice; chainq refuses them", fault)
        return Check(name, UNKNOWN, "there is no second block, or getBlocks returned none")

    def _transactions_by(self, window: NewestRecords) -> Check:
        """Return whether `transactions` takes a height or a row id: which of the two returns the transactions of the
        full block of the busiest height."""
        name, height = "transactions by", window.busiest
        row_id = next((integer_of(Picker(["id"])(row)[0]) for row in self.outcomes["block"].rows), None)
        expected = set(window.busiest_values("transaction_id"))
        for row in self.outcomes["full-blocks"].rows:
            expected |= {transaction.id for transaction in read_block(row).transactions}
        if not expected or row_id is None or row_id == height:
            return Check(name, UNKNOWN, "no transaction to compare, or the row id equals the height")
        by_row = self._call("transactions", {Role.HEIGHT: row_id})
        fits = {
            kind: expected <= {text_of(Picker(["transaction_id"])(row)[0]) for row in outcome.rows}
            for kind, outcome in (("height", self.outcomes["transactions"]), ("row id", by_row))
        }
        if fits["height"] == fits["row id"]:
            return Check(name, UNKNOWN, f"height {height} and row id {row_id} both fit the block, or neither does")
        other = next(one for one in DIALECTS.values() if one.transactions_by_row_id == fits["row id"])
        stated = ""
        if fits["row id"] != self._known.transactions_by_row_id:
            self._known, stated = other, f"; use --dialect {other.name}"
        if fits["row id"]:
            meaning = "chainq transactions calls block for the row id first, once for each height"
            return Check(name, "row id", meaning + stated)
        return Check(name, "height", "as documented" + stated)

    def _rate_limit(self) -> Check:
        refusals = self._prober.rate_limited
        if not refusals:
            finding = f"none seen in {counted(self._prober.calls, 'call')}"
            return Check("rate limit", finding, f"chainq slows down when it meets one; --rate {USUAL_RATE} seldom does")
        methods = [f"{name}{f' (retry after {excerpt(wait, 40)})' if wait else ''}" for name, wait in refusals.items()]
        meaning = f"chainq waits and continues; --rate {USUAL_RATE} seldom meets it"
        return Check("rate limit", f"reached by {', '.join(methods)}", meaning)


def _check(method: Method, wire: str, outcome: Outcome, *, made_up: bool) -> Check:
    """Return a check of whether the server has the method, under the name `wire`."""
    name, known = method.command, "yes" if wire == method.name else f"yes, as {wire}"
    if outcome.result or (made_up and outcome.code and not outcome.unknown_method):
        return Check(name, known, WORKS)
    if outcome.unknown_method and outcome.error is not None:
        return Check(name, "no", f"the server has no {method.name}", outcome.error)
    if isinstance(outcome.error, TooHeavyError):
        return Check(name, f"{known}, but slow", "chainq will request shorter ranges")
    if isinstance(outcome.error, LackingError | IncompleteError):
        return Check(
            name, "not in this export" if outcome.error.table else f"{known}, of some heights", str(outcome.error)
        )
    if outcome.code:
        meaning = f"the command will fail: {outcome.error}"
        return Check(name, f"error {excerpt(outcome.code, 20)}", meaning, outcome.error)
    return Check(name, UNKNOWN, str(outcome.error), None if outcome.skipped else outcome.error)


def _address_in(*outcomes: Outcome) -> str | None:
    """Return an address in a public input of one of the results; None if there is none."""
    for outcome in outcomes:
        for found in islice(_ADDRESS.finditer(outcome.result), 1000):  # a checksum takes time
            address = found[1].decode()
            if not bech32.fault(address):
                return address
    return None
