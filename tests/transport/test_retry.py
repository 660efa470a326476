"""When a call is made again, how long it waits, and what its errors say."""

import httpx
import pytest
from pytest_httpx import HTTPXMock

from chainq.errors import (
    AnswerError,
    BrokenBodyError,
    ChainqError,
    GatewayError,
    ServiceError,
    TooHeavyError,
    UnreachableError,
)
from chainq.transport.jsonrpc import decode_rows
from harness.calls import URL, Clock, Connect, envelope, failure, ok, refuse


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504])
def test_passing_failures_are_tried_again_with_growing_waits(
    status: int, httpx_mock: HTTPXMock, connect: Connect, clock: Clock
) -> None:
    """5xx and 408 are tried again, each wait drawn below a bound that doubles."""
    refuse(httpx_mock, status, 3)
    httpx_mock.add_callback(ok)
    assert connect(retries=3).call("m", None, decode_rows) == []
    assert clock.slept == [pytest.approx(clock.slept[0] * 2**k) for k in range(3)]
    assert 0 < clock.slept[0] <= 2


@pytest.mark.parametrize(
    ("status", "kind"),
    [(503, GatewayError), (502, GatewayError), (504, GatewayError), (500, UnreachableError), (408, UnreachableError)],
)
def test_retries_end(
    status: int, kind: type[ChainqError], httpx_mock: HTTPXMock, connect: Connect, clock: Clock
) -> None:
    """After 1 + retries attempts the failure stands, with method, heights, status and number of attempts."""
    refuse(httpx_mock, status, 3)
    with pytest.raises(kind, match=rf"m heights 5-9: {URL}: HTTP {status}.*after 3 attempts"):
        connect(retries=2).call("m", None, decode_rows, "heights 5-9")
    assert len(clock.slept) == 2


def test_a_body_that_breaks_off_is_asked_for_again(httpx_mock: HTTPXMock, connect: Connect, clock: Clock) -> None:
    """Broken JSON and closed connections are passing failures; in the end they are no valid answer (exit 5)."""
    httpx_mock.add_response(content=envelope("[]", id_="1")[:-3])
    httpx_mock.add_exception(httpx.RemoteProtocolError("peer closed connection"))
    httpx_mock.add_callback(ok)
    connection = connect(retries=2)
    assert connection.call("m", None, decode_rows) == []
    assert len(clock.slept) == 2
    httpx_mock.add_response(content=b"")
    with pytest.raises(BrokenBodyError):
        connect(retries=0).call("m", None, decode_rows)


def test_connection_errors_and_timeouts_are_tried_again(httpx_mock: HTTPXMock, connect: Connect, clock: Clock) -> None:
    """No connection and no answer in time are passing failures; in the end the service is unreachable (exit 4)."""
    httpx_mock.add_exception(httpx.ConnectError("refused"))
    httpx_mock.add_exception(httpx.ReadTimeout("slow"))
    httpx_mock.add_callback(ok)
    assert connect(retries=2).call("m", None, decode_rows) == []
    assert len(clock.slept) == 2
    httpx_mock.add_exception(httpx.ReadTimeout("slow"))
    with pytest.raises(UnreachableError, match=r"within 12 s"):
        connect(retries=0, timeout=12).call("m", None, decode_rows)


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (httpx.Response(404, html="<h1>No</h1>"), ServiceError),
        (httpx.Response(401, html="<h1>No</h1>"), ServiceError),
        (httpx.Response(413, html="<h1>No</h1>"), TooHeavyError),
        (httpx.Response(302, headers={"Location": "http://elsewhere.invalid/"}), AnswerError),
        (httpx.Response(200, content=envelope("[]", id_="99")), AnswerError),
        (httpx.Response(200, content=failure("-32602").replace(b'"id":7', b'"id":1')), ServiceError),
        (httpx.Response(400, content=failure("-32600").replace(b'"id":7', b'"id":1')), ServiceError),
        (httpx.Response(500, content=failure("0").replace(b'"id":7', b'"id":1')), ServiceError),
    ],
    ids=["404", "401", "413", "redirect", "wrong id", "error", "error with 400", "error with 500"],
)
def test_what_another_attempt_cannot_mend_is_told_at_once(
    reply: httpx.Response, kind: type[ChainqError], httpx_mock: HTTPXMock, connect: Connect, clock: Clock
) -> None:
    """Errors of the service, wrong ids, 4xx and redirects are final at the first attempt, and none is followed."""
    httpx_mock.add_callback(lambda _: reply)
    with pytest.raises(kind) as caught:
        connect().call("m", None, decode_rows)
    assert type(caught.value) is kind
    assert clock.slept == []
    assert len(httpx_mock.get_requests()) == 1


@pytest.mark.parametrize(
    ("status", "kind"),
    [(206, AnswerError), (401, ServiceError), (404, ServiceError), (500, UnreachableError), (503, GatewayError)],
)
@pytest.mark.parametrize("answer", ["[]", "null"])
def test_a_result_beside_a_failure_is_no_answer(
    answer: str, status: int, kind: type[ChainqError], httpx_mock: HTTPXMock, connect: Connect
) -> None:
    """An empty result under an HTTP status that tells of a failure is that failure, and never "no rows"."""
    httpx_mock.add_response(status_code=status, content=envelope(answer, id_="1"))
    with pytest.raises(kind, match=str(status)):
        connect(retries=0).call("m", None, decode_rows)


def test_an_error_beside_503_is_in_passing(httpx_mock: HTTPXMock, connect: Connect, clock: Clock) -> None:
    """A JSON-RPC error says no more than the 503 that it comes with: the call is made again."""
    httpx_mock.add_response(status_code=503, content=failure("-32000", "busy").replace(b'"id":7', b'"id":1'))
    httpx_mock.add_callback(ok)
    assert connect(retries=1).call("m", None, decode_rows) == []
    assert len(clock.slept) == 1
