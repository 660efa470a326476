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
from chainq.transport.base import (
    ExchangeError,
    Response,
)
from harness.calls import URL, Connect, FakeClock, FakeTransport, Outcome, call, envelope, failure, page


@pytest.mark.parametrize("status", [408, 425, 500, 502, 503, *range(520, 531)])
def test_transient_failures_are_retried_with_growing_waits(status: int, connect: Connect, clock: FakeClock) -> None:
    """5xx and 408 are retried, each wait drawn below a bound that doubles."""
    assert call(connect(FakeTransport(*[page(status)] * 3), retries=3)) == []
    assert clock.waits == [pytest.approx(clock.waits[0] * 2**k) for k in range(3)]
    assert 0 < clock.waits[0] <= 2


@pytest.mark.parametrize(
    ("status", "kind"),
    [(503, GatewayError), (502, GatewayError), (500, UnreachableError), (408, UnreachableError)],
)
def test_retries_end(status: int, kind: type[ChainqError], connect: Connect, clock: FakeClock) -> None:
    """After 1 + retries attempts the failure is raised, with method, heights, status and number of attempts."""
    connection = connect(FakeTransport(*[page(status)] * 3), retries=2)
    with pytest.raises(kind, match=rf"m heights 5-9: {URL}: HTTP {status}.*after 3 attempts"):
        call(connection, where="heights 5-9")
    assert len(clock.waits) == 2


def test_five_retries_outlast_a_restart_of_seven_seconds(
    connect: Connect, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the jitter draws: half of each wait is fixed."""
    monkeypatch.setattr("chainq.transport.attempts.random.uniform", lambda low, _: low)
    assert call(connect(FakeTransport(*[page(503)] * 5), retries=5)) == []
    assert sum(clock.waits) >= 9


def test_a_body_that_ends_early_is_asked_for_again(connect: Connect, clock: FakeClock) -> None:
    """Broken JSON and lost connections are transient; in the end they are no valid response (exit 5)."""
    cut, closed = Response(200, envelope("[]")[:-3]), ExchangeError("broken", "response ended early: peer closed")
    assert call(connect(FakeTransport(cut, closed), retries=2)) == []
    assert len(clock.waits) == 2
    with pytest.raises(BrokenBodyError):
        call(connect(FakeTransport(Response(200, b"")), retries=0))
    with pytest.raises(BrokenBodyError, match="response ended early: peer closed"):
        call(connect(FakeTransport(closed), retries=0))
    with pytest.raises(BrokenBodyError, match="8545/: the compressed body"):
        call(connect(FakeTransport(ExchangeError("broken", "the compressed body is damaged")), retries=0))


@pytest.mark.parametrize(
    ("reason", "retries", "attempts", "least", "most"),
    [
        ("Connection refused", 5, 6, 2.5, 4),
        ("Connection refused", 2, 3, 0, 4),
        ("Connection refused", 0, 1, 0, 0),
        ("Name or service not known", 5, 2, 0, 0.5),
    ],
)
def test_a_server_that_was_never_there_is_tried_a_few_seconds(
    reason: str, retries: int, attempts: int, least: float, most: float, connect: Connect, clock: FakeClock
) -> None:
    """A server that starts is waited for, within `retries`; an unknown host fails after one retry."""
    transport = FakeTransport(*[ExchangeError("unconnected", reason)] * 9)
    with pytest.raises(UnreachableError, match=reason):
        call(connect(transport, retries=retries))
    assert len(transport.requests) == attempts
    assert least <= sum(clock.waits) <= most


def test_a_server_that_responded_before_is_tried_again(connect: Connect, clock: FakeClock) -> None:
    """It restarts, in the middle of a long run: as often as `retries` says; so with --follow from the beginning."""
    connection = connect(FakeTransport(page(503), *[ExchangeError("unconnected", "refused")] * 4), retries=5)
    assert call(connection) == []
    assert len(clock.waits) == 5
    assert call(connect(FakeTransport(*[ExchangeError("unconnected", "refused")] * 5), retries=5, patient=True)) == []


def test_connection_errors_and_timeouts_are_retried(connect: Connect, clock: FakeClock) -> None:
    """No connection and no response in time are transient; in the end the service is unreachable (exit 4)."""
    assert call(connect(FakeTransport(ExchangeError("lost", "refused"), ExchangeError("late")), retries=2)) == []
    assert len(clock.waits) == 2
    with pytest.raises(GatewayError, match=r"no complete response within 12 s.*raise --timeout"):
        call(connect(FakeTransport(ExchangeError("late")), retries=0, timeout=12))


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (page(404), ServiceError),
        (page(401), ServiceError),
        (page(413), TooHeavyError),
        (Response(302, b"", {"location": "http://elsewhere.invalid/"}), ResponseError),
        (Response(200, envelope("[]", id_="99")), ResponseError),
        (Response(200, failure("-32602")), ServiceError),
        (Response(400, failure("-32600")), ServiceError),
        (ExchangeError("unusable", "no such header"), UnreachableError),
        (ExchangeError("lost", "[SSL: CERTIFICATE_VERIFY_FAILED]"), UnreachableError),
    ],
    ids=["404", "401", "413", "redirect", "wrong id", "error", "error 400", "unusable", "certificate"],
)
def test_what_another_attempt_cannot_mend_is_raised_at_once(
    outcome: Outcome, kind: type[ChainqError], connect: Connect, clock: FakeClock
) -> None:
    """Errors of the service, wrong ids, 4xx and redirects are final at the first attempt."""
    transport = FakeTransport(outcome)
    with pytest.raises(kind) as caught:
        call(connect(transport))
    assert type(caught.value) is kind
    assert clock.waits == []
    assert len(transport.requests) == 1


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


def test_an_error_with_503_is_transient(connect: Connect, clock: FakeClock) -> None:
    """A JSON-RPC error says no more than the 503 that it comes with: the call is made again."""
    assert call(connect(FakeTransport(Response(503, failure("-32000", "busy"))), retries=1)) == []
    assert len(clock.waits) == 1


@pytest.mark.parametrize("outcome", [ExchangeError("late"), page(504)], ids=["deadline", "504"])
def test_a_timeout_is_retried_once_where_the_caller_can_ask_for_less(outcome: Outcome, connect: Connect) -> None:
    """That is more likely to help; other failures in between do not count. Where it cannot, all retries are made."""
    transport = FakeTransport(*[outcome] * 100)
    with pytest.raises(GatewayError, match="after 2 attempts"):
        call(connect(transport, retries=50))
    assert len(transport.requests) == 2
    assert call(connect(FakeTransport(page(500), outcome, page(500), page(500)), retries=5)) == []
    with pytest.raises(GatewayError, match="after 51 attempts"):
        call(connect(FakeTransport(*[outcome] * 100), retries=50), divisible=False)


def test_very_many_retries_are_no_trouble(connect: Connect, clock: FakeClock) -> None:
    """Waits stay below half a minute, however often they would have doubled."""
    with pytest.raises(UnreachableError, match="after 2049 attempts"):
        call(connect(FakeTransport(*[page(500)] * 3000), retries=2048))
    assert max(clock.waits) == 30


TERMINATED = "Connection terminated unexpectedly"
POOL = "Knex: Timeout acquiring a connection. The pool is probably full. Are you missing a .transacting(trx) call?"
SQL = 'select "id", "height" from "block" order by "height" desc limit $1'
DATABASE = {
    "restart": ('"57P01"', f"{SQL} - terminating connection due to administrator command"),
    "crash": ('"57P02"', f"{SQL} - terminating connection because of crash of another server process"),
    "start": ('"57P03"', f"{SQL} - the database system is starting up"),
    "connection": ('"08006"', f"{SQL} - server closed the connection unexpectedly"),
    "no connection": ('"08003"', "connection does not exist"),
    "too many": ('"53300"', "sorry, too many clients already"),
    "terminated": ("0", f"{SQL} - {TERMINATED}"),
    "internal": ("-32603", TERMINATED),
    "pool": ("0", POOL),
    "down": ('"ECONNREFUSED"', "connect ECONNREFUSED 127.0.0.1:5432"),
    "down without a code": ("0", "connect ECONNREFUSED 127.0.0.1:5432"),
}


@pytest.mark.parametrize(("code", "message"), DATABASE.values(), ids=DATABASE)
@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("divisible", [True, False])
def test_trouble_of_the_database_is_transient(
    code: str, message: str, status: int, divisible: bool, connect: Connect, clock: FakeClock
) -> None:
    """A minute later the same call succeeds. In the end the service is unreachable, with the reason."""
    trouble = Response(status, failure(code, message))
    times = 1 if divisible and message == POOL else 2
    assert call(connect(FakeTransport(*[trouble] * times), retries=2), divisible=divisible) == []
    assert len(clock.waits) == times
    with pytest.raises(UnreachableError, match=re.escape(message.rpartition(" - ")[2][-60:])) as caught:
        call(connect(FakeTransport(trouble), retries=0), divisible=divisible)
    assert code.strip('"') in str(caught.value)


def test_a_service_without_connections_is_tried_again_once_where_the_caller_can_ask_for_less(connect: Connect) -> None:
    """A heavy query is one reason for it, and the same query would meet it again half a minute later."""
    transport = FakeTransport(*[Response(200, failure("0", POOL))] * 100)
    with pytest.raises(GatewayError, match="after 2 attempts"):
        call(connect(transport, retries=50))
    assert len(transport.requests) == 2


@pytest.mark.parametrize(("code", "retried"), [("0", True), ('"XX000"', True), ("-32602", False), ("-32601", False)])
def test_an_error_with_500_is_transient_unless_it_is_about_the_request(
    code: str, retried: bool, connect: Connect, clock: FakeClock
) -> None:
    """What JSON-RPC has codes for is the same at the next attempt."""
    connection = connect(FakeTransport(Response(500, failure(code, "no"))), retries=1)
    if retried:
        assert call(connection) == []
    else:
        with pytest.raises(ServiceError, match=code):
            call(connection)
    assert len(clock.waits) == retried


HEAVY = [("0", "Defined query timeout of 5000ms exceeded when running query."), ('"57014"', "canceling statement")]


@pytest.mark.parametrize(("code", "message"), HEAVY)
@pytest.mark.parametrize("status", [200, 500])
def test_a_heavy_query_is_retried_where_the_caller_cannot_ask_for_less(
    code: str, message: str, status: int, connect: Connect, clock: FakeClock
) -> None:
    """A lookup is as light as it can be; a range is divided at once."""
    heavy = Response(status, failure(code, message))
    assert call(connect(FakeTransport(heavy, heavy), retries=2), divisible=False) == []
    with pytest.raises(TooHeavyError):
        call(connect(FakeTransport(heavy, heavy), retries=1), divisible=False)
    clock.waits.clear()
    with pytest.raises(TooHeavyError):
        call(connect(FakeTransport(heavy)))
    assert clock.waits == []


def test_waits_that_the_service_asks_for_add_up_to_two_minutes(connect: Connect, clock: FakeClock) -> None:
    """A call that is put off again and again ends, however many retries are left."""
    with pytest.raises(GatewayError, match="after 3 attempts"):
        call(connect(FakeTransport(*[page(503, "50")] * 9), retries=100))
    assert clock.waits == [50, 50]
