"""The tip: the newest block of the chain."""

from typing import NamedTuple


class Tip(NamedTuple):
    """The newest block: its height (-1 for a chain without blocks), hashes (empty where not sent), time in seconds."""

    height: int
    hash: str
    previous_hash: str
    time: int | None
