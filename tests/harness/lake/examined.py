"""Services examined by doctor in this process, without a socket."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from chainq.catalog.dialects import DIALECTS
from chainq.demo.chain import Chain
from chainq.demo.faults import NO_FAULTS, Faults
from chainq.demo.registry import Reply
from chainq.demo.service import DemoTransport, SampleService
from chainq.doctor.diagnosis import Diagnosis, diagnose
from chainq.doctor.prober import MAX_CALLS, Prober
from chainq.options import ServiceOptions

if TYPE_CHECKING:
    from chainq.transport.base import Report

NEWEST = 5000
NOW = Chain(tip=NEWEST).timestamp(NEWEST) + 90
URL = "http://127.0.0.1:8545/"
Change = Callable[[dict[str, Any]], Any]


class Odd(SampleService):
    """A sample service with a fault of the test's own: `change` may alter each request, `mend` each response."""

    def __init__(
        self,
        dialect: str = "chain",
        faults: Faults = NO_FAULTS,
        change: Change = lambda request: request,
        mend: Callable[[dict[str, Any], dict[str, Any]], Any] = lambda _, response: response,
        tip: int = NEWEST,
        shuffle: bool = True,
    ) -> None:
        super().__init__(Chain(tip=tip), faults, dialect, shuffle)
        self._change, self._mend = change, mend
        self.seen: list[dict[str, Any]] = []

    def respond(self, body: bytes) -> Reply:
        request = json.loads(body)
        self.seen.append(request)
        changed = self._change(json.loads(body))
        if isinstance(changed, Reply):
            return changed
        reply = super().respond(json.dumps(changed).encode())
        if reply.status != 200 or reply.cut:
            return reply
        mended = self._mend(request, json.loads(reply.body))
        return reply._replace(body=json.dumps(mended, separators=(",", ":")).encode())


def examined(service: SampleService, url: str = URL, stated: str = "chain") -> Diagnosis:
    """What doctor says of a service; the promise of few calls is checked for every one."""
    reports: list[Report] = []
    with Prober(ServiceOptions("http://demo.invalid/"), reports.append, DemoTransport(service)) as prober:
        diagnosis = diagnose(prober, url, DIALECTS[stated], NOW)
    assert diagnosis.calls == len(reports) <= MAX_CALLS < 40
    return diagnosis


def findings(diagnosis: Diagnosis) -> dict[str, str]:
    return {check.name: check.finding for check in diagnosis.checks}
