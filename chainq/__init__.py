"""Explore the Aleo chain: every row exactly once, no digit changed, or an error.

    >>> from chainq import Client
    >>> with Client("demo:", typed=True) as client:
    ...     for row in client.records(12000, 12100, limit=2):
    ...         print(row["height"], row["program_id"])
    12000 token_registry.aleo
    12000 wrapped_credits.aleo

`demo:` is the built-in sample chain; `Client()` takes the URL of CHAINQ_URL or of a profile. For pandas, call
`client.blocks(last=1000).to_pandas()`; also `to_arrow` and `to_polars`.

The public API is what `__all__` names: `Client`, and the errors, all of them `ChainqError`.
`help(chainq.Client)` describes the methods, `help(chainq.client)` ranges, filters and types.
"""

from chainq._version import __version__ as __version__

# Not of `typing`: loading that takes half of the time until the program handles Ctrl-C (`__main__`).
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from chainq.client import Client as Client
    from chainq.errors import *  # noqa: F403


def __getattr__(name: str) -> "Any":
    """Import what is used: the command line imports this package, too, and needs little of it."""
    from importlib import import_module

    if name in ("client", "errors"):  # as `help(chainq.client)` needs it
        return import_module(f"chainq.{name}")
    found = vars(import_module("chainq.errors"))
    public = {each: value for each, value in found.items() if isinstance(value, type) and issubclass(value, Exception)}
    if name == "__all__":
        return ["Client", "__version__", *public]
    if name == "Client":
        return import_module("chainq.client").Client
    if name not in public:
        raise AttributeError(f"module 'chainq' has no attribute {name!r}")
    return public[name]


def __dir__() -> list[str]:
    return sorted(__getattr__("__all__"))
