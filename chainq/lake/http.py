"""`chainq serve --lake`: a data set as a read-only JSON-RPC service over HTTP, with starlette on uvicorn.

POST to any path handles requests; GET /healthz checks that the data set can be read.
"""

import resource
import socket
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from typing import Any

from chainq.errors import ChainqError, needed
from chainq.lake.service import StoredService

MOST_BYTES = 150 * 1024
"""Bytes of a request; larger ones get HTTP 413, as from deployed servers (docs/protocol.md, "Envelope and errors")."""
READERS = 8
"""Requests that read files at the same time; others wait."""
SECONDS = 10
"""How long a connection may take to send a request, and stay open without one."""
MOST_CONNECTIONS, BACKLOG = 512, 32
"""Open connections (at most half of the files that the process may open), and connections accepted at once."""
_JSON = "application/json"


def application(service: StoredService, bound: str) -> Any:
    """Return the ASGI application. `bound`: the host at which it listens."""
    import anyio
    from anyio.to_thread import run_sync
    from starlette.applications import Starlette
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import PlainTextResponse, Response
    from starlette.routing import Route

    limiter = anyio.CapacityLimiter(READERS)

    async def answer(request: Request) -> Response:
        body = b""
        try:
            async for part in request.stream():
                body += part
                if len(body) > MOST_BYTES:
                    return PlainTextResponse("request entity too large", 413, {"Connection": "close"})
        except ClientDisconnect:
            return Response(status_code=400)  # to nobody
        response = await run_sync(service.respond, body, limiter=limiter)
        return Response(response, 200, media_type=_JSON) if response else Response(status_code=204)

    async def health(_: Request) -> Response:
        try:
            await run_sync(service.reader.check_store)  # apart from the requests, which may wait for each other
        except ChainqError as error:
            return PlainTextResponse(f"{error}\n", 503)
        return PlainTextResponse("ok\n")

    async def checked(request: Request) -> Response:
        if refusal := _refusal(request.headers, bound):
            return PlainTextResponse(f"{refusal}\n", 400, {"Connection": "close"})
        return await (answer if request.method == "POST" else health)(request)

    return Starlette(
        routes=[Route("/healthz", checked, methods=["GET"]), Route("/{path:path}", checked, methods=["POST"])]
    )


def _refusal(headers: Mapping[str, str], bound: str) -> str:
    """Return what is wrong with a request that a web page or a proxy may have been tricked to send; empty for none."""
    if not _is_own(headers.get("host", "localhost"), bound):  # DNS rebinding: browsers always name the host
        return "invalid Host header: expected localhost, an IP address, or the host at which the server listens"
    if "content-length" in headers and "transfer-encoding" in headers:  # RFC 9112, section 6.1
        return "Content-Length and Transfer-Encoding exclude each other"
    return ""


def _is_own(host: str, bound: str) -> bool:
    """Return whether the Host header names this server: by the host at which it listens, an IP address or localhost.

    TrustedHostMiddleware of starlette cannot say "any IP address".
    """
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    try:
        return bool(ip_address(name.removeprefix("[").removesuffix("]")))
    except ValueError:
        return name.lower().rstrip(".") in ("localhost", bound.lower())


def _protocol() -> Any:
    """Return the class of a connection: uvicorn's, which ends if it does not send a request in time.

    uvicorn itself only limits the time between requests. If too many are open, the one that waits longest for a request
    ends: so clients that never finish their requests lock out nobody.
    """
    from h11 import IDLE, SEND_BODY
    from uvicorn.protocols.http.h11_impl import H11Protocol

    most = min(MOST_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
    waiting: dict[H11Protocol, Any] = {}  # the timers of those without a whole request, the oldest first

    class Connection(H11Protocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._watch(late=True)

        def handle_events(self) -> None:
            super().handle_events()
            self._watch(late=self.conn.their_state in (IDLE, SEND_BODY))

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self._watch(late=False)

        def _watch(self, *, late: bool) -> None:
            if late and self not in waiting:
                waiting[self] = self.loop.call_later(SECONDS, self.transport.abort)
                if len(self.connections) > most:
                    oldest = next(iter(waiting))
                    waiting.pop(oldest).cancel()
                    oldest.transport.abort()
            elif not late and self in waiting:
                waiting.pop(self).cancel()

    return Connection


def serve(service: StoredService, host: str, port: int, ready: Callable[[int], None], *, verbose: bool) -> None:
    """Serve until a signal, then finish the requests in progress. `port` 0 takes a free one; `ready` is called with it.

    Raises OSError if the address is unavailable, UsageError without the packages that serve.
    """
    with needed("serving a data set needs the {} package", "serve"):
        import starlette  # noqa: F401
        import uvicorn
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family, backlog=BACKLOG) as listening:
        ready(listening.getsockname()[1])
        config = uvicorn.Config(
            application(service, host),
            http=_protocol(),
            ws="none",
            lifespan="off",
            backlog=BACKLOG,
            timeout_keep_alive=SECONDS,
            access_log=verbose,
            log_level="info" if verbose else "error",
            timeout_graceful_shutdown=3,
        )
        uvicorn.Server(config).run([listening])
