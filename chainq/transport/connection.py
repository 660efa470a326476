"""Makes JSON-RPC calls: retries transient failures, keeps to rate limits, and limits concurrency.

This module combines the others in this folder. It does not deal with ranges, output or rows, except the row count.
"""

import itertools
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from chainq import tuning
from chainq.defaults import PATIENCE
from chainq.errors import (
    BrokenBodyError,
    ChainqError,
    OverdueError,
    ResponseError,
    ServiceError,
    TooHeavyError,
    UsageError,
    overdue,
)
from chainq.process import Closing
from chainq.text.sanitize import keep_secret, mask_url
from chainq.transport import failures
from chainq.transport.base import (
    COUNTED_BYTES,
    ROW_BYTES,
    ExchangeError,
    Report,
    Request,
    Response,
    ServiceOptions,
    Stopped,
    Transport,
    check_size,
    located,
)
from chainq.transport.concurrency import ConcurrencyLimit
from chainq.transport.failures import TransientFailure
from chainq.transport.jsonrpc import compact, encode, is_error
from chainq.transport.rate_limit import RateLimiter
from chainq.transport.retry_budget import RetryBudget

T = TypeVar("T")
Decode = Callable[[memoryview, int], T]


class Clock:
    """The time and waiting for it; tests have their own."""

    def monotonic(self) -> float:
        """Return seconds that never decrease."""
        return time.monotonic()

    def time(self) -> float:
        """Return seconds since 1970."""
        return time.time()

    def wait(self, stop: threading.Event, seconds: float) -> bool:
        """Wait `seconds`, or until `stop` is set; return whether it is."""
        return stop.wait(seconds)


class Connection(Closing):
    """Calls one service, from any number of threads. Use it as a context, or `close` it.

    `report` is given every attempt, from the thread that made it. `transport`: instead of the network. `observe` is
    given every response, and may end the call by raising a ChainqError.
    """

    def __init__(
        self,
        options: ServiceOptions,
        report: Callable[[Report], None] = lambda _: None,
        *,
        transport: Transport | None = None,
        observe: Callable[[Response], None] = lambda _: None,
        clock: Clock | None = None,
    ) -> None:
        local = transport is not None and "://" not in options.url  # a folder, whose name no message may lose
        keep_secret("" if local else options.url, options.headers)
        self._url = mask_url(options.url) if "://" in options.url else ""  # for messages; empty for a folder or demo:
        self._options, self._report, self._transport, self._observe = options, report, transport, observe
        self._clock = clock or Clock()
        self._lock = threading.Lock()
        # Not under the lock: while the first call opens the transport, the others take their slots in order.
        self._ids = itertools.count(1)
        self._limiter = RateLimiter(options.rate)
        self._stop = threading.Event()
        # Held from a request to the end of its response, not while that is decoded: with more threads than slots the
        # server need not wait for us.
        self._slots = ConcurrencyLimit(options.concurrency)
        self._responded = False  # the server, to any request
        # Workers of an export share the id of the run, and each counts its own requests.
        self._run = f"{options.run or os.urandom(4).hex()}-{os.getpid():x}"
        self._serves_json = self._succeeded = False

    def close(self) -> None:
        """End waiting calls at once, and close the sockets. Nothing is sent afterwards."""
        with self._lock:  # so that no call opens a transport that nobody would close
            self._stop.set()
            transport = self._transport
        if transport is not None:
            transport.close()

    def allow_last(self, seconds: float) -> None:
        """Allow the last calls of a run that was told to end so many seconds; they wait for no other call."""
        self._options = self._options._replace(until=self._clock.monotonic() + seconds)
        self._slots = ConcurrencyLimit(self._options.concurrency)

    @property
    def closed(self) -> bool:
        """Return whether nothing is sent any more."""
        return self._stop.is_set()

    def check_open(self) -> None:
        """Raise Stopped if the connection was closed."""
        if self.closed:
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

        `decode` is given the body, compact, and the request id. What it returns may refer to the body: its memory is
        taken until nothing does. `where` names the heights or the object of the call, for errors and reports, and
        `purpose` why it is made, if nobody asked for it, or for all of its heights. `divisible`: whether the caller can
        ask for less when a response is too large or too slow, as it may after TooHeavyError, GatewayError and
        BrokenBodyError.
        Raises these, or ServiceError, ResponseError or UnreachableError, with the method and `where` in the message.
        """
        retries = RetryBudget(self._options.retries, divisible)
        while True:
            try:
                return self._attempt(method, params, decode, where, retries, purpose=purpose)
            except TransientFailure as failure:
                if failure.wait is None:
                    failure.error.again &= self._responded
                    raise _located(failure.error, located(method, where, purpose=purpose), retries.attempts) from None
                if not failure.rate_limited:  # the limiter has the method wait
                    self._sleep(failure.wait)
            except ChainqError as error:
                error.again &= self._serves_json or isinstance(error, OverdueError | TooHeavyError)
                raise _located(error, located(method, where, purpose=purpose), retries.attempts) from None

    def hold_back(self, method: str, seconds: float) -> None:
        """Pause calls of a method for `seconds`, because the service refused it (HTTP 429) to another process."""
        self._limiter.hold_back(method, seconds, self._clock.monotonic())

    def _attempt(
        self, method: str, params: Any, decode: Decode[T], where: str, retries: RetryBudget, *, purpose: str
    ) -> T:
        call_id = next(self._ids)
        request_id = f"{self._run}-{call_id}"
        size, began, outcome, count, wait = 0, self._clock.monotonic(), "stopped", None, None
        limited = hung = False
        try:
            with self._slot(method):
                began = self._clock.monotonic()
                retries.attempts += 1
                try:
                    response = self._exchange(encode(method, params, call_id), request_id)
                except TransientFailure as failure:  # while the slot is held: whoever gets it next has to know
                    self._weigh(failure, method, retries, began)
                    raise
            size = len(response.body)
            try:
                decoded = decode(self._sized(compact(response.body)), call_id)
            except (BrokenBodyError, ServiceError) as error:
                meaning = failures.of_body(error, response.status, retries.divisible)
                limited = isinstance(meaning, TransientFailure) and meaning.rate_limited
                if not limited:
                    self._limiter.succeeded(method)
                if isinstance(meaning, TransientFailure):
                    self._weigh(meaning, method, retries, began)
                raise meaning from None
            self._limiter.succeeded(method)
            self._slots.succeeded()
            self._succeeded = True
            if isinstance(decoded, list):
                count = len(decoded)
            outcome = "ok"
            return decoded
        except TransientFailure as failure:
            self._name(failure.error)
            outcome, wait, limited = failure.error.message, failure.wait, failure.rate_limited
            hung = failure.hung and (wait is not None or retries.divisible)  # otherwise it is the error
            raise
        except ChainqError as error:
            self._name(error)
            outcome = error.message
            raise
        except MemoryError:
            outcome = "out of memory"
            raise TooHeavyError("not enough memory for the response", "lower -j or --max-memory") from None
        finally:
            seconds = self._clock.monotonic() - began
            made = retries.attempts
            self._report(
                Report(
                    method,
                    where,
                    size,
                    seconds,
                    made,
                    outcome,
                    rows=count,
                    wait=wait,
                    rate_limited=limited,
                    hung=hung,
                    call=call_id,
                    request_id=request_id,
                    purpose=purpose,
                )
            )

    def _name(self, error: ChainqError) -> None:
        """Put the URL before the message of an error, unless the error is of this run alone.

        Until a call succeeds, an invalid response may be that of something else than a chain data service.
        """
        if self._url and not isinstance(error, UsageError):
            error.message = f"{self._url}: " + error.message
            if isinstance(error, ResponseError) and not self._succeeded:
                error.hint = error.hint or failures.IS_URL_RIGHT

    def _weigh(self, failure: TransientFailure, method: str, retries: RetryBudget, sent_at: float) -> None:
        """Set the wait after a failure, and the number of concurrent requests from now on.

        A 429 pauses all calls of its method for that time.
        """
        if failure.overloaded:
            self._slots.timed_out(sent_at, self._clock.monotonic())
        if failure.rate_limited and self._options.retries:
            failure.wait = self._limiter.refused(method, failure.retry_after, self._clock.monotonic())
            if failure.wait is None:
                asked = failure.retry_after or 0.0
                limit = f"it asks to wait {asked:g} s" if asked > PATIENCE else f"refused for {PATIENCE:g} s"
                failure.error.message += f", {limit}"
        elif failure.connect_waits and not self._responded and not self._options.patient:
            failure.wait = dict(enumerate(failure.connect_waits[: self._options.retries], 1)).get(retries.attempts)
        else:
            failure.wait = retries.wait_after(failure)
            if failure.wait is None and (failure.retry_after or 0.0) > tuning.MAX_WAIT:
                failure.error.message += f", it asks to wait {failure.retry_after:g} s"

    @contextmanager
    def _slot(self, method: str) -> Iterator[None]:
        """Hold one of the slots from a moment when a request of this method may be sent."""
        turn, slots = self._limiter.turn(self._clock.monotonic()), self._slots
        while True:
            slots.acquire()
            try:
                wait = self._limiter.wait(method, self._clock.monotonic(), turn)
                self.check_open()
                if not wait:
                    yield
                    return
            finally:
                slots.release()
            self._sleep(wait)

    def _sleep(self, seconds: float) -> None:
        if self._clock.wait(self._stop, min(seconds, self._left())):
            raise Stopped

    def _left(self) -> float:
        """Return the seconds left for the run. Raises OverdueError if there are none."""
        if self._options.until is None:
            return math.inf
        left = self._options.until - self._clock.monotonic()
        if left <= 0:
            raise OverdueError(overdue(self._options.deadline))
        return left

    def _exchange(self, request: bytes, request_id: str) -> Response:
        """Return a response with HTTP 200, or one whose JSON-RPC error is more specific than its status."""
        deadline = self._clock.monotonic() + min(self._options.seconds, self._left())
        try:
            response = self.opened().call(Request(request, deadline, self._options.most, request_id))
        except ExchangeError as error:
            if self.closed:
                raise Stopped from None
            self._left()
            raise failures.of_exchange(error, self._options, first=not self._responded) from None
        self._responded = True
        self._observe(response)
        by_status = response.status in failures.ALWAYS_BY_STATUS
        if response.status != 200 and (by_status or not is_error(response.body)):
            raise failures.of_status(response, self._options, self._clock.time())
        if (page := failures.of_web_page(response)) is not None:
            if self._serves_json:  # a page in between, as during a deploy; at first, the URL is wrong
                raise TransientFailure(page)
            raise ResponseError(page.message, page.hint)
        if not self._serves_json and (other := failures.of_first(response)) is not None:
            raise other
        self._serves_json = True
        return response

    def _sized(self, text: bytes) -> memoryview:
        """Return a view of a body. Raises TooHeavyError if its rows would take up too much memory."""
        if len(text) > COUNTED_BYTES:
            check_size(len(text) + text.count(b",") * ROW_BYTES, self._options.most)
        return memoryview(text)

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


def _located(error: ChainqError, request: str, attempts: int) -> ChainqError:
    error.message = f"{request}: " + error.message
    if attempts > 1:
        error.message += f" (after {attempts} attempts)"
    return error
