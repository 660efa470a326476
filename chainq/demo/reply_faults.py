"""Faults of the stages `body` (one JSON-RPC answer) and `HTTP` (the reply that carries it)."""

from chainq.demo.exchange import HTML, Answer, Ask, Reply, encoded, page
from chainq.demo.registry import BODY, HTTP, fault, setting

_FAIL, _CUT, _WRONG_ID = range(3)  # as in request_faults.py
_DATABASE_DOWN = 'select * from "block" order by "height" - terminating connection due to administrator command'


@fault(BODY, "A:B")
def database_down(answer: Answer, ask: Ask, calls: range) -> Answer:
    """JSON-RPC error 57P01 for the calls A:B, counted from 0, or for the first N calls."""
    if ask.number not in calls:
        return answer
    return answer._replace(key="error", value=encoded({"code": "57P01", "message": _DATABASE_DOWN}))


@fault(BODY)
def null_lists(answer: Answer, _: Ask, __: int) -> Answer:
    """null for an empty list."""
    return answer._replace(value=b"null") if answer.value == b"[]" else answer


@fault(BODY, "SHARE")
def wrong_id_rate(answer: Answer, ask: Ask, share: float) -> Answer:
    """Share of responses with a wrong id."""
    if not ask.hit(share, _WRONG_ID):
        return answer
    number = isinstance(answer.id, int) and answer.id < 1 << 53
    return answer._replace(id=answer.id + 1 if number else "another")


@fault(HTTP, "SHARE")
def fail_rate(reply: Reply, ask: Ask, share: float) -> Reply:
    """Share of 503 responses."""
    return page(503, "503 Service Temporarily Unavailable") if ask.hit(share, _FAIL) else reply


@fault(HTTP, "N")
def rate_limit(reply: Reply, ask: Ask, most: int) -> Reply:
    """HTTP 429 after N calls of a method, without JSON."""
    now = ask.memory.clock()
    method = str(ask.args.get("method"))
    with ask.memory.lock:
        since, calls = ask.memory.windows.get(method, (now, 0))
        if now - since >= ask.faults.get("rate-window", 60.0):
            since, calls = now, 0
        ask.memory.windows[method] = since, calls + 1
    if calls < most:
        return reply
    wait = ask.faults.get("retry-after", None)
    headers = {} if wait is None else {"Retry-After": str(wait)}
    return Reply(429, HTML, b"Too many requests, please try again later", headers)


setting("rate-window", HTTP, "SECONDS", "Length of the window of rate-limit. Default: 60.")


setting(
    "retry-after",
    HTTP,
    "CALLS",
    "Seconds in the Retry-After header of rate-limit. Default: no such header.",
)


@fault(HTTP, "SHARE")
def truncate_rate(reply: Reply, ask: Ask, share: float) -> Reply:
    """Share of bodies that end early, although Content-Length says otherwise."""
    return reply._replace(cut=reply.status == 200 and ask.hit(share, _CUT))


@fault(HTTP)
def gzip(reply: Reply, _: Ask, __: int) -> Reply:
    """Compress responses for clients that accept it."""
    return reply._replace(gzip=True)


@fault(HTTP, "SECONDS")
def latency(reply: Reply, _: Ask, seconds: float) -> Reply:
    """Seconds before each response."""
    return reply._replace(latency=seconds)


@fault(HTTP, "SECONDS")
def drip(reply: Reply, _: Ask, seconds: float) -> Reply:
    """Seconds between single bytes of a response, its head included."""
    return reply._replace(drip=seconds)
