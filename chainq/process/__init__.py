"""Signals, threads, worker processes and the progress bar."""

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """A context manager that ends with `close`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Release all resources."""
