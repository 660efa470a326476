"""Classifies failed calls: the error, whether to retry, and when.

Tried again are calls that met no connection, a lost one, a timeout, a body that ended early, the HTTP statuses of
`base.TRANSIENT`, and errors of a database that restarts: `retries` times, and rate limits as long as `rate_limit` says,
unless `retries` is 0. All else is final. If no connection was ever made, a few seconds are enough for a server that
starts (`tuning.CONNECT_WAITS`), and one more attempt for a host that nobody knows, unless the user said how many.

Source: docs/protocol.md, "Envelope and errors"; RFC 9110, section 15, for HTTP statuses.
"""

import errno
import os
import re
from collections.abc import Sequence
from urllib.parse import urljoin

import msgspec

from chainq import tuning
from chainq.errors import (
    BrokenBodyError,
    ChainqError,
    GatewayError,
    LackingError,
    OutputError,
    ResponseError,
    ServiceError,
    TooHeavyError,
    UnreachableError,
)
from chainq.rows import raw_json
from chainq.text.sanitize import excerpt, mask_sent, mask_url
from chainq.transport.base import (
    GATEWAY,
    TRANSIENT,
    BrokenResponseError,
    DamagedBodyError,
    DeadlineError,
    ExchangeError,
    NoResponseError,
    NotHttpError,
    ProxyRefusedError,
    Response,
    ServiceOptions,
    UnconnectedError,
    UnusableRequestError,
)

SHOWN_BYTES = 64 * 2**10  # of a body, among which is what is shown of it: no secret in that may be cut in two
# With these, many services send a JSON-RPC error as well: it says no more than the status, and is as transient.
ALWAYS_BY_STATUS = {429, 503}
# A database that restarts, lost its connection, or has too many: SQLSTATEs (PostgreSQL, appendix A; those of class 08
# are all about connections) and errors of Node.js.
_TRANSIENT_CODES = (
    r"08...|40001|40P01|53300|57P0[123]|ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN"
)
_LOST = ("connection terminated", "econnrefused", "econnreset", "the database system is")
_POOL_EMPTY = "timeout acquiring a connection"  # after a wait of half a minute; for heavy queries, or too many
_RATE_LIMIT = ("429", "-32005", "-32029")  # codes of JSON-RPC errors that proxies send in place of HTTP 429
_NO_CONNECTION = (_POOL_EMPTY, "too many clients", "too many connections")
INCOMPLETE, NO_TABLE = -32001, -32002
"""Codes of the errors of an export that lacks heights, or the table or index that a method needs; their data is an
`Incomplete`. Other servers may use the codes for something else."""
_NO_CODE = ("0", "-32603", "")  # with which servers send errors that have none
_PROTOCOL_CODES = ("-32700", "-32600", "-32601", "-32602")  # JSON-RPC 2.0, section 5.1: another attempt says the same
_SQL = r"(?is)\s*(select|with|insert|update|delete)\b.* - "
_OTHER_DIALECT = ("is not iterable", "undefined binding")  # parameters by other names than the server's
_CREDENTIALS = "pass credentials with --header, or with headers in a profile"
_PATH = "check the URL and its path"
IS_URL_RIGHT = "is the URL right?"
_PORT = "check the scheme and the port of the URL"
_PORT_OR_LOG = f"{_PORT}, or the log of the server"
_LOG = "check the log of the server, or of a proxy before it"
_PROXY = "check the proxy and its login"
_HINTS = {401: _CREDENTIALS, 403: _CREDENTIALS, 404: _PATH, 405: _PATH, 407: _PROXY}
_TLS = (
    ("mismatch", "the certificate is for another host name", "check the host in the URL"),
    ("has expired", "the certificate has expired", "ask the operator to renew it, and check the clock of this machine"),
    ("not yet valid", "the certificate is not valid yet", "check the clock of this machine"),
    (
        "self.signed certificate",
        "the certificate is self-signed",
        "if you trust it, set SSL_CERT_FILE to a file that contains it",
    ),
    (
        "CERTIFICATE_VERIFY_FAILED",
        "the certificate cannot be verified",
        "set SSL_CERT_FILE to a file with the certificate of its authority",
    ),
    (
        "WRONG_VERSION_NUMBER|record layer failure|PACKET_LENGTH_TOO_LONG",
        "the server does not speak TLS on this port",
        "check the port, or pass a URL with http://",
    ),
)
"""By OpenSSL's reasons (expressions, the first that matches counts): what is wrong, and what to do."""
_UNCONNECTED = (
    ("^proxy: ", "check the proxy"),
    (re.escape(os.strerror(errno.ECONNREFUSED)), "is the server running, and is the port in the URL right?"),
    ("not known|name resolution|no address|nodename", "check the host name in the URL"),
    ("", "check the URL and the network"),
)
"""By what the system says of a connection that was not made (the first that matches counts): what to do."""
_PYTHON = re.compile(r"\[(?:Errno -?\d+|SSL(?:: [A-Z_0-9]+)?)\] | \(_ssl\.c:\d+\)")
"""What Python adds to the reason of an error."""


class Incomplete(msgspec.Struct, frozen=True, omit_defaults=True):
    """The data of an error of an export. `first`: its lowest height; 0 also if an earlier version does not say it.

    `table`: the one that it does not have, or "".
    """

    incomplete: bool
    first: int = 0
    table: str = ""


class TransientFailure(Exception):  # noqa: N818  # never leaves the transport
    """One attempt failed, and another may succeed.

    `error` is what to raise after the last attempt; `retry_after` the seconds that the service asks to wait, None if
    it does not say. `rate_limited`: the service wants fewer calls. `timed_out`: there was no response in time, to
    this side (`hung`: the server said nothing) or inside the service. `overloaded`: fewer requests at a time may help.
    `connect_waits`: the seconds before each retry if there was no connection at all, to a server that may not exist.
    `wait` is decided later: the seconds before the next attempt, None if there is none.
    """

    def __init__(
        self,
        error: ChainqError,
        retry_after: float | None = None,
        *,
        rate_limited: bool = False,
        timed_out: bool = False,
        hung: bool = False,
        overloaded: bool = False,
        connect_waits: Sequence[float] = (),
    ) -> None:
        super().__init__(str(error))
        self.error, self.retry_after = error, retry_after
        self.rate_limited, self.timed_out, self.overloaded = rate_limited, timed_out, overloaded or timed_out
        self.hung, self.connect_waits = hung, connect_waits
        self.wait: float | None = None


class UnavailableError(ServiceError):
    """The service returned an error that another attempt may not meet. Never leaves the transport."""


class RateLimitError(ServiceError):
    """The service returned the error of a rate limit. Never leaves the transport."""


def of_error(code: str, message: str, data: bytes = b"") -> ServiceError:
    """Return the ServiceError of a JSON-RPC error (docs/protocol.md, "Envelope and errors"); `data` is JSON."""
    lowered = message.lower()
    said = _unended(excerpt(_without_sql(mask_sent(message))))
    text = f"the service returned error {excerpt(code, 20) or '(no code)'}: {said}"
    if code in (str(INCOMPLETE), str(NO_TABLE)) and (found := _incomplete(data)):
        heights = "pass heights that it has, or have the others exported there"
        hint = heights if code == str(INCOMPLETE) else "have it exported there"
        return LackingError(text, hint, code=code, first=found.first, table=excerpt(found.table, 40))
    if code in _RATE_LIMIT or "too many requests" in lowered:
        return RateLimitError(text, code=code)
    uncoded = code in _NO_CODE
    if re.fullmatch(_TRANSIENT_CODES, code) or (uncoded and any(words in lowered for words in _LOST + _NO_CONNECTION)):
        return UnavailableError(text, code=code)
    if code == "57014" or (uncoded and "timeout" in lowered):  # 57014: query_canceled
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


def of_body(error: BrokenBodyError | ServiceError, status: int, divisible: bool) -> ChainqError | TransientFailure:
    """Return the error for an error in a body with HTTP status `status`; its type says whether to retry.

    If the caller cannot ask for less, a query that is too heavy is retried, because it may be less so later.
    """
    if isinstance(error, BrokenBodyError):
        return TransientFailure(error)
    if isinstance(error, TooHeavyError):
        return error if divisible or not error.code else TransientFailure(error)
    if isinstance(error, RateLimitError):
        return _rate_limited(error.message, None)
    if isinstance(error, UnavailableError) or (status >= 500 and error.code not in _PROTOCOL_CODES):
        lowered = error.message.lower()
        if _POOL_EMPTY in lowered:
            return TransientFailure(GatewayError(error.message), timed_out=True)
        overloaded = error.code == "53300" or any(words in lowered for words in _NO_CONNECTION)
        return TransientFailure(UnreachableError(error.message), overloaded=overloaded)
    return error


def _rate_limited(message: str, wait: float | None) -> TransientFailure:
    """Return the failure of a call that the service refused because there were too many; `wait`: as `retry_after`."""
    return TransientFailure(UnreachableError(message, "lower --rate or -j"), wait, rate_limited=True)


def _without_sql(message: str) -> str:
    """Return a message without the statement before its reason, except the first words of the statement."""
    found = re.match(_SQL, message)
    if not found:
        return message
    words = " ".join(excerpt(word, 24) for word in found[0].split(maxsplit=3)[:3])
    return f"{words} … - {message[found.end() :]}"


def _unended(text: str) -> str:
    """Return a text without the period at its end, because a hint may follow."""
    return text if text.endswith("..") else text.removesuffix(".")


def of_exchange(error: ExchangeError, options: ServiceOptions, *, first: bool) -> ChainqError | TransientFailure:
    """Return the error of a failed exchange; its type says whether to retry. `first`: there was no response before."""
    reason = str(error)
    if isinstance(error, UnusableRequestError):
        return UnreachableError(f"invalid URL or header: {reason}")
    if isinstance(error, ProxyRefusedError):
        return UnreachableError(f"could not reach the server: {reason}", _PROXY)
    if isinstance(error, NotHttpError) and first:
        secure = mask_url(re.sub("^http:", "https:", options.url))
        return ResponseError(reason, f"this port speaks TLS: pass {secure}" if error.tls else _PORT)
    if isinstance(error, NoResponseError):
        return TransientFailure(GatewayError(reason, _PORT_OR_LOG))
    if isinstance(error, BrokenResponseError):
        early = "" if isinstance(error, DamagedBodyError) else "response ended early: "
        return TransientFailure(BrokenBodyError(f"{early}{reason}", _LOG))
    if isinstance(error, DeadlineError):
        slow = GatewayError(
            f"no complete response within {options.seconds:g} s",
            "raise --timeout or lower -j",
        )
        return TransientFailure(slow, timed_out=True, hung=True)
    return _of_no_connection(reason, unconnected=isinstance(error, UnconnectedError), first=first)


def _of_no_connection(reason: str, *, unconnected: bool, first: bool) -> ChainqError | TransientFailure:
    """Return the error of a connection that was not made, or was lost. `first`: as for `of_exchange`."""
    said = _unended(_PYTHON.sub("", reason))
    for expression, words, hint in _TLS:
        if re.search(f"SSL.*({expression})", reason):
            return UnreachableError(f"could not reach the server: {words}: {said}", hint)
    hint = next((hint for expression, hint in _UNCONNECTED if unconnected and re.search(expression, reason)), "")
    if first and not unconnected and os.strerror(errno.ECONNRESET) in reason:
        hint = _PORT_OR_LOG
    failure = UnreachableError(f"could not reach the server: {said}", hint)
    if any(os.strerror(number) in reason for number in (errno.EMFILE, errno.ENFILE)):  # others may be closed meanwhile
        limit = OutputError("too many open files", "lower -j, or raise the limit (ulimit -n)")
        return TransientFailure(limit)
    if not unconnected:
        return TransientFailure(failure)
    refused = os.strerror(errno.ECONNREFUSED) in reason
    return TransientFailure(failure, connect_waits=tuning.CONNECT_WAITS[: None if refused else 1])


def of_status(response: Response, options: ServiceOptions, now: float) -> ChainqError | TransientFailure:
    """Return the error of an HTTP status other than 200; its type says whether to retry.

    `now` in seconds since 1970.
    """
    status = response.status
    message = f"HTTP {status}"
    body = response.body[:SHOWN_BYTES].decode(errors="replace")
    if text := _unended(excerpt(_unrepeated(mask_sent(body)[:2000]), 120)).removeprefix(f"{status} "):
        message += f": {text}"
    if status == 429:
        return _rate_limited(message, retry_after(response, now))
    if status == 413:
        return TooHeavyError(message, code="HTTP 413")
    if status in TRANSIENT:
        kind = GatewayError if status in GATEWAY else UnreachableError
        return TransientFailure(kind(message), retry_after(response, now), timed_out=status == 504)
    if 400 <= status < 500:
        return _of_refusal(message, response)
    if status == 501 and (page := of_web_page(response)):  # of a server that knows no POST
        return ResponseError(page.message, page.hint)
    if status >= 500:
        return UnreachableError(message)
    if 300 <= status < 400:
        return _of_redirect(message, response.headers.get("location", ""), options.url)
    return ResponseError(f"{message}, expected HTTP 200")


def _of_refusal(message: str, response: Response) -> ChainqError:
    """Return the error of an HTTP status 4xx that a retry cannot cure."""
    status = response.status
    hint = _HINTS.get(status, "")
    if response.forwarded and status == 407:  # by the proxy, as for a tunnel
        return UnreachableError(message, hint)
    return ServiceError(message, hint, code=f"HTTP {status}")


def _of_redirect(message: str, location: str, url: str) -> ResponseError:
    """Return the error of a redirect, which is never followed."""
    try:
        target = urljoin(url, location) if location else "nowhere"
    except ValueError:
        target = location
    if target == url:
        return ResponseError(f"{message}, a redirect to the same URL", _PATH)
    return ResponseError(f"{message}, a redirect to {mask_url(excerpt(target))}, which is not followed")


def _unrepeated(page: str) -> str:
    """Return the text between the tags of a page, once: a heading often repeats the title."""
    kept: list[str] = []
    for part in re.split(r"<[^>]*>", page):
        if (text := " ".join(part.split())) and not any(text in known for known in kept):
            kept.append(text)
    return " ".join(kept)


def of_web_page(response: Response) -> BrokenBodyError | None:
    """Return the error of a response that is a web page, as its first character shows; None for any other response."""
    if not response.body[:100].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return None
    import html

    found = re.search(r"(?is)<title[^<>]*>([^<]*)", mask_sent(response.body[:SHOWN_BYTES].decode(errors="replace")))
    kind = excerpt(response.headers.get("content-type", "").partition(";")[0], 40) or "no content type"
    title = f", page title '{excerpt(html.unescape(found[1]), 80)}'" if found else ""
    return BrokenBodyError(
        f"response is not JSON: HTTP {response.status}, {kind}{title}",
        f"this looks like a web page: {IS_URL_RIGHT}",
    )


def of_first(response: Response) -> ResponseError | None:
    """Return the error of a first response that is another text than JSON; None if it may be JSON, or is empty.

    Neither another attempt nor a smaller request helps then.
    """
    start = response.body[:100].lstrip(b"\xef\xbb\xbf \t\r\n")
    if not start or start.startswith((b"{", b"[")) or raw_json.is_valid(response.body):
        return None
    shown = excerpt(mask_sent(response.body[:SHOWN_BYTES].decode(errors="replace")), 60)
    kind = excerpt(response.headers.get("content-type", "").partition(";")[0], 40) or "no content type"
    return ResponseError(f"response is not JSON: HTTP 200, {kind}, {shown}")


def retry_after(response: Response, now: float) -> float | None:
    """Return the seconds to wait according to the Retry-After header, in either form (RFC 9110, section 10.2.3).

    A date is compared with the response's own Date, so that the clock of this machine does not matter; without one,
    with `now`, in seconds since 1970.
    """
    value = response.headers.get("retry-after", "").strip()
    if value.isascii() and value.isdecimal():
        return float(value)
    if (until := _time(value)) is None:
        return None
    sent = _time(response.headers.get("date", ""))
    return max(0.0, until - (now if sent is None else sent))


def _time(date: str) -> float | None:
    """Return an HTTP date in seconds since 1970; None if it is none (RFC 9110, section 5.6.7)."""
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
