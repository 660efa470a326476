"""How requests to a server differ from the published interface, as data. The interface itself is in `methods`.

Source: docs/protocol.md, "Dialects". Nothing here sends requests: `fetching.calls` finds out which dialect a
server speaks.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from chainq.catalog.methods import BY_NAME, Method, Role, Shape

Value = int | str
_NOTHING: Mapping[str, Any] = MappingProxyType({})
AUTO = "auto"
"""Stands for a dialect that is found out (`fetching.calls`)."""


class Wire(NamedTuple):
    """A method as a server has it: its name there, the names of parameters that differ, by role, and the greatest page
    size if that differs."""

    name: str
    params: Mapping[Role, str] = MappingProxyType({})
    page_size_max: int | None = None


class Names(NamedTuple):
    """The names of a server that matches no dialect, from its profile; keys are names of the published interface.

    `methods`: method -> its name there; `parameters`: method -> parameter -> its name there. What is absent or None is
    as in the dialect.
    """

    methods: Mapping[str, str] = _NOTHING
    parameters: Mapping[str, Mapping[str, str]] = _NOTHING
    transactions_by_row_id: bool | None = None


NO_NAMES = Names()


class Dialect(NamedTuple):
    """A dialect: only what differs from the catalogue, by the catalogue's method names.

    `transactions_by_row_id`: the method `transactions` takes the block's row id (`id` of its summary), not its height.
    """

    name: str
    wires: Mapping[str, Wire] = _NOTHING
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

    def with_names(self, names: Names) -> "Dialect":
        """Return the same dialect with a server's own names. Raises KeyError for names that the catalogue lacks."""
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


def is_shared(method: Method, names: Names = NO_NAMES) -> bool:
    """Return whether a method is called alike in every dialect, so that the server's need not be known.

    `names`: the server's own beside its dialect.
    """
    first, *others = (dialect.with_names(names) for dialect in DIALECTS.values())
    by_block = method.shape is Shape.ROWS and method.param(Role.HEIGHT) is not None
    return all(
        other.wire(method) == first.wire(method)
        and (not by_block or other.transactions_by_row_id == first.transactions_by_row_id)
        for other in others
    )
