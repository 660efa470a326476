"""How a run resumes an earlier one and when it ends: the values of `--checkpoint`, `--follow` and their options."""

from pathlib import Path
from typing import NamedTuple

from chainq.defaults import INTERVAL, SETTLE


class ResumeSettings(NamedTuple):
    """How an incremental run begins and ends; at least one of `checkpoint` and `follow` is set.

    `checkpoint`: the file that records the position. `lag`: blocks below the tip to leave out. `rewind`: blocks to go
    back first. `max_age`: maximum tip age in seconds. `follow`: poll until interrupted, every `interval` seconds.
    `output`: the file that rows are appended to, None for standard output. `header`: the output begins with a header
    that an option leaves out.
    """

    checkpoint: Path | None = None
    lag: int = SETTLE
    rewind: int | None = None
    max_age: float | None = None
    follow: bool = False
    interval: float = INTERVAL
    output: Path | None = None
    header: bool = False
