"""What doctor finds out about servers of every kind, in few calls, one at a time."""

import re
from typing import Any

import pytest

from chainq import tuning
from chainq.catalog.dialects import DIALECTS, Names
from chainq.catalog.methods import METHODS
from chainq.demo.exchange import Reply
from chainq.demo.faults import Faults
from chainq.doctor.diagnosis import USUAL_RATE, diagnose, safe_rate
from chainq.doctor.prober import RETRIES, Prober, Refusal
from chainq.errors import ExitCode
from chainq.text.align import aligned
from chainq.transport.base import ExchangeError, Request, Response, ServiceOptions
from harness.examined import NEWEST, NOW, URL, Odd, examined, findings, found
from harness.search import some


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries of calls that failed follow at once."""
    monkeypatch.setattr(tuning, "FIRST_BACKOFF", 0.0)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_both_dialects_are_distinguished(dialect: str) -> None:
    """Each kind of server is found to be what it is, with nothing wrong and nothing of its own to name."""
    diagnosis = examined(Odd(dialect))
    assert (diagnosis.dialect, diagnosis.names, diagnosis.url) == (dialect, Names(), URL)
    assert all(check.ok and check.meaning for check in diagnosis.checks)
    shown = findings(diagnosis)
    aleo = dialect == "aleo"
    assert {method.command for method in METHODS} <= shown.keys()
    assert shown["full-blocks"] == ("yes, as getAleoBlocks" if aleo else "yes")
    assert shown["transactions by"] == ("row id" if aleo else "height")
    assert ("transactionsPerRequest" in shown["parameter names"]) == aleo
    same = {
        "connection": "reachable",  # without an HTTP version: there is none within one process
        "TLS": "none",
        "tip": f"{NEWEST}, 1 min old",
        "range end": "excluded",
        "first page": "0",
        "page size": "honored",
        "row cap": "10,000 rows or more",
        "row order": "changes with each call",
        "error codes": "-32601 for an unknown method, -32602 for an invalid parameter",
        "rate limit": f"none seen in {diagnosis.calls} calls",
        "compression": "none",
    }
    assert shown | same == shown


def test_calls_are_made_one_at_a_time_and_only_read() -> None:
    """Every request is a single call with an id, and none asks for more rows than a usual run does."""
    service = Odd()
    examined(service)
    sizes = [
        value for request in service.seen for name, value in request.get("params", {}).items() if "Request" in name
    ]
    assert all(isinstance(request, dict) and "id" in request for request in service.seen)
    assert max(sizes) <= 10_000


def test_compression_is_found() -> None:
    """Compressed responses are reported."""
    assert findings(examined(Odd(faults=Faults("gzip"))))["compression"] == "gzip"


def test_a_rate_limit_is_respected() -> None:
    """A method that meets its rate limit is not called again; checks that need it are unknown, which is no fault."""
    service = Odd(faults=Faults("rate-limit:2", "retry-after:7"))
    diagnosis = examined(service)
    limit = found(diagnosis, "rate limit")
    assert limit.ok
    assert limit.finding.startswith("reached by latest/block (retry after 7), records/all")
    assert re.search(r"--rate 0\.2[0-9]? avoids it", limit.meaning)  # two calls in seven seconds
    called = [request["method"] for request in service.seen]
    assert max(called.count(name) for name in called) == 3
    assert found(diagnosis, "page size").ok
    assert found(diagnosis, "row cap").finding == "unknown"


def test_a_rate_limit_inside_http_200_is_found() -> None:
    """A JSON-RPC error with a code that proxies send in place of HTTP 429."""
    limited = {"error": {"code": -32005, "message": "limit"}}

    def mend(request: dict[str, Any], response: dict[str, Any]) -> Any:
        return {"jsonrpc": "2.0", "id": response["id"], **limited} if request["method"] == "records/all" else response

    assert found(examined(Odd(mend=mend)), "rate limit").finding == "reached by records/all"


@pytest.mark.parametrize("seed", range(5))
def test_a_server_that_fails_now_and_then_is_examined_whole(seed: int) -> None:
    """One call in five ends in HTTP 503: no check is left out."""
    names = findings(examined(Odd(faults=Faults("fail-rate:0.2", f"seed:{seed}"))))
    assert names.keys() == findings(examined(Odd())).keys()


def test_a_rate_without_a_time_to_wait_is_not_certain() -> None:
    """Without Retry-After the window is unknown, so no rate is said to avoid the limit."""
    limit = found(examined(Odd(faults=Faults("rate-limit:2"))), "rate limit")
    assert "(retry after" not in limit.finding
    assert re.search(r"--rate [0-9.]+ may avoid it: the server does not say how long to wait$", limit.meaning)


@pytest.mark.parametrize(
    ("refusal", "rate"),
    [
        pytest.param(Refusal(2, 0.5, "7", 7.0), "0.24", id="the server says when"),
        pytest.param(Refusal(2, 0.5, "", None), "0.03", id="it does not: a minute"),
        pytest.param(Refusal(2, 0.5, "0", 0.0), "0.03", id="no time to wait: a minute"),
        pytest.param(Refusal(12, 90.0, "", None), "0.12", id="a window longer than a minute"),
        pytest.param(Refusal(30, 0.5, "0.2", 0.2), "27", id="a window below a second"),
        pytest.param(Refusal(35, 10.0, "5", 5.0), "2.1", id="rounded down"),
        pytest.param(Refusal(0, 0.0, "", None), USUAL_RATE, id="nothing was measured"),
    ],
)
def test_a_safe_rate_follows_from_the_refusal(refusal: Refusal, rate: str) -> None:
    """Calls that came through, over the window that the server counts them in, and a tenth less."""
    assert safe_rate(refusal) == rate


def test_a_safe_rate_is_named_where_no_limit_was_met() -> None:
    """It is that of the servers that are known."""
    assert "--rate 3 " in found(examined(Odd()), "rate limit").meaning


def test_a_chain_without_a_block_is_no_fault() -> None:
    """An empty chain is reported as one."""
    diagnosis = examined(Odd(tip=-1))
    assert diagnosis.dialect == "chain"
    assert findings(diagnosis)["tip"] == "none"
    assert all(check.ok for check in diagnosis.checks)


@pytest.mark.parametrize("tip", [0, 1, 3])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_chain_of_few_blocks_is_no_fault(dialect: str, tip: int) -> None:
    """Where there is too little to go by the checks say so and find nothing wrong."""
    diagnosis = examined(Odd(dialect, tip=tip))
    assert diagnosis.dialect == dialect
    assert [check.name for check in diagnosis.checks if not check.ok] == []


def test_error_codes_that_are_strings_are_seen() -> None:
    """A database's code, sent as a string, is distinguished from a number that looks the same."""

    def mend(_: dict[str, Any], response: dict[str, Any]) -> Any:
        if "error" in response:
            response["error"] |= {"code": "22P02", "message": "\x1b[31mSELECT"}
        return response

    diagnosis = examined(Odd(mend=mend))
    check = found(diagnosis, "error codes")
    assert check.finding == '"22P02" for an unknown method, "22P02" for an invalid parameter'
    assert not any("\x1b" in text for one in diagnosis.checks for text in (one.finding, one.meaning))


def test_a_server_of_another_kind_fits_no_dialect() -> None:
    """A JSON-RPC server that knows none of the methods: every command is a fault, and no dialect is claimed."""

    def change(request: dict[str, Any]) -> Any:
        return request | {"method": "nothing"}

    diagnosis = examined(Odd(change=change))
    assert diagnosis.dialect is None
    assert {check.name for check in diagnosis.checks if not check.ok} >= {method.command for method in METHODS}


@pytest.mark.parametrize(
    ("reply", "code", "finding"),
    [
        (Reply(401, "text/html", b"<b>who?</b>"), ExitCode.SERVICE, "reachable, login refused"),
        (Reply(200, "text/html", b"<html>hello</html>"), ExitCode.RESPONSE, "reachable, but not this service"),
        (Reply(200, "application/json", b'{"hello": 1}'), ExitCode.RESPONSE, "reachable, but not this service"),
        (Reply(503, "text/html", b"later"), ExitCode.UNREACHABLE, "reachable, server error"),
    ],
)
def test_a_server_that_cannot_be_used_gets_no_more_calls(reply: Reply, code: ExitCode, finding: str) -> None:
    """Where the first call fails that is all there is to say, and the exit code is its own."""
    diagnosis = examined(Odd(change=lambda _: reply))
    assert diagnosis.calls <= 1 + RETRIES
    assert [(check.name, check.finding) for check in diagnosis.checks] == [("connection", finding)]
    fault = diagnosis.checks[0].fault
    assert fault is not None
    assert fault.exit_code is code


def test_a_server_that_goes_away_is_not_called_again() -> None:
    """After two calls without a response no more are made; the checks that are left report a server out of reach."""
    service = Odd(change=lambda request: Reply(503, "text/html", b"") if len(service.seen) > 8 else request)
    diagnosis = examined(service)
    assert diagnosis.calls <= 8 + 2 * (1 + RETRIES)
    faults = [check.fault.exit_code for check in diagnosis.checks if check.fault is not None]
    assert set(faults) == {ExitCode.UNREACHABLE}


@pytest.mark.parametrize("seed", some(range(5), 0, 1))
def test_a_failing_server_gets_no_more_calls_than_others(seed: int) -> None:
    """Retries count too: a server that fails often gets no more calls than the others."""
    examined(Odd(faults=Faults("fail-rate:0.4", "truncate-rate:0.3", f"seed:{seed}")))


def test_the_oddest_server_gets_few_calls() -> None:
    """A server that returns the same error for every method gets no more than 39 calls."""

    def mend(_: dict[str, Any], response: dict[str, Any]) -> Any:
        return {"jsonrpc": "2.0", "id": response["id"], "error": {"code": 0, "message": "no"}}

    examined(Odd(mend=mend))


@pytest.mark.parametrize(
    ("url", "finding", "word"),
    [
        ("http://127.0.0.1:1/", "none", "this machine"),
        ("http://[::1]:1/", "none", "this machine"),
        ("http://service.example/", "none", "prefer https"),
        ("https://service.example/", "yes", "verified"),
        ("demo:", "none", "this process"),
    ],
)
def test_what_tls_means_depends_on_the_url(url: str, finding: str, word: str) -> None:
    """Plain HTTP is a word of warning, but not within one machine."""
    check = found(examined(Odd(), url), "TLS")
    assert check.finding == finding
    assert word in check.meaning


def test_the_tip_of_the_sample_chain_is_not_behind() -> None:
    """The age of its tip says nothing of a server."""
    assert found(examined(Odd(), "demo:"), "tip").meaning == "the sample chain has no new blocks"


def test_secrets_of_the_url_are_masked() -> None:
    """User, password and query do not come back."""
    assert examined(Odd(), "http://me:pw@h/x?key=k").url == "http://***@h/x?key=***"


def test_lines_fit_the_width_and_carry_nothing_harmful() -> None:
    """Columns are aligned, wide characters counted, and no control character passes."""
    text = aligned([("a", "漢字", "word " * 30), ("bb", "x\x1b[31m", "")], (8, 12), 60)
    lines = text.splitlines()
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
        diagnosis = diagnose(prober, URL, DIALECTS["chain"], Names(), NOW)
    assert [(check.name, check.finding) for check in diagnosis.checks] == [("connection", "not reachable")]
