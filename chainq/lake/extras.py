"""The optional packages of an export, looked for together and before anything else, so that one command adds all."""

from collections.abc import Collection
from importlib.util import find_spec

from chainq.errors import missing_package

_MODULES = {
    "parquet": {"pyarrow": "pyarrow"},
    "export": {"obstore": "obstore"},
    "dask": {"distributed": "distributed"},
    "delta": {"deltalake": "deltalake"},
    "hashes": {"aleo": "aleo-sdk"},
}
"""By extra of chainq, the modules that it adds to those of `parquet`, with the names of their packages."""


def check_installed(extras: Collection[str] = ()) -> None:
    """Raise UsageError if packages of these extras, or pyarrow, are not installed; do not load them."""
    needed = {module: package for extra in ("parquet", *extras) for module, package in _MODULES[extra].items()}
    missing = [package for module, package in needed.items() if find_spec(module) is None]
    if not missing:
        return
    *others, last = missing
    names = f"{', '.join(others)} and {last}" if others else last
    alone = [extra for extra in extras if extra != "export" or "dask" not in extras]  # which comes with it
    raise missing_package(f"this export needs the package{'s' * bool(others)} {names}", ",".join(alone) or "parquet")
