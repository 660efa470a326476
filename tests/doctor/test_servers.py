"""What doctor finds out about servers of every kind, in few calls, one at a time."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chainq import tuning
from chainq.catalog.dialects import DIALECTS
from chainq.demo.chain import Chain
from chainq.demo.faults import Faults
from chainq.demo.registry import Reply
from chainq.doctor.diagnosis import Diagnosis, Examination, diagnose
from chainq.doctor.prober import Outcome, Prober
from chainq.options import ServiceOptions
from chainq.text.width import aligned
from chainq.transport.base import ExchangeError, Request, Response
from harness.lake.examined import NOW, URL, Odd, examined, findings
from harness.models.search import some
from harness.models.steps import linear, steps

RECORD = Path(__file__).parent / "servers.txt"
Object = dict[str, Any]


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries of calls that failed follow at once."""
    monkeypatch.setattr(tuning, "FIRST_BACKOFF", 0.0)


def faulty(*faults: str) -> Odd:
    return Odd(faults=Faults(*faults))


def renamed(names: dict[str, str]) -> Odd:
    """A server that has other names for methods; `nothing` is none."""
    return Odd(change=lambda request: request | {"method": names.get(request["method"], request["method"])})


def answering(status: int, kind: str, body: bytes) -> Odd:
    return Odd(change=lambda _: Reply(status, kind, body))


def failing(method: str, code: object, message: str) -> Odd:
    """A server with an error of its own for a method, or for all."""

    def mend(request: Object, response: Object) -> Object:
        error = {"jsonrpc": "2.0", "id": response["id"], "error": {"code": code, "message": message}}
        return error if method in (request["method"], "") else response

    return Odd(mend=mend)


def string_codes(_: Object, response: Object) -> Object:
    if "error" in response:
        response["error"] |= {"code": "22P02", "message": "\x1b[31mSELECT"}
    return response


def between_the_dialects(request: Object) -> Object:
    names = {"getAleoBlocks": "getChainBlocks", "aleoTransaction": "chainTransaction"}
    method, params = request["method"], request.get("params", {})
    if method in names.values():
        return request | {"method": "nothing"}
    if method == "getPublicTransactionsForAddress":
        params["transitionsPerRequest"] = params.get("transactionsPerRequest", 100_000)
    if method == "transactions" and isinstance(params["blockId"], int):
        params["blockId"] = Chain().height_of_row(params["blockId"]) or 1 << 40
    return request | {"method": names.get(method, method)}


def other_parameters(request: Object) -> Object:
    if request["method"] == "getBlocks" and "start" in request["params"]:
        request["params"] = {}
    return request


def included_end(request: Object) -> Object:
    if request["method"] == "getBlocks":
        request["params"]["end"] += 1
    return request


def away_after_eight() -> Odd:
    service = Odd(change=lambda request: request if len(service.seen) <= 8 else Reply(503, "text/html", b""))
    return service


SERVERS: dict[str, Callable[[], Odd]] = {
    "one with nothing wrong": Odd,
    "the other dialect": lambda: Odd("aleo"),
    "a rate limit": lambda: faulty("rate-limit:2", "retry-after:7"),
    "a rate limit without a time to wait": lambda: faulty("rate-limit:2"),
    "a rate limit inside HTTP 200": lambda: failing("records/all", -32005, "limit"),
    "an empty chain": lambda: Odd(tip=-1),
    **{
        f"a chain whose tip is {tip}, {dialect}": lambda dialect=dialect, tip=tip: Odd(dialect, tip=tip)  # type: ignore[misc]
        for dialect in DIALECTS
        for tip in (0, 1, 3)
    },
    "error codes that are strings": lambda: Odd(mend=string_codes),
    "none of the methods": lambda: Odd(change=lambda request: request | {"method": "nothing"}),
    "the same error for all": lambda: failing("", 0, "no"),
    "a login": lambda: answering(401, "text/html", b"<b>who?</b>"),
    "a page": lambda: answering(200, "text/html", b"<html>hello</html>"),
    "JSON of another kind": lambda: answering(200, "application/json", b'{"hello": 1}'),
    "an outage": lambda: answering(503, "text/html", b"later"),
    "an outage after eight calls": away_after_eight,
    "a missing method": lambda: renamed({"records/isOwner": "nothing"}),
    "methods, parameters and row IDs of the other dialect": lambda: Odd(change=between_the_dialects),
    "parameters of the other dialect": lambda: Odd(change=other_parameters),
    "an included end": lambda: Odd(change=included_end),
}
"""Servers by what they have."""


def told(diagnosis: Diagnosis, usual: dict[str, str]) -> tuple[str, dict[str, str]]:
    """What is found, without the lines that are as usual; and all lines."""
    lines = {}
    for check in diagnosis.checks:
        fault = f" ({check.fault.exit_code.name})" if check.fault else ""
        lines[check.name] = f"{check.finding}: {check.meaning}{fault}"
    other = [f"  {name}: {line}\n" for name, line in lines.items() if usual.get(name) != line]
    if len(lines) > 1:
        other += [f"  no {name}\n" for name in usual if name not in lines]
    return f"  dialect {diagnosis.dialect}, calls {diagnosis.calls}\n{''.join(other)}", lines


def test_servers(golden: Callable[[Path, str], None]) -> None:
    """What is found of each, as far as it differs from one with nothing wrong.

    Every request is a single call with an ID, and none asks for more rows than a usual run does.
    """
    record, usual = "", dict[str, str]()
    for name, make in SERVERS.items():
        service = make()
        text, lines = told(examined(service), usual)
        usual = usual or lines
        record += f"{name}\n{text}"
        sizes = [size for call in service.seen for key, size in call.get("params", {}).items() if "Request" in key]
        assert all(isinstance(call, dict) and "id" in call for call in service.seen)
        assert max(sizes, default=0) <= 10_000
        assert record.replace("\n", "").isprintable()
    for url in ("http://[::1]:1/", "http://service.example/", "https://me:pw@service.example/x?key=k", "demo:"):
        diagnosis = examined(Odd(), url)
        record += f"at {diagnosis.url}\n{told(diagnosis, usual)[0]}"
    golden(RECORD, record)


@pytest.mark.parametrize("seed", some(range(5), 0, 1))
def test_a_server_that_fails_now_and_then_is_examined_whole(seed: int) -> None:
    """One call in five ends in HTTP 503: no check is left out. If more fail, there are no more calls than usual."""
    names = findings(examined(faulty("fail-rate:0.2", f"seed:{seed}")))
    assert names.keys() == findings(examined(Odd())).keys()
    examined(faulty("fail-rate:0.4", "truncate-rate:0.3", f"seed:{seed}"))


def test_lines_fit_the_width_and_carry_nothing_harmful() -> None:
    """Columns are aligned, wide characters counted, and no control character passes."""
    lines = aligned([("a", "漢字", "word " * 30), ("bb", "x\x1b[31m", "")], 60, 12)
    assert all(len(line) <= 60 for line in lines)
    assert lines[0].startswith("a   漢字       word")
    assert lines[-1] == "bb  x\\x1b[31m"
    assert len(lines) > 3


def test_a_server_that_is_not_there_is_a_finding() -> None:
    """A connection that cannot be made is a finding, not an exception."""

    class Away:
        def call(self, _: Request) -> Response:
            raise ExchangeError("ReadError", "nobody home")

        def close(self) -> None:
            """There is nothing to close."""

    with Prober(ServiceOptions(URL), transport=Away()) as prober:
        diagnosis = diagnose(prober, URL, DIALECTS["chain"], NOW)
    assert [(check.name, check.finding) for check in diagnosis.checks] == [("connection", "not reachable")]


def test_a_window_with_many_rows_takes_linear_time() -> None:
    """Twice as many rows near the tip, of as many heights, do not cost four times as much."""

    def find(count: int) -> None:
        rows = ",".join(f'{{"height":{height}}}' for height in range(count))
        outcome = Outcome(f'[{rows},{{"height":77}}]'.encode())

        class Many(Prober):
            def call(self, *_: Any) -> Outcome:
                return outcome

        with Many(ServiceOptions("http://127.0.0.1:1/")) as prober:
            window = Examination(prober, DIALECTS["chain"], URL, NOW).find_window(count)
        assert (window.busiest, len(window.rows)) == (77, count + 1)

    assert linear(steps(lambda: find(2_000)), steps(lambda: find(4_000)))
