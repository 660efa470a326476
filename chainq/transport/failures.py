"""What a call that brought no answer means: an error, and whether to try again and when.

Source: docs/protocol.md, "Envelope and errors"; RFC 9110, section 15, for HTTP statuses.
"""

import time
from typing import TYPE_CHECKING

from chainq.errors import (
    AnswerError,
    BrokenBodyError,
    ChainqError,
    GatewayError,
    ServiceError,
    TooHeavyError,
    UnreachableError,
)
from chainq.text.sanitize import excerpt, mask_url

if TYPE_CHECKING:
    import httpx

LONGEST_WAIT = 3600.0  # seconds that a service may ask us to wait; a date in the year 9999 is a mistake
# Many services put a JSON-RPC error beside these: it says no more than the status, and is as much in passing.
LATER = {429, 503}
_RETRIED = {408, 500, 502, 503, 504}
_HINTS = {
    401: "the service wants credentials: --header, or headers in a profile",
    403: "the service wants other credentials: --header, or headers in a profile",
    404: "is the URL right, with its path?",
    405: "is the URL right, with its path?",
}


class Refused(Exception):  # noqa: N818  # never leaves `rpc`
    """One attempt failed in a way that another may mend; `wait` seconds before it, where the service asked for that."""

    def __init__(self, error: ChainqError, wait: float | None = None, limited: bool = False) -> None:
        super().__init__(str(error))
        self.error, self.wait, self.limited = error, wait, limited


def of_exchange(error: "httpx.HTTPError | httpx.InvalidURL", url: str, timeout: float) -> ChainqError | Refused:
    """What a failed exchange means, and by its type whether to try again."""
    import httpx

    said = excerpt(str(error)) or type(error).__name__
    if isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL | httpx.LocalProtocolError):
        return UnreachableError(f"the URL or a header cannot be used: {said}")
    if isinstance(error, httpx.DecodingError):
        return Refused(BrokenBodyError(f"the compressed answer is broken: {said}"))
    if isinstance(error, httpx.RemoteProtocolError):
        return Refused(BrokenBodyError(f"the answer breaks off: {said}"))
    if isinstance(error, httpx.TimeoutException):
        said = f"no answer within {timeout:g} s"
    failure = UnreachableError(f"{mask_url(url)} could not be reached: {said}")
    return failure if "CERTIFICATE_VERIFY_FAILED" in said else Refused(failure)


def of_status(response: "httpx.Response", body: bytes, url: str) -> ChainqError | Refused:
    """What an HTTP status that is not 200 means, and by its type whether to try again."""
    status = response.status_code
    said = f"{mask_url(url)}: HTTP {status}"
    if text := excerpt(body[:2000].decode(errors="replace"), 120):
        said += f": {text}"
    if status == 429:
        return Refused(UnreachableError(said, "lower --rate or -j"), _retry_after(response), limited=True)
    if status == 413:
        return TooHeavyError(said, code="HTTP 413")
    if status in _RETRIED:
        kind = GatewayError if status in (502, 503, 504) else UnreachableError
        return Refused(kind(said), _retry_after(response))
    if 400 <= status < 500:
        return ServiceError(said, _HINTS.get(status, ""), code=f"HTTP {status}")
    if status >= 500:
        return UnreachableError(said)
    if 300 <= status < 400:
        target = mask_url(excerpt(response.headers.get("location", "nowhere")))
        return AnswerError(f"{said}, which redirects to {target}", "none is followed: give that URL instead")
    return AnswerError(f"{said}, where an answer has 200")


def _retry_after(response: "httpx.Response") -> float | None:
    """Seconds to wait by the Retry-After header in either form (RFC 9110, section 10.2.3); None without one."""
    from email.utils import parsedate_to_datetime

    value = response.headers.get("retry-after", "").strip()
    if value.isascii() and value.isdecimal():
        return min(float(value), LONGEST_WAIT)
    try:
        wait = parsedate_to_datetime(value).timestamp() - time.time()
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(0.0, wait), LONGEST_WAIT)
