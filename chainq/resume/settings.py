"""How a run resumes an earlier one and when it ends: the values of `--checkpoint`, `--follow` and their options."""

from pathlib import Path
from typing import NamedTuple

from chainq.defaults import INTERVAL


class ResumeSettings(NamedTuple):
    """How an incremental run begins and ends; at least one of `checkpoint` and `follow` is set.

    `checkpoint`: the file that records the position. `lag`: blocks below the tip to leave out. `rewind`: blocks to go
    back first. `max_age`: seconds that the tip may be old. `follow`: poll until interrupted, every `interval` seconds.
    `output`: the file that rows are appended to, None for standard output. `adopt`: go on after the rows that it has
    already, if there is no checkpoint.
    """

    checkpoint: Path | None = None
    lag: int = 0
    rewind: int | None = None
    max_age: float | None = None
    follow: bool = False
    interval: float = INTERVAL
    output: Path | None = None
    adopt: bool = False
