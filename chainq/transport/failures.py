"""Makes the errors of failed calls: what happened, and at most one hint. What a failure means is in `policy`."""

import contextlib
import re
import time
from urllib.parse import urljoin

import msgspec

from chainq.errors import (
    BrokenBodyError,
    ChainqError,
    LackingError,
    ResponseError,
    ServiceError,
    TooHeavyError,
    UnreachableError,
)
from chainq.text.sanitize import excerpt, mask_sent, mask_url
from chainq.transport import policy
from chainq.transport.base import DeadlineError, ExchangeError, NoConnectionError, NotHttpError, Response
from chainq.transport.policy import Meaning

INCOMPLETE, NO_TABLE = -32001, -32002
"""Codes of the errors of an export that lacks heights, or the table or index that a method needs; their data is an
`Incomplete`. Other servers may use the codes for something else."""
_OTHER_DIALECT = ("is not iterable", "undefined binding")  # parameters by other names than the server's
IS_URL_RIGHT = "is the URL right?"
_CREDENTIALS = "pass valid credentials with --header, or with headers in a profile"
_HINTS = {
    401: _CREDENTIALS,
    403: _CREDENTIALS,
    407: "check the proxy and its login",
    429: "lower --rate or -j",
}
_PYTHON = re.compile(r"\[(?:Errno -?\d+|SSL(?:: [A-Z_0-9]+)?)\] | \(_ssl\.c:\d+\)")
"""What Python adds to the reason of an error."""


class Incomplete(msgspec.Struct, frozen=True, omit_defaults=True):
    """The data of an error of an export. `first`: its lowest height; 0 also if an earlier version does not say it.

    `table`: the one that it does not have, or "".
    """

    incomplete: bool
    first: int = 0
    table: str = ""


class Failure(Exception):  # noqa: N818  # never leaves the transport
    """One attempt failed, and another may succeed.

    `error` is what to raise after the last attempt; `retry_after` the seconds that the service asks to wait, None if
    it does not say. `wait` is decided later: the seconds before the next attempt, None if there is none.
    """

    def __init__(self, error: ChainqError, meaning: Meaning = policy.DOWN, retry_after: float | None = None) -> None:
        super().__init__(str(error))
        self.error, self.meaning, self.retry_after = error, meaning, retry_after
        self.wait: float | None = None


Failed = ChainqError | Failure
"""What to raise: an error that is final, or one attempt's failure."""


class PassingError(ServiceError):
    """The service returned an error that another attempt may not meet. Never leaves the transport."""

    meaning = policy.DOWN


def _failed(meaning: Meaning, message: str, hint: str = "", retry_after: float | None = None) -> Failed:
    error = meaning.error(message, hint)
    return Failure(error, meaning, retry_after) if meaning.again else error


def of_error(code: str, message: str, data: bytes = b"") -> ServiceError:
    """Return the ServiceError of a JSON-RPC error (docs/protocol.md, "Envelope and errors"); `data` is JSON."""
    said = _unended(excerpt(message, 120))  # of SQL and a reason, both ends
    text = f"the service returned error {excerpt(code, 20) or '(no code)'}: {said}"
    if code in (str(INCOMPLETE), str(NO_TABLE)) and (found := _incomplete(data)):
        heights = "pass heights that it has, or have the others exported there"
        hint = heights if code == str(INCOMPLETE) else "have it exported there"
        return LackingError(text, hint, code=code, first=found.first, table=excerpt(found.table, 40))
    meaning = policy.of_error(code, message)
    if meaning.again:
        passing = PassingError(text, code=code)
        passing.meaning = meaning
        return passing
    if meaning.error is TooHeavyError:
        return TooHeavyError(text, code=code)
    return ServiceError(text, code=code)


def _incomplete(data: bytes) -> Incomplete | None:
    try:
        found = msgspec.json.decode(data, type=Incomplete)
    except msgspec.DecodeError:
        return None
    return found if found.incomplete else None


def is_unknown_method(code: str) -> bool:
    """Return whether the code of a JSON-RPC error is that of a missing method (JSON-RPC 2.0, section 5.1)."""
    return code.strip('"') == "-32601"


def is_misunderstood(code: str, message: str) -> bool:
    """Return whether a JSON-RPC error means that the server has other names for methods or parameters.

    The messages are those of docs/protocol.md, "Dialects".
    """
    return is_unknown_method(code) or any(words in message.lower() for words in _OTHER_DIALECT)


def of_body(error: BrokenBodyError | ServiceError, status: int, *, divisible: bool) -> Failed:
    """Return what an error in a body with HTTP status `status` means.

    If the caller cannot ask for less, a query that is too heavy is retried, because it may be less so later.
    """
    if isinstance(error, PassingError):
        return _failed(error.meaning, error.message, _HINTS[429] if error.meaning.rate_limited else "")
    if isinstance(error, TooHeavyError):
        return error if divisible or not error.code else Failure(error)
    if isinstance(error, BrokenBodyError):
        return Failure(error, policy.BROKEN)
    if status >= 500 and error.code not in policy.PROTOCOL:
        return _failed(policy.DOWN, error.message)
    return error


def shown(body: bytes | memoryview, length: int = 80) -> str:
    """Return what messages show of a body; secrets in it are masked before any of them could be cut in two."""
    return excerpt(mask_sent(bytes(body[: 64 * 2**10]).decode(errors="replace"))[:2000], length)


def _unended(text: str) -> str:
    """Return a text without the period at its end, because a hint may follow."""
    return text if text.endswith("..") else text.removesuffix(".")


def of_exchange(error: ExchangeError, seconds: float, *, first: bool) -> Failed:
    """Return what a failed exchange means, which had `seconds`. `first`: there was no response before."""
    reason = f"no complete response within {seconds:g} s" if isinstance(error, DeadlineError) else str(error)
    if isinstance(error, NotHttpError) and first:
        return ResponseError(reason, "check the scheme and the port of the URL")
    meaning, before, hint = next(
        (meaning, before, hint)
        for kind, words, meaning, before, hint in policy.EXCHANGES
        if isinstance(error, kind) and re.search(words, reason)
    )
    no_connection = isinstance(error, NoConnectionError) and meaning.error is UnreachableError
    away = "could not reach the server: " if no_connection else ""
    return _failed(meaning, f"{away}{before}{_unended(_PYTHON.sub('', reason))}", hint)


def of_status(response: Response, url: str) -> Failed:
    """Return what an HTTP status other than 200 means. `url`: of the request, for the target of a redirect."""
    status, message = response.status, f"HTTP {response.status}"
    if 300 <= status < 400:
        target = response.headers.get("location", "")
        with contextlib.suppress(ValueError):
            target = urljoin(url, target)
        message += f", a redirect to {mask_url(excerpt(target))}, which chainq does not follow"
    elif text := _unended(shown(response.body, 120)).removeprefix(f"{status} "):
        message += f": {text}"
    failed = _failed(policy.of_status(status), message, _HINTS.get(status, ""), retry_after(response))
    if isinstance(failed, ServiceError):
        failed.code = f"HTTP {status}"
    return failed


def of_text(response: Response, *, known: bool) -> Failed | None:
    """Return what a body means that is another text than a JSON object or array; None if it may be one, or is empty.

    `known`: the server has sent JSON-RPC before. Then this is a page in between, as during a deploy; at first, neither
    another attempt nor a smaller request helps.
    """
    start = response.body[:100].lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if start in (b"", b"{", b"["):
        return None
    kind = excerpt(response.headers.get("content-type", "").partition(";")[0], 40) or "no content type"
    message = f"response is not a JSON object: HTTP {response.status}, {kind}, {shown(response.body)}"
    if known:
        return Failure(BrokenBodyError(message), policy.BROKEN)
    return ResponseError(message, IS_URL_RIGHT)


def retry_after(response: Response) -> float | None:
    """Return the seconds to wait according to the Retry-After header, in either form (RFC 9110, section 10.2.3).

    A date is compared with the response's own Date, so that the clock of this machine does not matter.
    """
    value = response.headers.get("retry-after", "").strip()
    if value.isascii() and value.isdecimal():
        return float(value)
    if (until := _time(value)) is None:
        return None
    sent = _time(response.headers.get("date", ""))
    return max(0.0, until - (time.time() if sent is None else sent))


def _time(date: str) -> float | None:
    """Return an HTTP date in seconds since 1970; None if it is none (RFC 9110, section 5.6.7)."""
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
