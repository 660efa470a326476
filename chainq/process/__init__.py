"""Signals, threads, worker processes, the progress bar, and a server."""

import sys
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


class _NoPandas:
    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def forgo_pandas() -> None:
    """Make libraries find no pandas, for the program and its worker processes, which do not use it.

    pyarrow and duckdb load it, if it is installed, to see whether a list is a series: a quarter of a second and 40 MB
    in each process. Rejected: None in `sys.modules`, which code compiled by Cython takes for a module.
    """
    sys.meta_path.insert(0, _NoPandas)
