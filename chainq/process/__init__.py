"""Signals, threads, worker processes and the progress bar."""

from typing import Self


class Closing:
    """A context manager that ends with `close`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release what is held."""
        raise NotImplementedError
