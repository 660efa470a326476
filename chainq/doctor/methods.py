"""MethodProber: which methods a server has, and under which names. For `chainq doctor`."""

from collections.abc import Iterator, Mapping

from chainq.catalog.dialects import DIALECTS, Dialect, Names, Value, Wire
from chainq.catalog.methods import BY_COMMAND, Method, Role
from chainq.doctor.prober import UNKNOWN, Check, Outcome, Prober
from chainq.errors import IncompleteError, LackingError, TooHeavyError
from chainq.text.sanitize import excerpt

WORKS = "the command works"
"""What the check of a method means if all is well."""


class MethodProber:
    """Calls methods by command and parameters by role, and learns the server's names for both.

    `dialect` and `names`: known so far.
    """

    def __init__(self, prober: Prober, stated: Dialect, names: Names) -> None:
        """Takes the dialect and the names that apply until others are found."""
        self.prober = prober
        self.names = names
        self.set_dialect(stated)

    def set_dialect(self, base: Dialect) -> None:
        """Use that dialect, with the server's own names added."""
        self._base = base
        self.dialect = base.with_names(self.names)

    def set_transactions_by_row_id(self, wanted: bool) -> None:
        """Use row ids or heights for the method `transactions`."""
        if wanted != self.dialect.transactions_by_row_id:
            self.names = Names(self.names.methods, self.names.parameters, wanted)
            self.set_dialect(self._base)

    def call(self, command: str, arguments: Mapping[Role, Value]) -> Outcome:
        """Call a command's method with the known names."""
        return self.prober.call(*self.dialect.call(BY_COMMAND[command], arguments))

    def find(self, command: str, arguments: Mapping[Role, Value], made_up: bool = False) -> tuple[Outcome, Check]:
        """Call a method, with the names of other dialects too if its own name fails; return the outcome and a check.

        `made_up`: the arguments refer to nothing that exists, so an error proves the method exists as a result does.
        """
        method = BY_COMMAND[command]
        wires = self.wires(method)
        wire, own = next(wires), self.names.methods.get(method.name)
        best = first = self.call_as(wire, method, arguments)
        while best.code and not (made_up and not best.unknown_method):
            following = next(wires, None)
            if following is None:
                break
            outcome = self.call_as(following, method, arguments)
            if outcome.result or (best.unknown_method and not outcome.unknown_method):
                best, wire = outcome, following
        if best.result:
            self.learn(method, wire)
        if own is not None and best is not first and first.unknown_method and first.error is not None:
            first.error.hint = f"the server has it as {wire.name}: change methods.{method.name} in the profile"
            return best, Check(command, f"yes, as {wire.name}", f"the profile names it {own}", first.error)
        return best, self.check(method, best, made_up)

    def call_as(self, wire: Wire, method: Method, arguments: Mapping[Role, Value]) -> Outcome:
        """Call a method with these names."""
        return self.prober.call(*Dialect("", {method.name: wire}).call(method, arguments))

    def wires(self, method: Method) -> Iterator[Wire]:
        """Yield the ways to call a method: the likely one first, then every name with every set of parameter names."""
        known = [self.dialect.wire(method), *(dialect.wire(method) for dialect in DIALECTS.values())]
        tried = []
        for wire in [*known, *(Wire(one.name, other.params) for one in known for other in known)]:
            way = wire.name, dict(wire.params)
            if way not in tried:
                tried.append(way)
                yield wire

    def learn(self, method: Method, wire: Wire) -> None:
        """Use these names for a method: those that differ from the dialect become the server's own names."""
        usual = self._base.wire(method)
        methods = {name: own for name, own in self.names.methods.items() if name != method.name}
        parameters = {name: own for name, own in self.names.parameters.items() if name != method.name}
        if wire.name != usual.name:
            methods[method.name] = wire.name
        own = {
            param.name: sent
            for param in method.params
            if (sent := wire.params.get(param.role, param.name)) != usual.params.get(param.role, param.name)
        }
        if own:
            parameters[method.name] = own
        self.names = Names(methods, parameters, self.names.transactions_by_row_id)
        self.set_dialect(self._base)

    def check(self, method: Method, outcome: Outcome, made_up: bool = False) -> Check:
        """Return a check of whether the server has the method."""
        own = self.dialect.wire(method).name
        name, known = method.command, "yes" if own == method.name else f"yes, as {own}"
        if outcome.result or (made_up and outcome.code and not outcome.unknown_method):
            return Check(name, known, WORKS)
        if outcome.unknown_method and outcome.error is not None:
            outcome.error.hint = outcome.error.hint or other_name(method)
            return Check(name, "no", f"the server has no {method.name}; {other_name(method)}", outcome.error)
        if isinstance(outcome.error, TooHeavyError):
            return Check(name, f"{known}, but slow", "chainq will request shorter ranges")
        if isinstance(outcome.error, LackingError | IncompleteError):
            if outcome.error.table:
                return Check(name, "not in this export", str(outcome.error))
            return Check(name, f"{known}, of some heights", str(outcome.error))
        if outcome.code:
            meaning = f"the command will fail: {outcome.error}"
            return Check(name, f"error {excerpt(outcome.code, 20)}", meaning, outcome.error)
        return Check(name, UNKNOWN, str(outcome.error), None if outcome.skipped else outcome.error)


def other_name(method: Method) -> str:
    """Return what to do if a server has a method under a name that no dialect has."""
    return f'if it has another name there, add methods = {{ "{method.name}" = "NAME" }} to its profile'
