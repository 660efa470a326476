"""chainq: explore a chain data service, every row exactly once and no digit changed.

For Python, `chainq.Client` (documented in `chainq.api`) and the errors of `chainq.errors`; for the shell, `chainq.app`.
"""

from typing import TYPE_CHECKING, Any

from chainq._version import __version__ as __version__

if TYPE_CHECKING:
    from chainq.client import Client as Client


def __getattr__(name: str) -> Any:
    # Loaded when asked for: the command line imports this package too, and needs no httpx for --help.
    if name == "Client":
        from chainq.client import Client

        return Client
    raise AttributeError(f"module 'chainq' has no attribute {name!r}")
