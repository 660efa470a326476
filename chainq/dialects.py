"""How a server's calls differ from the service document, as data. What the document says stands in `methods`."""

from dataclasses import dataclass, field

from chainq.methods import Method, Role

Value = int | str


@dataclass(frozen=True, slots=True)
class Wire:
    """How one method is called on a server: its name there, and the parameters whose names differ, by role."""

    name: str
    params: dict[Role, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dialect:
    """A server's way of speaking: only what deviates from the catalogue, by the catalogue's method names."""

    name: str
    wires: dict[str, Wire] = field(default_factory=dict)

    def call(self, method: Method, arguments: dict[Role, Value]) -> tuple[str, dict[str, Value] | None]:
        """The method name and the `params` object for a call; None where the method takes no parameters.

        Parameters stand in the document's order, only those given.
        """
        wire = self.wires.get(method.name) or Wire(method.name)
        if not method.params:
            return wire.name, None
        return wire.name, {
            wire.params.get(param.role, param.name): arguments[param.role]
            for param in method.params
            if param.role in arguments
        }


DIALECTS = {"chain": Dialect("chain")}
