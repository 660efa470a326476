"""The only module that imports aleo-sdk, which is optional, native, and under the GPL-3.

Its bindings for mainnet serve every network: view keys, addresses and the ciphertexts of records are the same on all of
them (docs/protocol.md, "Ownership rows").
"""

from typing import Any

from chainq.errors import UsageError

INSTALL = "pip install 'chainq[wallet]'"


def load(what: str = "owned", install: str = INSTALL) -> Any:
    """Return the SDK: a module with `ViewKey`, `Group`, `Field`, `Poseidon8`, `RecordCiphertext`, `BHP1024`.

    `what` needs it and `install` gets it, both for the message of an error.

    Importing it takes a quarter of a second. Raises UsageError where it is not installed.

    Its errors are plain RuntimeErrors whose text may repeat what it was given, which may be a key: whoever catches one
    must not show it, nor chain another error to it.
    """
    try:
        from aleo import mainnet
    except ImportError:
        raise UsageError(f"{what} needs the package aleo-sdk, which is not installed", install) from None
    return mainnet
