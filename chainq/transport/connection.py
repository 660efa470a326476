"""Makes JSON-RPC calls: retries transient failures, keeps to rate limits, and limits concurrency.

This module combines the others in this folder. It does not deal with ranges, output or rows, except the row count.
"""

import itertools
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from chainq.errors import ChainqError, OverdueError, ResponseError, TooHeavyError, UsageError
from chainq.options import ServiceOptions
from chainq.process import Closing
from chainq.text.sanitize import keep_secret, mask_url
from chainq.transport import failures
from chainq.transport.attempts import Attempts, RateLimiter
from chainq.transport.base import ExchangeError, Report, Request, Response, Stopped, Transport
from chainq.transport.failures import Failure
from chainq.transport.jsonrpc import compact, encode

T = TypeVar("T")
Decode = Callable[[memoryview, int], T]


class Connection(Closing):
    """Calls one service, from any number of threads. Use it as a context, or `close` it.

    `report` is given every attempt, from the thread that made it. `transport`: instead of the network. `observe` is
    given every response, and may end the call by raising a ChainqError. `limiter`: what decides when a call is sent.
    """

    def __init__(
        self,
        options: ServiceOptions,
        report: Callable[[Report], None] = lambda _: None,
        *,
        transport: Transport | None = None,
        observe: Callable[[Response], None] = lambda _: None,
    ) -> None:
        self._url = mask_url(options.url) if "://" in options.url else ""  # for messages; empty for a folder or demo:
        keep_secret(options.url if self._url else "", options.headers)
        self._options, self._report, self._transport, self._observe = options, report, transport, observe
        self._lock, self._ids = threading.Lock(), itertools.count(1)
        self.limiter = RateLimiter(options.rate)
        self._stop = threading.Event()
        self._slots = threading.Semaphore(options.concurrency)
        self._known = False  # whether the server is a service: it has sent JSON-RPC

    def close(self) -> None:
        """End waiting calls at once, and close the sockets. Nothing is sent afterwards."""
        with self._lock:  # so that no call opens a transport that nobody would close
            self._stop.set()
            if self._transport is not None:
                self._transport.close()

    def allow_last(self, seconds: float) -> None:
        """Allow the last calls of a run that was told to end so many seconds; they wait for no other call."""
        self._options = self._options._replace(until=time.monotonic() + seconds)
        self._slots = threading.Semaphore(self._options.concurrency)

    def check_open(self) -> None:
        """Raise Stopped if the connection was closed."""
        if self._stop.is_set():
            raise Stopped

    def call(
        self,
        method: str,
        params: Any,
        decode: Decode[T],
        where: str = "",
        *,
        divisible: bool = True,
        purpose: str = "",
    ) -> T:
        """Make a call, again after transient failures (every call only reads), and return what `decode` returns.

        `decode` is given the body, compact, and the request id; what it returns may refer to the body. `where` names
        the heights or the object of the call, for errors and reports, and `purpose` why it is made, if nobody asked
        for it, or for all of its heights. `divisible`: whether the caller can ask for less when a response is too
        large or too slow, as it may after TooHeavyError, GatewayError and BrokenBodyError.
        Raises these, or ServiceError, ResponseError or UnreachableError, with the method and `where` in the message.
        """
        report = Report(method, where, purpose=purpose)
        attempts = Attempts(self._options, self.limiter, method, divisible)
        while True:
            with self._slots:
                self.check_open()
                # A call keeps its slot while it waits for its turn by the rate. One whose method is held back, or
                # which failed, gives it up to others.
                wait = self.limiter.wait(method)
                if not wait:
                    self._sleep(self.limiter.turn(), attempts)
                    try:
                        return self._attempt(report, params, decode, attempts)
                    except Failure as failure:
                        if failure.wait is None:
                            raise self._last(failure.error, report, attempts) from None
                        wait = failure.wait
            self._sleep(wait, attempts)

    def _attempt(self, report: Report, params: Any, decode: Decode[T], attempts: Attempts) -> T:
        """Make one attempt of a call, and report it. Raises Failure, with the URL in the message of its error."""
        number, began = next(self._ids), time.monotonic()
        report = report._replace(call=number)
        response = Response(0, b"")
        try:
            response = self._exchange(encode(report.method, params, number), attempts)
            report = report._replace(size=len(response.body))
            result = decode(memoryview(compact(response.body)), number)
            self._known = True
            self.limiter.succeeded(report.method)
            report = report._replace(outcome="ok", rows=len(result) if isinstance(result, list) else None)
            return result
        except (Failure, ChainqError, RecursionError) as raised:
            self._known |= response.status > 0 and isinstance(raised, Failure)  # an error of JSON-RPC
            failure = self._failure(raised, response.status)
            failure.wait = attempts.wait(failure, known=self._known)
            report = report._replace(
                outcome=failure.error.message,
                wait=failure.wait,
                rate_limited=failure.meaning is failures.LIMITED,
                hung=failure.meaning is failures.HUNG and (failure.wait is not None or attempts.divisible),
            )
            raise failure from None
        finally:
            self._report(report._replace(seconds=time.monotonic() - began, attempt=attempts.made))

    def _exchange(self, body: bytes, attempts: Attempts) -> Response:
        """Return a response that is, or may be, JSON-RPC. Raises Failure, and what `observe` raises."""
        most = self._options.max_memory // self._options.concurrency
        request = Request(body, attempts.begin(), most)
        try:
            response = self.opened().call(request)
        except ExchangeError as error:
            self.check_open()
            attempts.left()
            raise failures.of_exchange(error, attempts.seconds) from None
        self._observe(response)
        failures.check(response, known=self._known)
        return response

    def _failure(self, raised: Failure | ChainqError | RecursionError, status: int) -> Failure:
        """Return what ended an attempt, with the URL before its message.

        Until the server has sent JSON-RPC, an invalid response may be that of something else than a service.
        """
        failure = failures.of_raised(raised, status)
        error = failure.error
        if self._url and not isinstance(error, UsageError):  # which is of this run alone
            error.message = f"{self._url}: " + error.message
            if isinstance(error, ResponseError) and not self._known:
                error.hint = error.hint or "is the URL right?"
        return failure

    def _last(self, error: ChainqError, report: Report, attempts: Attempts) -> ChainqError:
        """Return the error that ends a call: with the request and the attempts, and whether to advise to resume."""
        error.again &= self._known or isinstance(error, OverdueError | TooHeavyError)
        error.message = f"{report.named}: " + error.message
        if attempts.made > 1:
            error.message += f" (after {attempts.made} attempts)"
        return error

    def _sleep(self, seconds: float, attempts: Attempts) -> None:
        if seconds and self._stop.wait(min(seconds, attempts.left())):
            raise Stopped

    def opened(self) -> Transport:
        """Return the transport. The first call opens the network transport, because its import is most of a start.

        Raises Stopped if the connection was closed meanwhile, and UsageError for a client certificate.
        """
        with self._lock:
            self.check_open()
            if self._transport is None:
                from chainq.transport.http import HttpTransport

                self._transport = transport = HttpTransport(self._options)
                self._url += transport.via
            return self._transport
