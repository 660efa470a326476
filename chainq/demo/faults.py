"""Faults: the faults of one server, and what it remembers of its calls."""

import re
import time
from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import Any

from chainq.demo import plants, reply_faults, request_faults, row_faults  # noqa: F401  # they fill the registry
from chainq.demo.exchange import Ask, Item
from chainq.demo.ids import WORD, mix
from chainq.demo.registry import FAULTS, PAGE, REQUEST, ROWS, Change, Value, shown


def _whole(text: str, least: int = 0) -> int:
    if not re.fullmatch("[0-9]{1,9}", text) or int(text) < least:
        raise ValueError
    return int(text)


def _real(text: str, most: float) -> float:
    if not 0 <= float(text) <= most:
        raise ValueError
    return float(text)


def _calls(text: str) -> range:
    first, _, last = text.rpartition(":")
    return range(_whole(first or "0"), _whole(last))


def _nothing(text: str) -> int:
    if text:
        raise ValueError
    return 1


ARGUMENTS: dict[str, tuple[Callable[[str], Value], str]] = {
    "N": (partial(_whole, least=1), "a number of 1 or more"),
    "HEIGHT": (_whole, "a number of 0 or more"),
    "CALLS": (_whole, "a number of 0 or more"),
    "SEED": (_whole, "a number of 0 or more"),
    "[N]": (lambda text: _whole(text or "0"), "a number"),
    "SHARE": (partial(_real, most=1), "a number from 0 to 1"),
    "SECONDS": (partial(_real, most=1e9), "seconds, 0 or more"),
    "A:B": (_calls, "a number of calls, or the calls A:B"),
    "": (_nothing, "no value"),
}
"""What the value of a fault can be: a function that reads it, or raises ValueError, and words."""


def _parsed(text: str) -> tuple[str, Value]:
    """Return the name and the value of a fault. Raises ValueError."""
    name, _, given = text.partition(":")
    if name not in FAULTS:
        raise ValueError(f"expected NAME or NAME:N, where NAME is one of {', '.join(FAULTS)}")
    read, words = ARGUMENTS[FAULTS[name].argument]
    try:
        return name, read(given)
    except ValueError:
        raise ValueError(f"{name} takes {words}, as in {shown(name)}") from None


class Faults:
    """The faults of one server. Immutable."""

    def __init__(self, *texts: str) -> None:
        """Takes faults as `NAME` or `NAME:VALUE`. Raises ValueError."""
        self.texts = texts
        given = [_parsed(text) for text in texts]
        order = {name: place for place, name in enumerate(FAULTS)}
        self.given = sorted(given, key=lambda one: order[one[0]])
        self._values = dict(given)
        self._key = mix(int(self.get("seed", 0)), 0xFA17)

    def __repr__(self) -> str:
        return f"Faults{self.texts}"

    def get(self, name: str, default: Any) -> Any:
        """Return the value of a fault, or the default without it."""
        return self._values.get(name, default)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def stage(self, stage: str, handler: str) -> list[tuple[Change, Value]]:
        """Return the functions of a stage for the calls of a handler, each with its value."""
        return [
            (one.function, value)
            for one, value in ((FAULTS[name], value) for name, value in self.given)
            if one.function and one.stage == stage and handler in (one.of or (handler,))
        ]

    def applied(self, stage: str, what: Any, ask: Ask) -> Any:
        """Return what the faults of a stage make of something. Raises RpcError."""
        for function, value in self.stage(stage, ask.handler):
            what = function(what, ask, value)
        return what

    def asked(self, ask: Ask) -> Ask:
        """Return the call that the server hears."""
        for function, value in self.stage(REQUEST, ask.handler):
            ask = function(ask, value)
        return ask

    def rows(self, ask: Ask) -> list[Item]:
        """Return the rows of a call that went through `asked`. Raises RpcError."""
        if self.stage(ROWS, ask.handler):
            whole = self.applied(ROWS, ask.book.rows(ask.whole()), ask)
            page = whole[ask.offset : ask.offset + ask.limit]
        else:
            page = ask.book.rows(ask)
        found: list[Item] = self.applied(PAGE, page, ask)
        return found

    def word(self, kind: int, number: int) -> int:
        """Return a pseudo-random word (64 bits) for a number; `kind` sets the faults of one server apart."""
        return mix(number << 8 | kind, self._key)

    def hit(self, share: float, kind: int, number: int) -> bool:
        """Return whether a fault hits this share of the numbers."""
        return share > 0 and self.word(kind, number) < share * (WORD + 1)


class Memory:
    """What a server remembers from call to call; threads share it under `lock`."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Takes the clock of the rate limit, in seconds."""
        self.clock, self.lock = clock, Lock()
        self.tips: list[tuple[int, int]] = []  # heights that were the tip, each with the first call that saw it
        self.cached: dict[tuple[str, int], list[Item]] = {}  # by handler and height, before a reorg
        self.windows: dict[str, tuple[float, int]] = {}  # method -> start of its window, calls in it
        self.fork: Any = None  # the book after the reorg


NO_FAULTS = Faults()
"""A server without faults."""
