"""The marker `search`: tests of many kinds or seeds that plain `pytest` leaves out, and `.ci/run` runs."""

from collections.abc import Iterable
from typing import Any

import pytest


def some(cases: Iterable[Any], *kept: Any, several: bool = False) -> list[Any]:
    """All cases of a test; plain `pytest` runs only those that are kept.

    `several`: each case is a tuple with the values of several arguments.
    """
    cases = sorted(cases) if isinstance(cases, set) else list(cases)
    assert {*kept} <= {*cases}, "a case that is kept is gone"
    return [
        pytest.param(*(case if several else (case,)), marks=() if case in kept else pytest.mark.search)
        for case in cases
    ]
