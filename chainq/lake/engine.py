"""What an engine is: it has partitions written by workers, wherever they are."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from chainq.lake.job import Done, Job, Task
from chainq.transport.base import Report


class Listener(Protocol):
    """Hears what workers say."""

    def warn(self, text: str) -> None:
        """Take a line for the user."""

    def trace(self, text: str) -> None:
        """Take a step of the run, for `--verbose`."""

    def call(self, report: Report) -> None:
        """Take an attempt of a request."""


class Engine(Protocol):
    """Has partitions written. Only `local` and `dask` exist; both give each worker plain values."""

    def run(self, job: Job, tasks: Sequence[Task], check: Callable[[], None]) -> Iterator[Done]:
        """Yield partitions as they are written. Raises the first failure once no partition is under way."""
