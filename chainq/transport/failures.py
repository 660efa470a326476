"""What each failure means, as one table, and the errors that are made from it: what happened, and at most one hint.

Sources: RFC 9110, section 15, for HTTP statuses (425: RFC 8470); docs/protocol.md, "Envelope and errors"; PostgreSQL,
appendix A, for SQLSTATEs (those of class 08 are all about connections); JSON-RPC services of other chains, for the
codes of rate limits.
"""

import contextlib
import re
import time
from typing import NamedTuple

import msgspec

from chainq import errors
from chainq.rows import raw_json
from chainq.text.sanitize import excerpt, mask_sent, mask_url
from chainq.transport.base import ExchangeError, Response
from chainq.tuning import CONNECT_WAITS

INCOMPLETE, NO_TABLE = -32001, -32002
"""Codes of the errors of an export that lacks heights, or the table or index that a method needs; their data is an
`Incomplete`. Other servers may use the codes for something else."""
_OTHER_DIALECT = ("is not iterable", "undefined binding")  # parameters by other names than the server's
_PYTHON = re.compile(r"\[(?:Errno -?\d+|SSL(?:: [A-Z_0-9]+)?)\] | \(_ssl\.c:\d+\)")
"""What Python adds to the reason of an error."""

_NONE = "error (0|-32603|)"  # with which servers send errors that have no code
_AWAY = "ConnectError|ReadError|WriteError|CloseError"
_PROXY = "check the proxy and its login"
_PORT = "check the scheme and the port of the URL"
_PORT_OR_LOG = f"{_PORT}, or the log of the server"
_HOST = "check the host in the URL"
_REFUSES = "the proxy refused to connect: {}"
_UNUSABLE = "invalid URL or header: a character in it cannot be sent"  # httpx shows the header, perhaps a secret
_TRUST = "if you trust it, set SSL_CERT_FILE to a file with the certificate"
_NO_TLS = "SSL.*(WRONG_VERSION_NUMBER|record layer failure|PACKET_LENGTH_TOO_LONG)"
_CREDENTIALS = "pass valid credentials with --header, or with headers in a profile"


class Meaning(NamedTuple):
    """What a failure means. `error`: what to raise after the last attempt, with a `hint`; `said`: of what was seen.

    `again`: another attempt may succeed. `rate_limited`: the service wants fewer calls, so that the method is held
    back, and no retry is used up. `slow`: there was no response in time, to this side (HUNG) or inside the service; a
    call that can ask for less is made again only once, because asking for less is more likely to help. `waits`: the
    seconds before each retry if the server has not responded yet, because it may not exist.
    """

    error: type[errors.ChainqError] = errors.UnreachableError
    again: bool = True
    hint: str = ""
    said: str = "{}"
    rate_limited: bool = False
    slow: bool = False
    waits: tuple[float, ...] = ()


def _final(said: str, hint: str = "") -> Meaning:
    return Meaning(again=False, said=said, hint=hint)


DOWN = Meaning()
FINAL = Meaning(again=False)
GATEWAY = Meaning(errors.GatewayError)  # a smaller response may get through
SLOW = Meaning(errors.GatewayError, slow=True)
HUNG = SLOW._replace(said="no complete response within {seconds:g} s", hint="raise --timeout or lower -j")
BROKEN = Meaning(errors.BrokenBodyError)
_CUT = BROKEN._replace(hint="check the log of the server, or of a proxy before it")
_SILENT = GATEWAY._replace(said="the connection was closed without a response", hint=_PORT_OR_LOG)
LIMITED = Meaning(rate_limited=True, hint="lower --rate or -j")
TOO_HEAVY = Meaning(errors.TooHeavyError, again=False)
REFUSED = Meaning(errors.ServiceError, again=False)
ODD = Meaning(errors.ResponseError, again=False)
_STARTING = Meaning(waits=CONNECT_WAITS)
_UNKNOWN = Meaning(waits=CONNECT_WAITS[:1])

# A database that restarts, lost its connection, or has too many: SQLSTATEs, and errors of Node.js.
_STATES = "08...|40001|40P01|53300|57P0[123]"
_NODE = "ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN"
_DATABASE = "connection terminated|econnrefused|econnreset|the database system is|too many (clients|connections)"
MEANINGS: tuple[tuple[str, str, Meaning], ...] = (
    # HTTP statuses, of a service or of a proxy
    ("HTTP (401|403)", "", REFUSED._replace(hint=_CREDENTIALS)),
    ("HTTP 407", "", _final("{}", _PROXY)),
    ("HTTP (408|425|500)", "", DOWN),
    ("HTTP 413", "", TOO_HEAVY),
    ("HTTP 429", "", LIMITED),
    ("HTTP (502|503|52.|530)", "", GATEWAY),  # 52., 530: of CDNs that do not reach the service, for a moment
    ("HTTP 501", "", FINAL._replace(hint="the server takes no POST requests: is the URL right?")),
    ("HTTP 504", "", SLOW),
    ("HTTP 4..", "", REFUSED),
    ("HTTP 5..", "", FINAL),
    ("HTTP .*", "", ODD),
    # Errors of JSON-RPC
    ("error (429|-32005|-32029)", "", LIMITED),
    ("error .*", "too many requests", LIMITED),
    (_NONE, "timeout acquiring a connection", SLOW),  # after half a minute; for heavy queries, or too many
    (f"error ({_STATES}|{_NODE})", "", DOWN),
    (_NONE, _DATABASE, DOWN),
    ("error 57014", "", TOO_HEAVY),  # query_canceled
    (_NONE, "timeout", TOO_HEAVY),
    ("(?s)error .*", "", REFUSED),
    # Exchanges without a response, by what httpx raises
    ("LocalProtocolError|UnsupportedProtocol", "", _final(_UNUSABLE)),
    ("ProxyError", r"^(408|425|429|50[0234]|52\d|530)", DOWN._replace(said=_REFUSES)),
    ("ProxyError", "", _final(_REFUSES, _PROXY)),
    (".*", "is not HTTP: ", ODD._replace(hint=_PORT)),
    (_AWAY, "SSL.*mismatch", _final("the certificate is for another host name: {}", _HOST)),
    (_AWAY, "SSL.*has expired", _final("the certificate has expired: {}", "renew it, and check the clock")),
    (_AWAY, "SSL.*not yet valid", _final("the certificate is not valid yet: {}", "check the clock")),
    (_AWAY, "SSL.*self.signed", _final("the certificate is self-signed: {}", _TRUST)),
    (_AWAY, "SSL.*CERTIFICATE", _final("the certificate is of an unknown authority: {}", _TRUST)),
    (_AWAY, _NO_TLS, _final("the server does not speak TLS on this port: {}", "pass a URL with http://")),
    (_AWAY, "Too many open files", Meaning(errors.OutputError, hint="lower -j, or raise the limit (ulimit -n)")),
    ("ConnectError", "^proxy: ", _STARTING._replace(hint="check the proxy")),
    ("ConnectError", "refused", _STARTING._replace(hint="is the server running, and is the port in the URL right?")),
    ("ConnectError", "not known|name resolution|no address|nodename", _UNKNOWN._replace(hint=_HOST)),
    ("ConnectError", "", _UNKNOWN._replace(hint="check the URL and the network")),
    ("ConnectTimeout", "", DOWN._replace(said="timed out while connecting")),
    (_AWAY, "reset by peer", DOWN._replace(hint=_PORT_OR_LOG)),
    (_AWAY, "", DOWN),
    (".*Timeout", "", HUNG),
    ("DecodingError", "", _CUT._replace(said="the compressed body is damaged: {}")),
    (".*", "without sending a response", _SILENT),
    (".*", "", _CUT._replace(said="response ended early: {}")),
)
"""What is seen, words of its text, and what that means; the first that matches counts."""
_BY_STATUS = {429, 503}
"""With these, many services send a JSON-RPC error as well: it says no more than the status, and is as transient."""
_PROTOCOL = {"-32700", "-32600", "-32601", "-32602"}
"""Codes of JSON-RPC 2.0, section 5.1, for a wrong request: another attempt says the same, whatever the HTTP status."""


def _meaning(seen: str, text: str = "") -> Meaning:
    rows = (row for row in MEANINGS if re.fullmatch(row[0], seen) and re.search(row[1], text, re.IGNORECASE))
    return next(rows)[2]


class Incomplete(msgspec.Struct, frozen=True, omit_defaults=True):
    """The data of an error of an export. `first`: its lowest height; 0 also if an earlier version does not say it.

    `table`: the one that it does not have, or "".
    """

    incomplete: bool
    first: int = 0
    table: str = ""


class Failure(Exception):  # noqa: N818  # never leaves the transport
    """One attempt failed.

    `error` is what to raise after the last attempt; `retry_after` the seconds that the service asks to wait. `wait` is
    decided later: the seconds before the next attempt, None if there is none.
    """

    def __init__(self, error: errors.ChainqError, meaning: Meaning = FINAL, retry_after: float = 0.0) -> None:
        super().__init__(str(error))
        self.error, self.meaning, self.retry_after = error, meaning, retry_after
        self.wait: float | None = None


def _failure(meaning: Meaning, message: str, *, code: str = "", retry_after: float = 0.0) -> Failure:
    error = meaning.error(message, meaning.hint)
    if isinstance(error, errors.ServiceError):
        error.code = code
    return Failure(error, meaning, retry_after)


def of_error(code: str, message: str, data: bytes = b"") -> Failure:
    """Return what a JSON-RPC error means (docs/protocol.md, "Envelope and errors"); `data` is JSON."""
    text = f"the service returned error {excerpt(code, 20) or '(no code)'}: {excerpt(message, 120)}"
    with contextlib.suppress(msgspec.DecodeError):
        lacking = code in (str(INCOMPLETE), str(NO_TABLE))
        if lacking and (found := msgspec.json.decode(data, type=Incomplete)).incomplete:
            hint, table = "have what is missing exported there", excerpt(found.table, 40)
            return Failure(errors.LackingError(text, hint, code=code, first=found.first, table=table))
    return _failure(_meaning(f"error {code}", message), text, code=code)


def is_unknown_method(code: str) -> bool:
    """Return whether the code of a JSON-RPC error is that of a missing method (JSON-RPC 2.0, section 5.1)."""
    return code.strip('"') == "-32601"


def is_misunderstood(code: str, message: str) -> bool:
    """Return whether a JSON-RPC error means that the server has other names for methods or parameters.

    The messages are those of docs/protocol.md, "Dialects".
    """
    return is_unknown_method(code) or any(words in message.lower() for words in _OTHER_DIALECT)


def of_raised(raised: Failure | errors.ChainqError, status: int, *, divisible: bool) -> Failure:
    """Return what an error means that was raised for a response with HTTP status `status`, or before there was one.

    If the caller cannot ask for less, a query that is too heavy is retried, because it may be less so later.
    """
    if isinstance(raised, errors.ChainqError):
        return Failure(raised, BROKEN if isinstance(raised, errors.BrokenBodyError) else FINAL)
    code = getattr(raised.error, "code", "")
    if raised.meaning is TOO_HEAVY and not divisible and code != "HTTP 413":
        raised.meaning = DOWN
    if raised.meaning is REFUSED and status >= 500 and code not in _PROTOCOL:
        return _failure(DOWN, raised.error.message)
    return raised


def shown(body: bytes | memoryview, length: int = 80) -> str:
    """Return what messages show of a body; secrets in it are masked before any of them could be cut in two."""
    return excerpt(mask_sent(bytes(body[: 64 * 2**10]).decode(errors="replace"))[:2000], length)


def of_exchange(error: ExchangeError, seconds: float) -> Failure:
    """Return what a failed exchange means, which had `seconds`."""
    meaning = _meaning(error.kind, str(error))
    away = "could not reach the server: " if meaning.error is errors.UnreachableError else ""
    return _failure(meaning, away + meaning.said.format(_PYTHON.sub("", str(error)), seconds=seconds))


def check(response: Response, *, known: bool) -> None:
    """Raise the Failure that a response means which is not JSON-RPC.

    `known`: the server has sent JSON-RPC before. Then another text is a page in between, as during a deploy; at first,
    neither another attempt nor a smaller request helps.
    """
    if response.status != 200 and (response.status in _BY_STATUS or not _is_error(response.body)):
        raise _of_status(response)
    if response.body[:100].strip()[:1] in (b"", b"{"):
        return
    kind = excerpt(response.headers.get("content-type", "").partition(";")[0], 40) or "no content type"
    message = f"response is not a JSON object: HTTP {response.status}, {kind}, {shown(response.body)}"
    raise _failure(BROKEN if known else ODD, message)


def _of_status(response: Response) -> Failure:
    """Return what an HTTP status other than 200 means."""
    message = f"HTTP {response.status}"
    if 300 <= response.status < 400:
        target = mask_url(excerpt(response.headers.get("location", "")))
        host = re.match("https?://[^/?#]+", target)  # all that matters of another host
        said = f", a redirect to {host[0] if host else target}, which chainq does not follow"
    else:
        text = re.sub(rf"^({response.status} .+?) \1", r"\1", shown(response.body, 120))  # a title, and a heading
        said = f": {text.removeprefix(f'{response.status} ')}" if text else ""
    return _failure(_meaning(message), message + said, code=message, retry_after=retry_after(response))


def _is_error(body: bytes) -> bool:
    """Return whether a body is a JSON-RPC response with an error (JSON-RPC 2.0, section 5), whatever its status."""
    try:
        envelope = raw_json.members(body)
    except (ValueError, RecursionError):
        return False
    return "jsonrpc" in envelope and bytes(envelope.get("error", b"null")) != b"null"


def retry_after(response: Response) -> float:
    """Return the seconds to wait according to the Retry-After header, in either form (RFC 9110, section 10.2.3).

    A date is compared with the response's own Date, so that the clock of this machine does not matter.
    """
    value = response.headers.get("retry-after", "").strip()
    if value.isascii() and value.isdecimal():
        return float(value)
    until, sent = _time(value), _time(response.headers.get("date", ""))
    return max(0.0, until - (sent or time.time())) if until else 0.0


def _time(date: str) -> float:
    """Return an HTTP date in seconds since 1970; 0 if it is none (RFC 9110, section 5.6.7)."""
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, OverflowError):
        return 0.0
