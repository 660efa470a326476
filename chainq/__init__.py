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

from chainq._version import __version__

# Not of `typing`: loading that takes half of the time until the program handles Ctrl-C (`__main__`).
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from chainq.client import Client
    from chainq.errors import (
        BehindError,
        BrokenBodyError,
        BusyError,
        ChainqError,
        GatewayError,
        IncompleteError,
        LackingError,
        NotFoundError,
        OutputError,
        OverdueError,
        ReorgError,
        ResponseError,
        ServiceError,
        StaleError,
        TooHeavyError,
        UnreachableError,
        UsageError,
        WrongHashError,
    )

# Nothing is imported before it is used, because the command line imports this package, too.

__all__ = [
    "BehindError",
    "BrokenBodyError",
    "BusyError",
    "ChainqError",
    "Client",
    "GatewayError",
    "IncompleteError",
    "LackingError",
    "NotFoundError",
    "OutputError",
    "OverdueError",
    "ReorgError",
    "ResponseError",
    "ServiceError",
    "StaleError",
    "TooHeavyError",
    "UnreachableError",
    "UsageError",
    "WrongHashError",
    "__version__",
]


def __getattr__(name: str) -> "Any":
    if name not in (*__all__, "client", "errors"):
        raise AttributeError(f"module 'chainq' has no attribute {name!r}")
    from importlib import import_module

    if name not in __all__:  # as `help(chainq.client)` needs it
        return import_module(f"chainq.{name}")
    return getattr(import_module("chainq.client" if name == "Client" else "chainq.errors"), name)


def __dir__() -> list[str]:
    return __all__
