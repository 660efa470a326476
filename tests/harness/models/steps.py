"""Counts the steps that a call takes, so that a test of linear time needs no clock."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def steps(call: Callable[[], object]) -> int:
    """Return how many lines of Python a call runs, and how many functions of C it calls."""
    count = 0

    def line(_frame: FrameType, event: str, _arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return line

    def function(_frame: FrameType, event: str, _arg: Any) -> None:
        nonlocal count
        count += event == "c_call"

    before = sys.gettrace(), sys.getprofile()
    sys.settrace(line)
    sys.setprofile(function)
    try:
        call()
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
    return count


def linear(few: int, many: int) -> bool:
    """Return whether steps for twice as much are about twice as many."""
    return many < 2.5 * few
