"""What a server is, as a list of checks: the order of the questions, and what is told of the line and the envelope.

The checks are those in which servers are known to differ (docs/protocol.md); how rows and methods are looked into is in
`habits` and `presence`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from urllib.parse import urlsplit

from chainq.catalog.dialects import DIALECTS, Dialect, Names, Value
from chainq.catalog.identifiers import is_loopback
from chainq.catalog.methods import BY_COMMAND, METHODS, Role
from chainq.doctor.methods import Speaker
from chainq.doctor.pagination import UNTOLD, Habits, Window, address_in
from chainq.doctor.prober import Asker, Check, Said
from chainq.errors import ChainqError, ResponseError, UnreachableError
from chainq.fetching import dialect_detection
from chainq.rows.fields import Picker, integer_of
from chainq.text.humanize import age, counted
from chainq.text.sanitize import excerpt, mask_url

LATENCY_CALLS = 3
ADDRESS_HEIGHTS = 10_000
_NO_ID = "at1" + "q" * 58  # nobody's transaction, and nobody's address
_MINUTE, _DAY = 60, 86_400  # seconds


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All that was found. `url` is masked; `dialect` is None where none fits; `names`: what the server calls its own
    way beside it; `calls`: requests that were sent."""

    url: str
    dialect: str | None
    names: Names
    checks: tuple[Check, ...]
    calls: int


def examine(asker: Asker, url: str, stated: Dialect, names: Names, now: int) -> Diagnosis:
    """Ask and conclude. `stated` and `names` are what to go by where asking does not tell; `now`: seconds since 1970.

    Raises nothing for what a server does: all of that is in the checks.
    """
    examination = _Examination(Speaker(asker, stated, names), url, now)
    checks = tuple(examination.run())
    return Diagnosis(mask_url(url), examination.dialect, examination.speaker.names, checks, asker.calls)


class _Examination:
    """One examination; what its earlier steps learn, the later ones use."""

    def __init__(self, speaker: Speaker, url: str, now: int) -> None:
        self.speaker, self.asker = speaker, speaker.asker
        self.dialect: str | None = None
        self._url, self._now = url, now
        self._top = 0

    def run(self) -> Iterator[Check]:
        """All checks, as they are made; only the first where the server cannot be reached."""
        latest = [self.speaker.ask("latest", {})]
        error = latest[0].error
        if error is not None and not latest[0].code and not latest[0].spared:
            reached = "no" if isinstance(error, UnreachableError) else "yes, but refused or no such service"
            yield Check("reachable", reached, str(error), error)
            return
        latest += [self.speaker.ask("latest", {}) for _ in range(LATENCY_CALLS - 1)]
        yield Check("reachable", ", ".join(filter(None, ("yes", self.asker.http))), "calls come through")
        yield self._tls()
        yield self._latency()
        yield self._newest(latest[0])
        yield self._dialect()
        yield from self._methods(latest[0])
        yield self._errors()
        yield self._rate_limit()
        yield self._compression()

    def _tls(self) -> Check:
        if self._url == "demo:":
            return Check("TLS", "none", "the sample chain answers in this process")
        if self._url.lower().startswith("https:"):
            return Check(
                "TLS", self.asker.tls or "yes", "the certificate is verified: nobody reads or changes anything"
            )
        if is_loopback(urlsplit(self._url).hostname):
            return Check("TLS", "none", "not needed: nothing leaves this machine")
        return Check(
            "TLS", "none", "whoever is on the way can read and change all of it: prefer https, send no secrets"
        )

    def _latency(self) -> Check:
        if not self.asker.seconds:
            return Check("latency", UNTOLD, "no call was answered")
        milliseconds = round(median(self.asker.seconds) * 1000)
        return Check(
            "latency", f"{milliseconds} ms", f"median of {len(self.asker.seconds)}; -j makes calls side by side"
        )

    def _newest(self, latest: Said) -> Check:
        height, timestamp = map(integer_of, Picker(["height", "timestamp"])(latest.result))
        if latest.result == b"null":
            return Check("newest block", "none", "the chain has no blocks yet: little can be told")
        if height is None:
            fault = latest.error or ResponseError("latest/block: the newest block has no readable height")
            return Check("newest block", UNTOLD, str(fault), None if latest.spared else fault)
        self._top = height
        if timestamp is None:
            return Check("newest block", str(height), "it does not say its time")
        seconds = self._now - timestamp
        if seconds < -_MINUTE:
            return Check("newest block", f"{height}, ahead of time", "the clock here or there is wrong")
        meaning = "the server keeps up" if seconds < _DAY // 24 else "the server lags behind, or the chain stands still"
        return Check("newest block", f"{height}, {age(seconds)} old", meaning)

    def _dialect(self) -> Check:
        try:
            self.dialect = dialect_detection.decide(self.asker.result)
        except ChainqError as error:
            return Check("dialect", UNTOLD, str(error), error)
        self.speaker.use(DIALECTS[self.dialect])
        return Check("dialect", self.dialect, f"--dialect {self.dialect}, or auto, or --save it as a profile")

    def _methods(self, latest: Said) -> Iterator[Check]:
        """The eleven methods, then what their answers say."""
        habits = Habits(self.speaker, self._top)
        window, said, check = habits.look()
        found = {"records": (said, check), "latest": (latest, self.speaker.check(BY_COMMAND["latest"], latest))}
        height, below = window.busiest, max(0, self._top - 1)
        one = {Role.START: height, Role.END: height + 1}
        found["blocks"] = self.speaker.find("blocks", {Role.START: below, Role.END: below + 1})
        found["block"] = self.speaker.find("block", {Role.HEIGHT: height})
        found["full-blocks"] = self.speaker.find("full-blocks", one)
        found["transactions"] = self.speaker.find("transactions", {Role.HEIGHT: height})
        found |= self._by_samples(window)
        public = address_in(found["full-blocks"][0], found["program-transactions"][0])
        arguments: dict[Role, Value] = {
            Role.ADDRESS: public or _NO_ID,
            **Window(max(0, self._top + 1 - ADDRESS_HEIGHTS), self._top + 1).arguments(0, 1),
        }
        found["address-transactions"] = self.speaker.find("address-transactions", arguments, bogus=public is None)
        habits.address_size(arguments, found["address-transactions"][0])
        yield from (found[method.command][1] for method in METHODS)
        blocks = found["block"][0].rows
        row_id = integer_of(Picker(["id"])(blocks[0])[0]) if blocks else None
        by = habits.transactions_by(window, row_id, found["transactions"][0], found["full-blocks"][0])
        singles = {name: found[name][0] for name in ("ownership", "transitions", "program-transactions")}
        yield self.speaker.parameters()
        yield habits.range_end(below, found["blocks"][0])
        yield habits.page_base(window)
        yield habits.page_size(window, singles)
        yield habits.row_cap(window)
        yield habits.row_order(window)
        yield by

    def _by_samples(self, window: Window) -> dict[str, tuple[Said, Check]]:
        """The methods that are asked about what the window showed, or about nothing real where it showed nothing."""
        first = {
            path: next(iter(window.of_busiest(path)), "") for path in ("transaction_id", "program_id", "function_name")
        }
        return {
            "transaction": self.speaker.find(
                "transaction", {Role.ID: first["transaction_id"] or _NO_ID}, bogus=not first["transaction_id"]
            ),
            "program-transactions": self.speaker.find(
                "program-transactions",
                {
                    Role.PROGRAM: first["program_id"] or "credits.aleo",
                    Role.FUNCTION: first["function_name"] or "transfer_public",
                    Role.PAGE: 0,
                    Role.SIZE: 1,
                },
            ),
            "ownership": self.speaker.find("ownership", window.arguments(0, 1)),
            "transitions": self.speaker.find("transitions", window.arguments(0, 1)),
        }

    def _errors(self) -> Check:
        unknown = self.asker.ask("chainq/doctor", {})
        bad = self.speaker.ask("block", {Role.HEIGHT: "x"})
        if unknown.spared or bad.spared:
            return Check("error shapes", UNTOLD, str(unknown.error or bad.error))
        codes = [_code(said) for said in (unknown, bad)]
        finding = f"{codes[0]} for an unknown method, {codes[1]} for a bad parameter"
        if unknown.absent and bad.code and '"' not in bad.code:
            return Check("error shapes", finding, "numbers; chainq tells a missing method from a wrong question")
        return Check("error shapes", finding, "not as JSON-RPC 2.0 has them; chainq shows them as they come")

    def _rate_limit(self) -> Check:
        if not self.asker.limited:
            return Check(
                "rate limit", f"not met in {counted(self.asker.calls, 'call')}", "if there is one, chainq waits"
            )
        waits = [
            f"{name}{f' (again in {excerpt(wait, 40)})' if wait else ''}" for name, wait in self.asker.limited.items()
        ]
        return Check("rate limit", f"met: {', '.join(waits)}", "chainq waits and goes on; --rate N avoids it")

    def _compression(self) -> Check:
        if self.asker.encodings:
            kinds = ", ".join(excerpt(kind, 20) for kind in sorted(self.asker.encodings))
            return Check("compression", kinds, "answers travel smaller; chainq unpacks them")
        return Check("compression", "none", "answers travel at their full size")


def _code(said: Said) -> str:
    """An error's code as it was sent, a string in its quotation marks; in words where there is none."""
    if said.code:
        return excerpt(said.code, 20)
    return f"no JSON-RPC error ({excerpt(str(said.error), 60)})" if said.error else "no error"
