"""Keeps libraries from loading pandas in the program and its worker processes, which do not use it.

pyarrow and duckdb load it, if it is installed, to see whether a list is a series: a quarter of a second of processor
time and 40 MB in each process. `chainq.Client` leaves its process alone.
"""

import sys

TYPE_CHECKING = False  # as in `chainq/__init__.py`
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec


class _Finder:
    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> "ModuleSpec | None":
        if name == "pandas":
            raise ModuleNotFoundError(name)
        return None


def install() -> None:
    """From now on pandas is not installed for this process.

    Rejected: None in `sys.modules`, which Python takes for that, too, but code compiled by Cython for a module.
    """
    sys.meta_path.insert(0, _Finder)
