"""Sends JSON-RPC calls by HTTP POST: again where that may help, no faster than wanted, no more at a time.

It alone opens connections; what their failures mean is for `refusals` to say. It knows nothing of ranges, rows inside
a result, or output.
Source: docs/protocol.md, "Envelope and errors".
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import urlsplit

from chainq._version import __version__
from chainq.errors import BrokenBodyError, ChainqError, GatewayError, TooHeavyError, UsageError
from chainq.text.sanitize import excerpt, mask_url
from chainq.transport import failures
from chainq.transport.failures import Refused
from chainq.transport.jsonrpc import encode, is_error

if TYPE_CHECKING:
    import httpx
from chainq.transport.base import Endpoint, Report, Stopped
from chainq.transport.retry import _Tries

T = TypeVar("T")
MOST_BYTES = 512 * 2**20  # of one answer, decompressed
READ_BYTES = 256 * 2**10


class Connection:
    """Sends calls to one endpoint, from any number of threads, with retry, backoff and rate limit.

    `report` is told of every attempt, from the thread that made it.
    """

    def __init__(self, endpoint: Endpoint, report: Callable[[Report], None] = lambda _: None) -> None:
        self.endpoint = endpoint
        self._report = report
        self._lock = threading.Lock()
        self._last_id = 0
        self._open_at: dict[str, float] = {}  # when a method that was refused with 429 may be called again
        self._next_at = 0.0  # when `rate` allows the next request
        self._stop = threading.Event()
        # Held from a request to the end of its answer, not while that is decoded: with more threads than slots the
        # server need not wait for us.
        self._slots = threading.BoundedSemaphore(endpoint.concurrency)
        self._http: httpx.Client | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End waiting calls at once and give the sockets back."""
        self._stop.set()
        if self._http is not None:
            self._http.close()

    def call(self, method: str, params: Any, decode: Callable[[bytes, int], T], where: str = "") -> T:
        """Make a call, again where that may help (any call only reads), and give what `decode` makes of the answer.

        `where` names the heights or the thing asked for, for errors and reports. Raises ServiceError, TooHeavyError,
        AnswerError, BrokenBodyError or UnreachableError, with the method and `where` in the message.
        """
        tries = _Tries(self.endpoint.retries)
        while True:
            try:
                return self._attempt(method, params, decode, where, tries)
            except Refused as refused:
                if not refused.limited:
                    self._sleep(refused.wait or 0.0)

    def _attempt(self, method: str, params: Any, decode: Callable[[bytes, int], T], where: str, tries: _Tries) -> T:
        with self._lock:
            self._last_id += 1
            call_id = self._last_id
        size, began, outcome, count, wait = 0, time.monotonic(), "stopped", None, None
        try:
            with self._slot(method):
                began = time.monotonic()
                tries.made += 1
                try:
                    body = self._post(encode(method, params, call_id))
                except Refused as refused:  # while the slot is held: whoever gets it next shall know
                    self._weigh(refused, method, tries)
                    raise
            size = len(body)
            try:
                answer = decode(body, call_id)
            except BrokenBodyError as error:
                broken = Refused(error)
                self._weigh(broken, method, tries)
                raise broken from None
            outcome, count = "ok", len(answer) if isinstance(answer, list) else None
            return answer
        except Refused as refused:
            outcome, wait = refused.error.message, refused.wait
            if wait is None:
                raise _placed(refused.error, method, where, tries.made) from None
            raise
        except ChainqError as error:
            outcome = error.message
            raise _placed(error, method, where, tries.made) from None
        finally:
            self._report(Report(method, where, size, time.monotonic() - began, tries.made, outcome, count, wait))

    def _weigh(self, refused: Refused, method: str, tries: _Tries) -> None:
        """Say how long to wait after a refusal, and after a 429 hold back all calls of the method so long."""
        refused.wait = tries.wait_after(refused)
        if refused.limited and refused.wait is not None:
            with self._lock:
                self._open_at[method] = max(self._open_at.get(method, 0.0), time.monotonic() + refused.wait)

    @contextmanager
    def _slot(self, method: str) -> Iterator[None]:
        """Hold one of the slots from a moment when a request of this method may be sent."""
        while True:
            self._slots.acquire()
            try:
                wait = self._due(method)
                if self._stop.is_set():
                    raise Stopped
                if not wait:
                    yield
                    return
            finally:
                self._slots.release()
            self._sleep(wait)

    def _due(self, method: str) -> float:
        """Seconds until neither a 429 of this method nor `rate` (a token bucket that holds one) forbids a request.

        Where that is now, the token is taken.
        """
        with self._lock:
            now = time.monotonic()
            due = max(self._open_at.get(method, 0.0), self._next_at if self.endpoint.rate else 0.0)
            if due <= now and self.endpoint.rate:
                self._next_at = now + 1 / self.endpoint.rate
        return max(0.0, due - now)

    def _sleep(self, seconds: float) -> None:
        if self._stop.wait(seconds):
            raise Stopped

    def _post(self, request: bytes) -> bytes:
        """One attempt: the body of a 200 answer, or of another whose JSON-RPC error says more than its status."""
        import httpx

        limit = self.endpoint.timeout
        last = time.monotonic() + limit
        try:
            with self._client().stream("POST", self.endpoint.url, content=request) as response:
                pieces, size = [], 0
                for piece in response.iter_bytes():
                    pieces.append(piece)
                    size += len(piece)
                    if size > MOST_BYTES:
                        raise TooHeavyError(f"the answer is larger than {MOST_BYTES >> 20} MiB")
                    if time.monotonic() > last:  # httpx bounds each read, not the whole
                        raise GatewayError(
                            f"{mask_url(self.endpoint.url)}: the answer has not ended within {limit:g} s, with {size}"
                            " bytes so far",
                            "a longer --timeout may do",
                        )
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise failures.of_exchange(error, self.endpoint.url, limit) from None
        except RuntimeError:  # httpx: the client was closed
            if self._stop.is_set():
                raise Stopped from None
            raise
        body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        status = response.status_code
        if status != 200 and (status in failures.LATER or not is_error(body)):
            raise failures.of_status(response, body, self.endpoint.url)
        return body

    def _client(self) -> "httpx.Client":
        with self._lock:
            if self._http is None:
                self._http = _open_client(self.endpoint)
            return self._http


def _placed(error: ChainqError, method: str, where: str, attempts: int) -> ChainqError:
    error.message = f"{method}{' ' + where if where else ''}: {error.message}"
    if attempts > 1:
        error.message += f" (after {attempts} attempts)"
    return error


def is_loopback(host: str | None) -> bool:
    """Whether a host is this machine by its name alone (RFC 6761, section 6.3; RFC 1122, section 3.2.1.3)."""
    name = host or ""
    return name in ("localhost", "::1") or (name.startswith("127.") and name.replace(".", "").isdecimal())


def _open_client(endpoint: Endpoint) -> "httpx.Client":
    import ssl

    import httpcore
    import httpx

    # Of a socket at a time, four times what httpcore reads: a fifth less time for large answers, and far fewer turns
    # of the threads. httpx hands no such setting on.
    httpcore.HTTP11Connection.READ_NUM_BYTES = READ_BYTES
    # A bare context for plain http: loading the certificate store costs a fifth of a short run.
    plain = not endpoint.url.lower().startswith("https:")
    # To unpack an answer takes longer than to receive it from this machine; from any other, the way is longer.
    near = {"Accept-Encoding": "identity"} if is_loopback(urlsplit(endpoint.url).hostname) else {}
    headers = httpx.Headers({"User-Agent": f"chainq/{__version__}", **near})
    headers.update(endpoint.headers)  # whatever the case of their letters
    headers["Content-Type"] = "application/json"
    # What the environment says of proxies and certificates is read here. No text of httpx: it holds the proxy's URL.
    try:
        return httpx.Client(
            transport=endpoint.transport,
            verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else True,
            timeout=endpoint.timeout,
            follow_redirects=False,
            event_hooks={"response": [endpoint.observe]} if endpoint.observe else None,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=None),
            headers=headers,
        )
    except ImportError:
        raise UsageError("the environment names a SOCKS proxy, for which the package socksio is missing") from None
    except ValueError:
        raise UsageError("HTTP_PROXY, HTTPS_PROXY or ALL_PROXY names no proxy of http or socks5") from None
    except OSError as error:
        raise UsageError(f"SSL_CERT_FILE or SSL_CERT_DIR holds no certificates: {excerpt(str(error))}") from None
