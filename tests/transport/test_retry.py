"""When a call is made again, how long it waits, and what its errors say."""

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
    BrokenResponseError,
    DeadlineError,
    NoConnectionError,
    Response,
    UnusableRequestError,
)
from harness.calls import URL, Connect, FakeClock, FakeTransport, Outcome, call, envelope, failure, page


@pytest.mark.parametrize("status", [408, 500, 502, 503])
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


def test_a_body_that_ends_early_is_asked_for_again(connect: Connect, clock: FakeClock) -> None:
    """Broken JSON and lost connections are transient; in the end they are no valid response (exit 5)."""
    cut = Response(200, envelope("[]")[:-3])
    assert call(connect(FakeTransport(cut, BrokenResponseError("peer closed connection")), retries=2)) == []
    assert len(clock.waits) == 2
    with pytest.raises(BrokenBodyError):
        call(connect(FakeTransport(Response(200, b"")), retries=0))
    with pytest.raises(BrokenBodyError, match="response ended early: peer closed"):
        call(connect(FakeTransport(BrokenResponseError("peer closed connection")), retries=0))


def test_connection_errors_and_timeouts_are_retried(connect: Connect, clock: FakeClock) -> None:
    """No connection and no response in time are transient; in the end the service is unreachable (exit 4)."""
    assert call(connect(FakeTransport(NoConnectionError("refused"), DeadlineError()), retries=2)) == []
    assert len(clock.waits) == 2
    with pytest.raises(GatewayError, match=r"no complete response within 12 s.*--timeout"):
        call(connect(FakeTransport(DeadlineError()), retries=0, timeout=12))


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
        (Response(500, failure("0")), ServiceError),
        (UnusableRequestError("no such header"), UnreachableError),
        (NoConnectionError("[SSL: CERTIFICATE_VERIFY_FAILED]"), UnreachableError),
    ],
    ids=["404", "401", "413", "redirect", "wrong id", "error", "error 400", "error 500", "unusable", "certificate"],
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


@pytest.mark.parametrize("outcome", [DeadlineError(), page(504)], ids=["deadline", "504"])
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
