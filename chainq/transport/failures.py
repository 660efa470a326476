"""What each failure means, as one table, and the errors that are made from it: what happened, and at most one hint.

Sources: RFC 9110, section 15, for HTTP statuses (425: RFC 8470); docs/protocol.md, "Envelope and errors"; PostgreSQL,
appendix A, for SQLSTATEs (those of class 08 are all about connections); JSON-RPC services of other chains, for the
codes of rate limits.
"""

import contextlib
import re
from typing import NamedTuple

from chainq import errors
from chainq.catalog import export_error
from chainq.defaults import PATIENCE
from chainq.rows import raw_json
from chainq.text.sanitize import excerpt, mask_sent, mask_url
from chainq.transport.base import ExchangeError, Response
from chainq.tuning import CONNECT_WAITS

_PYTHON = re.compile(r"\[(?:Errno -?\d+|SSL(?:: [A-Z_0-9]+)?)\] |_ssl\.c:\d+: | \(_ssl\.c:\d+\)")
"""What Python adds to the reason of an error."""

_NONE = "error (0|-32603|)"  # with which servers send errors that have no code
# A database that restarts, lost its connection, or has too many: SQLSTATEs, and errors of Node.js.
_STATES = "08...|40001|40P01|53300|57P0[123]"
_NODE = "ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN"
_DATABASE = "connection terminated|econnrefused|econnreset|the database system is|too many (clients|connections)"
_UNKNOWN_HOST = "not known|name resolution|no address|nodename"
_NO_TLS = "SSL.*(WRONG_VERSION_NUMBER|record layer failure|PACKET_LENGTH_TOO_LONG)"
_CREDENTIALS = "pass valid credentials with --header, or with headers in a profile"
_CUT = "check the log of the server, or of a proxy before it"
_LOG = "check the scheme and the port of the URL, or the log of the server"
_TRUST = "check the URL and the clock; to trust the certificate, set SSL_CERT_FILE to a file that contains it"
_RUNNING = "is the server running, and is the port in the URL right?"
_UNUSABLE = "invalid URL or header: a character in it cannot be sent"  # httpx shows the header, perhaps a secret


class Meaning(NamedTuple):
    """What a failure means. `error`: what to raise after the last attempt, with a `hint`; `said`: of what was seen.

    `again`: another attempt may succeed. `slow`: there was no response in time, to this side (HUNG) or inside the
    service; a call that can ask for less is made again only once, because asking for less is more likely to help.
    `waits`: the seconds before each retry if the server has not responded yet, because it may not exist.
    """

    error: type[errors.ChainqError] = errors.UnreachableError
    again: bool = True
    hint: str = ""
    said: str = "{}"
    slow: bool = False
    waits: tuple[float, ...] = ()


DOWN = Meaning()
FINAL = Meaning(again=False)
GATEWAY = Meaning(errors.GatewayError)  # a smaller response may get through
SLOW = Meaning(errors.GatewayError, slow=True)
HUNG = SLOW._replace(said="no complete response within {seconds:g} s", hint="raise --timeout or lower -j")
BROKEN = Meaning(errors.BrokenBodyError)
LIMITED = Meaning(hint="lower --rate or -j")
"""The service wants fewer calls, so that the method is held back, and no retry is used up."""
TOO_HEAVY = Meaning(errors.TooHeavyError)
"""A call that can ask for less is not made again. Another query is as light as it can be, and may be less so later."""
REFUSED = Meaning(errors.ServiceError, again=False)
ODD = Meaning(errors.ResponseError, again=False)
_CLOSED = GATEWAY._replace(hint=_LOG, waits=CONNECT_WAITS, said="the connection was closed without a response")

MEANINGS: tuple[tuple[str, str, Meaning], ...] = (
    # HTTP statuses of a service or of a proxy, and errors of JSON-RPC
    ("HTTP (401|403)", "", REFUSED._replace(hint=_CREDENTIALS)),
    ("HTTP (408|425|500)", "", DOWN),
    ("HTTP 413", "", Meaning(errors.TooHeavyError, again=False)),
    ("HTTP 429|error (429|-32005|-32029)", "", LIMITED),
    ("error .*", "too many requests", LIMITED),
    ("HTTP (502|503|52.|530)", "", GATEWAY),  # 52., 530: of CDNs that do not reach the service, for a moment
    ("HTTP 504", "", SLOW),
    (_NONE, "timeout acquiring a connection", SLOW),  # after half a minute; for heavy queries, or too many
    (f"error ({_STATES}|{_NODE})", "", DOWN),
    (_NONE, _DATABASE, DOWN),
    ("error 57014", "", TOO_HEAVY),  # query_canceled
    (_NONE, "timeout", TOO_HEAVY),
    ("ProxyError", r"^(408|425|429|50[0234]|52\d|530)", DOWN),
    ("HTTP 407|ProxyError", "", FINAL._replace(hint="check the proxy and its login")),
    ("HTTP 4..|(?s:error .*)", "", REFUSED),
    ("HTTP 5..", "", FINAL._replace(hint="is the URL right?")),
    ("HTTP .*", "", ODD),
    # Exchanges without a response, by what httpx raises
    ("LocalProtocolError|UnsupportedProtocol", "", FINAL._replace(said=_UNUSABLE)),
    (".*", "SSL.*CERTIFICATE", FINAL._replace(hint=_TRUST)),
    (".*", _NO_TLS, FINAL._replace(hint="the server does not speak TLS on this port: pass a URL with http://")),
    (".*", "Too many open files", Meaning(errors.OutputError, hint="lower -j, or raise the limit (ulimit -n)")),
    ("ConnectError", "^proxy: ", Meaning(waits=CONNECT_WAITS, hint="check the proxy")),
    ("ConnectError", _UNKNOWN_HOST, Meaning(waits=CONNECT_WAITS[:1], hint="check the host in the URL")),
    ("Connect.*", "", Meaning(waits=CONNECT_WAITS, hint=_RUNNING)),
    ("ReadError|WriteError|CloseError", "", DOWN._replace(hint=_LOG)),
    (".*Timeout", "", HUNG),
    (".*", "illegal (status|request) line", ODD._replace(said="the response is not HTTP: {}", hint=_LOG)),
    (".*", "without sending a response", _CLOSED),
    (".*", "", BROKEN._replace(said="response ended early or is damaged: {}", hint=_CUT)),
)
"""What is seen, words of its text, and what that means; the first that matches counts."""
_BY_STATUS = {429, 503}
"""With these, many services send a JSON-RPC error as well: it says no more than the status, and is as transient."""
_PROTOCOL = {"-32700", "-32600", "-32601", "-32602"}
"""Codes of JSON-RPC 2.0, section 5.1, for a wrong request: another attempt says the same, whatever the HTTP status."""


def _meaning(seen: str, text: str = "") -> Meaning:
    rows = (row for row in MEANINGS if re.fullmatch(row[0], seen) and re.search(row[1], text, re.IGNORECASE))
    return next(rows)[2]


class Failure(Exception):  # noqa: N818  # never leaves the transport
    """One attempt failed. `error`: what to raise after the last attempt.

    `retry_after`: the seconds that the service asks to wait. `wait`: the seconds before the next attempt, None if there
    is none; the connection decides it.
    """

    wait: float | None = None

    def __init__(self, error: errors.ChainqError, meaning: Meaning = FINAL, retry_after: float = 0.0) -> None:
        super().__init__(str(error))
        self.error, self.meaning, self.retry_after = error, meaning, retry_after


def _failure(meaning: Meaning, message: str, *, code: str = "", retry_after: float = 0.0) -> Failure:
    error = meaning.error(message, meaning.hint)
    if isinstance(error, errors.ServiceError):
        error.code = code
    return Failure(error, meaning, retry_after)


def of_error(code: str, message: str, data: bytes = b"") -> Failure:
    """Return what a JSON-RPC error means (docs/protocol.md, "Envelope and errors"); `data` is JSON."""
    text = f"the service returned error {excerpt(code, 20) or '(no code)'}: {excerpt(message, 120)}"
    if lacks := export_error.read(code, text, data):
        return Failure(lacks)
    return _failure(_meaning(f"error {code}", message), text, code=code)


def of_raised(raised: Failure | errors.ChainqError | RecursionError, status: int) -> Failure:
    """Return what was raised for a response with HTTP status `status`, or before there was one, as a Failure."""
    if isinstance(raised, RecursionError):
        raised = errors.ResponseError("response is nested too deeply")
    if isinstance(raised, errors.ChainqError):
        return Failure(raised, BROKEN if isinstance(raised, errors.BrokenBodyError) else FINAL)
    if raised.meaning is REFUSED and status >= 500 and getattr(raised.error, "code", "") not in _PROTOCOL:
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
    wait = retry_after(response)
    said += f", it asks to wait {wait:g} s" if wait > PATIENCE else ""
    return _failure(_meaning(message), message + said, code=message, retry_after=wait)


def _is_error(body: bytes) -> bool:
    """Return whether a body is a JSON-RPC response with an error (JSON-RPC 2.0, section 5), whatever its status."""
    with contextlib.suppress(ValueError):
        envelope = raw_json.members(body)
        return "jsonrpc" in envelope and bytes(envelope.get("error", b"null")) != b"null"
    return False


def retry_after(response: Response) -> float:
    """Return the seconds to wait according to the Retry-After header, in either form (RFC 9110, section 10.2.3).

    A date is compared with the response's own Date, so that the clock of this machine does not matter.
    """
    value = response.headers.get("retry-after", "").strip()
    if value.isdecimal():
        return float(value)
    with contextlib.suppress(ValueError, TypeError, OverflowError):  # it is no date
        from email.utils import parsedate_to_datetime as parsed

        return max(0.0, (parsed(value) - parsed(response.headers.get("date", ""))).total_seconds())
    return 0.0
