"""The policy for failures, as tables: what is seen, and what it means. `failures` makes the errors.

Sources: RFC 9110, section 15, for HTTP statuses (425: RFC 8470); docs/protocol.md, "Envelope and errors"; PostgreSQL,
appendix A, for SQLSTATEs (those of class 08 are all about connections); JSON-RPC services of other chains, for the
codes of rate limits.
"""

import re
from typing import NamedTuple

from chainq.errors import (
    BrokenBodyError,
    ChainqError,
    GatewayError,
    OutputError,
    ResponseError,
    ServiceError,
    TooHeavyError,
    UnreachableError,
)
from chainq.transport.base import (
    BrokenResponseError,
    DamagedBodyError,
    DeadlineError,
    ExchangeError,
    NoConnectionError,
    NoResponseError,
    ProxyRefusedError,
    UnconnectedError,
    UnusableRequestError,
)
from chainq.tuning import CONNECT_WAITS


class Meaning(NamedTuple):
    """What a failure means. `error`: what to raise after the last attempt. `again`: another attempt may succeed.

    `rate_limited`: the service wants fewer calls, so that the method is held back, and no retry is used up. `slow`:
    there was no response in time, to this side (`hung`) or inside the service; a call that can ask for less is made
    again only once, because asking for less is more likely to help. `waits`: the seconds before each retry if the
    server has not responded yet, because it may not exist.
    """

    error: type[ChainqError] = UnreachableError
    again: bool = True
    rate_limited: bool = False
    slow: bool = False
    hung: bool = False
    waits: tuple[float, ...] = ()


DOWN = Meaning()
FINAL = Meaning(again=False)
GATEWAY = Meaning(GatewayError)  # a smaller response may get through
SLOW = Meaning(GatewayError, slow=True)
BROKEN = Meaning(BrokenBodyError)
LIMITED = Meaning(rate_limited=True)
TOO_HEAVY = Meaning(TooHeavyError, again=False)
REFUSED = Meaning(ServiceError, again=False)
ODD = Meaning(ResponseError, again=False)

STATUSES = {
    407: FINAL,  # of a proxy
    408: DOWN,
    413: TOO_HEAVY,
    425: DOWN,
    429: LIMITED,
    500: DOWN,
    501: ODD,  # of a server that only has files
    502: GATEWAY,
    503: GATEWAY,
    504: SLOW,
    **dict.fromkeys(range(520, 531), GATEWAY),  # of CDNs that do not reach the service, for a moment
}
"""By HTTP status, of a service or of a proxy."""
_CLASSES = {4: REFUSED, 5: FINAL}
BY_STATUS = {429, 503}
"""With these, many services send a JSON-RPC error as well: it says no more than the status, and is as transient."""


def of_status(status: int) -> Meaning:
    """Return what an HTTP status other than 200 means."""
    return STATUSES.get(status) or _CLASSES.get(status // 100, ODD)


_NONE = "0|-32603|"  # with which servers send errors that have no code
_ERRORS = (
    ("429|-32005|-32029", ".*", "too many requests", LIMITED),
    ("", _NONE, "timeout acquiring a connection", SLOW),  # after half a minute; for heavy queries, or too many
    # A database that restarts, lost its connection, or has too many: SQLSTATEs, and errors of Node.js.
    (
        "08...|40001|40P01|53300|57P0[123]|ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN",
        _NONE,
        "connection terminated|econnrefused|econnreset|the database system is|too many (clients|connections)",
        DOWN,
    ),
    ("57014", _NONE, "timeout", TOO_HEAVY),  # query_canceled
)
"""JSON-RPC errors by their codes, or under some codes by words of their messages; the first that matches counts."""
PROTOCOL = {"-32700", "-32600", "-32601", "-32602"}
"""Codes of JSON-RPC 2.0, section 5.1, for a wrong request: another attempt says the same, whatever the HTTP status."""


def of_error(code: str, message: str) -> Meaning:
    """Return what a JSON-RPC error under HTTP 200 means."""
    for codes, wordy, words, meaning in _ERRORS:
        by_words = re.fullmatch(wordy, code) and re.search(words, message, re.IGNORECASE)
        if by_words or (codes and re.fullmatch(codes, code)):
            return meaning
    return REFUSED


_STARTING = Meaning(waits=CONNECT_WAITS)
_UNKNOWN = Meaning(waits=CONNECT_WAITS[:1])
_PROXY = "check the proxy and its login"
_PORT = "check the scheme and the port of the URL, or the log of the server"
_LOG = "check the log of the server, or of a proxy before it"
_HOST = "check the host in the URL"
_TRUST = "if you trust it, set SSL_CERT_FILE to a file with the certificate"
_NO_TLS = "SSL.*(WRONG_VERSION_NUMBER|record layer failure|PACKET_LENGTH_TOO_LONG)"
EXCHANGES: tuple[tuple[type[ExchangeError], str, Meaning, str, str], ...] = (
    (UnusableRequestError, "", FINAL, "invalid URL or header: ", ""),
    (ProxyRefusedError, "", FINAL, "", _PROXY),
    (NoConnectionError, "SSL.*mismatch", FINAL, "the certificate is for another host name: ", _HOST),
    (NoConnectionError, "SSL.*has expired", FINAL, "the certificate has expired: ", "renew it, and check the clock"),
    (NoConnectionError, "SSL.*not yet valid", FINAL, "the certificate is not valid yet: ", "check the clock"),
    (NoConnectionError, "SSL.*self.signed", FINAL, "the certificate is self-signed: ", _TRUST),
    (NoConnectionError, "SSL.*CERTIFICATE", FINAL, "the certificate is of an unknown authority: ", _TRUST),
    (NoConnectionError, _NO_TLS, FINAL, "the server does not speak TLS on this port: ", "pass a URL with http://"),
    (NoConnectionError, "Too many open files", Meaning(OutputError), "", "lower -j, or raise the limit (ulimit -n)"),
    (UnconnectedError, "^proxy: ", _STARTING, "", "check the proxy"),
    (UnconnectedError, "refused", _STARTING, "", "is the server running, and is the port in the URL right?"),
    (UnconnectedError, "not known|name resolution|no address|nodename", _UNKNOWN, "", _HOST),
    (UnconnectedError, "", _UNKNOWN, "", "check the URL and the network"),
    (NoConnectionError, "reset by peer", DOWN, "", _PORT),
    (NoConnectionError, "", DOWN, "", ""),
    (DeadlineError, "", Meaning(GatewayError, slow=True, hung=True), "", "raise --timeout or lower -j"),
    (NoResponseError, "", GATEWAY, "", _PORT),
    (DamagedBodyError, "", BROKEN, "", _LOG),
    (BrokenResponseError, "", BROKEN, "response ended early: ", _LOG),
)
"""Exchanges without a response, by what is raised and by words of its reason; the first that matches counts.

Then what stands before the reason, and what to do.
"""
