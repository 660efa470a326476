"""The optional packages of an export, looked for before anything else."""

from collections.abc import Collection
from importlib.util import find_spec

from chainq.errors import missing_package

_MODULES = {
    "parquet": "pyarrow",
    "export": "obstore",
    "dask": "distributed",
    "delta": "deltalake",
    "hashes": "aleo",
}
"""By extra of chainq, the module that it adds to that of `parquet`."""


def check_installed(extras: Collection[str] = ()) -> None:
    """Raise UsageError if a package of these extras, or pyarrow, is not installed; do not load them."""
    for extra in ("parquet", *extras):
        if find_spec(_MODULES[extra]) is None:
            raise missing_package(f"this export needs the package {_MODULES[extra]}", extra)
