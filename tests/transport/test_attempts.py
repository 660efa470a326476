"""When a call is made again, how long it waits, and what its errors say."""

import re

import pytest

from chainq.errors import (
    BrokenBodyError,
    ChainqError,
    GatewayError,
    ResponseError,
    ServiceError,
    TooHeavyError,
    UnreachableError,
)
from chainq.transport.base import ExchangeError, Response
from harness.servers.calls import URL, Connect, FakeClock, FakeTransport, Outcome, call, envelope, failure, page

POOL = "Knex: Timeout acquiring a connection. The pool is probably full. Are you missing a .transacting(trx) call?"
SQL = 'select "id", "height" from "block" order by "height" desc limit $1'
DATABASE = {
    "restart": ('"57P01"', f"{SQL} - terminating connection due to administrator command"),
    "crash": ('"57P02"', f"{SQL} - terminating connection because of crash of another server process"),
    "start": ('"57P03"', f"{SQL} - the database system is starting up"),
    "connection": ('"08006"', f"{SQL} - server closed the connection unexpectedly"),
    "no connection": ('"08003"', "connection does not exist"),
    "too many": ('"53300"', "sorry, too many clients already"),
    "terminated": ("0", f"{SQL} - Connection terminated unexpectedly"),
    "internal": ("-32603", "Connection terminated unexpectedly"),
    "pool": ("0", POOL),
    "down": ('"ECONNREFUSED"', "connect ECONNREFUSED 127.0.0.1:5432"),
    "down without a code": ("0", "connect ECONNREFUSED 127.0.0.1:5432"),
}
"""Errors of the database of a service, which come with HTTP 200 or 500."""
Seen = tuple[Outcome, type[ChainqError], str]


def http(status: int, kind: type[ChainqError]) -> Seen:
    return page(status), kind, f"HTTP {status}"


def rpc(status: int, code: str, message: str) -> Seen:
    words = f"error {code.strip(chr(34))}: .*{re.escape(message.rpartition(' - ')[2][-60:])}"
    return Response(status, failure(code, message)), GatewayError if message == POOL else UnreachableError, words


TRANSIENT: dict[str, Seen] = {
    **{str(status): http(status, UnreachableError) for status in (408, 425, 500)},
    **{str(status): http(status, GatewayError) for status in (502, 503, 504, *range(520, 531))},
    **{f"{name}, {status}": rpc(status, *DATABASE[name]) for name in DATABASE for status in (200, 500)},
    "an error with 500": rpc(500, "0", "no"),
    "an error of a database with 500": rpc(500, '"XX000"', "no"),
    "an error with 503, which says no more": (Response(503, failure("-32000")), GatewayError, "HTTP 503"),
    "empty": (Response(200, b""), BrokenBodyError, "it is empty"),
    "cut": (Response(200, envelope("[]")[:-3]), BrokenBodyError, "ends early"),
    "closed": (
        ExchangeError("RemoteProtocolError", "peer gone"),
        BrokenBodyError,
        "ended early or is damaged: peer gone",
    ),
    "damaged": (ExchangeError("DecodingError", "x"), BrokenBodyError, "response ended early or is damaged: x"),
    "lost": (ExchangeError("ReadError", "refused"), UnreachableError, "could not reach the server: refused"),
    "late": (ExchangeError("ReadTimeout"), GatewayError, "no complete response within 60 s"),
}
SLOW = {"504", "late", "pool, 200", "pool, 500"}


@pytest.mark.parametrize("name", TRANSIENT)
@pytest.mark.parametrize("divisible", [True, False])
def test_transient_failures_are_retried(name: str, divisible: bool, connect: Connect, clock: FakeClock) -> None:
    """Each wait is drawn below a bound that doubles; the last failure is raised, with the number of attempts.

    A timeout is retried only once where the caller can ask for less, because that is more likely to help.
    """
    outcome, kind, words = TRANSIENT[name]
    retries = 1 if divisible and name in SLOW else 3
    assert call(connect(FakeTransport(*[outcome] * retries), retries=50), divisible=divisible) == []
    assert clock.waits == [pytest.approx(0.6 * 2**k) for k in range(retries)]
    said = rf"^m heights 5-9: {URL}: .*{words}.*\(after {retries + 1} attempts\)"
    connection = connect(FakeTransport(*[outcome] * 100), retries=50 if retries == 1 else retries)
    with pytest.raises(ChainqError, match=said) as caught:
        call(connection, where="heights 5-9", divisible=divisible)
    assert type(caught.value) is kind


TIMEOUT = "Defined query timeout of 5000ms exceeded when running query."
HEAVY = [("0", TIMEOUT), ("-32603", TIMEOUT), ('"57014"', "canceling statement")]
FINAL: dict[str, tuple[Outcome, type[ChainqError]]] = {
    "404": (page(404), ServiceError),
    "401": (page(401), ServiceError),
    "413": (page(413), TooHeavyError),
    "redirect": (Response(302, b"", {"location": "http://elsewhere.invalid/"}), ResponseError),
    "wrong id": (Response(200, envelope("[]", id_="99")), ResponseError),
    "error": (Response(200, failure("-32602")), ServiceError),
    "nested": (Response(200, envelope("[" * 100_000 + "]" * 100_000)), ResponseError),
    "nested, with spaces": (Response(200, envelope(" [" * 100_000 + "]" * 100_000)), ResponseError),
    "an array": (Response(200, b"[" + envelope("[]") + b"]"), ResponseError),
    "timeout by another code": (Response(200, failure("-32602", TIMEOUT)), ServiceError),
    "error with 400": (Response(400, failure("-32600")), ServiceError),
    "wrong request with 500": (Response(500, failure("-32602")), ServiceError),
    "unknown method with 500": (Response(500, failure("-32601")), ServiceError),
    "unusable": (ExchangeError("LocalProtocolError", "no such header"), UnreachableError),
    "certificate": (ExchangeError("ReadError", "[SSL: CERTIFICATE_VERIFY_FAILED]"), UnreachableError),
}


@pytest.mark.parametrize("name", FINAL)
def test_what_another_attempt_cannot_mend_is_raised_at_once(name: str, connect: Connect, clock: FakeClock) -> None:
    """Errors of the service, wrong ids, 4xx and redirects are final at the first attempt."""
    outcome, kind = FINAL[name]
    transport = FakeTransport(outcome)
    with pytest.raises(kind) as caught:
        call(connect(transport))
    assert type(caught.value) is kind
    assert (clock.waits, len(transport.requests)) == ([], 1)


def test_five_retries_outlast_a_restart_of_seven_seconds(
    connect: Connect, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the jitter draws: half of each wait is fixed."""
    monkeypatch.setattr("chainq.transport.attempts.random.uniform", lambda low, _: low)
    assert call(connect(FakeTransport(*[page(503)] * 5), retries=5)) == []
    assert sum(clock.waits) >= 9


@pytest.mark.parametrize(
    ("kind", "reason", "retries", "attempts", "least", "most"),
    [
        ("ConnectError", "Connection refused", 5, 6, 2.5, 4),
        ("ConnectError", "Connection refused", 2, 3, 0, 4),
        ("ConnectError", "Connection refused", 0, 1, 0, 0),
        ("ConnectError", "Name or service not known", 5, 2, 0, 0.5),
        ("RemoteProtocolError", "Server disconnected without sending a response.", 5, 6, 2.5, 4),
    ],
)
def test_a_server_that_was_never_there_is_tried_a_few_seconds(
    kind: str, reason: str, retries: int, attempts: int, least: float, most: float, connect: Connect, clock: FakeClock
) -> None:
    """A server that starts is waited for, within `retries`; an unknown host fails after one retry."""
    transport = FakeTransport(*[ExchangeError(kind, reason)] * 9)
    with pytest.raises(UnreachableError, match=f"after {attempts} attempts" if retries else reason):
        call(connect(transport, retries=retries))
    assert len(transport.requests) == attempts
    assert least <= sum(clock.waits) <= most


def test_a_server_that_responded_before_is_tried_again(connect: Connect, clock: FakeClock) -> None:
    """It restarts, in the middle of a long run: as often as `retries` says; so with --follow from the beginning."""
    refused = ExchangeError("ConnectError", "refused")
    assert call(connect(FakeTransport(page(503), *[refused] * 4), retries=5)) == []
    assert len(clock.waits) == 5
    assert call(connect(FakeTransport(*[refused] * 5), retries=5, patient=True)) == []


def test_a_timeout_says_how_long_it_was(connect: Connect) -> None:
    """And what to do about it. Other failures between two timeouts do not count as such."""
    late = ExchangeError("ReadTimeout")
    with pytest.raises(GatewayError, match=r"no complete response within 12 s.*raise --timeout"):
        call(connect(FakeTransport(late), retries=0, timeout=12))
    assert call(connect(FakeTransport(page(500), late, page(500), page(500)), retries=5)) == []


@pytest.mark.parametrize(
    ("status", "kind"),
    [(206, ResponseError), (401, ServiceError), (404, ServiceError), (500, UnreachableError), (503, GatewayError)],
)
@pytest.mark.parametrize("result", ["[]", "null"])
def test_a_result_with_a_failed_status_is_no_response(
    result: str, status: int, kind: type[ChainqError], connect: Connect
) -> None:
    """An empty result under an HTTP status that tells of a failure is that failure, and never "no rows"."""
    with pytest.raises(kind, match=str(status)):
        call(connect(FakeTransport(Response(status, envelope(result))), retries=0))


def test_very_many_retries_are_no_trouble(connect: Connect, clock: FakeClock) -> None:
    """Waits stay below half a minute, however often they would have doubled."""
    with pytest.raises(UnreachableError, match="after 2049 attempts"):
        call(connect(FakeTransport(*[page(500)] * 3000), retries=2048))
    assert max(clock.waits) == 30


@pytest.mark.parametrize(("code", "message"), HEAVY)
@pytest.mark.parametrize("status", [200, 500])
def test_a_heavy_query_is_retried_where_the_caller_cannot_ask_for_less(
    code: str, message: str, status: int, connect: Connect, clock: FakeClock
) -> None:
    """A lookup is as light as it can be; a range is divided at once."""
    heavy = Response(status, failure(code, message))
    assert call(connect(FakeTransport(heavy, heavy), retries=2), divisible=False) == []
    for divisible, waits in ((False, 3), (True, 3)):
        with pytest.raises(TooHeavyError):
            call(connect(FakeTransport(heavy, heavy), retries=1), divisible=divisible)
        assert len(clock.waits) == waits
