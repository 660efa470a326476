"""How a server's calls differ from the published interface, as data. The interface itself is in `methods`.

Source: docs/protocol.md, "Dialects". Nothing here sends: which dialect a server speaks is found
out by `fetching.dialect_detection`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from chainq.catalog.methods import BY_NAME, Method, Role

Value = int | str
_NOTHING: Mapping[str, Any] = MappingProxyType({})
AUTO = "auto"
"""Stands for a dialect that is found out by asking (`detect`)."""


class Wire(NamedTuple):
    """How one method is called on a server: its name there, the parameters whose names differ, by role, and the most
    rows a call may ask for where that differs."""

    name: str
    params: Mapping[Role, str] = MappingProxyType({})
    page_size_max: int | None = None


class Names(NamedTuple):
    """What a profile says of a server that fits no dialect, by the names of the service document.

    `methods`: method -> its name there; `parameters`: method -> parameter -> its name there. What is None or absent
    stays as the dialect has it.
    """

    methods: Mapping[str, str] = _NOTHING
    parameters: Mapping[str, Mapping[str, str]] = _NOTHING
    transactions_by_row_id: bool | None = None


class Dialect(NamedTuple):
    """A server's way of speaking: only what deviates from the catalogue, by the catalogue's method names.

    `transactions_by_row_id`: the method `transactions` wants the block's row id (`id` of its summary), not its height.
    """

    name: str
    wires: Mapping[str, Wire] = _NOTHING
    transactions_by_row_id: bool = False

    def wire(self, method: Method) -> Wire:
        """How the method is called; without deviations where there are none."""
        return self.wires.get(method.name) or Wire(method.name)

    def call(self, method: Method, arguments: Mapping[Role, Value]) -> tuple[str, dict[str, Value] | None]:
        """The method name and the `params` object for a call; None where the method takes no parameters.

        Parameters stand in the document's order, only those given.
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
        """The most rows a call may ask for; None where no limit is known."""
        return self.wire(method).page_size_max or method.page_size_max

    def with_names(self, names: Names) -> "Dialect":
        """The same dialect with a server's own names in it. Keys that the catalogue lacks raise KeyError."""
        wires = dict(self.wires)
        for method_name in dict.fromkeys([*names.methods, *names.parameters]):
            method = BY_NAME[method_name]
            wire = self.wire(method)
            roles = {param.name: param.role for param in method.params}
            own = {roles[name]: there for name, there in names.parameters.get(method_name, {}).items()}
            name = names.methods.get(method_name, wire.name)
            wires[method_name] = wire._replace(name=name, params={**wire.params, **own})
        by_row_id = names.transactions_by_row_id
        return self._replace(
            wires=wires,
            transactions_by_row_id=self.transactions_by_row_id if by_row_id is None else by_row_id,
        )


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
