"""Which of the eleven methods a server has, and under which names: for `chainq doctor`."""

from collections.abc import Iterator, Mapping

from chainq.catalog.dialects import DIALECTS, Dialect, Names, Value, Wire
from chainq.catalog.methods import BY_COMMAND, METHODS, Method, Role
from chainq.doctor.prober import Asker, Check, Said
from chainq.errors import TooHeavyError
from chainq.text.sanitize import excerpt


class Speaker:
    """Asks for methods by their commands and parameters by their roles, and learns how the server calls them.

    `dialect` and `names` are what has been learned so far.
    """

    def __init__(self, asker: Asker, stated: Dialect, names: Names) -> None:
        self.asker = asker
        self.names = names
        self.use(stated)

    def use(self, base: Dialect) -> None:
        """Go by that dialect, and by the server's own names beside it."""
        self._base = base
        self.dialect = base.with_names(self.names)

    def by_row_id(self, wanted: bool) -> None:
        """Take in whether `transactions` wants row ids."""
        if wanted != self.dialect.transactions_by_row_id:
            self.names = Names(self.names.methods, self.names.parameters, wanted)
            self.use(self._base)

    def ask(self, command: str, arguments: Mapping[Role, Value]) -> Said:
        """Ask as the server is known to speak."""
        return self.asker.ask(*self.dialect.call(BY_COMMAND[command], arguments))

    def find(self, command: str, arguments: Mapping[Role, Value], bogus: bool = False) -> tuple[Said, Check]:
        """Ask a method, under other dialects' names too where it is not known by its own; what it said, and a check.

        `bogus`: the arguments stand for nothing real, so that an error is as good an answer as a result.
        """
        method = BY_COMMAND[command]
        wires = self.wires(method)
        wire = next(wires)
        best = self.ask_as(wire, method, arguments)
        while best.code and not (bogus and not best.absent):  # an error of the service's own: perhaps another way
            following = next(wires, None)
            if following is None:
                break
            said = self.ask_as(following, method, arguments)
            if said.result or (best.absent and not said.absent):
                best, wire = said, following
        if best.result:
            self.learn(method, wire)
        return best, self.check(method, best, bogus)

    def ask_as(self, wire: Wire, method: Method, arguments: Mapping[Role, Value]) -> Said:
        """Ask a method that way."""
        return self.asker.ask(*Dialect("", {method.name: wire}).call(method, arguments))

    def wires(self, method: Method) -> Iterator[Wire]:
        """The ways to call a method: the likely one first, then every name with every set of parameter names."""
        known = [self.dialect.wire(method), *(dialect.wire(method) for dialect in DIALECTS.values())]
        tried = []
        for wire in [*known, *(Wire(one.name, other.params) for one in known for other in known)]:
            way = wire.name, dict(wire.params)
            if way not in tried:
                tried.append(way)
                yield wire

    def learn(self, method: Method, wire: Wire) -> None:
        """Take in how the method is called: what the dialect does not say becomes a name of the server's own."""
        usual = self._base.wire(method)
        methods = {name: there for name, there in self.names.methods.items() if name != method.name}
        parameters = {name: there for name, there in self.names.parameters.items() if name != method.name}
        if wire.name != usual.name:
            methods[method.name] = wire.name
        own = {
            param.name: there
            for param in method.params
            if (there := wire.params.get(param.role, param.name)) != usual.params.get(param.role, param.name)
        }
        if own:
            parameters[method.name] = own
        self.names = Names(methods, parameters, self.names.transactions_by_row_id)
        self.use(self._base)

    def check(self, method: Method, said: Said, bogus: bool = False) -> Check:
        """What an answer says of a method's presence."""
        there = self.dialect.wire(method).name
        name, known = method.command, "yes" if there == method.name else f"yes, as {there}"
        if said.result or (bogus and said.code and not said.absent):
            return Check(name, known, "the command works here")
        if said.absent:
            return Check(name, "no", f"the server has no {method.name}: the command cannot work here", said.error)
        if isinstance(said.error, TooHeavyError):
            return Check(name, f"{known}, but slow", "chainq will ask for short ranges")
        if said.code:
            meaning = f"the command will fail like this: {said.error}"
            return Check(name, f"answers error {excerpt(said.code, 20)}", meaning, said.error)
        return Check(name, "cannot be told", str(said.error), None if said.spared else said.error)

    def parameters(self) -> Check:
        """The names of parameters, told where they are not the document's."""
        told = []
        for method in METHODS:
            params = self.dialect.wire(method).params
            names = [params[p.role] for p in method.params if params.get(p.role, p.name) != p.name]
            if names:
                told.append(f"{method.command}: {', '.join(names)}")
        if not told:
            return Check("parameter names", "as documented", "no profile has to name any")
        return Check("parameter names", "; ".join(told), "chainq sends these names; chainq rpc wants them from you")
