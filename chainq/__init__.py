"""chainq: explore a chain data service, every row exactly once and no digit changed.

For Python, `chainq.Client` (documented in `chainq.api`) and the errors of `chainq.errors`; for the shell, `chainq.app`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chainq.api import Client as Client

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # Loaded when asked for: the command line imports this package too, and needs no httpx for --help.
    if name == "Client":
        from chainq.api import Client

        return Client
    raise AttributeError(f"module 'chainq' has no attribute {name!r}")
