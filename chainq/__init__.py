"""chainq: explore a chain data service; every row exactly once, no digit changed.

The public API is what `__all__` names: `Client` and `AsyncClient`, described in `chainq.client`, and the errors of
`chainq.errors`.
Nothing is imported before it is used, since the command line imports this package too.
"""

from typing import TYPE_CHECKING, Any

from chainq._version import __version__

if TYPE_CHECKING:
    from chainq.client import AsyncClient, Client
    from chainq.errors import (
        BrokenBodyError,
        BusyError,
        ChainqError,
        GatewayError,
        IncompleteError,
        LackingError,
        NotFoundError,
        OutputError,
        OverdueError,
        ResponseError,
        ServiceError,
        TooHeavyError,
        UnreachableError,
        UsageError,
    )

__all__ = [
    "AsyncClient",
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
    "ResponseError",
    "ServiceError",
    "TooHeavyError",
    "UnreachableError",
    "UsageError",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name not in (*__all__, "client", "errors"):
        raise AttributeError(f"module 'chainq' has no attribute {name!r}")
    from importlib import import_module

    if name not in __all__:  # as `help(chainq.client)` needs it
        return import_module(f"chainq.{name}")
    return getattr(import_module("chainq.client" if name in ("AsyncClient", "Client") else "chainq.errors"), name)


def __dir__() -> list[str]:
    return __all__
