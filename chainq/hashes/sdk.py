"""The only module that imports aleo-sdk, which is optional, native, and under the GPL-3.

Its bindings for mainnet serve every network: view keys, addresses and the ciphertexts of records are the same on all of
them (docs/protocol.md, "Ownership rows").
"""

import sys
import threading
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Any

from chainq.errors import UsageError, missing_package

_EXTENSION = "aleo._aleolib_mainnet"
_LOADING = threading.Lock()


def load(what: str = "reading view keys", extra: str = "wallet") -> Any:
    """Return the SDK: a module with `ViewKey`, `Group`, `Field`, `Poseidon8`, `RecordCiphertext`, `BHP1024`.

    `what` needs it, and the `extra` of chainq installs it; both are for the error message.

    It is the package's extension module alone: the package itself loads clients of other services, which takes ten
    times as long, in each worker process. `sys.modules` has it by its own name, because it can be loaded only once, and
    a program that uses chainq may import the package, too. Raises UsageError if it is not installed.

    Its errors are plain RuntimeErrors whose text may repeat its input, which may be a key. Code that catches one must
    not show it, nor chain another error to it.
    """
    with _LOADING:
        if _EXTENSION not in sys.modules:
            package = find_spec("aleo")
            spec = PathFinder.find_spec(_EXTENSION, package.submodule_search_locations if package else ())
            if spec is None or spec.loader is None:
                raise _missing(what, extra)
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            sys.modules[_EXTENSION] = module
        return sys.modules[_EXTENSION]


def check_installed(what: str, extra: str) -> None:
    """Raise UsageError if the SDK is not installed, without importing it: called before a prompt for a key."""
    if find_spec("aleo") is None:
        raise _missing(what, extra)


def _missing(what: str, extra: str) -> UsageError:
    return missing_package(f"{what} needs the aleo-sdk package, which is not installed", extra)
