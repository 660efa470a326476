"""The examples in docstrings run as they are written."""

import doctest
import inspect
from importlib import import_module
from pathlib import Path

import pytest

import chainq
from chainq import Client

ROOT = Path(chainq.__file__).parent
MODULES = [
    ".".join(("chainq", *path.relative_to(ROOT).with_suffix("").parts))
    for path in sorted(ROOT.rglob("*.py"))
    if "\n" + " " * 4 + ">>> " in path.read_text("utf-8").replace(" " * 8, " " * 4)
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module(name: str) -> None:
    """All examples of a module give what their docstrings show."""
    outcome = doctest.testmod(import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert outcome.attempted
    assert not outcome.failed


def test_every_method_of_the_client_has_an_example() -> None:
    """Whoever reads the help of a method sees it used."""
    methods = [method for name, method in inspect.getmembers(Client, inspect.isfunction) if not name.startswith("_")]
    assert [
        method.__name__ for method in methods if method.__name__ != "close" and ">>>" not in (method.__doc__ or "")
    ] == []
