"""What is verified, as windows: the rows of some heights as Arrow tables, whatever they come from."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from chainq.heights.range import HeightRange
from chainq.verify.findings import Contradiction, Finding

MakeFinding = Callable[[str, int | None, Contradiction], Finding]
"""Makes a finding from a command, a height (None if unknown) and a contradiction."""


class Window(NamedTuple):
    """All rows of some heights.

    `tables`: by command. `due`: what the full blocks among them explain (`explain.explain`), empty without any.
    `doubts`: why rows of a height may be missing, by command and height. `finding`: makes findings about the rows.
    `derived`: the tables that were read off full blocks. `wrong`: findings about where the rows come from.
    """

    heights: HeightRange
    tables: dict[str, Any]
    due: dict[str, Any]
    doubts: Mapping[tuple[str, int], str]
    finding: MakeFinding
    derived: Collection[str] = ()
    wrong: Sequence[Finding] = ()


def no_finding(command: str, height: int | None, one: Contradiction) -> Finding:
    """Return a finding about a second source, which nobody asks for."""
    return Finding(height, command, *one[:3], None)
