"""Packages that a file of tests needs, and that a machine may lack."""

from importlib.util import find_spec

import pytest


def needs(*packages: str) -> None:
    """Skip the file unless the packages are installed. They are not loaded: each process of pytest would do it."""
    for package in packages:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed", allow_module_level=True)
