"""The only module that imports aleo-sdk, which is optional, native, and under the GPL-3.

Its bindings for mainnet serve every network: view keys, addresses and the ciphertexts of records are the same on all of
them (docs/protocol.md, "Ownership rows").
"""

from importlib.util import find_spec
from typing import Any

from chainq.errors import UsageError, missing_package


def load(what: str = "reading view keys", extra: str = "wallet") -> Any:
    """Return the SDK: a module with `ViewKey`, `Group`, `Field`, `Poseidon8`, `RecordCiphertext`, `BHP1024`.

    `what` needs it, and the `extra` of chainq installs it; both are for the error message.

    Importing it takes a quarter of a second. Raises UsageError if it is not installed.

    Its errors are plain RuntimeErrors whose text may repeat its input, which may be a key. Code that catches one must
    not show it, nor chain another error to it.
    """
    try:
        from aleo import mainnet
    except ImportError:
        raise _missing(what, extra) from None
    return mainnet


def check_installed(what: str, extra: str) -> None:
    """Raise UsageError if the SDK is not installed, without importing it: called before a prompt for a key."""
    if not installed():
        raise _missing(what, extra)


def installed() -> bool:
    """Return whether the SDK is installed, without importing it."""
    return find_spec("aleo") is not None


def _missing(what: str, extra: str) -> UsageError:
    return missing_package(f"{what} needs the aleo-sdk package, which is not installed", extra)
