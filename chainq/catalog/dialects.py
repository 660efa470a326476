"""How requests to a server differ from the published interface, as data. The interface itself is in `methods`.

Source: docs/protocol.md, "Dialects". Nothing here sends requests: `fetching.calls` finds out which dialect a
server speaks.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from chainq.catalog.methods import Method, Role

Value = int | str
AUTO = "auto"
"""Stands for a dialect that is found out (`fetching.calls`)."""
_OTHER_NAMES = ("is not iterable", "undefined binding")  # in messages about parameters by other names than the server's


class Wire(NamedTuple):
    """A method as a server has it: its name there, the names of parameters that differ, by role, and the greatest page
    size if that differs."""

    name: str
    params: Mapping[Role, str] = MappingProxyType({})
    page_size_max: int | None = None


class Dialect(NamedTuple):
    """A dialect: only what differs from the catalogue, by the catalogue's method names.

    `transactions_by_row_id`: the method `transactions` takes the block's row id (`id` of its summary), not its height.
    """

    name: str
    wires: Mapping[str, Wire] = MappingProxyType({})
    transactions_by_row_id: bool = False

    def wire(self, method: Method) -> Wire:
        """Return the method as a server of this dialect has it."""
        return self.wires.get(method.name) or Wire(method.name)

    def call(self, method: Method, arguments: Mapping[Role, Value]) -> tuple[str, dict[str, Value] | None]:
        """Return the method name and the `params` object of a request; None if the method takes no parameters.

        Parameters are in the order of the catalogue, and only those given.
        """
        wire = self.wire(method)
        if not method.params:
            return wire.name, None
        return wire.name, {
            wire.params.get(param.role, param.name): arguments[param.role]
            for param in method.params
            if param.role in arguments
        }

    def page_size_max(self, method: Method) -> int | None:
        """Return the greatest page size that the server allows; None if no limit is known."""
        return self.wire(method).page_size_max or method.page_size_max


DIALECTS = {
    "chain": Dialect("chain"),
    "aleo": Dialect(
        "aleo",
        {
            "getBlocks": Wire("blocks", {Role.START: "startHeight", Role.END: "endHeight"}),
            "getChainBlocks": Wire("getAleoBlocks"),
            "chainTransaction": Wire("aleoTransaction"),
            "chainTransactionsForProgram": Wire("aleoTransactionsForProgram", page_size_max=1000),
            "getPublicTransactionsForAddress": Wire(
                "getPublicTransactionsForAddress", {Role.SIZE: "transactionsPerRequest"}
            ),
        },
        transactions_by_row_id=True,
    ),
}


def is_shared(method: Method) -> bool:
    """Return whether a method is called alike in every dialect, so that the server's need not be known."""
    return not any(
        method.name in dialect.wires or (method.listed and dialect.transactions_by_row_id)
        for dialect in DIALECTS.values()
    )


def is_unknown_method(code: str) -> bool:
    """Return whether the code of a JSON-RPC error is that of a missing method (JSON-RPC 2.0, section 5.1)."""
    return code.strip('"') == "-32601"


def is_misunderstood(code: str, message: str) -> bool:
    """Return whether a JSON-RPC error means that the server has other names for methods or parameters.

    The messages are those of docs/protocol.md, "Dialects".
    """
    return is_unknown_method(code) or any(words in message.lower() for words in _OTHER_NAMES)
