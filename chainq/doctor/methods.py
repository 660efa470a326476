"""MethodProber: which methods a server has, and under which names. For `chainq doctor`."""

from collections.abc import Mapping

from chainq.catalog.dialects import DIALECTS, Dialect, Value
from chainq.catalog.methods import BY_COMMAND, Method, Role
from chainq.doctor.prober import UNKNOWN, Check, Outcome, Prober
from chainq.errors import IncompleteError, LackingError, TooHeavyError
from chainq.text.sanitize import excerpt

WORKS = "the command works"
"""What the check of a method means if all is well."""


class MethodProber:
    """Calls methods by command and parameters by role, in the dialect that is known so far.

    A server may have some methods as another dialect has them; chainq finds these anew in each run.
    """

    def __init__(self, prober: Prober, stated: Dialect) -> None:
        """Takes the dialect that applies until another one is found."""
        self.prober, self.dialect = prober, stated

    def call(self, command: str, arguments: Mapping[Role, Value]) -> Outcome:
        """Call a command's method."""
        return self.prober.call(*self.dialect.call(BY_COMMAND[command], arguments))

    def find(self, command: str, arguments: Mapping[Role, Value], made_up: bool = False) -> tuple[Outcome, Check]:
        """Call a method, in other dialects too if that fails; return the outcome and a check.

        `made_up`: the arguments refer to nothing that exists, so an error proves the method exists as a result does.
        """
        method = BY_COMMAND[command]
        wire, best = self.dialect.wire(method), self.call(command, arguments)
        for dialect in DIALECTS.values():
            if not best.code or (made_up and not best.unknown_method):
                break
            if dialect.wire(method) != self.dialect.wire(method):
                outcome = self.prober.call(*dialect.call(method, arguments))
                if outcome.result or (best.unknown_method and not outcome.unknown_method):
                    wire, best = dialect.wire(method), outcome
        self.dialect = self.dialect._replace(wires={**self.dialect.wires, method.name: wire})
        return best, self.check(method, best, made_up)

    def check(self, method: Method, outcome: Outcome, made_up: bool = False) -> Check:
        """Return a check of whether the server has the method."""
        own = self.dialect.wire(method).name
        name, known = method.command, "yes" if own == method.name else f"yes, as {own}"
        if outcome.result or (made_up and outcome.code and not outcome.unknown_method):
            return Check(name, known, WORKS)
        if outcome.unknown_method and outcome.error is not None:
            return Check(name, "no", f"the server has no {method.name}", outcome.error)
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
